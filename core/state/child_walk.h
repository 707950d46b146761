/*
 * From child to child below a prefix whose keys are paths: everything below one is passed over with a single seek, so that
 * a directory costs what `ls` prints and not what is stored under it. Private to core/.
 */
#ifndef CORE_CHILD_WALK_H
#define CORE_CHILD_WALK_H

#include "op.h"

#define CHILD_PART 'b' /* of a place: the rest is the component, with a '/' behind that of a directory */

struct child_walk {
	struct record_key prefix; /* of the directory, with its '/' */
	struct record_key from;   /* where to go on */
	struct atlock_place *place;
	char component[ATLOCK_COMPONENT_MAX + 1];
	bool directory;     /* the key goes on after the component: it is one of those below it */
	struct slice key;   /* the first one of this child */
	struct slice value; /* and its value */
};

/* Goes on after the place if that is one of these children, and sets it to each; it may be NULL. */
void child_walk_start(struct child_walk *walk, const struct record_key *prefix, struct atlock_place *place);

/* The next child: 0 or 1 (no more). Whatever has both a key of its own and keys below it comes twice. */
int child_walk_next(struct op *op, struct child_walk *walk);

#endif
