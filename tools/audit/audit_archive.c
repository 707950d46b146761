/*
 * atlock audit archive: moves the oldest events of the log into a file. It writes the file, reads it again and checks it before
 * it tells the log to drop these events; the log compares the hash of the last one, so it drops no others.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atlock.h>
#include <atlock/check.h>

#include "audit.h"
#include "choice.h"
#include "events.h"
#include "source.h"

#define TIME_KEY ",\"time\":\""
#define STOP (-1) /* in place of an exit code: the archive ends before this line */

struct archive {
	struct tool *tool;
	struct source_where where;
	const char *name;
	bool until;              /* --before was given */
	char before[AUDIT_TIME]; /* "": all there is */
	FILE *file;
	struct atlock_audit *audit; /* of what was written */
	struct atlock_audit_result result;
	char anchor[96]; /* the last event, NUMBER:HASH */
};

static void now_print(char out[AUDIT_TIME])
{
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) == NULL || strftime(out, AUDIT_TIME, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		out[0] = '\0';
}

/* --- Writing --- */

static int line_archive(void *arg, const char *text, size_t len)
{
	struct archive *archive = arg;
	const char *time = strstr(text, TIME_KEY);

	if (time != NULL && archive->before[0] != '\0' &&
	    strncmp(time + strlen(TIME_KEY), archive->before, strlen(archive->before)) >= 0)
		return STOP;
	if (atlock_audit_line(archive->audit, text, len, true) < 0)
		return tool_no_memory(archive->tool);
	if (fwrite(text, 1, len, archive->file) != len || putc('\n', archive->file) == EOF)
		return tool_fail(archive->tool, EXIT_OUTPUT, "%s: %s", archive->name, strerror(errno));
	return EXIT_DONE;
}

static int write_mount(struct archive *archive, const struct mount *mount)
{
	int code = audit_days(archive->tool, mount, line_archive, archive);

	return code == STOP ? EXIT_DONE : code;
}

struct from_store {
	struct archive *archive;
	int code;
};

static int event_write(void *arg, const struct atlock_event *event)
{
	struct from_store *from = arg;

	from->code = line_archive(from->archive, event->line, event->line_len);
	return from->code;
}

static int write_store(struct archive *archive, struct atlock *al)
{
	struct from_store from = { archive, EXIT_DONE };
	int err = atlock_events(al, 0, event_write, &from);

	if (err < 0)
		return tool_fail(archive->tool, EXIT_DATA, "the events cannot be read: %s", strerror(-err));
	return from.code == STOP ? EXIT_DONE : from.code;
}

/* --- Checking --- */

static int sync_directory(const struct archive *archive)
{
	char path[PATH_MAX];
	int fd;
	int rc;

	(void)snprintf(path, sizeof(path), "%s", archive->name);
	fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = fd < 0 ? -1 : fsync(fd);
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

/* Ends the file, and waits for the disk. */
static int file_finish(struct archive *archive)
{
	char seal[512];
	char now[AUDIT_TIME];

	if (atlock_audit_end(archive->audit, &archive->result) < 0)
		return tool_fail(archive->tool, EXIT_REFUSED, "nothing is archived: %s; atlock audit verify says more",
				 archive->result.text);
	if (archive->result.events == 0)
		return tool_fail(archive->tool, EXIT_NO_INPUT, "there is no event before that");
	now_print(now);
	atlock_audit_seal(archive->audit, now, seal, sizeof(seal));
	if (fprintf(archive->file, "%s\n", seal) < 0 || fflush(archive->file) != 0 ||
	    fsync(fileno(archive->file)) != 0 || sync_directory(archive) != 0)
		return tool_fail(archive->tool, EXIT_OUTPUT, "%s: %s", archive->name, strerror(errno));
	return EXIT_DONE;
}

/* Reads the file again and compares it with what was written. */
static int archive_check(const struct archive *archive)
{
	struct atlock_audit *audit = atlock_audit_new();
	char *files[] = { (char *)(uintptr_t)archive->name };
	struct events events = {
		.tool = archive->tool,
		.files = files,
		.count = 1,
		.file = audit_file,
		.line = audit_line,
		.arg = audit,
	};
	struct atlock_audit_archive found;
	struct atlock_audit_result result;
	int code = audit == NULL ? EXIT_SYSTEM : events_each(&events);

	if (code == EXIT_DONE &&
	    (atlock_audit_end(audit, &result) < 0 || !atlock_audit_archive(audit, 0, &found) ||
	     result.events != archive->result.events || strcmp(result.hash, archive->result.hash) != 0))
		code = tool_fail(archive->tool, EXIT_OUTPUT, "%s does not read as it was written; nothing was removed",
				 archive->name);
	atlock_audit_free(audit);
	return code;
}

/* --- Dropping the events from the log --- */

static int tell_mount(const struct archive *archive, const struct mount *mount)
{
	int err = -mount_write(mount, "events/anchor", 0, archive->anchor);

	return err == 0 ? EXIT_DONE : mount_complain(archive->tool, mount, tool_exit_code(err), "events/anchor", err);
}

static int tell_store(const struct archive *archive, struct atlock *al)
{
	struct atlock_why why = { .text = "" };
	int err = atlock_archived(al, NULL, archive->anchor, &why);

	return err == 0 ? EXIT_DONE : tool_fail_why(archive->tool, err, &why);
}

static int archive_source(struct archive *archive, struct source *source)
{
	int code = source->al != NULL ? write_store(archive, source->al) : write_mount(archive, &source->mount);

	if (code == EXIT_DONE)
		code = file_finish(archive);
	if (code == EXIT_DONE)
		code = archive_check(archive);
	if (code != EXIT_DONE) {
		(void)unlink(archive->name);
		return code;
	}
	(void)snprintf(archive->anchor, sizeof(archive->anchor), "%" PRIu64 ":%s", archive->result.last,
		       archive->result.hash);
	code = source->al != NULL ? tell_store(archive, source->al) : tell_mount(archive, &source->mount);
	if (code != EXIT_DONE)
		return tool_fail(archive->tool, code, "%s is whole, but the log still has these events", archive->name);
	printf("%s: events %" PRIu64 " to %" PRIu64 "; the log begins behind\n%s\n", archive->name,
	       archive->result.first, archive->result.last, archive->anchor);
	return EXIT_DONE;
}

static int archive_run(struct archive *archive)
{
	struct source source = { .mount = { .fd = -1 } };
	int code = archive->where.store != NULL ? source_open_store(archive->tool, &archive->where, false, &source.al)
						: mount_open(archive->tool, &source.mount);
	int fd = -1;

	if (code == EXIT_DONE && source.al == NULL && !mount_admin(&source.mount))
		code = tool_fail(archive->tool, EXIT_PERMISSION, "events are archived by administrators");
	if (code == EXIT_DONE) {
		fd = open(archive->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			code = tool_fail(archive->tool, errno == EEXIST ? EXIT_REFUSED : tool_exit_code(errno),
					 "%s: %s", archive->name, strerror(errno));
	}
	archive->file = fd < 0 ? NULL : fdopen(fd, "w");
	archive->audit = atlock_audit_new();
	if (code == EXIT_DONE && (archive->file == NULL || archive->audit == NULL))
		code = tool_no_memory(archive->tool);
	if (code == EXIT_DONE)
		code = archive_source(archive, &source);
	atlock_audit_free(archive->audit);
	if (archive->file != NULL)
		(void)fclose(archive->file);
	source_close(&source);
	return code;
}

/* "now" archives all events; "today" keeps those of today. */
static int before_read(struct archive *archive, const char *text)
{
	char now[AUDIT_TIME];

	if (strcmp(text, "now") == 0)
		return -1;
	if (strcmp(text, "today") != 0)
		return audit_time_read(archive->tool, text, archive->before);
	now_print(now);
	(void)snprintf(archive->before, sizeof(archive->before), "%.10s", now);
	return -1;
}

static int option_take(void *arg, int letter)
{
	struct archive *archive = arg;

	if (letter != 'B')
		return source_option(&archive->where, letter);
	archive->until = true;
	return before_read(archive, optarg);
}

int audit_archive(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 1, 1, "where to? One new file" };
	struct archive archive = { .tool = tool };
	int code = choice_words(tool, argc, argv, words, option_take, &archive);

	if (code >= 0)
		return code;
	if (!archive.until)
		return tool_usage(tool, "up to when? --before 2026-11-16, today or now");
	archive.name = argv[optind];
	return archive_run(&archive);
}
