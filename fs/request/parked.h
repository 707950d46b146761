/*
 * Requests that wait for a lock. A parked request occupies memory but no thread: the reply goes out when the manager
 * reports a grant or a failure. An interrupt (^C, timeout, kill) takes it out of the queue at once.
 */
#ifndef PARKED_H
#define PARKED_H

#include "kind.h"

struct parks *parks_new(void);
void parks_free(struct parks *parks);

/*
 * Replies that the lock is the caller's: CALL_ANSWERED. Otherwise the caller did not get the lock, and it is given back:
 * PARK_GONE if the reply did not go out, or a negative errno for the caller. `size` is what park_wait() was given.
 */
#define PARK_GONE 4
typedef int park_answer_fn(struct call *call, struct node *node, struct handle *handle, size_t size,
			   const struct atlock_grant *grant);

/* Waits for the lock and calls `answer`, now or later. Returns what call_end() takes. */
int park_wait(struct call *call, const struct atlock_request *req, struct node *node, struct handle *handle,
	      size_t size, park_answer_fn *answer);

/*
 * Replies with an immediate grant. If the caller is gone, the lock is given back, unless it was his before. Returns what
 * call_end() takes.
 */
int park_granted(struct call *call, const struct atlock_request *req, const struct atlock_grant *grant,
		 struct node *node, struct handle *handle, size_t size, park_answer_fn *answer);

/* Answers all parked requests with ECANCELED and refuses new ones: the mount is going away. */
void parks_close(struct fs *fs);

#endif
