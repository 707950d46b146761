/*
 * Which locks of custom/ a caller may know of: those in directories that he may search, each from custom/ down, as if
 * he named them. Files and trees that show locks of all directories at once (locks.jsonl, by/, events/) leave out the
 * others. All users may see everything outside custom/, and administrators see all.
 *
 *	struct reach reach;
 *	err = reach_begin(&reach, call);	0 or a negative errno
 *	reach_lock(&reach, &view->name)
 *	reach_end(&reach);			also after an error
 *
 * Lives on the stack of one call, and caches its results per directory for that long.
 */
#ifndef REACH_H
#define REACH_H

#include "fs.h"

#define REACH_KNOWN 64

struct reach {
	struct call *call;
	bool all;
	bool grouped;
	gid_t *groups; /* what call->groups points to */
	struct atlock_caller user;
	struct atlock_reader reader; /* the same, for calls of the manager */
	struct {
		uint64_t dir;
		bool known;
		bool may;
	} known[REACH_KNOWN];
};

int reach_begin(struct reach *reach, struct call *call);
void reach_end(struct reach *reach);

bool reach_lock(struct reach *reach, const struct atlock_name *name);

#endif
