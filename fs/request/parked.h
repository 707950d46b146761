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
 * Replies that the lock is the caller's. An error, from the fuse_reply function or as the reply itself, means that the
 * caller did not get the lock, and it is given back. `size` is what park_wait() was given.
 */
typedef int park_answer_fn(struct call *call, struct node *node, struct handle *handle, size_t size,
			   const struct atlock_grant *grant);

/* Waits for the lock and calls `answer`, now or later. CALL_PARKED (answered, or will be), or a negative errno. */
int park_wait(struct call *call, const struct atlock_request *req, struct node *node, struct handle *handle,
	      size_t size, park_answer_fn *answer);

/*
 * Replies with an immediate grant. If the caller is gone, the lock is given back, unless it was his before. CALL_PARKED
 * (answered), or -EINTR.
 */
int park_granted(struct call *call, const struct atlock_request *req, const struct atlock_grant *grant,
		 struct node *node, struct handle *handle, size_t size, park_answer_fn *answer);

/* Answers all parked requests with ECANCELED and refuses new ones: the mount is going away. */
void parks_close(struct fs *fs);

#endif
