/*
 * Whose request is next. Alone, a user may have as many requests under way as there are threads. As soon as another user asks for
 * something, and until he has not for a while, each may have only a few; what comes above that waits here, without a thread, and
 * the users take turns. So one who floods the mount waits for himself, and the others find it nearly as if he were not there.
 *
 *	share = fair_enter(fair, buf)		NULL: kept for later; read the next request
 *	...
 *	fair_leave(fair, share)		when it is answered
 *	share = fair_next(fair, &buf)		not NULL: one that was kept is to be processed now, in `buf`
 *
 * The caller serialises all calls.
 */
#ifndef FAIR_H
#define FAIR_H

#include "fs.h"

struct fair;
struct share;

struct fair *fair_new(void);

/* Drops what is kept. */
void fair_free(struct fair *fair);

/* The request in `buf` is to be processed now, or it was copied and is kept (NULL). */
struct share *fair_enter(struct fair *fair, const struct fuse_buf *buf);

/* The same for a request that ends a lock: there are only a few of these under way, whoever has sent them. */
struct share *fair_enter_end(struct fair *fair, const struct fuse_buf *buf);

/* One of this share's was processed. */
void fair_leave(struct fair *fair, struct share *share);

/* Whose turn it is of those whose requests are kept. The memory of `buf` is to be freed by the caller. NULL: nobody's. */
struct share *fair_next(struct fair *fair, struct fuse_buf *buf);

/* Whether one would be given out. */
bool fair_waits(const struct fair *fair);

#endif
