/*
 * Answers of a server, checked: whatever it sends, they end in values or in an error. Slices point into the reply.
 */
#ifndef STORE_REDIS_REPLY_H
#define STORE_REDIS_REPLY_H

#include "remote_adapter.h"

#include <hiredis/hiredis.h>

#define REDIS_RUN_ID 40
#define REDIS_REPORT 26 /* bytes of a report */

/* The number that an array begins with. -EBADMSG. */
int reply_number(const redisReply *reply, long long *out);

/* Element `i` of an array as bytes; false if it is none, or, with a length, of another. */
bool reply_bytes(const redisReply *reply, size_t i, size_t len, struct slice *out);

/* What INFO says of the process: 0; -EPROTONOSUPPORT if it is too old, with its version; -EBADMSG. */
#define REDIS_VERSION 32
int reply_process(const redisReply *reply, char run_id[static REDIS_RUN_ID + 1], char version[static REDIS_VERSION]);

/* Of the scripts, each by its name. All but the commit's, which is in doubt, -EBADMSG if there is something else in them. */
int reply_welcome(const redisReply *reply, struct remote_welcome *out);
int reply_commit(const redisReply *reply, const struct remote_commit *commit, struct remote_reply *out);
int reply_barrier(const redisReply *reply, struct remote_at *out);

/* The entries of XRANGE, or, with `read`, of XREAD. */
int reply_entries(const redisReply *reply, bool read, remote_entry_fn *each, void *arg);

/* The keys of HSCAN, and the cursor for the next. */
#define REDIS_CURSOR 32
int reply_scan(const redisReply *reply, char cursor[static REDIS_CURSOR], remote_scan_fn *each, void *arg);

#endif
