/*
 * Ends that must be written, whatever the disk does: a process that held locks is gone, a file that was locked with flock(2) is
 * closed, a blocked call was interrupted, a grant came for a caller who is no longer there. No caller tries those
 * again, so what cannot be written is kept and tried every second until it is; health is degraded meanwhile. Private to core/.
 *
 * Nothing is allocated when the store fails: what is kept is the entry that was there before, of the process in watch.c, of the
 * blocked call in waits.c, of the open file in the file system.
 */
#ifndef CORE_ENDS_H
#define CORE_ENDS_H

#include <sys/queue.h>

#include "op.h"

/* What it takes to end a wait, or a grant. There may be many thousands: keep it small. */
struct atlock_end {
	union {
		struct {
			SLIST_ENTRY(atlock_end) link;
			uint64_t number;
			atlock_done_fn *done;
			void *arg;
			int64_t began; /* see steady_now() */
			struct behind_call *behind;
		} call; /* waits.c's: one that waits */
		struct {
			STAILQ_ENTRY(atlock_end) link;
			uint64_t token;
			uint64_t version; /* 0: any */
		} grant;                  /* one that is to be given back */
	};
	uid_t uid;
	uint16_t key_len;
	uint16_t claims; /* of a grant, as the next: see ends_claim() */
	bool kept;       /* its holder has come again: it is not to be given back */
	bool leaving;    /* of a call: its caller has gone, and that could not be written */
	char text[];     /* the lock's key, owner, NUL, who, NUL */
};

/* NULL without memory. */
struct atlock_end *end_new(const struct atlock_name *lock, const struct atlock_caller *holder);

/* The lock, and `owner`, `who` and `uid` of the holder (nothing else of it). */
void end_holder(const struct atlock_end *end, struct atlock_name *lock, struct atlock_caller *holder);

struct ends;

int ends_new(struct ends **out);
void ends_free(struct ends *ends);

/* Releases the grant that `end` says, now or later, and frees `end`. 0, 1 if it was not there any more, < 0: later. */
int ends_give_back(struct atlock *al, struct atlock_end *end);

/* How many ends are not written yet. */
size_t ends_count(struct atlock *al);

/*
 * Inside an operation's transaction: the holder of the grant `token` has come again and is told that the lock is his, so it is not
 * given back. ends_claimed() says how that transaction ended.
 */
void ends_claim(struct op *op, uint64_t token);
void ends_claimed(struct op *op, bool done);

#endif
