/*
 * The server process that the line for commits is connected to, and the scripts that were loaded into it. An epoch is open in one process:
 * what is asked of it here is never answered by another. Used by the thread of REMOTE_LINE_COMMIT, but for redis_process_sha().
 */
#ifndef STORE_REDIS_PROCESS_H
#define STORE_REDIS_PROCESS_H

#include "redis_line.h"
#include "redis_reply.h"

#include <pthread.h>

#define REDIS_SHA 40

enum redis_script {
	REDIS_COMMIT,
	REDIS_COMMIT_FULL, /* on a server that is out of memory */
	REDIS_BARRIER,
	REDIS_SCRIPTS,
};

struct redis_process {
	struct redis_line *line;
	const char *hash; /* the realm's two keys */
	const char *stream;
	char run_id[REDIS_RUN_ID + 1];
	unsigned int of; /* on which connection of the line that was asked; 0: not yet */

	pthread_mutex_t lock; /* of the rest */
	uint64_t epoch;       /* that the scripts were loaded for; 0: none */
	char shas[REDIS_SCRIPTS][REDIS_SHA + 1];
};

void redis_process_init(struct redis_process *process, struct redis_line *line, const char *hash, const char *stream);
void redis_process_destroy(struct redis_process *process);

/* Goes to where the realm is, and asks who that is: 0, -EPROTONOSUPPORT, or as redis_line_open(). */
int redis_process_know(struct redis_process *process);

/* Runs a script of that process that is sent whole. As redis_line_ask(), but a failure is never in doubt: the caller looks again. */
int redis_process_eval(struct redis_process *process, const char *script, const struct slice *args, size_t count,
		       redisReply **out);

/* Loads the scripts for an epoch, which is open in it. 0 or a negative errno. */
int redis_process_load(struct redis_process *process, uint64_t epoch);

/* The sum of a script for this epoch: 0, or REMOTE_HELLO if none was loaded. From any thread. */
int redis_process_sha(struct redis_process *process, enum redis_script script, uint64_t epoch,
		      char out[static REDIS_SHA + 1]);

#endif
