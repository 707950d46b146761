#include "serve_page.h"

#include <inttypes.h>
#include <string.h>

#include "graph.h"
#include "markup.h"
#include "moment.h"

static bool is_part(const struct serve_request *request)
{
	return strcmp(serve_query(request, "part"), "1") == 0;
}

/* The mount cannot be read: what is shown is of the last time. */
static void banner_put(const struct serve_request *request, FILE *out)
{
	const struct serve_snapshot *snapshot = request->snapshot;
	int64_t busy = serve_reader_busy(request->serve->reader);
	char age[MOMENT_AGE_MAX];

	if (snapshot->err == 0 && busy < 3 * ATLOCK_SECOND)
		return;
	fputs("<p class=\"banner\" role=\"alert\">", out);
	if (snapshot->err != 0) {
		fputs("The file system at ", out);
		markup_text(out, request->serve->setup.mount);
		fprintf(out, " cannot be read: %s. ", strerror(-snapshot->err));
	} else {
		moment_age(busy, age);
		fprintf(out, "The file system has not answered for %s. ", age);
	}
	if (snapshot->read_at == 0) {
		fputs("Nothing has been read yet.", out);
	} else {
		moment_age(moment_wall() - snapshot->read_at, age);
		fprintf(out, "What is shown is %s old.", age);
	}
	fputs("</p>\n", out);
}

void serve_page_begin(struct serve_request *request, struct serve_reply *reply, const char *title)
{
	static const struct {
		const char *url;
		const char *text;
	} links[] = { { "/", "Locks" }, { "/graph", "Who waits for whom" }, { "/status", "Health" } };
	FILE *out = reply->out;

	reply->type = "text/html; charset=utf-8";
	if (!is_part(request)) {
		fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
		      out);
		markup_text(out, title);
		fputs(" - atlockfs</title>\n<link rel=\"icon\" href=\"/icon.svg\"><link rel=\"stylesheet\" href=\"/page.css\">\n"
		      "<script src=\"/page.js\" defer></script>\n</head>\n<body>\n"
		      "<a class=\"skip\" href=\"#main\">Skip to content</a>\n<header>\n<a class=\"brand\" href=\"/\"><img src=\"/icon.svg\" alt=\"\" width=\"22\" height=\"22\">atlockfs</a>\n"
		      "<nav aria-label=\"Pages\"><ul>\n",
		      out);
		for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
			fprintf(out, "<li><a href=\"%s\"%s>%s</a></li>\n", links[i].url,
				strcmp(links[i].url, request->url) == 0 ? " aria-current=\"page\"" : "", links[i].text);
		fputs("</ul></nav>\n<p id=\"live\" role=\"status\"></p>\n</header>\n<main id=\"main\">\n", out);
	}
	banner_put(request, out);
	fputs("<h1>", out);
	markup_text(out, title);
	fputs("</h1>\n", out);
}

void serve_page_end(struct serve_request *request, struct serve_reply *reply)
{
	if (!is_part(request))
		fputs("</main>\n</body>\n</html>\n", reply->out);
}

void serve_page_link(FILE *out, const char *page, const char *key, const char *value, const char *text)
{
	fprintf(out, "<a href=\"%s?%s=", page, key);
	markup_query(out, value);
	fputs("\">", out);
	markup_text(out, text);
	fputs("</a>", out);
}

void serve_page_age(FILE *out, const json_t *object, const char *key, bool until)
{
	int64_t time = source_time(object, key);
	int64_t now = moment_wall();
	char age[MOMENT_AGE_MAX];

	if (time == ATLOCK_NEVER) {
		fputs("-", out);
		return;
	}
	moment_age(until ? time - now : now - time, age);
	fputs("<time datetime=\"", out);
	markup_text(out, source_text(object, key));
	fputs("\" title=\"", out);
	markup_text(out, source_text(object, key));
	fprintf(out, "\"%s>%s</time>", until && time - now < ATLOCK_SECOND * 60 ? " class=\"soon\"" : "", age);
}

static void waiter_put(FILE *out, const json_t *waiter)
{
	char holder[SOURCE_HOLDER_MAX];

	source_holder(waiter, holder);
	fprintf(out, "<tr><td class=\"number\" data-title=\"Place\">%" JSON_INTEGER_FORMAT "</td><th scope=\"row\">",
		json_integer_value(json_object_get(waiter, "position")));
	serve_page_link(out, "/user", "name", source_text(waiter, "owner"), holder);
	fputs("</th><td class=\"path\" data-title=\"Lock\">", out);
	serve_page_link(out, "/lock", "name", source_text(waiter, "lock"), source_text(waiter, "lock"));
	fputs("</td><td data-title=\"Priority\">", out);
	markup_text(out, source_text(waiter, "priority"));
	fputs("</td><td data-title=\"Waits for\">", out);
	serve_page_age(out, waiter, "since", false);
	fputs("</td><td data-title=\"Expected\">", out);
	markup_text(out, source_text(waiter, "expected_wait"));
	fputs("</td><td data-title=\"Gives up in\">", out);
	serve_page_age(out, waiter, "deadline", true);
	fputs("</td></tr>\n", out);
}

#define WAITERS_MOST 500

static bool waiter_wanted(const struct serve_waiters *wanted, const json_t *waiter)
{
	size_t repo = wanted->repo == NULL ? 0 : strlen(wanted->repo);
	const char *lock = source_text(waiter, "lock");

	return (wanted->lock == NULL || strcmp(wanted->lock, lock) == 0) &&
	       (wanted->owner == NULL || strcmp(wanted->owner, source_text(waiter, "owner")) == 0) &&
	       (wanted->who == NULL || strcmp(wanted->who, source_text(waiter, "who")) == 0) &&
	       (wanted->repo == NULL ||
		(strncmp(lock, "repos/", 6) == 0 && strncmp(lock + 6, wanted->repo, repo) == 0 &&
		 strncmp(lock + 6 + repo, "/-/", 3) == 0));
}

static size_t waiters_count(const json_t *waiters, const struct serve_waiters *wanted)
{
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(waiters); i++)
		count += waiter_wanted(wanted, json_array_get(waiters, i));
	return count;
}

void serve_page_waiters(struct serve_request *request, FILE *out, const struct serve_waiters *wanted)
{
	const json_t *waiters = request->snapshot->waiters;
	size_t count = waiters_count(waiters, wanted);
	size_t shown = 0;

	if (count == 0)
		return;
	fputs("<h2>Waiting</h2>\n<div class=\"wide\" role=\"region\" aria-label=\"Waiting\" tabindex=\"0\"><table>"
	      "<thead><tr><th scope=\"col\" class=\"number\">Place</th><th scope=\"col\">Waiter</th><th scope=\"col\">Lock</th>"
	      "<th scope=\"col\">Priority</th><th scope=\"col\">Waits for</th><th scope=\"col\">Expected</th>"
	      "<th scope=\"col\">Gives up in</th></tr></thead><tbody>\n",
	      out);
	for (size_t i = 0; i < json_array_size(waiters) && shown < WAITERS_MOST; i++) {
		const json_t *waiter = json_array_get(waiters, i);

		if (!waiter_wanted(wanted, waiter))
			continue;
		waiter_put(out, waiter);
		shown++;
	}
	fputs("</tbody></table></div>\n", out);
	if (count > shown)
		fprintf(out, "<p>%zu more wait.</p>\n", count - shown);
}

/* --- Who waits for whom --- */

static int edges_add(struct graph_edges *edges, const json_t *objects)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < json_array_size(objects); i++)
		err = graph_edges_add(edges, json_array_get(objects, i));
	return err;
}

void serve_graph(struct serve_request *request, struct serve_reply *reply)
{
	struct graph_edges edges = { .count = 0 };
	int err = edges_add(&edges, request->snapshot->locks);

	if (err == 0)
		err = edges_add(&edges, request->snapshot->waiters);
	if (err == 0)
		err = graph_svg(reply->out, edges.list, edges.count);
	graph_edges_free(&edges);
	reply->type = "image/svg+xml";
	reply->policy = "default-src 'none'; style-src 'unsafe-inline'";
	if (err < 0)
		reply->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
}

void serve_page_graph(struct serve_request *request, struct serve_reply *reply)
{
	FILE *out = reply->out;
	size_t i;
	json_t *waiter;

	serve_page_begin(request, reply, "Who waits for whom");
	fprintf(out,
		"<div class=\"wide\" role=\"region\" aria-label=\"Picture\" tabindex=\"0\"><img src=\"/graph.svg?%" PRIu64
		"\" alt=\"The wait-for graph; the same as a list is below.\"></div>\n<ul>\n",
		request->snapshot->number);
	json_array_foreach(request->snapshot->waiters, i, waiter) {
		char holder[SOURCE_HOLDER_MAX];

		source_holder(waiter, holder);
		fputs("<li>", out);
		serve_page_link(out, "/user", "name", source_text(waiter, "owner"), holder);
		fputs(" waits for ", out);
		serve_page_link(out, "/lock", "name", source_text(waiter, "lock"), source_text(waiter, "lock"));
		fputs("</li>\n", out);
		if (i == WAITERS_MOST)
			break;
	}
	fputs("</ul>\n", out);
	serve_page_end(request, reply);
}
