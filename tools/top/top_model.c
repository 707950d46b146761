#include "top_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

struct top_model *top_model_new(void)
{
	return calloc(1, sizeof(struct top_model));
}

void top_model_free(struct top_model *model)
{
	if (model == NULL)
		return;
	for (size_t view = 0; view < TOP_VIEWS; view++) {
		for (size_t i = 0; i < model->views[view].count; i++)
			free(model->views[view].rows[i]);
		free(model->views[view].rows);
	}
	free(model);
}

/* --- Rows --- */

/* The texts of a row, in the order in which they stand behind it. */
static const char **text_at(struct top_row *row, size_t i)
{
	const char **const texts[] = { &row->lock, &row->owner, &row->who, &row->id, &row->reason };

	return i < sizeof(texts) / sizeof(texts[0]) ? texts[i] : NULL;
}

static void texts_point(struct top_row *row)
{
	const char *at = row->text;
	const char **text;

	for (size_t i = 0; (text = text_at(row, i)) != NULL; i++) {
		*text = at;
		at += strlen(at) + 1;
	}
}

static int64_t integer(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* Held as "@pr:123", or by another name with pull=123. */
static int64_t row_pull(const json_t *object, const json_t *meta)
{
	int64_t number = integer(object, "pull");

	return number != 0 ? number : strtoll(source_text(meta, "pull"), NULL, 10);
}

static struct top_row *row_new(const json_t *object)
{
	const json_t *meta = json_object_get(object, "meta");
	const char *const texts[] = { source_text(object, "lock"), source_text(object, "owner"),
				      source_text(object, "who"), source_text(object, "id"),
				      source_text(meta, "reason") };
	size_t size = sizeof(struct top_row);
	struct top_row *row;
	char *at;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		size += strlen(texts[i]) + 1;
	row = calloc(1, size);
	if (row == NULL)
		return NULL;
	row->size = size;
	at = row->text;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		at = stpcpy(at, texts[i]) + 1;
	texts_point(row);
	row->uid = (uid_t)integer(object, "uid");
	if (atlock_priority_parse(source_text(object, "priority"), &row->priority) != 0)
		row->priority = ATLOCK_NORMAL;
	row->pull = row_pull(object, meta);
	row->waiters = (uint64_t)integer(object, "waiters");
	row->ticket = (uint64_t)integer(object, "ticket");
	row->position = (uint64_t)integer(object, "position");
	return row;
}

struct top_row *top_row_copy(const struct top_row *row)
{
	struct top_row *copy = malloc(row->size);

	if (copy == NULL)
		return NULL;
	memcpy(copy, row, row->size);
	texts_point(copy);
	return copy;
}

/* --- All of them --- */

int top_model_add(struct top_model *model, const json_t *object)
{
	bool waits = source_is_waiter(object);
	struct top_rows *rows = &model->views[waits ? TOP_QUEUE : TOP_LOCKS];
	struct top_row **more = tool_grow(rows->rows, rows->count, &rows->room, sizeof(*more));
	struct top_row *row;

	if (more == NULL)
		return -ENOMEM;
	rows->rows = more;
	row = row_new(object);
	if (row == NULL)
		return -ENOMEM;
	row->since = source_time(object, waits ? "since" : "acquired_at");
	row->until = source_time(object, waits ? "deadline" : "expires_at");
	rows->rows[rows->count++] = row;
	model->by_name = model->by_name && waits;
	return 0;
}

static int name_order(const void *a, const void *b)
{
	const struct top_row *const *left = a;
	const struct top_row *const *right = b;

	return strcmp((*left)->lock, (*right)->lock);
}

static int name_compare(const void *name, const void *row)
{
	const struct top_row *const *found = row;

	return strcmp(name, (*found)->lock);
}

/* locks.jsonl has all locks before the first waiter, so they are sorted once. */
bool top_model_has(struct top_model *model, const char *lock)
{
	struct top_rows *locks = &model->views[TOP_LOCKS];

	if (locks->count == 0)
		return false;
	if (!model->by_name)
		qsort(locks->rows, locks->count, sizeof(*locks->rows), name_order);
	model->by_name = true;
	return bsearch(lock, locks->rows, locks->count, sizeof(*locks->rows), name_compare) != NULL;
}

void top_model_drop(struct top_model *model, const struct top_row *row)
{
	struct top_rows *rows = &model->views[row->id[0] != '\0' ? TOP_LOCKS : TOP_QUEUE];

	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i]->ticket == row->ticket && strcmp(rows->rows[i]->id, row->id) == 0)
			rows->rows[i]->gone = true;
}
