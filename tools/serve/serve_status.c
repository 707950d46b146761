/* The page about the file system itself: what its health says, and which hosts hold and wait. */
#include <inttypes.h>
#include <string.h>

#include "markup.h"
#include "serve_page.h"
#include "source.h"

/* Calls `fn` with key and value of each line "key=value" of health. */
static void health_each(const char *health, void (*fn)(void *arg, const char *key, const char *value), void *arg)
{
	const char *line = health + strcspn(health, "\n");

	while (*line != '\0') {
		char pair[512];
		size_t len = strcspn(++line, "\n");
		char *value;

		(void)snprintf(pair, sizeof(pair), "%.*s", (int)(len < sizeof(pair) ? len : sizeof(pair) - 1), line);
		line += len;
		value = strchr(pair, '=');
		if (value == NULL)
			continue;
		*value++ = '\0';
		fn(arg, pair, value);
	}
}

/* --- Hosts --- */

/* The entry of a host, made if need be: {"name": {"locks": 1, "waiters": 2, "said": "..."}}. NULL without memory. */
static json_t *host_at(json_t *hosts, const char *name)
{
	if (json_object_get(hosts, name) == NULL)
		(void)json_object_set_new(hosts, name, json_object());
	return json_object_get(hosts, name);
}

static void host_count(json_t *hosts, const json_t *object, const char *key)
{
	const char *name = source_text(object, "host");
	json_t *host = name[0] == '\0' ? NULL : host_at(hosts, name);

	if (host != NULL)
		(void)json_object_set_new(host, key, json_integer(json_integer_value(json_object_get(host, key)) + 1));
}

static void host_put(FILE *out, const char *name, const json_t *host)
{
	fputs("<tr><th scope=\"row\">", out);
	serve_page_link(out, "/", "host", name, name);
	fprintf(out,
		"</th><td class=\"number\" data-title=\"Locks\">%" JSON_INTEGER_FORMAT
		"</td><td class=\"number\" data-title=\"Waiters\">%" JSON_INTEGER_FORMAT
		"</td><td data-title=\"State\">",
		json_integer_value(json_object_get(host, "locks")),
		json_integer_value(json_object_get(host, "waiters")));
	markup_text(out, source_text(host, "said"));
	fputs("</td></tr>\n", out);
}

/* Lines of several hosts: "host.NAME=what is known of it". */
static const char *host_of(const char *key)
{
	return strncmp(key, "host.", 5) == 0 ? key + 5 : NULL;
}

static void host_said(void *arg, const char *key, const char *value)
{
	const char *name = host_of(key);
	json_t *host = name == NULL ? NULL : host_at(arg, name);

	if (host != NULL)
		(void)json_object_set_new(host, "said", json_string(value));
}

/* The hosts of a store that several share, those that hold nothing, too. */
static void hosts_add(json_t *hosts, const json_t *chains)
{
	size_t i;
	json_t *chain;

	json_array_foreach(chains, i, chain) {
		const char *name = source_text(chain, "host");
		json_t *host = name[0] == '\0' ? NULL : host_at(hosts, name);

		if (host != NULL && json_is_true(json_object_get(chain, "own")))
			(void)json_object_set_new(host, "said", json_string("this one"));
	}
}

static void hosts_put(const struct serve_snapshot *snapshot, FILE *out)
{
	json_t *hosts = json_object();
	const char *name;
	size_t i;
	json_t *object;

	hosts_add(hosts, snapshot->hosts);
	health_each(snapshot->health, host_said, hosts);
	json_array_foreach(snapshot->locks, i, object) {
		host_count(hosts, object, "locks");
	}
	json_array_foreach(snapshot->waiters, i, object) {
		host_count(hosts, object, "waiters");
	}
	if (json_object_size(hosts) > 0) {
		fputs("<h2>Hosts</h2>\n<div class=\"wide\" role=\"region\" aria-label=\"Hosts\" tabindex=\"0\"><table><thead><tr>"
		      "<th scope=\"col\">Host</th><th scope=\"col\" class=\"number\">Locks</th>"
		      "<th scope=\"col\" class=\"number\">Waiters</th><th scope=\"col\">State</th></tr></thead><tbody>\n",
		      out);
		json_object_foreach(hosts, name, object) {
			host_put(out, name, object);
		}
		fputs("</tbody></table></div>\n", out);
	}
	json_decref(hosts);
}

/* --- Health --- */

static void pair_put(void *arg, const char *key, const char *value)
{
	FILE *out = arg;

	if (host_of(key) != NULL)
		return;
	fputs("<tr><th scope=\"row\">", out);
	markup_text(out, key);
	fputs("</th><td>", out);
	markup_text(out, value);
	fputs("</td></tr>\n", out);
}

static void state_put(const struct serve_request *request, FILE *out)
{
	const char *health = request->snapshot->health;
	char state[512];

	(void)snprintf(state, sizeof(state), "%.*s", (int)strcspn(health, "\n"), health);
	fputs("<p>Mounted at <code>", out);
	markup_text(out, request->serve->setup.mount);
	fprintf(out, "</code>. State: <strong class=\"%s\">", strcmp(state, "ok") == 0 ? "good" : "bad");
	markup_text(out, state[0] == '\0' ? "unknown" : state);
	fputs("</strong></p>\n", out);
}

void serve_page_status(struct serve_request *request, struct serve_reply *reply)
{
	FILE *out = reply->out;

	serve_page_begin(request, reply, "Health");
	state_put(request, out);
	hosts_put(request->snapshot, out);
	fputs("<h2>Checks and figures</h2>\n<table class=\"pairs\"><tbody>\n", out);
	health_each(request->snapshot->health, pair_put, out);
	fputs("</tbody></table>\n", out);
	serve_page_end(request, reply);
}
