/* All that the tree holds at one time, as Atlantis' records, found by path. */
#ifndef TOOLS_SNAPSHOT_H
#define TOOLS_SNAPSHOT_H

#include <atlock.h>
#include <atlock/import.h>
#include <stdbool.h>

#include "mount.h"

struct snapshot_entry {
	struct atlock_foreign_record record; /* without `key` if Atlantis has no such thing */
	char *line;                          /* of locks.jsonl; NULL for a pull request */
	char *there;                         /* mirror: what is at the other side, byte by byte; NULL unknown */
	bool seen;                           /* the command's own */
};

struct snapshot {
	struct snapshot_entry *entries; /* by path */
	size_t count;
	size_t room;
};

/* Reads locks.jsonl and pulls/. EXIT_DONE, or another exit code once it has said what is wrong. Free it in any case. */
int snapshot_read(const struct tool *tool, const struct mount *mount, struct snapshot *out);
void snapshot_free(struct snapshot *snapshot);

struct snapshot_entry *snapshot_find(const struct snapshot *snapshot, const char *path);

#endif
