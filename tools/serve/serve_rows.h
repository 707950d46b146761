/* Which locks a request wants, in which order. */
#ifndef TOOLS_SERVE_ROWS_H
#define TOOLS_SERVE_ROWS_H

#include "filter.h"
#include "serve_http.h"

struct serve_rows {
	const json_t **list; /* borrowed of the snapshot */
	size_t count;
};

/*
 * The filter of a query: owner, who, repo, pull, host, path, older (a duration). What is malformed matches nothing that is not so
 * written; a bad duration is ignored. The strings are the request's.
 */
void serve_filter_read(const struct serve_request *request, struct filter *out);

/* Whether `text` is in the path, holder or reason of a lock, in any case of letters; "" is. */
bool serve_text_in(const json_t *lock, const char *text);

/* The locks that a filter and a text want, sorted by a column; "-column" reverses. 0 or -ENOMEM. Free it in any case. */
int serve_rows_read(const struct serve_snapshot *snapshot, const struct filter *filter, const char *text,
		    const char *sort, struct serve_rows *out);
void serve_rows_free(struct serve_rows *rows);

#endif
