/*
 * Grants of flock(2) whose open file is being closed. The kernel queues the RELEASE of a file before close(2) returns,
 * or before the process is reaped, but the closing process does not wait for the reply. A request made after that close
 * may therefore find the lock held before the RELEASE is processed.
 *
 * Such a request is put aside until that is done, and runs again then:
 *
 *	FLUSH	endings_expect()	a descriptor is being closed, perhaps the last; sent before close(2) returns
 *	RELEASE	endings_begin()		the last one is closed; called by the thread that read the request, before
 *					wire->catch_up() of a later request returns
 *		endings_end()		the release is committed, or has failed
 *
 * When a process dies, the kernel queues the RELEASE of all its files at once, and each waits for a commit. Only a few
 * of them are processed at a time, so that threads are left for other requests; the rest waits here, and the ones that
 * a request waits for come first.
 *
 * A grant that is expected to end costs each request that meets it within a second one wire->catch_up(), which shows
 * whether a RELEASE came before that request; a grant that is ending costs one or two commits. No caller can make
 * either longer by keeping a descriptor open. A file closed without a FLUSH (a descriptor in flight in a socket, a
 * mapping) may appear held until its commit.
 */
#ifndef ENDING_H
#define ENDING_H

#include "fs.h"

enum ending_state { ENDING_NONE, ENDING_HELD, ENDING_EXPECTED, ENDING_BEGUN };

/* One grant; zeroed at first, embedded in the holder. The mutex of `struct endings` protects it. */
struct ending {
	LIST_ENTRY(ending) bucket;  /* unless ENDING_NONE */
	TAILQ_ENTRY(ending) change; /* ENDING_EXPECTED and ENDING_BEGUN, oldest first */
	TAILQ_ENTRY(ending) turn;   /* while `release` waits for its turn */
	enum ending_state state;
	uint32_t release_size;
	void *release; /* the RELEASE, malloc'ed; NULL: it is being processed, or was not read */
	uint64_t token;
	uint64_t begun;  /* sequence number of endings_begin() */
	int64_t flushed; /* when a descriptor was last closed, monotonic */
};

struct endings *endings_new(void);
void endings_free(struct endings *endings);

/*
 * Steps of a grant: given, a descriptor closed, the last one closed, ended. All but the first ignore a grant not in the
 * table.
 */
void endings_add(struct endings *endings, struct ending *ending, uint64_t token);
void endings_expect(struct endings *endings, struct ending *ending);
void endings_end(struct endings *endings, struct ending *ending);

/*
 * Returns whether the RELEASE in `buf` is to be processed now. If not, it was copied, and endings_next() returns it when
 * its turn has come; the caller then frees the memory of `buf`.
 */
bool endings_begin(struct endings *endings, struct ending *ending, const struct fuse_buf *buf);
bool endings_next(struct endings *endings, struct fuse_buf *buf);

/*
 * For a call that found the lock held by this grant. CALL_LATER: the grant is ending, and call->again runs when it has
 * ended, or when it seems that it will not. ENDING_OVER: it has ended since, look again. 0: it goes on, or this call was
 * put aside before, or cannot be. Call it on a thread of the loop, see wire->catch_up.
 */
#define ENDING_OVER 5
int ending_then(struct call *call, uint64_t token);

/* The same for a call that is about to read many locks; 0 or CALL_LATER. */
int ending_then_all(struct call *call);

/*
 * Runs the calls that were put aside and have waited long enough: for one grant, while none ended; for all grants, at
 * all. Returns when to be called again, monotonic ns, or INT64_MAX.
 */
int64_t endings_expire(struct endings *endings);

/* Runs all of them; from now on none is put aside. */
void endings_close(struct endings *endings);

#endif
