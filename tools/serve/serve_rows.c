#include "serve_rows.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *query_or_null(const struct serve_request *request, const char *name)
{
	const char *value = serve_query(request, name);

	return value[0] == '\0' ? NULL : value;
}

void serve_filter_read(const struct serve_request *request, struct filter *out)
{
	*out = (struct filter){ .owner = query_or_null(request, "owner"),
				.who = query_or_null(request, "who"),
				.repo = query_or_null(request, "repo"),
				.pull = query_or_null(request, "pull"),
				.host = query_or_null(request, "host") };
	(void)strlcpy(out->prefix, serve_query(request, "path"), sizeof(out->prefix));
	(void)atlock_duration_parse(serve_query(request, "older"), false, &out->older);
}

bool serve_text_in(const json_t *lock, const char *text)
{
	char holder[SOURCE_HOLDER_MAX];

	source_holder(lock, holder);
	return text[0] == '\0' || strcasestr(source_text(lock, "lock"), text) != NULL ||
	       strcasestr(holder, text) != NULL ||
	       strcasestr(source_text(json_object_get(lock, "meta"), "reason"), text) != NULL;
}

/* --- Order --- */

static int compare_text(const json_t *a, const json_t *b, const char *key)
{
	return strcmp(source_text(a, key), source_text(b, key));
}

static int compare_number(const json_t *a, const json_t *b, const char *key)
{
	json_int_t left = json_integer_value(json_object_get(a, key));
	json_int_t right = json_integer_value(json_object_get(b, key));

	return left < right ? -1 : left > right;
}

/* Times are texts that sort as they are; "never" comes last. */
static const struct column {
	const char *name;
	const char *key;
	int (*compare)(const json_t *a, const json_t *b, const char *key);
} columns[] = {
	{ "lock", "lock", compare_text },         { "holder", "owner", compare_text },
	{ "since", "acquired_at", compare_text }, { "left", "expires_at", compare_text },
	{ "token", "token", compare_number },     { "waiters", "waiters", compare_number },
};

struct order {
	const struct column *column;
	bool reverse;
};

static int row_compare(const void *left, const void *right, void *arg)
{
	const json_t *a = *(const json_t *const *)left;
	const json_t *b = *(const json_t *const *)right;
	const struct order *order = arg;
	int sign = order->column->compare(a, b, order->column->key);

	if (sign == 0)
		return strcmp(source_text(a, "lock"), source_text(b, "lock"));
	return order->reverse ? -sign : sign;
}

static void rows_sort(struct serve_rows *rows, const char *sort)
{
	struct order order = { .reverse = sort[0] == '-' };

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (strcmp(columns[i].name, sort + order.reverse) == 0)
			order.column = &columns[i];
	if (order.column != NULL && rows->count > 1)
		qsort_r(rows->list, rows->count, sizeof(*rows->list), row_compare, &order);
}

int serve_rows_read(const struct serve_snapshot *snapshot, const struct filter *filter, const char *text,
		    const char *sort, struct serve_rows *out)
{
	size_t size = json_array_size(snapshot->locks);
	size_t i;
	json_t *lock;

	*out = (struct serve_rows){ .list = calloc(size + 1, sizeof(*out->list)) };
	if (out->list == NULL)
		return -ENOMEM;
	json_array_foreach(snapshot->locks, i, lock) {
		if (filter_wants(filter, lock) && serve_text_in(lock, text))
			out->list[out->count++] = lock;
	}
	rows_sort(out, sort);
	return 0;
}

void serve_rows_free(struct serve_rows *rows)
{
	free(rows->list);
	*rows = (struct serve_rows){ .count = 0 };
}
