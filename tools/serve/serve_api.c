#include "serve_api.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "markup.h"
#include "moment.h"
#include "serve_rows.h"

#define LIMIT 1000 /* objects of a reply */
#define LIMIT_MOST 100000
#define BLOCK 16384

/* --- Lists of objects --- */

/* What a reply sends: objects of its snapshot. */
struct lines {
	struct serve_snapshot *snapshot;
	const json_t **list;
	size_t count;
	size_t at;
	char *text; /* of the object that is being sent */
	size_t len;
	size_t sent;
};

static ssize_t lines_read(void *arg, uint64_t pos, char *out, size_t room)
{
	struct lines *lines = arg;
	size_t n;

	(void)pos;
	if (lines->sent == lines->len) {
		free(lines->text);
		lines->text = NULL;
		if (lines->at == lines->count)
			return MHD_CONTENT_READER_END_OF_STREAM;
		lines->text = json_dumps(lines->list[lines->at++], JSON_COMPACT);
		if (lines->text == NULL)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		lines->len = strlen(lines->text) + 1;
		lines->text[lines->len - 1] = '\n';
		lines->sent = 0;
	}
	n = lines->len - lines->sent < room ? lines->len - lines->sent : room;
	memcpy(out, lines->text + lines->sent, n);
	lines->sent += n;
	return (ssize_t)n;
}

static void lines_free(void *arg)
{
	struct lines *lines = arg;

	if (lines->snapshot != NULL)
		serve_snapshot_put(lines->snapshot);
	free(lines->list);
	free(lines->text);
	free(lines);
}

/* What every list takes beside the filter of locks. */
struct page {
	size_t limit;
	int64_t older; /* at least so old; 0: any */
	int64_t newer; /* at most so old; 0: any */
};

static bool duration_read(const struct serve_request *request, const char *name, int64_t *out)
{
	const char *text = serve_query(request, name);

	*out = 0;
	return text[0] == '\0' || atlock_duration_parse(text, false, out) == 0;
}

/* False once it has refused a query whose values mean nothing. */
static bool page_read(const struct serve_request *request, struct serve_reply *reply, struct page *out)
{
	const char *limit = serve_query(request, "limit");
	const char *bad = NULL;

	out->limit = limit[0] == '\0' ? LIMIT : (size_t)strtonum(limit, 1, LIMIT_MOST, &bad);
	if (bad == NULL && duration_read(request, "older", &out->older) && duration_read(request, "newer", &out->newer))
		return true;
	reply->status = MHD_HTTP_BAD_REQUEST;
	fprintf(reply->out,
		"limit= is a number from 1 to %d; older= and newer= are durations such as 90s, 15m or 2h.\n",
		LIMIT_MOST);
	return false;
}

/* Whether the time `key` of an object is as long ago as the page wants. */
static bool age_wanted(const struct page *page, const json_t *object, const char *key)
{
	int64_t age = moment_wall() - source_time(object, key);

	return (page->older == 0 || age >= page->older) && (page->newer == 0 || age <= page->newer);
}

/* Whether what is at `path`, done or asked for as `who`, is of the repository and pull request of the query. */
static bool place_wanted(const struct filter *filter, const char *path, const char *who)
{
	static const char *const trees[] = { "repos/", "branches/" };
	bool in_repo = filter->repo == NULL;

	for (size_t i = 0; !in_repo && i < sizeof(trees) / sizeof(trees[0]); i++) {
		size_t tree = strlen(trees[i]);
		size_t repo = strlen(filter->repo);

		in_repo = strncmp(path, trees[i], tree) == 0 && strncmp(path + tree, filter->repo, repo) == 0 &&
			  strncmp(path + tree + repo, "/-/", 3) == 0;
	}
	return in_repo &&
	       (filter->pull == NULL || (strncmp(who, "pr:", 3) == 0 && strcmp(who + 3, filter->pull) == 0)) &&
	       filter_wants_path(filter, path);
}

/* Where the next page begins, as a query has it: the caller frees it; NULL without memory. */
static char *next_print(const char *cursor)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	markup_query(out, cursor);
	return fclose(out) == 0 ? text : NULL;
}

/* "<path>" of a lock or "<path>#<ticket>" of a waiter: where the next page begins. */
static void cursor_print(const json_t *object, char *out, size_t len)
{
	if (source_is_waiter(object))
		(void)snprintf(out, len, "%s#%" JSON_INTEGER_FORMAT, source_text(object, "lock"),
			       json_integer_value(json_object_get(object, "ticket")));
	else
		(void)snprintf(out, len, "%s", source_text(object, "lock"));
}

/* Sends those of an array that `wants` wants, from behind the cursor `after` on. */
static void lines_send(struct serve_request *request, struct serve_reply *reply, json_t *array,
		       bool (*wants)(const struct serve_request *request, const struct filter *filter,
				     const struct page *page, const json_t *object))
{
	const char *after = serve_query(request, "after");
	struct lines *lines;
	bool begun = after[0] == '\0';
	char cursor[ATLOCK_PATH_MAX + 32];
	struct filter filter;
	struct page page;
	size_t i;
	json_t *object;

	if (!page_read(request, reply, &page))
		return;
	serve_filter_read(request, &filter);
	lines = calloc(1, sizeof(*lines));
	if (lines != NULL)
		lines->list = calloc(page.limit, sizeof(*lines->list));
	if (lines == NULL || lines->list == NULL) {
		free(lines);
		reply->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		return;
	}
	lines->snapshot = serve_snapshot_ref(request->snapshot);
	json_array_foreach(array, i, object) {
		cursor_print(object, cursor, sizeof(cursor));
		if (!begun) {
			begun = strcmp(cursor, after) == 0;
			continue;
		}
		if (!wants(request, &filter, &page, object))
			continue;
		if (lines->count == page.limit) {
			cursor_print(lines->list[page.limit - 1], cursor, sizeof(cursor));
			reply->next = next_print(cursor);
			break;
		}
		lines->list[lines->count++] = object;
	}
	if (!begun) {
		lines_free(lines);
		reply->status = MHD_HTTP_GONE;
		fputs("What the cursor names is not there any more. Begin again without after=\n", reply->out);
		return;
	}
	reply->type = "application/x-ndjson";
	reply->response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, lines_read, lines, lines_free);
	if (reply->response == NULL)
		lines_free(lines);
}

static bool lock_wanted(const struct serve_request *request, const struct filter *filter, const struct page *page,
			const json_t *lock)
{
	return filter_wants(filter, lock) && age_wanted(page, lock, "acquired_at") &&
	       serve_text_in(lock, serve_query(request, "q"));
}

void serve_api_locks(struct serve_request *request, struct serve_reply *reply)
{
	lines_send(request, reply, request->snapshot->locks, lock_wanted);
}

static bool is_or_any(const char *wanted, const char *text)
{
	return wanted == NULL || wanted[0] == '\0' || strcmp(wanted, text) == 0;
}

static bool waiter_wanted(const struct serve_request *request, const struct filter *filter, const struct page *page,
			  const json_t *waiter)
{
	const char *lock = source_text(waiter, "lock");

	return is_or_any(filter->owner, source_text(waiter, "owner")) &&
	       is_or_any(filter->who, source_text(waiter, "who")) &&
	       is_or_any(filter->host, source_text(waiter, "host")) &&
	       place_wanted(filter, lock, source_text(waiter, "who")) && age_wanted(page, waiter, "since") &&
	       is_or_any(serve_query(request, "lock"), lock);
}

void serve_api_queue(struct serve_request *request, struct serve_reply *reply)
{
	lines_send(request, reply, request->snapshot->waiters, waiter_wanted);
}

/* --- Events --- */

static bool event_wanted(const struct serve_request *request, const struct filter *filter, const struct page *page,
			 const json_t *event)
{
	static const char *const keys[] = { "lock", "type", "owner", "who", "actor", "host" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!is_or_any(serve_query(request, keys[i]), source_text(event, keys[i])))
			return false;
	return place_wanted(filter, source_text(event, "lock"), source_text(event, "who")) &&
	       age_wanted(page, event, "time");
}

/* The events in memory, after the number `after`. */
void serve_api_events(struct serve_request *request, struct serve_reply *reply)
{
	char next[32];
	uint64_t seq = strtoull(serve_query(request, "after"), NULL, 10);
	struct filter filter;
	struct page page;
	char *line;

	if (!page_read(request, reply, &page))
		return;
	serve_filter_read(request, &filter);
	reply->type = "application/x-ndjson";
	for (size_t count = 0; (line = serve_reader_event(request->serve->reader, &seq, NULL)) != NULL; free(line)) {
		json_t *event = json_loads(line, 0, NULL);

		if (event != NULL && event_wanted(request, &filter, &page, event)) {
			fprintf(reply->out, "%s\n", line);
			count++;
		}
		json_decref(event);
		if (count == page.limit) {
			(void)snprintf(next, sizeof(next), "%" PRIu64, seq);
			reply->next = next_print(next);
			free(line);
			break;
		}
	}
}

/* --- Single values --- */

static bool is_well(const struct serve_request *request)
{
	const struct serve_snapshot *snapshot = request->snapshot;

	return snapshot->err == 0 && serve_reader_busy(request->serve->reader) < 3 * ATLOCK_SECOND &&
	       strncmp(snapshot->health, "ok\n", 3) == 0;
}

void serve_api_health(struct serve_request *request, struct serve_reply *reply)
{
	const struct serve_snapshot *snapshot = request->snapshot;

	if (!is_well(request))
		reply->status = MHD_HTTP_SERVICE_UNAVAILABLE;
	if (snapshot->err != 0)
		fprintf(reply->out, "failing\nmount=%s\n", strerror(-snapshot->err));
	else if (serve_reader_busy(request->serve->reader) >= 3 * ATLOCK_SECOND)
		fputs("failing\nmount=does not answer\n", reply->out);
	else
		fputs(snapshot->health, reply->out);
}

void serve_api_metrics(struct serve_request *request, struct serve_reply *reply)
{
	reply->type = "text/plain; version=0.0.4; charset=utf-8";
	if (request->snapshot->err != 0)
		reply->status = MHD_HTTP_SERVICE_UNAVAILABLE;
	else
		fputs(request->snapshot->metrics, reply->out);
}

/* Of an app that uses several resources the most alive status counts: what is UP anywhere is up. */
static const char *app_status(const struct serve_request *request, const char *name)
{
	static const char *const order[] = { "DOWN", "UNKNOWN", "UP" };
	const char *resource = serve_query(request, "resource");
	size_t best = 0;
	bool found = false;
	size_t i;
	json_t *app;

	json_array_foreach(request->snapshot->apps, i, app) {
		size_t rank = 1;

		if (strcmp(source_text(app, "app"), name) != 0 ||
		    (resource[0] != '\0' && strcmp(source_text(app, "resource"), resource) != 0))
			continue;
		for (size_t j = 0; j < sizeof(order) / sizeof(order[0]); j++)
			if (strcmp(source_text(app, "status"), order[j]) == 0)
				rank = j;
		best = !found || rank > best ? rank : best;
		found = true;
	}
	return !found ? NULL : is_well(request) ? order[best] : "UNKNOWN";
}

void serve_api_quick(struct serve_request *request, struct serve_reply *reply)
{
	const char *name = serve_query(request, "app");
	const char *status = app_status(request, name);
	time_t now = (time_t)(moment_wall() / ATLOCK_SECOND);
	struct tm tm;
	char stamp[32];
	json_t *object;
	char *text;

	reply->status = status == NULL              ? MHD_HTTP_NOT_FOUND
			: strcmp(status, "UP") == 0 ? MHD_HTTP_OK
						    : MHD_HTTP_SERVICE_UNAVAILABLE;
	(void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	object = json_pack("{s:s, s:s, s:i, s:s}", "app", name, "status", status == NULL ? "UNKNOWN" : status,
			   "http_code", (int)reply->status, "timestamp", stamp);
	text = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);
	reply->type = "application/json";
	fprintf(reply->out, "%s\n", text == NULL ? "{}" : text);
	free(text);
	json_decref(object);
}
