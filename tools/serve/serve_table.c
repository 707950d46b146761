/* The pages that are tables of locks: all of them, a user's, a pull request's. */
#include <bsd/stdlib.h>
#include <inttypes.h>
#include <string.h>

#include "markup.h"
#include "serve_page.h"
#include "serve_rows.h"

#define ROWS 200 /* of a page */

static const struct column {
	const char *name; /* to sort by, or NULL */
	const char *title;
	bool number;
} columns[] = {
	{ .name = "lock", .title = "Lock" },
	{ .title = "Mode" },
	{ .name = "holder", .title = "Holder" },
	{ .name = "since", .title = "Since" },
	{ .name = "left", .title = "Lease left" },
	{ .name = "token", .title = "Token", .number = true },
	{ .name = "waiters", .title = "Waiters", .number = true },
	{ .title = "Reason" },
};

static const char *mode_of(const json_t *lock)
{
	const char *mode = source_text(lock, "mode");

	if (strcmp(source_text(lock, "state"), "pending") == 0)
		return "granted, not taken up yet";
	return mode[0] == '\0' ? "exclusive" : mode;
}

/* The next cell of a row; on a narrow screen the column's title stands before it. */
static void cell_begin(FILE *out, size_t column)
{
	fprintf(out, "</t%c><td data-title=\"%s\">", column == 1 ? 'h' : 'd', columns[column].title);
}

/* `mark`: one above 0 stands out. */
static void number_put(FILE *out, size_t column, const json_t *lock, const char *key, bool mark)
{
	json_int_t number = json_integer_value(json_object_get(lock, key));

	fprintf(out, "</td><td class=\"number\" data-title=\"%s\"><span%s>%" JSON_INTEGER_FORMAT "</span>",
		columns[column].title, mark && number > 0 ? " class=\"badge\"" : "", number);
}

static void row_put(FILE *out, const json_t *lock)
{
	char holder[SOURCE_HOLDER_MAX];

	source_holder(lock, holder);
	fputs("<tr><th scope=\"row\">", out);
	serve_page_link(out, "/lock", "name", source_text(lock, "lock"), source_text(lock, "lock"));
	cell_begin(out, 1);
	markup_text(out, mode_of(lock));
	cell_begin(out, 2);
	serve_page_link(out, "/user", "name", source_text(lock, "owner"), holder);
	cell_begin(out, 3);
	serve_page_age(out, lock, "acquired_at", false);
	cell_begin(out, 4);
	serve_page_age(out, lock, "expires_at", true);
	number_put(out, 5, lock, "token", false);
	number_put(out, 6, lock, "waiters", true);
	cell_begin(out, 7);
	markup_text(out, source_text(json_object_get(lock, "meta"), "reason"));
	fputs("</td></tr>\n", out);
}

/* The query of this page with other values for sort and from. */
static void query_put(const struct serve_request *request, FILE *out, const char *sort, size_t from)
{
	static const char *const kept[] = { "q",    "owner", "who",   "repo", "pull",
					    "host", "path",  "older", "name", "number" };

	fprintf(out, "%s?", request->url);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (serve_query(request, kept[i])[0] != '\0') {
			fprintf(out, "%s=", kept[i]);
			markup_query(out, serve_query(request, kept[i]));
			fputs("&amp;", out);
		}
	fputs("sort=", out);
	markup_query(out, sort);
	if (from > 0)
		fprintf(out, "&amp;from=%zu", from);
}

static void heading_put(const struct serve_request *request, FILE *out, const struct column *column)
{
	const char *sort = serve_query(request, "sort");
	bool up = column->name != NULL && strcmp(sort, column->name) == 0;
	bool down = column->name != NULL && sort[0] == '-' && strcmp(sort + 1, column->name) == 0;
	char other[32];

	fprintf(out, "<th scope=\"col\"%s%s>", column->number ? " class=\"number\"" : "",
		up     ? " aria-sort=\"ascending\""
		: down ? " aria-sort=\"descending\""
		       : "");
	if (column->name != NULL) {
		(void)snprintf(other, sizeof(other), "%s%s", up ? "-" : "", column->name);
		fputs("<a href=\"", out);
		query_put(request, out, other, 0);
		fprintf(out, "\">%s</a>", column->title);
	} else {
		fputs(column->title, out);
	}
	fputs("</th>", out);
}

static void pages_put(const struct serve_request *request, FILE *out, const struct serve_rows *rows, size_t from)
{
	const char *sort = serve_query(request, "sort");

	if (rows->count <= ROWS)
		return;
	fprintf(out, "<p>%zu to %zu of %zu.", from + 1, from + ROWS < rows->count ? from + ROWS : rows->count,
		rows->count);
	if (from > 0) {
		fputs(" <a rel=\"prev\" href=\"", out);
		query_put(request, out, sort, from > ROWS ? from - ROWS : 0);
		fputs("\">Before</a>", out);
	}
	if (from + ROWS < rows->count) {
		fputs(" <a rel=\"next\" href=\"", out);
		query_put(request, out, sort, from + ROWS);
		fputs("\">Next</a>", out);
	}
	fputs("</p>\n", out);
}

static void table_put(const struct serve_request *request, FILE *out, const struct filter *filter)
{
	size_t from = (size_t)strtonum(serve_query(request, "from"), 0, 1000000000, NULL);
	struct serve_rows rows;
	json_int_t waiters = 0;

	if (serve_rows_read(request->snapshot, filter, serve_query(request, "q"), serve_query(request, "sort"), &rows) <
	    0) {
		fputs("<p>There is not enough memory.</p>\n", out);
		return;
	}
	if (from >= rows.count)
		from = 0;
	for (size_t i = 0; i < rows.count; i++)
		waiters += json_integer_value(json_object_get(rows.list[i], "waiters"));
	fprintf(out, "<p id=\"count\">%zu held.", rows.count);
	if (waiters > 0)
		fprintf(out, " %" JSON_INTEGER_FORMAT " wait.", waiters);
	fputs("</p>\n", out);
	if (rows.count > 0) {
		fputs("<div class=\"wide\" role=\"region\" aria-label=\"Locks\" tabindex=\"0\"><table><thead><tr>",
		      out);
		for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
			heading_put(request, out, &columns[i]);
		fputs("</tr></thead><tbody>\n", out);
		for (size_t i = from; i < rows.count && i < from + ROWS; i++)
			row_put(out, rows.list[i]);
		fputs("</tbody></table></div>\n", out);
	}
	pages_put(request, out, &rows, from);
	serve_rows_free(&rows);
}

static void search_put(const struct serve_request *request, FILE *out)
{
	static const char *const kept[] = { "owner", "who", "repo", "pull", "host", "path", "older", "sort" };

	fputs("<form role=\"search\" action=\"/\"><label for=\"q\">Filter</label> "
	      "<input id=\"q\" name=\"q\" type=\"search\" autocomplete=\"off\" placeholder=\"lock, holder or reason\" value=\"",
	      out);
	markup_text(out, serve_query(request, "q"));
	fputs("\">", out);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (serve_query(request, kept[i])[0] != '\0') {
			fprintf(out, "<input type=\"hidden\" name=\"%s\" value=\"", kept[i]);
			markup_text(out, serve_query(request, kept[i]));
			fputs("\">", out);
		}
	fputs(" <button>Show</button></form>\n", out);
}

void serve_page_locks(struct serve_request *request, struct serve_reply *reply)
{
	struct filter filter;

	serve_filter_read(request, &filter);
	serve_page_begin(request, reply, "Locks");
	search_put(request, reply->out);
	table_put(request, reply->out, &filter);
	serve_page_end(request, reply);
}

void serve_page_user(struct serve_request *request, struct serve_reply *reply)
{
	struct filter filter = { .owner = serve_query(request, "name") };

	serve_page_begin(request, reply, filter.owner[0] == '\0' ? "No user was named" : filter.owner);
	table_put(request, reply->out, &filter);
	serve_page_waiters(request, reply->out, &(struct serve_waiters){ .owner = filter.owner });
	serve_page_end(request, reply);
}

void serve_page_pull(struct serve_request *request, struct serve_reply *reply)
{
	struct filter filter = { .repo = serve_query(request, "repo"), .pull = serve_query(request, "number") };
	char title[256];
	char who[64];

	(void)snprintf(title, sizeof(title), "%s, pull request %s", filter.repo, filter.pull);
	(void)snprintf(who, sizeof(who), "pr:%s", filter.pull);
	serve_page_begin(request, reply, title);
	table_put(request, reply->out, &filter);
	serve_page_waiters(request, reply->out, &(struct serve_waiters){ .who = who, .repo = filter.repo });
	serve_page_end(request, reply);
}
