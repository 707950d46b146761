/*
 * What atlock top does to the mount. Each function opens it, acts on the lock or waiter of a row, closes it, and writes a line for
 * the user: what it did, or why it was refused. All but the first return 0 or a negative errno.
 */
#ifndef TOOLS_TOP_ACT_H
#define TOOLS_TOP_ACT_H

#include "mount.h"
#include "top_model.h"

typedef int top_deed_fn(struct mount *mount, const struct top_row *row, char *said, size_t len);

/* What `cat` of it prints, malloc'ed; or NULL. */
char *top_details(struct mount *mount, const struct top_row *row, char *said, size_t len);

/* Releases a lock if the caller holds it; or any lock. Not if it has another holder than when the row was read. */
top_deed_fn top_release;
top_deed_fn top_force;

/* Takes a ticket out of its queue, if it is the caller's; or any ticket. */
top_deed_fn top_cancel;
top_deed_fn top_cancel_force;

/* One priority up or down, by the rename that the queue understands. */
top_deed_fn top_raise;
top_deed_fn top_lower;

#endif
