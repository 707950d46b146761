/* atlock audit verify: whether the event log is unchanged, and if not, which event is the first that differs. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <atlock.h>
#include <atlock/check.h>

#include "audit.h"
#include "choice.h"
#include "events.h"
#include "source.h"

void audit_file(void *arg, const char *name)
{
	atlock_audit_file(arg, name);
}

int audit_line(void *arg, char *text, size_t len, bool whole)
{
	return atlock_audit_line(arg, text, len, whole) < 0 ? EXIT_SYSTEM : EXIT_DONE;
}

/* What the mount says of where its log begins; "" if it begins with the first event, or the mount does not know. */
static void mount_begin(const struct mount *mount, struct atlock_audit *audit, char *out, size_t len)
{
	char anchor[128];
	struct atlock_why why;
	char *end;

	mount_line(mount, "events/anchor", out, len);
	(void)snprintf(anchor, sizeof(anchor), "%s", out);
	end = strchr(anchor, ' ');
	if (end != NULL)
		*end = '\0';
	if (out[0] != '\0' && atlock_audit_begin(audit, anchor, &why) < 0)
		out[0] = '\0';
}

static void print_archives(const struct atlock_audit *audit)
{
	struct atlock_audit_archive archive;

	for (size_t i = 0; atlock_audit_archive(audit, i, &archive); i++)
		printf("%s is an archive, as it was made: events %" PRIu64 " to %" PRIu64 "; %s\n", archive.file,
		       archive.first, archive.last,
		       archive.joined ? "what follows joins it" : "what follows on it is not among these files");
}

/* The events that are there are unchanged; those before them are missing and cannot be checked. */
static int verify_cut(const struct tool *tool, const struct atlock_audit_result *result)
{
	printf("events %" PRIu64 " to %" PRIu64 " follow on each other; the last is\n%" PRIu64 ":%s\n", result->first,
	       result->last, result->last, result->hash);
	return tool_fail(
		tool, EXIT_DATA,
		"the log is CUT in front of event %" PRIu64 ": the %" PRIu64
		" before it are not here, and nothing shows what they were. What is left proves nothing about them, and "
		"may have been written anew: add the archive, or --anchor %" PRIu64
		":HASH if you have it from elsewhere",
		result->cut, result->cut - 1, result->cut - 1);
}

static int verify_end(const struct tool *tool, struct atlock_audit *audit, uint64_t must, const char *begin)
{
	struct atlock_audit_result result;

	if (atlock_audit_end(audit, &result) < 0)
		return tool_fail(tool, EXIT_REFUSED, "%s", result.text);
	if (result.last < must)
		return tool_fail(tool, EXIT_REFUSED, "event %" PRIu64 " is missing", result.last + 1);
	if (result.events == 0)
		return tool_fail(tool, EXIT_NO_INPUT, "there is no event");
	print_archives(audit);
	if (result.cut != 0)
		return verify_cut(tool, &result);
	if (begin[0] != '\0')
		printf("the log begins behind event %s\n", begin);
	printf("events %" PRIu64 " to %" PRIu64 " are as they were written; the last is\n%" PRIu64 ":%s\n",
	       result.first, result.last, result.last, result.hash);
	return EXIT_DONE;
}

static int verify_files(struct tool *tool, struct atlock_audit *audit, char **files, int count)
{
	struct events events = {
		.tool = tool,
		.files = files,
		.count = count,
		.file = audit_file,
		.line = audit_line,
		.arg = audit,
	};
	struct mount mount = { .fd = -1 };
	char begin[512] = "";
	uint64_t must = 0;
	int code = count == 0 ? mount_open(tool, &mount) : EXIT_DONE;

	if (code != EXIT_DONE)
		return code;
	if (count == 0) {
		/* All events that there are now must be found. */
		must = mount_events(&mount);
		mount_begin(&mount, audit, begin, sizeof(begin));
	}
	events.mount = &mount;
	code = events_each(&events);
	if (count == 0)
		mount_close(&mount);
	return code == EXIT_DONE ? verify_end(tool, audit, must, begin) : code;
}

static int verify_store(struct tool *tool, const struct source_where *where)
{
	struct atlock_anchor anchor;
	struct atlock_status status;
	struct atlock_why why;
	struct atlock *al;
	int code = source_open_store(tool, where, true, &al);
	int err;

	if (code != EXIT_DONE)
		return code;
	err = atlock_events_verify(al, NULL, &why);
	if (err != 0)
		code = tool_fail(tool, err < 0 ? EXIT_REFUSED : EXIT_DATA, "%s", why.text);
	if (err == 0 && atlock_anchor(al, &anchor) == 0)
		printf("the log begins behind event %" PRIu64 ":%s %s %s %s\n", anchor.seq, anchor.hash,
		       anchor.archived ? "archived" : "events_keep", anchor.time, anchor.by);
	if (err == 0 && atlock_status(al, &status) == 0)
		printf("the events up to %" PRIu64 " are as they were written\n", status.events);
	atlock_close(al);
	return code;
}

struct verify {
	const struct tool *tool;
	struct atlock_audit *audit;
	struct source_where where;
};

static int option_take(void *arg, int letter)
{
	struct verify *verify = arg;
	struct atlock_why why;

	switch (letter) {
	case 'A':
		return atlock_audit_anchor(verify->audit, optarg, &why) < 0 ? tool_usage(verify->tool, "%s", why.text)
									    : -1;
	default: return source_option(&verify->where, letter);
	}
}

int audit_verify(struct tool *tool, int argc, char **argv)
{
	struct verify verify = { .tool = tool, .audit = atlock_audit_new() };
	int code = EXIT_SYSTEM;

	if (verify.audit != NULL)
		code = choice_read(tool, argc, argv, CHOICE_ANYWHERE, option_take, &verify);
	if (code < 0 && verify.where.store != NULL && optind < argc)
		code = tool_usage(tool, "a store or files, not both");
	if (code < 0)
		code = verify.where.store != NULL ? verify_store(tool, &verify.where)
						  : verify_files(tool, verify.audit, argv + optind, argc - optind);
	atlock_audit_free(verify.audit);
	return code;
}
