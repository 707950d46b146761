/*
 * Walks the children of a prefix whose keys are paths. One seek skips everything below a child, so that a directory
 * costs what `ls` prints and not what is stored under it. Private to core/.
 */
#ifndef CORE_CHILD_WALK_H
#define CORE_CHILD_WALK_H

#include "op.h"

#define CHILD_PART 'b' /* part of a place; its text is the component, followed by '/' for a directory */

struct child_walk {
	struct record_key prefix; /* of the directory, with its '/' */
	struct record_key from;   /* where to continue */
	struct atlock_place *place;
	char component[ATLOCK_COMPONENT_MAX + 1];
	bool directory;     /* the key continues after the component */
	struct slice key;   /* the child's first key */
	struct slice value; /* and its value */
};

/* Starts after `place` if that is one of these children, and sets it to each child; it may be NULL. */
void child_walk_start(struct child_walk *walk, const struct record_key *prefix, struct atlock_place *place);

/* The next child: 0 or 1 (no more). A child that has both its own key and keys below it is returned twice. */
int child_walk_next(struct op *op, struct child_walk *walk);

#endif
