/*
 * How much of the store a user's records take, for the limits of one user. Counting reads all of them, so a count is kept in
 * memory, and made again only when the store as a whole has grown by a part of the limit. Private to core/; runs inside an
 * operation's transaction, of which there is one at a time.
 */
#ifndef CORE_KEPT_H
#define CORE_KEPT_H

#include "op.h"

enum kept_kind {
	KEPT_BYTES, /* about, of locks, waits, texts, pull requests, references and apps */
	KEPT_DIRS,  /* directories of custom/ */
	KEPT_KINDS
};

struct kept;

int kept_new(struct kept **out);
void kept_free(struct kept *kept);

/*
 * Whether the caller has more than `limit`; `all` is what all users have together. 1 or 0. Reads nothing while all users together
 * are below it. A count is at most limit / 8 of growth old, so a user may be stopped so much earlier; one who was stopped and has
 * removed something is counted again after ten seconds.
 */
int kept_is_over(struct op *op, enum kept_kind kind, uint64_t all, uint64_t limit);

#endif
