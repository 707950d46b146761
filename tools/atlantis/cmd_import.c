/*
 * atlock import: takes over what Atlantis, or another tree, holds. Each lock is one write and so one transaction: it is imported
 * with all its fields or not at all, and a second run continues where the first one ended. A lock that is held here already stays.
 */
#include <atlock/import.h>
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "atlantis_commands.h"
#include "choice.h"
#include "lockpath.h"
#include "snapshot.h"
#include "take_over.h"
#include "term.h"

#define FOR_OTHERS "only administrators take locks for other users"

enum outcome { OUT_DONE, OUT_THERE, OUT_CONFLICT, OUT_PASSED, OUTCOMES };

#define MAPS_MAX 256

struct import {
	struct sides sides;
	const char *owner;          /* --owner: holds all locks of users that no --map names; or NULL */
	const char *maps[MAPS_MAX]; /* --map: "alice=bob" */
	size_t map_count;
	char self[ATLOCK_OWNER_MAX + 1];
	struct progress progress;
	bool dry;
	bool admin;
	bool refused; /* a dry run found what the caller may not do */
	uint64_t done[ATLOCK_FOREIGN_ALL];
	uint64_t outcomes[OUTCOMES];
	uint64_t shortened;
};

/* Prints a line about one record in place of the progress line. */
static void say(struct import *import, enum term_color color, const char *word, const char *path, const char *text)
{
	progress_clear(&import->progress);
	term_item(color, word, path, text);
}

static int lock_import(const struct import *import, const struct atlock_foreign_record *record)
{
	return take_over(&import->sides.mount, record, import->self);
}

/* Makes the directories of custom/ above a lock; those that are there stay as they are. */
static int dirs_make(const struct mount *mount, const char *path)
{
	char part[ATLOCK_PATH_MAX];

	for (const char *end = strchr(path + strlen("custom/"), '/'); end != NULL; end = strchr(end + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (mkdirat(mount->fd, part, 0777) != 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* A shared resource and the app that stops it must be there first; no other app is known to use it. */
static int stop_import(const struct mount *mount, const struct atlock_foreign_record *record)
{
	char resource[ATLOCK_PATH_MAX];
	char path[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 16];
	int err;

	(void)snprintf(resource, sizeof(resource), "%.*s", (int)(strrchr(record->path, '/') - record->path),
		       record->path);
	if (mkdirat(mount->fd, resource, 0777) != 0 && errno != EEXIST)
		return -errno;
	(void)snprintf(path, sizeof(path), "%s/apps/%s", resource, record->who);
	err = mount_try(mount, path, O_CREAT);
	(void)snprintf(path, sizeof(path), "%s@%s", record->path, record->who);
	if (err == 0)
		err = mount_try(mount, path, O_CREAT | O_EXCL);
	return err < 0 ? err : mount_write(mount, path, O_APPEND, record->text);
}

/* A lock with a lease, of another system than Atlantis. */
static int lease_import(const struct import *import, const struct atlock_foreign_record *record)
{
	const struct mount *mount = &import->sides.mount;
	int err = 0;

	if (strncmp(record->path, "shared/", strlen("shared/")) == 0)
		return stop_import(mount, record);
	if (strncmp(record->path, "custom/", strlen("custom/")) == 0)
		err = dirs_make(mount, record->path);
	return err < 0 ? err : lock_import(import, record);
}

/* Waiters come in the order of their queue, after its lock. */
static int waiter_import(const struct import *import, const struct atlock_foreign_record *record)
{
	char path[ATLOCK_PATH_MAX + ATLOCK_WHO_MAX + 32];

	(void)snprintf(path, sizeof(path), "queue/%s/%s@%s", record->path, record->text, record->who);
	return mount_try(&import->sides.mount, path, O_CREAT);
}

/* Writes the statuses last: a pull request without them is unfinished. */
static int pull_import(const struct import *import, const struct atlock_foreign_record *record)
{
	char path[ATLOCK_PATH_MAX + 16];
	int err;

	snprintf(path, sizeof(path), "%s/meta", record->path);
	err = mount_write(&import->sides.mount, path, 0, record->meta);
	if (err != 0 || record->text[0] == '\0')
		return err;
	snprintf(path, sizeof(path), "%s/projects.tsv", record->path);
	return mount_write(&import->sides.mount, path, 0, record->text);
}

/* Whether an interrupted import wrote only the first part of this pull request. */
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

/* Reports a write that was refused. -1: go on; else the exit code that ends the import. */
static int written(struct import *import, const struct atlock_foreign_record *record, int err, enum outcome *outcome)
{
	char why[512];

	if (err == 0)
		return -1;
	err = -err;
	lockpath_why(&import->sides.mount, "", why, sizeof(why));
	if (err == EAGAIN || err == EBUSY || err == EACCES) {
		say(import, TERM_RED, "conflict", record->path, why);
		*outcome = OUT_CONFLICT;
		return -1;
	}
	if (err == EPERM || mount_advises(&import->sides.mount, ATLOCK_ADVICE_ADMIN)) {
		progress_clear(&import->progress);
		return tool_fail(import->sides.tool, EXIT_PERMISSION, FOR_OTHERS);
	}
	if (err == EINVAL || err == ENAMETOOLONG || err == ENOENT) {
		say(import, TERM_YELLOW, "passed over", record->path, why);
		*outcome = OUT_PASSED;
		return -1;
	}
	progress_clear(&import->progress);
	return tool_fail(import->sides.tool, err == EDQUOT ? EXIT_TRY_AGAIN : tool_exit_code(err), "%s: %s%s%s",
			 record->path, strerror(err), err == EDQUOT ? ": " : "", err == EDQUOT ? why : "");
}

static void would(struct import *import, const struct atlock_foreign_record *record)
{
	say(import, TERM_GREEN, "would import", record->path, record->who);
	if (take_over_given(record, import->self) && !import->admin)
		import->refused = true;
}

/* Whom the lock of this user shall belong to here; NULL: to the user of the same name. */
static const char *owner_here(const struct import *import, const char *owner)
{
	size_t len = strlen(owner);

	for (size_t i = 0; i < import->map_count; i++)
		if (strncmp(import->maps[i], owner, len) == 0 && import->maps[i][len] == '=')
			return import->maps[i] + len + 1;
	return import->owner;
}

/*
 * Gives the lock to the user whom --map or --owner names. The line tells an export that Atlantis has another name for him. No
 * administrator is needed for a lock that the caller takes himself.
 */
static int record_map(const struct import *import, struct atlock_foreign_record *record)
{
	const char *to = record->kind == ATLOCK_FOREIGN_LOCK && record->owner[0] != '\0'
				 ? owner_here(import, record->owner)
				 : NULL;
	char *text;

	if (to != NULL && strcmp(to, record->owner) != 0) {
		if (asprintf(&text, "%s" ATLOCK_FOREIGN_MAPPED "=%s\n", record->text, to) < 0)
			return -ENOMEM;
		free(record->text);
		record->text = text;
		strlcpy(record->owner, to, sizeof(record->owner));
	}
	return 0;
}

/* Whether this run has imported the lock already: Atlantis can have it under its old key and its new one. */
static bool is_taken(const struct import *import, const struct atlock_foreign_record *record)
{
	char who[ATLOCK_WHO_MAX + 1];

	return record->kind == ATLOCK_FOREIGN_LOCK &&
	       mount_field(&import->sides.mount, record->path, "who", who, sizeof(who)) &&
	       strcmp(who, record->who) == 0;
}

/* Imports one record. -1: go on; else the exit code that ends the import. */
static int import_one(struct import *import, const struct atlock_foreign_record *record)
{
	static int (*const imports[ATLOCK_FOREIGN_ALL])(const struct import *, const struct atlock_foreign_record *) = {
		[ATLOCK_FOREIGN_LOCK] = lock_import,     [ATLOCK_FOREIGN_PULL] = pull_import,
		[ATLOCK_FOREIGN_GLOBAL] = lock_import,   [ATLOCK_FOREIGN_LEASE] = lease_import,
		[ATLOCK_FOREIGN_WAITER] = waiter_import,
	};
	const struct snapshot_entry *there = record->kind == ATLOCK_FOREIGN_WAITER
						     ? NULL
						     : snapshot_find(&import->sides.tree, record->path);
	enum outcome outcome = there != NULL              ? record_judge(import, &there->record, record)
			       : is_taken(import, record) ? OUT_THERE
							  : OUT_DONE;
	int code = -1;

	if (record->elsewhere)
		say(import, TERM_YELLOW, "note", record->path, "was kept under a key of something else");
	if (outcome == OUT_DONE && import->dry)
		would(import, record);
	else if (outcome == OUT_DONE)
		code = written(import, record, imports[record->kind](import, record), &outcome);
	if (code >= 0)
		return code;
	import->outcomes[outcome]++;
	if (outcome == OUT_DONE)
		import->done[record->kind]++;
	import->shortened += outcome == OUT_DONE && record->shortened;
	return -1;
}

static int import_all(struct import *import)
{
	struct atlock_foreign *from = import->sides.theirs;
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
			code = record_map(import, &record) < 0 ? tool_no_memory(import->sides.tool)
							       : import_one(import, &record);
		}
		progress_step(&import->progress);
	}
	progress_clear(&import->progress);
	atlock_foreign_clear(&record);
	if (code < 0 && rc < 0)
		code = tool_fail_why(import->sides.tool, rc, &why);
	return code;
}

static int summary(const struct import *import, int code)
{
	uint64_t locks = import->done[ATLOCK_FOREIGN_LOCK];
	uint64_t pulls = import->done[ATLOCK_FOREIGN_PULL];
	uint64_t globals = import->done[ATLOCK_FOREIGN_GLOBAL];
	uint64_t there = import->outcomes[OUT_THERE];
	uint64_t conflicts = import->outcomes[OUT_CONFLICT];
	const char *names;
	uint64_t others;

	printf("%s %" PRIu64 " lock%s, %" PRIu64 " pull request%s, %" PRIu64 " global lock%s; ",
	       import->dry ? "would import" : "imported", locks, TOOL_S(locks), pulls, TOOL_S(pulls), globals,
	       TOOL_S(globals));
	printf("%" PRIu64 " %s there already, %" PRIu64 " conflict%s, %" PRIu64 " passed over", there,
	       there == 1 ? "was" : "were", conflicts, TOOL_S(conflicts), import->outcomes[OUT_PASSED]);
	if (import->shortened > 0)
		printf(", %" PRIu64 " without a long description", import->shortened);
	for (int kind = ATLOCK_FOREIGN_LEASE; kind < ATLOCK_FOREIGN_ALL; kind++)
		if (import->done[kind] > 0)
			printf(", %" PRIu64 " %s%s of another system", import->done[kind],
			       kind == ATLOCK_FOREIGN_LEASE ? "lock" : "waiter", TOOL_S(import->done[kind]));
	others = atlock_foreign_others(import->sides.theirs, &names);
	if (others > 0)
		printf(", %" PRIu64 " key%s of another program (%s%s)", others, TOOL_S(others), names,
		       strlen(names) + 64 > 200 ? ", ..." : "");
	if (atlock_foreign_nodes(import->sides.theirs) > 0)
		printf(", from %u node%s of a Redis Cluster", atlock_foreign_nodes(import->sides.theirs),
		       TOOL_S(atlock_foreign_nodes(import->sides.theirs)));
	puts(code < 0 ? "" : "; stopped");
	if (code >= 0)
		return code;
	if (import->refused)
		return tool_fail(import->sides.tool, EXIT_PERMISSION, FOR_OTHERS ": the import would be refused");
	return import->outcomes[OUT_CONFLICT] + import->outcomes[OUT_PASSED] > 0 ? EXIT_REFUSED : EXIT_DONE;
}

static int owner_refuse(const struct import *import)
{
	return tool_usage(import->sides.tool,
			  "users are given as --owner atlantis, or --map alice=bob; names have at most %d bytes",
			  ATLOCK_OWNER_MAX);
}

static int option_take(void *arg, int letter)
{
	struct import *import = arg;
	const char *at;

	switch (letter) {
	case 'D': import->dry = true; return -1;
	case 'o': import->owner = optarg; return strlen(optarg) <= ATLOCK_OWNER_MAX ? -1 : owner_refuse(import);
	case 'M':
		if (import->map_count == MAPS_MAX)
			return tool_usage(import->sides.tool, "at most %d of --map", MAPS_MAX);
		import->maps[import->map_count++] = optarg;
		at = strchr(optarg, '=');
		return at != NULL && at != optarg && at[1] != '\0' && strlen(at + 1) <= ATLOCK_OWNER_MAX
			       ? -1
			       : owner_refuse(import);
	default: return sides_option(&import->sides, letter);
	}
}

int cmd_import(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 1, 1, "name one file, one redis://host:port/db, or -" };
	struct import import = { .sides = { .tool = tool } };
	int code = choice_words(tool, argc, argv, words, option_take, &import);

	if (code >= 0)
		return code;
	take_over_self(import.self);
	code = sides_open(&import.sides, argv[optind]);
	if (code == EXIT_DONE) {
		import.admin = mount_admin(&import.sides.mount);
		code = summary(&import, import_all(&import));
	}
	sides_close(&import.sides);
	return code;
}
