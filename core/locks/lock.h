/* Parts of lock.c that other operations share. Private to core/; all of it runs inside an operation's transaction. */
#ifndef CORE_LOCK_H
#define CORE_LOCK_H

#include "table.h"
#include "text.h"

/* Gives a held lock back and hands it over; `type` is the event to write. `queue` is its queue; NULL: look. */
int lock_release(struct op *op, struct slice lock, const struct record_lock *record, const struct record_queue *queue,
		 enum atlock_event_type type);

/* A free lock to the operation's caller: 0 and the new record. */
int lock_take(struct op *op, struct slice lock, int64_t ttl, enum atlock_priority priority,
	      const struct text_change *change, struct record_lock *out);

/*
 * The operation's caller holds the lock and comes again: takes up a grant it has not claimed yet, with `ttl` != 0 starts a
 * new lease, and merges the text; all as one change. Returns 1; writes nothing if there is nothing to do.
 */
int lock_again(struct op *op, struct slice lock, int64_t ttl, const struct text_change *change,
	       struct record_lock *record);

/*
 * Reads a request's text about a lock to come; what only makes sense for one that is held is refused, and so is owner=
 * unless `owner` says that it may be there. As text_parse().
 */
int lock_text_parse(const struct atlock_request *req, bool owner, struct text_change *out, struct atlock_why *why);

/* Stores the lines of `change` as the lock's own text, merged with what is there or replacing it. */
int lock_text_put(struct op *op, struct slice lock, const struct text_change *change, bool replace);

/* Refuses because another holds the lock: -EBUSY, -EACCES if he is another user, -EEXIST if `exclusive`. */
int lock_refuse_other(struct op *op, struct slice lock, const struct record_lock *record, bool exclusive);

/* Fills the fields of a new record that come from the caller, or from whom he takes it for. */
void lock_from_caller(const struct op *op, struct record_lock *record);

#endif
