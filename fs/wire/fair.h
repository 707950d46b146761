/*
 * Which user's request is next. A user who is alone may have as many requests in progress as there are threads. As soon
 * as another user sends one, and until that user has been quiet for a while, each may have only a few; further requests
 * wait here, without a thread, and the users take turns. So a user who floods the mount waits for his own requests, and
 * others hardly notice.
 *
 *	share = fair_enter(fair, buf)		NULL: it waits here; read the next request
 *	...
 *	fair_leave(fair, share)		when it was processed
 *	share = fair_next(fair, &buf)		not NULL: process this request now, from `buf`
 *
 * A request that is answered after it was processed counts until then as well: fair_hold() and fair_leave().
 *
 * The caller serialises all calls.
 */
#ifndef FAIR_H
#define FAIR_H

#include "fs.h"

struct fair;
struct share;

/*
 * For a loop of so many threads. One user's requests take at most half of them, even while no other user is active: requests that
 * take long would let a user who comes later wait until one of them has ended.
 */
struct fair *fair_new(unsigned int threads);

/* Also drops the requests that wait. */
void fair_free(struct fair *fair);

/* Returns the share if the request in `buf` is to be processed now; NULL if it was copied and waits. */
struct share *fair_enter(struct fair *fair, const struct fuse_buf *buf);

/* One more request of the user is in progress, however many are. */
struct share *fair_hold(struct fair *fair, uid_t uid);

/* A request of this share is no longer in progress. */
void fair_leave(struct fair *fair, struct share *share);

/* The next request that waits, of the user whose turn it is. The caller frees the memory of `buf`. NULL: none may run now. */
struct share *fair_next(struct fair *fair, struct fuse_buf *buf);

/* Whether fair_next() would return a request. */
bool fair_waits(const struct fair *fair);

#endif
