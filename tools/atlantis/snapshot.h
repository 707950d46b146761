/* All that the tree holds at one time, as Atlantis' records, found by path; and Atlantis' own records, to compare it with. */
#ifndef TOOLS_SNAPSHOT_H
#define TOOLS_SNAPSHOT_H

#include <atlock.h>
#include <atlock/import.h>
#include <stdbool.h>

#include "mount.h"

struct snapshot_entry {
	struct atlock_foreign_record record; /* without `key` if Atlantis has no such thing */
	char *line;                          /* of locks.jsonl; NULL for a pull request */
	char *there;                         /* mirror: the value that Redis has; NULL: unknown */
	bool imported;                       /* it was taken over from Atlantis */
	bool seen;                           /* for the command's use */
};

struct snapshot {
	struct snapshot_entry *entries; /* by path */
	size_t count;
	size_t room;
};

/* Reads locks.jsonl and pulls/. EXIT_DONE, or another exit code once it has said what is wrong. Free it in any case. */
int snapshot_read(const struct tool *tool, const struct mount *mount, struct snapshot *out);
void snapshot_free(struct snapshot *snapshot);

/* Adds a record, whose strings move into the snapshot; -ENOMEM. Sort it before anything is looked for in it. */
int snapshot_take(struct snapshot *snapshot, struct atlock_foreign_record *record);
void snapshot_sort(struct snapshot *snapshot);

struct snapshot_entry *snapshot_find(const struct snapshot *snapshot, const char *path);

/* Both sides of an import, an export or a comparison. */
struct sides {
	struct tool *tool;
	unsigned int flags;            /* of atlock_foreign_open() */
	struct atlock_foreign *theirs; /* Atlantis' records */
	struct mount mount;
	struct snapshot tree;
};

/* Takes --older or --status-before-0.25, as a choice_fn does. */
int sides_option(struct sides *sides, int letter);

/* --keys is 3 or 4 in optarg: -1, or EXIT_USAGE once it has said that it is not. */
int sides_keys(const struct tool *tool, int *parts);

/*
 * Reads all records of the source once, so that it knows whether its locks have keys of three parts or of four, and begins again.
 * EXIT_DONE or an exit code. Unless `parts` is 0, that is what is written.
 */
int sides_learn(const struct tool *tool, struct atlock_foreign *theirs, int parts);

/* Where no lock is there to learn from, keys get the form of those that the tree's locks were imported under. */
void sides_remember(struct atlock_foreign *theirs, const struct snapshot *tree, int parts);

/* Opens Atlantis' records unless `uri` is NULL, then the mount, and reads the tree. EXIT_DONE or an exit code, as snapshot_read(). */
int sides_open(struct sides *sides, const char *uri);
void sides_close(struct sides *sides);

#endif
