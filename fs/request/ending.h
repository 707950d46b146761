/*
 * Grants of flock(2) whose open file is being closed. The kernel queues the RELEASE of a file before close(2) returns,
 * or before the process is reaped, but the closing process does not wait for the reply. A request made after that close
 * may therefore find the lock held while another thread is still about to release it.
 *
 * Such a request waits for that thread and for nothing else:
 *
 *	FLUSH	endings_expect()	a descriptor is being closed, perhaps the last; sent before close(2) returns
 *	RELEASE	endings_begin()		the last one is closed; called by the thread that read the request, before
 *					loop_catch_up() of a later request returns
 *		endings_end()		the release is committed, or has failed
 *
 * A grant that is expected to end costs each request that meets it within a second one loop_catch_up(), which shows
 * whether a RELEASE came before that request; a grant that is ending costs one commit. No caller can make either longer
 * by keeping a descriptor open. A file closed without a FLUSH (a descriptor in flight in a socket, a mapping) may
 * appear held until its commit.
 */
#ifndef ENDING_H
#define ENDING_H

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stdint.h>

enum ending_state { ENDING_NONE, ENDING_HELD, ENDING_EXPECTED, ENDING_BEGUN };

/* One grant; zeroed at first, embedded in the holder. The mutex of `struct endings` protects it. */
struct ending {
	LIST_ENTRY(ending) bucket;  /* unless ENDING_NONE */
	TAILQ_ENTRY(ending) change; /* ENDING_EXPECTED and ENDING_BEGUN, oldest first */
	enum ending_state state;
	uint64_t token;
	uint64_t begun;  /* sequence number of endings_begin() */
	int64_t flushed; /* when a descriptor was last closed, monotonic */
};

/* `catch_up` is loop_catch_up(); unit tests have their own. */
struct endings *endings_new(void (*catch_up)(void));
void endings_free(struct endings *endings);

/*
 * Steps of a grant: given, a descriptor closed, the last one closed, ended. All but the first ignore a grant not in the
 * table.
 */
void endings_add(struct endings *endings, struct ending *ending, uint64_t token);
void endings_expect(struct endings *endings, struct ending *ending);
void endings_begin(struct endings *endings, struct ending *ending);
void endings_end(struct endings *endings, struct ending *ending);

/* Call when the lock was found held by this grant. True if the grant may have ended since: read the lock again. */
bool endings_wait(struct endings *endings, uint64_t token);

/* The same for a request that is about to read many locks. */
void endings_wait_all(struct endings *endings);

#endif
