/* What several operations do with one lock: take it, take it again, release it, refuse it. Private to core/; all of it runs inside an operation's transaction. */
#ifndef CORE_LOCK_HOLD_H
#define CORE_LOCK_HOLD_H

#include "table.h"
#include "text.h"

/* Releases a held lock and hands it over; `type` is the event to write. `queue` is its queue; NULL: read it. */
int lock_release(struct op *op, struct slice lock, const struct record_lock *record, const struct record_queue *queue,
		 enum atlock_event_type type);

/* Gives a free lock to the operation's caller: 0 and the new record. */
int lock_take(struct op *op, struct slice lock, int64_t ttl, enum atlock_priority priority,
	      const struct text_change *change, struct record_lock *out);

/*
 * The operation's caller already holds the lock: claims a pending grant, with `ttl` != 0 starts a new lease, and merges the text;
 * all as one change. Returns 1; writes nothing if there is nothing to do.
 */
int lock_again(struct op *op, struct slice lock, int64_t ttl, const struct text_change *change,
	       struct record_lock *record);

/*
 * The operation's caller, its holder, takes up the grant if it is pending; begins its lease. A lock that another user gave (pending
 * without a ticket) gets the lease of a new lock, unless it has a longer one.
 */
void lock_take_up(struct op *op, struct record_grant *grant);

/*
 * Parses the text of a request for a lock that is not held yet. Refuses keys that need a held lock, and owner= unless `owner`
 * allows it. As text_parse().
 */
int lock_text_parse(const struct atlock_request *req, bool owner, struct text_change *out, struct atlock_why *why);

/* Stores the lines of `change` as the lock's own text, merged with the old text or replacing it. */
int lock_text_put(struct op *op, struct slice lock, const struct text_change *change, bool replace);

/* Refuses because another holder has the lock: -EBUSY, -EACCES if it is another user, -EEXIST if `exclusive`. */
int lock_refuse_other(struct op *op, struct slice lock, const struct record_lock *record, bool exclusive);

#endif
