/* Takes a lock of Atlantis' in the tree. */
#ifndef TOOLS_TAKE_OVER_H
#define TOOLS_TAKE_OVER_H

#include <atlock/import.h>

#include "mount.h"

/* Writes the name that locks of the caller have as owner; "" if the system does not know it. */
void take_over_self(char out[ATLOCK_OWNER_MAX + 1]);

/* Whether another user than `self` shall have the lock, which only administrators can ask for. */
bool take_over_given(const struct atlock_foreign_record *record, const char *self);

/*
 * Takes the lock with all its fields, or not at all, in one write, which does not wait. 0 or a negative errno: -EAGAIN, -EBUSY or -EACCES
 * if it is held here.
 */
int take_over(const struct mount *mount, const struct atlock_foreign_record *record, const char *self);

#endif
