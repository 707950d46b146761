/*
 * The way back of the mirror: what Atlantis took appears in the tree, and what it released ends there. The side that took a lock
 * releases it; of a lock that both have for different pull requests neither is touched.
 *
 * A Bolt file cannot be written while Atlantis runs: then this is the only way. What is released here while Atlantis has it is taken again.
 */
#ifndef TOOLS_MIRROR_BACK_H
#define TOOLS_MIRROR_BACK_H

#include "snapshot.h"

struct mirror_back {
	struct tool *tool;
	const struct mount *mount;
	char self[ATLOCK_OWNER_MAX + 1];
	struct snapshot theirs; /* Atlantis' locks, by path */
	uint64_t sum;           /* of all that was read */
	int64_t flushes;        /* of the Redis, before it was read */
	bool flushed;           /* they grew with the last reading */
	bool file;              /* a Bolt file, which is only read */
	bool refused;           /* it was said that only administrators take locks for others */
	uint64_t taken;
	uint64_t released;
};

/* Reads Atlantis' locks anew. EXIT_DONE, or an exit code once it has said what is wrong. */
int mirror_back_read(struct mirror_back *back, struct atlock_foreign *from);

/*
 * Takes and releases in the tree. `now` is the tree, `last` is how both sides were; its records that Atlantis lost are marked to be
 * written again. `lost`: what Atlantis does not have any more, it did not release. Returns how many locks of the tree changed, so that
 * it has to be read again.
 */
size_t mirror_back(struct mirror_back *back, const struct snapshot *now, struct snapshot *last, bool lost);

#endif
