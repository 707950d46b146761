/* The page of one lock: its fields, its queue, its last events, and with --allow-release a button. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "markup.h"
#include "serve_page.h"
#include "serve_release.h"
#include "source.h"

#define EVENTS_MOST 50

static void value_put(FILE *out, const json_t *value)
{
	char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

	markup_text(out, json_is_string(value) ? json_string_value(value) : text == NULL ? "" : text);
	free(text);
}

/* Links of a field's value, for those that have a page. */
static bool link_put(FILE *out, const char *key, const char *value)
{
	if (strcmp(key, "owner") == 0)
		serve_page_link(out, "/user", "name", value, value);
	else if (strcmp(key, "repo") == 0 && value[0] != '\0')
		serve_page_link(out, "/", "repo", value, value);
	else
		return false;
	return true;
}

static void pull_put(FILE *out, const json_t *lock, json_int_t number)
{
	fputs("<a href=\"/pull?repo=", out);
	markup_query(out, source_text(lock, "repo"));
	fprintf(out, "&amp;number=%" JSON_INTEGER_FORMAT "\">%" JSON_INTEGER_FORMAT "</a>", number, number);
}

static void fields_put(FILE *out, const json_t *lock, json_t *fields)
{
	const char *key;
	json_t *value;

	json_object_foreach(fields, key, value) {
		const char *text = json_string_value(value);

		if (json_is_object(value) || strcmp(key, "kind") == 0 || (text != NULL && text[0] == '\0'))
			continue;
		fputs("<tr><th scope=\"row\">", out);
		markup_text(out, key);
		fputs("</th><td>", out);
		if (strcmp(key, "pull") == 0 && json_is_integer(value))
			pull_put(out, lock, json_integer_value(value));
		else if (text == NULL || !link_put(out, key, text))
			value_put(out, value);
		fputs("</td></tr>\n", out);
	}
}

/* What people want to know first. */
static void lead_put(FILE *out, const json_t *lock)
{
	const char *reason = source_text(json_object_get(lock, "meta"), "reason");
	char holder[SOURCE_HOLDER_MAX];

	source_holder(lock, holder);
	fputs("<p class=\"lead\">Held by ", out);
	serve_page_link(out, "/user", "name", source_text(lock, "owner"), holder);
	fputs(" for ", out);
	serve_page_age(out, lock, "acquired_at", false);
	if (source_time(lock, "expires_at") == ATLOCK_NEVER) {
		fputs(", without a lease", out);
	} else {
		fputs("; its lease ends in ", out);
		serve_page_age(out, lock, "expires_at", true);
	}
	fputs(".", out);
	if (reason[0] != '\0') {
		fputs(" <q>", out);
		markup_text(out, reason);
		fputs("</q>", out);
	}
	fputs("</p>\n", out);
}

/* --- Events --- */

static void event_put(FILE *out, const json_t *event)
{
	static const struct {
		const char *key;
		const char *title;
	} fields[] = { { "type", "Event" },
		       { "owner", "Owner" },
		       { "who", "Who" },
		       { "actor", "Done by" },
		       { "reason", "Reason" } };

	fputs("<tr><td data-title=\"Ago\">", out);
	serve_page_age(out, event, "time", false);
	fputs("</td>", out);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		fprintf(out, "<td data-title=\"%s\">", fields[i].title);
		markup_text(out, source_text(event, fields[i].key));
		fputs("</td>", out);
	}
	fputs("</tr>\n", out);
}

/* The last events of the lock among those in memory, the newest first. */
static void events_put(struct serve_request *request, FILE *out, const char *name)
{
	json_t *found = json_array();
	uint64_t seq = 0;
	char *line;

	while ((line = serve_reader_event(request->serve->reader, &seq, NULL)) != NULL) {
		json_t *event = strstr(line, "\"lock\":") == NULL ? NULL : json_loads(line, 0, NULL);

		if (event != NULL && strcmp(source_text(event, "lock"), name) == 0)
			json_array_append(found, event);
		if (json_array_size(found) > EVENTS_MOST)
			json_array_remove(found, 0);
		json_decref(event);
		free(line);
	}
	if (json_array_size(found) > 0) {
		fputs("<h2>Last events</h2>\n<div class=\"wide\" role=\"region\" aria-label=\"Last events\" tabindex=\"0\"><table><thead>"
		      "<tr><th scope=\"col\">Ago</th><th scope=\"col\">Event</th><th scope=\"col\">Owner</th>"
		      "<th scope=\"col\">Who</th><th scope=\"col\">Done by</th><th scope=\"col\">Reason</th></tr></thead><tbody>\n",
		      out);
		for (size_t i = json_array_size(found); i-- > 0;)
			event_put(out, json_array_get(found, i));
		fputs("</tbody></table></div>\n", out);
	}
	json_decref(found);
}

static json_t *lock_find(const struct serve_snapshot *snapshot, const char *name)
{
	size_t i;
	json_t *lock;

	json_array_foreach(snapshot->locks, i, lock) {
		if (strcmp(source_text(lock, "lock"), name) == 0)
			return lock;
	}
	return NULL;
}

static void details_put(FILE *out, json_t *lock)
{
	fputs("<h2>Fields</h2>\n<details open><summary>All fields and what the holder wrote</summary>\n"
	      "<table class=\"pairs\"><tbody>\n",
	      out);
	fields_put(out, lock, json_object_get(lock, "meta"));
	fields_put(out, lock, lock);
	fputs("</tbody></table></details>\n", out);
}

void serve_page_lock(struct serve_request *request, struct serve_reply *reply)
{
	const char *name = serve_query(request, "name");
	json_t *lock = lock_find(request->snapshot, name);
	FILE *out = reply->out;

	serve_page_begin(request, reply, name[0] == '\0' ? "No lock was named" : name);
	if (lock == NULL) {
		fputs("<p class=\"lead\">It is not held.</p>\n", out);
	} else {
		lead_put(out, lock);
		serve_release_form(request, out, lock);
	}
	serve_page_waiters(request, out, &(struct serve_waiters){ .lock = name });
	events_put(request, out, name);
	if (lock != NULL)
		details_put(out, lock);
	serve_page_end(request, reply);
}
