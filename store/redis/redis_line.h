/*
 * One connection to the server that has a realm, made when it is first used, and again after an error or when the realm has moved. Used by
 * one thread at a time.
 */
#ifndef STORE_REDIS_LINE_H
#define STORE_REDIS_LINE_H

#include "redis_place.h"
#include "slice.h"

#include <hiredis/hiredis.h>

struct redis_line {
	struct redis_place *place;
	int timeout; /* ms, of a request with all that it takes */
	redisContext *context;
	struct redis_target target; /* of the context */
	unsigned int connections;   /* so far */
	unsigned int
		only; /* not 0: requests go by this connection or fail with -EHOSTDOWN, so that they reach one process */
	char trouble[256]; /* of the last request that failed, for people */
};

void redis_line_init(struct redis_line *line, struct redis_place *place, int timeout);
void redis_line_close(struct redis_line *line);

/* Connects and logs in, unless that is done: 0, -EACCES, -EHOSTDOWN. */
int redis_line_open(struct redis_line *line);

/*
 * Sends a command and waits for its answer, `wait` ms longer than usual, wherever the realm is. 0, with a reply that is the caller's and is
 * no error; or what redis_error() says of one; -EHOSTDOWN: it was not sent; -EINPROGRESS: it was, and there is no answer.
 */
int redis_line_ask(struct redis_line *line, const struct slice *words, size_t count, int wait, redisReply **out);

/*
 * What an error of the server means. REMOTE_HELLO: it does not have the script. -ENOSPC, -EACCES, -EHOSTDOWN: it refuses before anything is
 * done. -EINPROGRESS: a script failed, perhaps in its middle.
 */
int redis_error(const char *text);

#endif
