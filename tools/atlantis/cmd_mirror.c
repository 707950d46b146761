/*
 * atlock mirror: follows the tree and writes what changes into Atlantis' Redis, and the other way, for as long as both run side by side.
 * Of an Atlantis with a Bolt file it follows the file alone.
 *
 * Each round reads a whole snapshot and compares it with the last: nothing is missed after a failure, and a tree that cannot be
 * read changes nothing in Redis. Every write compares the old value first (see atlock/import.h), so that changes which Atlantis
 * makes meanwhile are kept: the lock of another pull request stays, and the mirror deletes only records that it knows.
 *
 * Both sides are polled. A Redis that sends keyspace notifications is read only after one, and then at once; to be safe against a lost one,
 * now and then all the same.
 */
#include <atlock/import.h>
#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "atlantis_commands.h"
#include "choice.h"
#include "mirror_back.h"
#include "moment.h"
#include "snapshot.h"
#include "take_over.h"

#define BACKOFF_FIRST ATLOCK_SECOND
#define BACKOFF_LAST (60 * ATLOCK_SECOND)
#define INTERVAL_LEAST (ATLOCK_SECOND / 100)
#define READ_ANYWAY (10 * ATLOCK_SECOND)
#define NOTE_AGAIN (60 * ATLOCK_SECOND) /* health forgets what is older than some minutes */

static volatile sig_atomic_t stopping;

struct mirror {
	struct tool *tool;
	const char *uri;
	int64_t interval;
	bool once;
	struct mount mount; /* fd -1: not open */
	struct atlock_foreign *to;
	struct snapshot last; /* as it was written */
	uint64_t events;      /* the number of the last one when the tree was read; 0: never */
	bool prune;
	int parts; /* --keys; 0: as the records there */
	bool one_way;
	bool reopened; /* the connection is new: what is missing there may have been lost with the server */
	struct mirror_back back;
	uint64_t seen;                    /* sum of what was there in the last round */
	int64_t read;                     /* when Atlantis' records were last read, by moment_steady() */
	int64_t noted;                    /* when health was last told; 0: never */
	char note[ATLOCK_PATH_MAX + 64];  /* the first conflict of this round */
	char told[ATLOCK_PATH_MAX + 128]; /* what health was told */
	uint64_t written;
	uint64_t deleted;
	uint64_t conflicts;
};

static void on_signal(int number)
{
	(void)number;
	stopping = 1;
}

/* Sleeps for so long, or until a signal, or until `fd` can be read (-1: none). */
static void rest(int64_t time, int fd)
{
	fd_set ready;

	const struct timespec ts = moment_timespec(time);
	sigset_t blocked;
	sigset_t before;

	/* Signals are blocked from the check of the flag until pselect() sleeps, so that none is missed in between. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	FD_ZERO(&ready);
	if (fd >= 0)
		FD_SET(fd, &ready);
	if (!stopping)
		pselect(fd + 1, &ready, NULL, NULL, &ts, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static int64_t pull_number(const char *value)
{
	json_t *record = json_loads(value, 0, NULL);
	int64_t number = json_integer_value(json_object_get(json_object_get(record, "Pull"), "Num"));

	json_decref(record);
	return number;
}

/* Counts a conflict, and says it once: `known`, it was there in the last round. */
static void conflict_note(struct mirror *mirror, bool known, const char *text)
{
	if (!known)
		(void)tool_fail(mirror->tool, 0, "%s", text);
	if (mirror->conflicts++ == 0)
		snprintf(mirror->note, sizeof(mirror->note), "%s", text);
}

static void conflict_held(struct mirror *mirror, const struct snapshot_entry *last, struct snapshot_entry *entry,
			  const char *difference)
{
	char text[ATLOCK_PATH_MAX + 512];

	snprintf(text, sizeof(text), "%s is another's there: %s", entry->record.path, difference);
	conflict_note(mirror, last != NULL && last->seen, text);
	entry->seen = true;
}

/* Whether Redis' value may be overwritten: the mirror wrote it, or it belongs to the same pull request. */
static bool may_replace(const struct snapshot_entry *last, const struct snapshot_entry *entry, const char *value)
{
	if (last != NULL && last->there != NULL && strcmp(last->there, value) == 0)
		return true;
	return entry->record.kind == ATLOCK_FOREIGN_PULL || pull_number(entry->record.value) == pull_number(value);
}

/*
 * What Redis had when this round began needs no write. If it was deleted since, the next round finds it missing, and releases here
 * what came from there: written now, it would come back.
 */
static bool had_at_first(const struct mirror *mirror, struct snapshot_entry *entry)
{
	const struct snapshot_entry *theirs = snapshot_find(&mirror->back.theirs, entry->record.path);
	char difference[400];

	if (theirs == NULL || theirs->record.value == NULL ||
	    atlock_foreign_compare(entry->record.value, theirs->record.value, difference, sizeof(difference)) != 0)
		return false;
	entry->there = strdup(theirs->record.value);
	return entry->there != NULL;
}

/* Writes one record to Redis. Sets `entry->there` if Redis has it afterwards. */
static int mirror_put(struct mirror *mirror, const struct snapshot_entry *last, struct snapshot_entry *entry)
{
	struct atlock_foreign_record *record = &entry->record;
	char difference[400];
	struct atlock_why why;
	char *value = NULL;
	int err = atlock_foreign_get(mirror->to, record, &value, &why);

	if (err == 0 && atlock_foreign_compare(record->value, value, difference, sizeof(difference)) == 0) {
		entry->there = value;
		return EXIT_DONE;
	}
	if (err == 0 && !may_replace(last, entry, value)) {
		conflict_held(mirror, last, entry, difference);
		free(value);
		return EXIT_DONE;
	}
	if (err >= 0)
		err = atlock_foreign_change(mirror->to, record, value, record->value, &why);
	free(value);
	if (err < 0)
		return tool_fail_why(mirror->tool, err, &why);
	/* Atlantis changed it in between: the next round tries again. */
	if (err == 1)
		return EXIT_DONE;
	entry->there = strdup(record->value);
	mirror->written++;
	return entry->there == NULL ? tool_no_memory(mirror->tool) : EXIT_DONE;
}

static bool is_unchanged(const struct snapshot_entry *last, const struct snapshot_entry *entry)
{
	return last != NULL && last->there != NULL && last->record.value != NULL &&
	       strcmp(last->record.value, entry->record.value) == 0;
}

static int key_order(const void *a, const void *b)
{
	const struct snapshot_entry *const *one = a;
	const struct snapshot_entry *const *other = b;
	int order = strcmp(atlock_foreign_key(&(*one)->record), atlock_foreign_key(&(*other)->record));

	return order != 0 ? order : strcmp((*one)->record.path, (*other)->record.path);
}

/* Keys of three parts do not tell the projects of a directory apart: Atlantis has one lock where there are two here. */
static int shared_keys(struct mirror *mirror, const struct snapshot *now)
{
	struct snapshot_entry **locks = calloc(now->count + 1, sizeof(struct snapshot_entry *));
	char text[2 * ATLOCK_PATH_MAX + 512];
	size_t n = 0;

	if (locks == NULL)
		return tool_no_memory(mirror->tool);
	for (size_t i = 0; i < now->count; i++)
		if (now->entries[i].record.key != NULL && now->entries[i].record.kind == ATLOCK_FOREIGN_LOCK)
			locks[n++] = &now->entries[i];
	qsort(locks, n, sizeof(struct snapshot_entry *), key_order);
	for (size_t i = 1; i < n; i++) {
		const char *key = atlock_foreign_key(&locks[i]->record);

		if (strcmp(atlock_foreign_key(&locks[i - 1]->record), key) != 0)
			continue;
		snprintf(text, sizeof(text), "%s and %s have one key there, %s", locks[i - 1]->record.path,
			 locks[i]->record.path, key);
		conflict_note(mirror, snapshot_find(&mirror->last, locks[i]->record.path) != NULL, text);
	}
	free(locks);
	return EXIT_DONE;
}

static int put_all(struct mirror *mirror, struct snapshot *now)
{
	int code = EXIT_DONE;

	for (size_t i = 0; code == EXIT_DONE && i < now->count; i++) {
		struct snapshot_entry *entry = &now->entries[i];
		struct snapshot_entry *last = snapshot_find(&mirror->last, entry->record.path);

		if (entry->record.key == NULL)
			continue;
		if (is_unchanged(last, entry)) {
			entry->record.form = last->record.form;
			entry->there = last->there;
			last->there = NULL;
			continue;
		}
		code = had_at_first(mirror, entry) ? EXIT_DONE : mirror_put(mirror, last, entry);
	}
	return code == EXIT_DONE ? shared_keys(mirror, now) : code;
}

/* Deletes from Redis what is gone from the tree, unless Atlantis changed it. */
static int drop_all(struct mirror *mirror, const struct snapshot *now)
{
	struct atlock_why why;

	for (size_t i = 0; i < mirror->last.count; i++) {
		struct snapshot_entry *last = &mirror->last.entries[i];
		int err;

		if (last->there == NULL || snapshot_find(now, last->record.path) != NULL)
			continue;
		err = atlock_foreign_change(mirror->to, &last->record, last->there, NULL, &why);
		if (err < 0)
			return tool_fail_why(mirror->tool, err, &why);
		mirror->deleted += err == 0;
	}
	return EXIT_DONE;
}

/* --delete: deletes what Redis had before the mirror began and the tree has not. */
static int prune(struct mirror *mirror, const struct snapshot *now)
{
	struct atlock_foreign_record record = { .key = NULL };
	struct atlock_why why;
	int rc = 0;

	while (rc >= 0 && (rc = atlock_foreign_next(mirror->to, &record, &why)) != 1) {
		char *value = NULL;

		if (rc != 0 || record.elsewhere || record.kind >= ATLOCK_FOREIGN_KINDS ||
		    snapshot_find(now, record.path) != NULL)
			continue;
		rc = atlock_foreign_get(mirror->to, &record, &value, &why);
		if (rc == 0)
			rc = atlock_foreign_change(mirror->to, &record, value, NULL, &why);
		mirror->deleted += rc == 0;
		rc = rc < 0 ? rc : 0;
		free(value);
	}
	atlock_foreign_clear(&record);
	if (rc < 0)
		return tool_fail_why(mirror->tool, rc, &why);
	mirror->prune = false;
	return EXIT_DONE;
}

/* In place of writing to a file: finds what both sides have, and what they gave to different pull requests. */
static int match_all(struct mirror *mirror, struct snapshot *now)
{
	char difference[2 * ATLOCK_WHO_MAX + 32];

	for (size_t i = 0; i < now->count; i++) {
		struct snapshot_entry *entry = &now->entries[i];
		const struct snapshot_entry *theirs = snapshot_find(&mirror->back.theirs, entry->record.path);

		if (theirs == NULL || theirs->record.value == NULL)
			continue;
		if (entry->record.value == NULL ||
		    pull_number(entry->record.value) != pull_number(theirs->record.value)) {
			snprintf(difference, sizeof(difference), "%s here, %s there", entry->record.who,
				 theirs->record.who);
			conflict_held(mirror, snapshot_find(&mirror->last, entry->record.path), entry, difference);
			continue;
		}
		entry->there = strdup(theirs->record.value);
		if (entry->there == NULL)
			return tool_no_memory(mirror->tool);
	}
	return EXIT_DONE;
}

/* Brings Atlantis' records up to date with the tree. */
static int write_all(struct mirror *mirror, struct snapshot *now)
{
	int code;

	if (mirror->back.file)
		return match_all(mirror, now);
	sides_remember(mirror->to, now, mirror->parts);
	code = drop_all(mirror, now);
	if (code == EXIT_DONE)
		code = put_all(mirror, now);
	return code == EXIT_DONE && mirror->prune ? prune(mirror, now) : code;
}

/* Tells health how many conflicts there are, when that changes and now and then. Others than administrators cannot. */
static void health_tell(struct mirror *mirror, const char *trouble)
{
	char text[sizeof(mirror->told)];
	int64_t now = moment_steady();

	snprintf(text, sizeof(text), "mirror=%" PRIu64 "%s%s", mirror->conflicts,
		 trouble[0] != '\0' || mirror->conflicts > 0 ? " " : "",
		 trouble[0] != '\0'      ? trouble
		 : mirror->conflicts > 0 ? mirror->note
					 : "");
	if (mirror->mount.fd < 0 ||
	    (mirror->noted != 0 && strcmp(text, mirror->told) == 0 && now - mirror->noted < NOTE_AGAIN))
		return;
	mirror->noted = now;
	strlcpy(mirror->told, text, sizeof(mirror->told));
	(void)mount_write(&mirror->mount, "health", 0, text);
}

/* Opens the mount and Redis, unless they are open. */
static int ends_open(struct mirror *mirror)
{
	struct atlock_why why = { .text = "" };
	int code = EXIT_DONE;
	int err;

	if (mirror->mount.fd < 0)
		code = mount_open(mirror->tool, &mirror->mount);
	if (code != EXIT_DONE || mirror->to != NULL)
		return code;
	err = atlock_foreign_open(&mirror->to, mirror->uri, ATLOCK_FOREIGN_WATCH, &why);
	mirror->reopened = !mirror->back.file;
	mirror->back.flushes = -1;
	mirror->read = 0;
	return err < 0 ? tool_fail_why(mirror->tool, err, &why) : sides_learn(mirror->tool, mirror->to, mirror->parts);
}

static void ends_close(struct mirror *mirror)
{
	mount_close(&mirror->mount);
	atlock_foreign_close(mirror->to);
	mirror->to = NULL;
	mirror->events = 0;
}

/* Reads Atlantis' records, unless it is known that they are the same. After a round that wrote, the notification may be on its way. */
static int their_side(struct mirror *mirror)
{
	int64_t now = moment_steady();
	bool changed = atlock_foreign_changed(mirror->to);

	if (mirror->one_way || (!changed && mirror->events != 0 && mirror->conflicts == 0 && mirror->read != 0 &&
				now - mirror->read < READ_ANYWAY))
		return EXIT_DONE;
	mirror->read = now;
	return mirror_back_read(&mirror->back, mirror->to);
}

/* One round. A record that could not be written has no `there` in `last`, and the next round tries again. */
static int mirror_look(struct mirror *mirror)
{
	struct snapshot now = { .count = 0 };
	uint64_t changes = mirror->written + mirror->deleted;
	uint64_t events;
	int code = ends_open(mirror);

	if (code != EXIT_DONE)
		return code;
	code = their_side(mirror);
	if (code != EXIT_DONE)
		return code;
	/* Without a new event, and with the same records there, nothing has changed. */
	events = mount_events(&mirror->mount);
	if (events != 0 && events == mirror->events && mirror->conflicts == 0 && mirror->back.sum == mirror->seen)
		return EXIT_DONE;
	mirror->conflicts = 0;
	code = snapshot_read(mirror->tool, &mirror->mount, &now);
	mirror->back.mount = &mirror->mount;
	if (code == EXIT_DONE && !mirror->one_way &&
	    mirror_back(&mirror->back, &now, &mirror->last, mirror->reopened) > 0) {
		snapshot_free(&now);
		events = mount_events(&mirror->mount);
		code = snapshot_read(mirror->tool, &mirror->mount, &now);
	}
	if (code == EXIT_DONE)
		code = write_all(mirror, &now);
	if (code != EXIT_DONE) {
		/* The round failed: what it took over from the last snapshot goes back. */
		for (size_t i = 0; i < now.count; i++) {
			struct snapshot_entry *last = snapshot_find(&mirror->last, now.entries[i].record.path);

			if (last != NULL && last->there == NULL) {
				last->there = now.entries[i].there;
				now.entries[i].there = NULL;
			}
		}
		snapshot_free(&now);
		return code;
	}
	snapshot_free(&mirror->last);
	mirror->last = now;
	/* The sum is of before this round's own changes: the next round looks at all of them. */
	mirror->events = mirror->written + mirror->deleted == changes ? events : 0;
	mirror->reopened = false;
	mirror->seen = mirror->back.sum;
	return EXIT_DONE;
}

static int mirror_run(struct mirror *mirror)
{
	struct sigaction action = { .sa_handler = on_signal };
	int64_t backoff = BACKOFF_FIRST;
	int code;

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	do {
		code = mirror_look(mirror);
		if (code == EXIT_USAGE)
			break;
		health_tell(mirror,
			    code == EXIT_DONE ? "" : "its last round failed: it does not see what Atlantis takes");
		if (code != EXIT_DONE)
			ends_close(mirror);
		if (mirror->once)
			break;
		if (code == EXIT_DONE)
			rest(mirror->interval, atlock_foreign_watch(mirror->to));
		else
			rest(backoff, -1);
		backoff = code == EXIT_DONE ? BACKOFF_FIRST : backoff * 2 < BACKOFF_LAST ? backoff * 2 : BACKOFF_LAST;
	} while (!stopping);
	if (stopping)
		code = EXIT_DONE;
	printf("wrote %" PRIu64 " record%s, deleted %" PRIu64 ", %" PRIu64 " conflict%s", mirror->written,
	       TOOL_S(mirror->written), mirror->deleted, mirror->conflicts, TOOL_S(mirror->conflicts));
	if (!mirror->one_way)
		printf(", took over %" PRIu64 " lock%s, released %" PRIu64, mirror->back.taken,
		       TOOL_S(mirror->back.taken), mirror->back.released);
	puts("");
	return code == EXIT_DONE && mirror->conflicts > 0 ? EXIT_REFUSED : code;
}

static int option_take(void *arg, int letter)
{
	struct mirror *mirror = arg;

	switch (letter) {
	case 'D':
		mirror->prune = true;
		mirror->one_way = true;
		return -1;
	case 'N': mirror->one_way = true; return -1;
	case 'O': mirror->once = true; return -1;
	case 'K': return sides_keys(mirror->tool, &mirror->parts);
	case 'T':
	case 'F':
		if (mirror->uri != NULL)
			return tool_usage(mirror->tool, "one of --to and --from, once");
		mirror->back.file = letter == 'F';
		mirror->uri = optarg;
		return -1;
	case 'I':
		if (atlock_duration_parse(optarg, false, &mirror->interval) == 0 && mirror->interval >= INTERVAL_LEAST)
			return -1;
		return tool_usage(mirror->tool, "an interval is written 500ms, 1s, 1m");
	default: return CHOICE_UNKNOWN;
	}
}

int cmd_mirror(struct tool *tool, int argc, char **argv)
{
	struct mirror mirror = {
		.tool = tool, .interval = ATLOCK_SECOND / 2, .mount = { .fd = -1 }, .back = { .tool = tool }
	};
	int code;

	code = choice_read(tool, argc, argv, CHOICE_FIRST, option_take, &mirror);
	if (code >= 0)
		return code;
	if (optind != argc || mirror.uri == NULL ||
	    mirror.back.file == (strncmp(mirror.uri, "redis://", strlen("redis://")) == 0))
		return tool_usage(tool, "where to? --to redis://host:port/db, or --from a Bolt file");
	if (mirror.back.file && (mirror.one_way || mirror.parts != 0))
		return tool_usage(tool, "a Bolt file is only read: --from goes without --one-way, --delete, --keys");
	take_over_self(mirror.back.self);
	code = mirror_run(&mirror);
	snapshot_free(&mirror.last);
	snapshot_free(&mirror.back.theirs);
	ends_close(&mirror);
	return code;
}
