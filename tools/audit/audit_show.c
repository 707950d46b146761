/* atlock audit show: events that are about a lock, a user, a time, a type. */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include <atlock.h>

#include "audit.h"
#include "choice.h"
#include "events.h"
#include "source.h"
#include "term.h"

struct show {
	const struct tool *tool;
	const char *lock; /* what is wanted; NULL: any */
	const char *user;
	const char *type;
	char since[AUDIT_TIME]; /* the first part of a time, or all of it; "": any */
	char until[AUDIT_TIME];
	bool json;
	const char *file;
};

/* --- What is wanted --- */

static bool type_exists(const char *name)
{
	for (int i = 0; i < ATLOCK_EVENTS; i++)
		if (strcmp(atlock_event_name((enum atlock_event_type)i), name) == 0)
			return true;
	return false;
}

int audit_time_read(const struct tool *tool, const char *text, char out[AUDIT_TIME])
{
	static const char like[] = "0000-00-00T00:00:00.000Z";
	size_t len = strlen(text);
	int64_t ago;
	time_t at;
	struct tm tm;

	if (atlock_duration_parse(text, false, &ago) == 0) {
		at = time(NULL) - (time_t)(ago / ATLOCK_SECOND);
		return gmtime_r(&at, &tm) != NULL && strftime(out, AUDIT_TIME, "%Y-%m-%dT%H:%M:%S", &tm) > 0
			       ? -1
			       : EXIT_SYSTEM;
	}
	if (len == strlen("0000-00-00T00:00:00Z") && text[len - 1] == 'Z')
		len--;
	for (size_t i = 0; i < len; i++)
		if (len >= sizeof(like) || (like[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != like[i]))
			return tool_usage(
				tool,
				"\"%s\" is no time: write 2026-11-16T05:11:02Z or 2026-11-16, or 2h for two hours ago",
				text);
	if (len < strlen("0000"))
		return tool_usage(tool, "\"%s\" is no time: write at least the year", text);
	memcpy(out, text, len);
	out[len] = '\0';
	return -1;
}

/* The first part of a time, such as a day, matches all times that begin with it. */
static bool time_wanted(const struct show *show, const char *text, size_t len)
{
	size_t since = strlen(show->since);
	size_t until = strlen(show->until);

	return strncmp(text, show->since, since < len ? since : len) >= 0 &&
	       strncmp(text, show->until, until < len ? until : len) <= 0;
}

static bool day_wanted(void *arg, const char *day)
{
	return time_wanted(arg, day, strlen("2026-11-16"));
}

/* What it is about: a lock, or something else. */
static const char *subject_of(const json_t *event)
{
	const char *lock = source_text(event, "lock");

	return lock[0] != '\0' ? lock : source_text(event, "subject");
}

static bool lock_wanted(const struct show *show, const json_t *event)
{
	size_t len = show->lock == NULL ? 0 : strlen(show->lock);

	if (len == 0)
		return true;
	if (show->lock[len - 1] == '/')
		return strncmp(subject_of(event), show->lock, len) == 0;
	return strcmp(subject_of(event), show->lock) == 0;
}

static bool event_wanted(const struct show *show, const json_t *event)
{
	const char *when = source_text(event, "time");

	/* A hidden event is in a directory that this user may not search: only its number is known. */
	if (show->type == NULL && strcmp(source_text(event, "type"), "hidden") == 0)
		return false;
	return lock_wanted(show, event) && time_wanted(show, when, strlen(when)) &&
	       (show->type == NULL || strcmp(source_text(event, "type"), show->type) == 0) &&
	       (show->user == NULL || strcmp(source_text(event, "owner"), show->user) == 0 ||
		strcmp(source_text(event, "actor"), show->user) == 0);
}

/* --- Showing it --- */

static void print_text(const json_t *event)
{
	const char *code = source_text(event, "code");
	const char *who = source_text(event, "who");

	printf("%s\t%s%s%s\t", term_text(source_text(event, "time")), term_text(source_text(event, "type")),
	       code[0] != '\0' ? " " : "", term_text(code));
	printf("%s\t%s%s%s\t", term_text(subject_of(event)), term_text(source_text(event, "owner")),
	       who[0] != '\0' ? "@" : "", term_text(who));
	printf("%s\t%s", term_text(source_text(event, "actor")), term_text(source_text(event, "comm")));
	if (json_is_integer(json_object_get(event, "pid")))
		printf("[%" JSON_INTEGER_FORMAT "]", json_integer_value(json_object_get(event, "pid")));
	putchar('\n');
}

static void file_begin(void *arg, const char *name)
{
	struct show *show = arg;

	show->file = name;
}

static int event_show(void *arg, char *text, size_t len, bool whole)
{
	const struct show *show = arg;
	json_t *event;

	(void)whole;
	/* The last line of an archive is no event, nor is a line that stands for dropped events. */
	if (strspn(text, " ") == len || strncmp(text, "{\"archived\":", 12) == 0 || strncmp(text, "{\"gone\":", 8) == 0)
		return EXIT_DONE;
	event = json_loadb(text, len, 0, NULL);
	if (!json_is_object(event)) {
		json_decref(event);
		return tool_fail(show->tool, EXIT_DATA, "%s: this line is no event: %.60s", show->file, text);
	}
	if (event_wanted(show, event)) {
		if (show->json)
			puts(text);
		else
			print_text(event);
	}
	json_decref(event);
	return ferror(stdout) != 0 ? EXIT_OUTPUT : EXIT_DONE;
}

static int option_take(void *arg, int letter)
{
	struct show *show = arg;

	switch (letter) {
	case 'l': show->lock = optarg; return -1;
	case 'u': show->user = optarg; return -1;
	case 'I': return audit_time_read(show->tool, optarg, show->since);
	case 'U': return audit_time_read(show->tool, optarg, show->until);
	case 'j': show->json = true; return -1;
	case 'T':
		show->type = optarg;
		return type_exists(optarg) ? -1 : tool_usage(show->tool, "there are no events of type \"%s\"", optarg);
	default: return CHOICE_UNKNOWN;
	}
}

int audit_show(struct tool *tool, int argc, char **argv)
{
	struct show show = { .tool = tool };
	struct events events = {
		.tool = tool, .wants = day_wanted, .file = file_begin, .line = event_show, .arg = &show
	};
	struct mount mount = { .fd = -1 };
	int code;

	code = choice_read(tool, argc, argv, CHOICE_ANYWHERE, option_take, &show);
	if (code >= 0)
		return code;
	events.files = argv + optind;
	events.count = argc - optind;
	code = events.count == 0 ? mount_open(tool, &mount) : EXIT_DONE;
	events.mount = &mount;
	if (code == EXIT_DONE)
		code = events_each(&events);
	if (mount.fd >= 0)
		mount_close(&mount);
	return code;
}
