/*
 * Walks the indexes of holders: locks held (or waited for), by owner and who, with one seek from each to the next.
 * Private to core/; runs inside an operation's transaction.
 */
#ifndef CORE_HOLDER_INDEX_H
#define CORE_HOLDER_INDEX_H

#include "table.h"

/*
 * The next owner in TABLE_HELD or TABLE_WAITS: 0 or 1. Start with `from` of record_key_of() with an empty name; it
 * moves past all keys of this owner.
 */
int holder_index_owner_next(struct op *op, enum record_table table, struct record_key *from, struct slice *owner);

/* The next who of an owner; start with `from` of holder_index_owner_key(). */
int holder_index_who_next(struct op *op, struct slice owner, struct record_key *from, struct slice *who);
struct record_key holder_index_owner_key(struct slice owner);

/* Selects locks: every field that is set (data not NULL) must match. */
struct holder_index_filter {
	struct slice owner;
	struct slice who;
	struct slice host;
	struct slice repo;  /* a repository of repos/, in its one spelling */
	struct slice after; /* where to continue: holder_index_place() of the lock walked last */
};

/* The position of a held lock in the order of a walk. */
struct record_key holder_index_place(const struct record_grant *grant);

/* Whether the lock is held now and matches; ignores `after`. */
bool holder_index_matches(const struct op *op, const struct holder_index_filter *filter, struct slice lock,
			  const struct record_grant *grant);

/* Returns 0 to continue; any other value ends the walk, which returns it. `lock` points into the store. */
typedef int holder_index_fn(struct op *op, void *arg, struct slice lock, const struct record_lock *record);

/* Calls `fn` for each held lock that matches, in the order of owner, who and token. Reads no keys of other holders. */
int holder_index_walk(struct op *op, const struct holder_index_filter *filter, holder_index_fn *fn, void *arg);

#endif
