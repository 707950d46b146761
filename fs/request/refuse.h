/*
 * The reason of a refusal where the operation gave none: what was to be done to which path, and what can be done
 * instead. So every call that would have changed something leaves its own line in `why`, and never an older one.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include "kind.h"

/* Gives a call that fails with `err` a reason, if it would have changed something and has none. */
void refuse_explain(struct call *call, int err);

/*
 * Refuses a call for which the node's kind has no operation: -EPERM, or `err` if it is -EACCES, because callers without
 * permission get the same reason. Any other error is returned as it is.
 */
int refuse_lacking(struct call *call, int err);

/* Refuses to set a directory's times to now: -EISDIR. */
int refuse_touch(struct call *call, const struct node *node);

/* Refuses because of a node's mode, -EACCES, or its owner, -EPERM. */
int refuse_mode(struct call *call, const struct node *node, const struct stat *st);
int refuse_owner(struct call *call, const struct node *node, const struct stat *st);

/*
 * What the call was about, for the log: the lock, 0, or 1 if there is none; and the path, 0 or a negative errno. If
 * names in the path may be passwords, it is only that of the tree.
 */
int refuse_lock(struct call *call, struct atlock_name *out);
int refuse_subject(const struct call *call, char out[ATLOCK_PATH_MAX]);

#endif
