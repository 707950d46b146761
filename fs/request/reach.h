/*
 * Which locks of custom/ a caller may know of: those in directories that he may search, each from custom/ down, as if he named
 * them. What shows locks of all directories at once (locks.jsonl, by/, events/) leaves out the others. Everything outside custom/
 * is open to all, and administrators see all.
 *
 *	struct reach reach;
 *	err = reach_begin(&reach, call);	0 or a negative errno
 *	reach_lock(&reach, &view->name)
 *	reach_end(&reach);			also after an error
 *
 * Lives on the stack of one call. What was found of a directory is remembered for as long.
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
	struct atlock_reader reader; /* the same for calls of the manager */
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
