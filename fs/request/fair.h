/*
 * Which user's request is next. A user who is alone may have as many requests in progress as there are threads. As soon
 * as another user sends one, and until that user has been quiet for a while, each may have only a few; further requests
 * are kept here, without a thread, and the users take turns. So a user who floods the mount waits for his own requests,
 * and others hardly notice.
 *
 *	share = fair_enter(fair, buf)		NULL: kept for later; read the next request
 *	...
 *	fair_leave(fair, share)		when it is answered
 *	share = fair_next(fair, &buf)		not NULL: process this kept request now, from `buf`
 *
 * The caller serialises all calls.
 */
#ifndef FAIR_H
#define FAIR_H

#include "fs.h"

struct fair;
struct share;

struct fair *fair_new(void);

/* Also drops the kept requests. */
void fair_free(struct fair *fair);

/* Returns the share if the request in `buf` is to be processed now; NULL if it was copied and kept. */
struct share *fair_enter(struct fair *fair, const struct fuse_buf *buf);

/* The same for a request that ends a lock: only a few of these are in progress at a time, over all users. */
struct share *fair_enter_end(struct fair *fair, const struct fuse_buf *buf);

/* A request of this share was processed. */
void fair_leave(struct fair *fair, struct share *share);

/* The next kept request, of the user whose turn it is. The caller frees the memory of `buf`. NULL: none may run now. */
struct share *fair_next(struct fair *fair, struct fuse_buf *buf);

/* Whether fair_next() would return a request. */
bool fair_waits(const struct fair *fair);

#endif
