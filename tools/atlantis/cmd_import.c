/*
 * atlock import: takes over what Atlantis, or another tree, holds. Each lock is one write and so one transaction: it is there
 * with all it has, or not at all, and running again goes on where the last run ended. What the tree holds already wins.
 */
#include <atlock/import.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atlantis_commands.h"
#include "choice.h"
#include "lockpath.h"
#include "snapshot.h"
#include "term.h"

#define FOR_OTHERS "only administrators take locks for other users"

enum outcome { OUT_DONE, OUT_THERE, OUT_CONFLICT, OUT_PASSED, OUTCOMES };

struct import {
	struct tool *tool;
	struct mount mount;
	struct snapshot tree;
	struct progress progress;
	unsigned int flags; /* of atlock_foreign_open() */
	bool dry;
	bool admin;
	bool refused; /* a dry run found what the caller may not do */
	uint64_t done[ATLOCK_FOREIGN_KINDS];
	uint64_t outcomes[OUTCOMES];
	uint64_t shortened;
};

/* A line about one record, under the progress line. */
static void say(struct import *import, enum term_color color, const char *word, const char *path, const char *text)
{
	progress_clear(&import->progress);
	printf("%s%s%s %s%s%s\n", term_color(stdout, color), word, term_color(stdout, TERM_PLAIN), term_text(path),
	       text[0] == '\0' ? "" : ": ", term_text(text));
}

/* One write of a whole text: 0 or an errno. */
static int write_whole(const struct mount *mount, const char *path, int flags, const char *text)
{
	int fd = openat(mount->fd, path, O_WRONLY | O_CLOEXEC | flags);
	size_t len = strlen(text);
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return errno;
	n = write(fd, text, len);
	if (n < 0)
		err = errno;
	else if ((size_t)n != len)
		err = EIO;
	if (close(fd) != 0 && err == 0)
		err = errno;
	return err;
}

/* One write to wait/<lock>@<who> takes a lock with all its fields; O_NONBLOCK: it does not wait. */
static int lock_import(const struct import *import, const struct atlock_foreign_record *record)
{
	char path[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 16];
	char *text;
	int err;

	snprintf(path, sizeof(path), "wait/%s@%s", record->path, record->who);
	if (asprintf(&text, "%s%s%s%s", record->owner[0] == '\0' ? "" : "owner=", record->owner,
		     record->owner[0] == '\0' ? "" : "\n", record->text) < 0)
		return ENOMEM;
	err = write_whole(&import->mount, path, O_NONBLOCK, text);
	free(text);
	return err;
}

/* The statuses last: a pull request without them is one that was not finished. */
static int pull_import(const struct import *import, const struct atlock_foreign_record *record)
{
	char path[ATLOCK_PATH_MAX + 16];
	int err;

	snprintf(path, sizeof(path), "%s/meta", record->path);
	err = write_whole(&import->mount, path, 0, record->meta);
	if (err != 0 || record->text[0] == '\0')
		return err;
	snprintf(path, sizeof(path), "%s/projects.tsv", record->path);
	return write_whole(&import->mount, path, 0, record->text);
}

/* A pull request of which an import that was cut off has written the first part. */
static bool is_unfinished(const struct atlock_foreign_record *there, const struct atlock_foreign_record *record)
{
	const char *newline = there->text == NULL ? NULL : strchr(there->text, '\n');

	return there->kind == ATLOCK_FOREIGN_PULL && there->meta != NULL && strcmp(there->meta, record->meta) == 0 &&
	       (newline == NULL || (strncmp(there->text, "head=", 5) == 0 && newline[1] == '\0'));
}

static enum outcome record_judge(struct import *import, const struct atlock_foreign_record *there,
				 const struct atlock_foreign_record *record)
{
	char text[800];
	char difference[400];

	if (strcmp(there->who, record->who) != 0 ||
	    (record->owner[0] != '\0' && strcmp(there->owner, record->owner) != 0)) {
		snprintf(text, sizeof(text), "is held by %s@%s, and would be %s@%s's", there->owner, there->who,
			 record->owner[0] == '\0' ? "you" : record->owner, record->who);
	} else if (record->value == NULL || there->value == NULL ||
		   atlock_foreign_compare(there->value, record->value, difference, sizeof(difference)) == 0) {
		return OUT_THERE;
	} else if (is_unfinished(there, record)) {
		return OUT_DONE;
	} else {
		snprintf(text, sizeof(text), "is there and differs: %s", difference);
	}
	say(import, TERM_RED, "conflict", record->path, text);
	return OUT_CONFLICT;
}

/* What became of a write: an exit code that ends the import, or -1. */
static int written(struct import *import, const struct atlock_foreign_record *record, int err, enum outcome *outcome)
{
	char why[512];

	if (err == 0)
		return -1;
	lockpath_why(&import->mount, "", why, sizeof(why));
	if (err == EAGAIN || err == EBUSY || err == EACCES) {
		say(import, TERM_RED, "conflict", record->path, why);
		*outcome = OUT_CONFLICT;
		return -1;
	}
	if (err == EPERM || mount_advises(&import->mount, ATLOCK_ADVICE_ADMIN)) {
		progress_clear(&import->progress);
		return tool_fail(import->tool, EXIT_PERMISSION, FOR_OTHERS);
	}
	if (err == EINVAL || err == ENAMETOOLONG || err == ENOENT) {
		say(import, TERM_YELLOW, "passed over", record->path, why);
		*outcome = OUT_PASSED;
		return -1;
	}
	progress_clear(&import->progress);
	return tool_fail(import->tool, err == EDQUOT ? EXIT_TRY_AGAIN : tool_exit_code(err), "%s: %s%s%s", record->path,
			 strerror(err), err == EDQUOT ? ": " : "", err == EDQUOT ? why : "");
}

static void would(struct import *import, const struct atlock_foreign_record *record)
{
	say(import, TERM_GREEN, "would import", record->path, record->who);
	if (record->owner[0] != '\0' && !import->admin)
		import->refused = true;
}

/* One record. -1 to go on, or the exit code that ends it all. */
static int import_one(struct import *import, const struct atlock_foreign_record *record)
{
	const struct snapshot_entry *there = snapshot_find(&import->tree, record->path);
	enum outcome outcome = there == NULL ? OUT_DONE : record_judge(import, &there->record, record);
	int code = -1;

	if (record->elsewhere)
		say(import, TERM_YELLOW, "note", record->path, "was kept under a key of something else");
	if (outcome == OUT_DONE && import->dry)
		would(import, record);
	else if (outcome == OUT_DONE)
		code = written(import, record,
			       record->kind == ATLOCK_FOREIGN_PULL ? pull_import(import, record)
								   : lock_import(import, record),
			       &outcome);
	if (code >= 0)
		return code;
	import->outcomes[outcome]++;
	if (outcome == OUT_DONE)
		import->done[record->kind]++;
	import->shortened += outcome == OUT_DONE && record->shortened;
	return -1;
}

static int import_all(struct import *import, struct atlock_foreign *from)
{
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;
	int code = -1;
	int rc = 0;

	progress_begin(&import->progress, import->dry ? "comparing" : "importing", atlock_foreign_total(from));
	while (code < 0 && (rc = atlock_foreign_next(from, &record, &why)) != 1 && rc >= 0) {
		if (rc == 2) {
			say(import, TERM_YELLOW, "passed over", why.text, "");
			import->outcomes[OUT_PASSED]++;
		} else {
			code = import_one(import, &record);
		}
		progress_step(&import->progress);
	}
	progress_clear(&import->progress);
	atlock_foreign_clear(&record);
	if (code < 0 && rc < 0)
		code = tool_fail(import->tool, tool_exit_code(-rc), "%s", why.text);
	return code;
}

static int summary(const struct import *import, int code)
{
	uint64_t locks = import->done[ATLOCK_FOREIGN_LOCK];
	uint64_t pulls = import->done[ATLOCK_FOREIGN_PULL];
	uint64_t globals = import->done[ATLOCK_FOREIGN_GLOBAL];
	uint64_t there = import->outcomes[OUT_THERE];
	uint64_t conflicts = import->outcomes[OUT_CONFLICT];

	printf("%s %" PRIu64 " lock%s, %" PRIu64 " pull request%s, %" PRIu64 " global lock%s; ",
	       import->dry ? "would import" : "imported", locks, TOOL_S(locks), pulls, TOOL_S(pulls), globals,
	       TOOL_S(globals));
	printf("%" PRIu64 " %s there already, %" PRIu64 " conflict%s, %" PRIu64 " passed over", there,
	       there == 1 ? "was" : "were", conflicts, TOOL_S(conflicts), import->outcomes[OUT_PASSED]);
	if (import->shortened > 0)
		printf(", %" PRIu64 " without a long description", import->shortened);
	puts(code < 0 ? "" : "; stopped");
	if (code >= 0)
		return code;
	if (import->refused)
		return tool_fail(import->tool, EXIT_PERMISSION, FOR_OTHERS ": the import would be refused");
	return import->outcomes[OUT_CONFLICT] + import->outcomes[OUT_PASSED] > 0 ? EXIT_REFUSED : EXIT_DONE;
}

static int import_from(struct import *import, const char *uri)
{
	struct atlock_foreign *from;
	struct atlock_why why = { .text = "" };
	int code;
	int err = atlock_foreign_open(&from, uri, import->flags, &why);

	if (err < 0)
		return tool_fail(import->tool, tool_exit_code(-err), "%s", why.text);
	code = mount_open(import->tool, &import->mount);
	if (code == EXIT_DONE) {
		import->admin = mount_admin(&import->mount);
		code = snapshot_read(import->tool, &import->mount, &import->tree);
		if (code == EXIT_DONE)
			code = summary(import, import_all(import, from));
		snapshot_free(&import->tree);
		mount_close(&import->mount);
	}
	atlock_foreign_close(from);
	return code;
}

static int option_take(void *arg, int letter)
{
	struct import *import = arg;

	switch (letter) {
	case 'n': import->dry = true; return -1;
	case 'O': import->flags |= ATLOCK_FOREIGN_OLDER; return -1;
	case 'S': import->flags |= ATLOCK_FOREIGN_BEFORE_0_25; return -1;
	default: return CHOICE_UNKNOWN;
	}
}

int cmd_import(struct tool *tool, int argc, char **argv)
{
	struct import import = { .tool = tool };
	int code;

	code = choice_read(tool, argc, argv, CHOICE_FIRST, option_take, &import);
	if (code >= 0)
		return code;
	if (argc - optind != 1)
		return tool_usage(tool, "name one file, one redis://host:port/db, or -");
	return import_from(&import, argv[optind]);
}
