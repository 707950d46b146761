/*
 * Whose request is next. Alone, a user may have as many requests under way as there are threads. As soon as another user asks for
 * something, and until he has not for a while, each may have only a few; what comes above that waits here, without a thread, and
 * the users take turns. So one who floods the mount waits for himself, and the others find it nearly as if he were not there.
 *
 *	share = fair_enter(fair, buf)		NULL: kept for later; read the next request
 *	...
 *	share = fair_leave(fair, share, &buf)	not NULL: one that was kept is to be processed now, in `buf`
 *
 * Users whose numbers have the same remainder share what each would have. The caller serialises all calls.
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

/* One of this share's was processed. The memory of `buf`, if one is given out, is to be freed by the caller. */
struct share *fair_leave(struct fair *fair, struct share *share, struct fuse_buf *buf);

#endif
