/* atlock status: where the file system is mounted and what it says about itself, for people, as lines or as JSON. */
#include <bsd/string.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choice.h"
#include "look_commands.h"
#include "moment.h"
#include "mount.h"
#include "term.h"

/* --- What health says --- */

struct status {
	struct tool *tool;
	struct mount mount;
	bool json;
	char word[256];  /* its first line: "ok", or "degraded room: ..." */
	json_t *members; /* the others: numbers, or texts */
};

static json_t *value_of(const char *text)
{
	char *end;
	long long number = strtoll(text, &end, 10);

	return end != text && *end == '\0' ? json_integer(number) : json_string(term_text(text));
}

static int line_take(void *arg, char *line, size_t len)
{
	struct status *status = arg;
	char *value = strchr(line, '=');

	(void)len;
	line[strcspn(line, "\n")] = '\0';
	if (status->word[0] == '\0') {
		(void)strlcpy(status->word, line, sizeof(status->word));
	} else if (value != NULL) {
		*value++ = '\0';
		(void)json_object_set_new(status->members, line, value_of(value));
	}
	return 0;
}

/* --- The three ways to say it --- */

static void print_json(const struct status *status)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "mount", json_string(status->mount.path));
	(void)json_object_set_new(object, "health", json_string(term_text(status->word)));
	(void)json_object_update(object, status->members);
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

static void print_lines(const struct status *status)
{
	const char *key;
	json_t *value;

	printf("mount=%s\n%s\n", term_text(status->mount.path), term_text(status->word));
	json_object_foreach(status->members, key, value) {
		if (json_is_integer(value))
			printf("%s=%" JSON_INTEGER_FORMAT "\n", key, json_integer_value(value));
		else
			printf("%s=%s\n", key, json_string_value(value));
	}
}

static long long number_of(const struct status *status, const char *key)
{
	return json_integer_value(json_object_get(status->members, key));
}

/* "12 KiB", "77.2 GiB". */
static void size_print(long long bytes, char *out, size_t len)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double size = (double)bytes;
	size_t unit = 0;

	while (size >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		size /= 1024;
		unit++;
	}
	(void)snprintf(out, len, unit == 0 || size >= 10 ? "%.0f %s" : "%.1f %s", size, units[unit]);
}

/* What is not as it should be, a line each, after the word that sums it up. */
static void print_troubles(const struct status *status)
{
	const char *key;
	json_t *value;

	json_object_foreach(status->members, key, value) {
		const char *text = json_string_value(value);

		if (text != NULL && (strncmp(text, "degraded", 8) == 0 || strncmp(text, "failing", 7) == 0))
			printf("  %s is %s\n", key, text);
	}
}

static void print_people(const struct status *status, bool well)
{
	const char *uptime = json_string_value(json_object_get(status->members, "uptime"));
	long long held = number_of(status, "held");
	char store[PATH_MAX];
	char used[32];
	char room[32];
	char age[MOMENT_AGE_MAX];

	printf("%s is %s%s%s\n", term_text(status->mount.path), term_color(stdout, well ? TERM_GREEN : TERM_RED),
	       well ? "well" : term_text(status->word), term_color(stdout, TERM_PLAIN));
	if (!well)
		print_troubles(status);
	printf("  %lld lock%s held, %lld waiting\n", held, TOOL_S(held), number_of(status, "waiting"));
	(void)mount_line(&status->mount, "config/store", store, sizeof(store));
	size_print(number_of(status, "store_used"), used, sizeof(used));
	size_print(number_of(status, "store_free"), room, sizeof(room));
	printf("  store %s: %s used, room for %s\n", term_text(store), used, room);
	moment_age((uptime == NULL ? 0 : strtoll(uptime, NULL, 10)) * ATLOCK_SECOND, age);
	printf("  up for %s, %lld events logged\n", age, number_of(status, "events"));
}

/* --- The command --- */

static int option_take(void *arg, int letter)
{
	struct status *status = arg;

	if (letter != 'j')
		return CHOICE_UNKNOWN;
	status->json = true;
	return -1;
}

static int status_run(struct status *status)
{
	bool well;

	if (mount_lines(&status->mount, "health", line_take, status) < 0)
		return tool_fail(status->tool, EXIT_UNAVAILABLE, "%s/health cannot be read", status->mount.path);
	well = strcmp(status->word, "ok") == 0;
	if (status->json)
		print_json(status);
	else if (isatty(STDOUT_FILENO))
		print_people(status, well);
	else
		print_lines(status);
	return well ? EXIT_DONE : EXIT_REFUSED;
}

int cmd_status(struct tool *tool, int argc, char **argv)
{
	struct status status = { .tool = tool };
	int code = choice_words(tool, argc, argv, (struct choice_count){ .most = 0 }, option_take, &status);

	if (code >= 0)
		return code;
	code = mount_open(tool, &status.mount);
	if (code != EXIT_DONE)
		return code;
	status.members = json_object();
	code = status.members == NULL ? tool_no_memory(tool) : status_run(&status);
	json_decref(status.members);
	mount_close(&status.mount);
	return code;
}
