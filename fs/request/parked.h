/*
 * Requests that wait for a lock. A parked request occupies memory and no thread: the manager tells when the lock is there
 * or the wait has failed, and the reply goes out then. An interrupt (^C, timeout, kill) takes it out of the queue at once.
 */
#ifndef PARKED_H
#define PARKED_H

#include "kind.h"

struct parks *parks_new(void);
void parks_free(struct parks *parks);

/*
 * Replies that the lock is the caller's. An error, of the fuse_reply function or one that was the reply, means that nobody
 * took the lock, and it is given back. `size` is what was given to park_wait().
 */
typedef int park_answer_fn(struct call *call, struct node *node, struct handle *handle, size_t size,
			   const struct atlock_grant *grant);

/* Waits for the lock; `answer` is called now or later. CALL_PARKED (answered, or will be), or a negative errno. */
int park_wait(struct call *call, const struct atlock_request *req, struct node *node, struct handle *handle,
	      size_t size, park_answer_fn *answer);

/*
 * Answers a grant that came at once. A caller who is gone gets nothing: the lock is given back, unless it was his before.
 * CALL_PARKED (answered), or -EINTR.
 */
int park_granted(struct call *call, const struct atlock_request *req, const struct atlock_grant *grant,
		 struct node *node, struct handle *handle, size_t size, park_answer_fn *answer);

/* Answers everybody with ECANCELED and lets nobody wait from now on: the mount is going away. */
void parks_close(struct fs *fs);

#endif
