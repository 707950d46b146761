/* The text that `cat` prints, and its single fields. */
#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "day.h"
#include "decimal.h"
#include "field.h"
#include "meta.h"
#include "text.h"

/* A growing text. After a failure `data` is NULL and nothing more is added. */
struct page {
	char *data;
	size_t len;
	size_t cap;
};

#define PAGE_FIRST 1024

static void page_open(struct page *page)
{
	page->data = malloc(PAGE_FIRST);
	page->len = 0;
	page->cap = PAGE_FIRST;
}

/* Reserves `len` bytes and a NUL after them; returns their address, or NULL. */
static char *page_grow(struct page *page, size_t len)
{
	if (page->data && len >= page->cap - page->len) {
		size_t cap = (page->cap + len) * 2;
		char *data = realloc(page->data, cap);

		if (!data)
			free(page->data);
		page->data = data;
		page->cap = cap;
	}
	return page->data ? page->data + page->len : NULL;
}

static void page_add(struct page *page, const char *text, size_t len)
{
	char *at = page_grow(page, len);

	if (!at || len == 0)
		return;
	memcpy(at, text, len);
	page->len += len;
}

static void page_add_line(struct page *page, const char *key, const char *value)
{
	char *at = page_grow(page, strlen(key) + strlen(value) + 2);

	if (!at)
		return;
	at = stpcpy(at, key);
	*at++ = '=';
	at = stpcpy(at, value);
	*at++ = '\n';
	page->len = (size_t)(at - page->data);
}

static char *page_close(struct page *page, size_t *len)
{
	if (!page->data)
		return NULL;
	page->data[page->len] = '\0';
	if (len)
		*len = page->len;
	return page->data;
}

static void page_add_fields(struct page *page, const struct field *fields, const struct field_source *source)
{
	struct field_value value;

	for (const struct field *field = fields; field->key; field++) {
		if (field_read(field, source, &value) == 0)
			page_add_line(page, field->key, value.text);
	}
}

/*
 * Adds the user's own keys, except those that the lock itself has now: the pull request that holds it is its only
 * pull=.
 */
static void page_add_own(struct page *page, const struct field_source *source)
{
	const char *meta = source->view->meta;
	size_t left = meta ? source->view->meta_len : 0;
	struct field_value value;
	struct meta_line line;

	for (const char *begin = meta; left > 0 && meta_next(&meta, &left, &line); begin = meta) {
		const struct field *field = line.key ? field_find(field_view, line.key, line.key_len) : NULL;

		if (!field || field_read(field, source, &value))
			page_add(page, begin, (size_t)(meta - begin));
	}
}

char *text_of_view(const struct atlock_view *view, int64_t offset, size_t *len)
{
	struct field_source source;
	struct page page;

	field_of_view(&source, view, offset);
	page_open(&page);
	page_add_fields(&page, field_view, &source);
	page_add_own(&page, &source);
	return page_close(&page, len);
}

char *text_of_ticket(const struct atlock_ticket *ticket, const char *path, int64_t offset, size_t *len)
{
	struct field_source source;
	struct page page;

	field_of_ticket(&source, ticket, path, offset);
	page_open(&page);
	page_add_fields(&page, field_ticket, &source);
	return page_close(&page, len);
}

char *atlock_view_text(struct atlock *al, const struct atlock_view *view, size_t *len)
{
	if (!al || !view)
		return NULL;
	return text_of_view(view, atlock_wall(al, 0), len);
}

char *atlock_ticket_text(struct atlock *al, const struct atlock_name *name, const struct atlock_ticket *ticket,
			 size_t *len)
{
	char path[ATLOCK_PATH_MAX];

	if (!al || !name || !ticket || atlock_name_show(al, name, path, sizeof(path)) < 0)
		return NULL;
	return text_of_ticket(ticket, path, atlock_wall(al, 0), len);
}

static int value_give(const char *value, size_t value_len, char *out, size_t len)
{
	if (value_len >= len)
		return -ERANGE;
	if (value_len)
		memcpy(out, value, value_len);
	out[value_len] = '\0';
	return 0;
}

int text_field(const struct atlock_view *view, int64_t offset, const char *key, char *out, size_t len)
{
	const struct field *field = field_find(field_view, key, strlen(key));
	const char *meta = view->meta;
	size_t meta_len = meta ? view->meta_len : 0;
	struct field_source source;
	struct field_value value;
	struct meta_line line;

	if (field) {
		field_of_view(&source, view, offset);
		if (field_read(field, &source, &value) == 0)
			return value_give(value.text, strlen(value.text), out, len);
	}
	while (meta_next(&meta, &meta_len, &line))
		if (meta_line_is(&line, key))
			return value_give(line.value, line.value_len, out, len);
	return view->meta_damaged ? -EIO : 1;
}

int atlock_view_field(struct atlock *al, const struct atlock_view *view, const char *key, char *out, size_t len)
{
	if (!al || !view || !key || !out)
		return -EINVAL;
	return text_field(view, atlock_wall(al, 0), key, out, len);
}

void atlock_view_id(const struct atlock_view *view, char out[ATLOCK_ID_MAX])
{
	static const char hex[] = "0123456789abcdef";
	char *at;

	if (!out)
		return;
	out[0] = '\0';
	if (!view)
		return;
	at = decimal_print(stpcpy(out, "lock_"), view->id_time);
	*at++ = '_';
	at = mempcpy(at, view->owner ? view->owner : "", strnlen(view->owner ? view->owner : "", ATLOCK_OWNER_MAX));
	*at++ = '_';
	for (int shift = 28; shift >= 0; shift -= 4)
		*at++ = hex[view->id_random >> shift & 15];
	*at = '\0';
}

void text_time(int64_t wall, char *out, size_t len)
{
	time_t seconds = (time_t)(wall / ATLOCK_SECOND);
	int64_t rest = wall % ATLOCK_SECOND;
	char date[TEXT_TIME_MAX] = "";
	struct tm tm;

	if (wall == ATLOCK_NEVER) {
		strlcpy(out, "never", len);
		return;
	}
	if (wall >= 0 && len > DAY_TIME) {
		*day_print_time(wall, out) = '\0';
		return;
	}
	if (rest < 0) {
		rest += ATLOCK_SECOND;
		seconds--;
	}
	if (gmtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, len, "%s.%03dZ", date, (int)(rest / (ATLOCK_SECOND / 1000)));
}

void atlock_instant_print(struct atlock *al, int64_t instant, char *out, size_t len)
{
	if (!out || len == 0)
		return;
	out[0] = '\0';
	if (al)
		text_time(field_wall(instant, atlock_wall(al, 0)), out, len);
}
