/*
 * Ends that must be written, even if the disk fails now: a process that held locks is gone, a file locked with flock(2) is
 * closed, a blocked call was interrupted, a grant came for a caller that is gone. No caller repeats these, so an end that cannot
 * be written is kept and retried every second; health is degraded meanwhile. Private to core/.
 *
 * A failing store needs no allocation: what is kept is an entry that existed before, of the process in watch.c, of the blocked
 * call in waits.c, of the open file in the file system.
 */
#ifndef CORE_ENDS_H
#define CORE_ENDS_H

#include <sys/queue.h>

#include "op.h"

/* What is needed to end a wait or a grant. There may be many thousands: keep it small. */
struct atlock_end {
	union {
		struct {
			SLIST_ENTRY(atlock_end) link;
			uint64_t number;
			atlock_done_fn *done;
			void *arg;
			int64_t began; /* see steady_now() */
			struct call_holders_entry *holders;
		} call; /* a blocked call; belongs to waits.c */
		struct {
			STAILQ_ENTRY(atlock_end) link;
			uint64_t token;
			uint64_t version; /* 0: any */
		} grant;                  /* a grant to release */
	};
	uid_t uid;
	uint16_t key_len;
	uint16_t claims; /* of a grant, like `kept`: see ends_claim() */
	bool kept;       /* its holder has come again: do not release it */
	bool queued;     /* of a call, as the next two: its ticket is written; see waits_queued() */
	bool poked;      /* another host changed the lock before that */
	bool leaving;    /* of a call: its caller has gone, and the cancellation could not be written */
	bool doubtful;   /* of a call: its caller has its answer, and its ticket may be there; see waits_doubt() */
	char text[];     /* the lock's key, owner, NUL, who, NUL */
};

/* NULL without memory. */
struct atlock_end *end_new(const struct atlock_name *lock, const struct atlock_caller *holder);

/* The lock, and `owner`, `who` and `uid` of the holder (no other field of it). */
void end_holder(const struct atlock_end *end, struct atlock_name *lock, struct atlock_caller *holder);

struct ends;

int ends_new(struct ends **out);
void ends_free(struct ends *ends);

/* Releases the grant of `end`, now or later, and frees `end`. 0, 1 if the grant was gone, < 0: later. */
int ends_give_back(struct atlock *al, struct atlock_end *end);

/* Releases it later. */
void ends_give_back_later(struct atlock *al, struct atlock_end *end);

/* How many ends are not written yet. */
size_t ends_count(struct atlock *al);

/*
 * Inside an operation's transaction: the holder of the grant `token` has come again and is told that it has the lock, so the
 * grant is not released. ends_claimed() says how that transaction ended.
 */
void ends_claim(struct op *op, uint64_t token);
void ends_claimed(struct op *op, bool done);

#endif
