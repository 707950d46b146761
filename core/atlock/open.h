/*
 * Opening and closing the lock manager, its clock, and the callbacks that tell of changes.
 *
 * Calling sequence
 *
 *	struct atlock *al;
 *	atlock_open(&al, "/var/lib/atlockfs", &(struct atlock_setup){ .on_change = changed }, &why);
 *	...
 *	atlock_close(al);
 *
 * One process has a store open for writing at a time. The manager starts threads: open it after the last fork.
 */
#ifndef ATLOCK_OPEN_H
#define ATLOCK_OPEN_H

#include "atlock/base.h"
#include "atlock/name.h"
#include "atlock/options.h"

/* What changed about a lock, or about the directory of custom/ that it is in. */
enum atlock_change {
	ATLOCK_CHANGE_LOCK,
	ATLOCK_CHANGE_END, /* a grant ended: the lock is free, rests, or the same commit handed it to the next waiter */
	ATLOCK_CHANGE_QUEUE,
	ATLOCK_CHANGE_DIR,
};

/* Called after the commit, with no mutex of the manager held; it may call back in. `name` is valid during the call. */
typedef void atlock_change_fn(void *arg, enum atlock_change what, const struct atlock_name *name);

/*
 * This host is cut off from a store that it shares: what open files hold by flock(2) is over. Sends the signal to the processes that have them, and
 * returns to how many. Called again while that lasts: an open file is told once. Must not call back in.
 */
typedef size_t atlock_cut_fn(void *arg, int signal);

/* Gets one line without newline and control bytes. It may run in the middle of a call and must not call back in. */
typedef void atlock_log_fn(void *arg, enum atlock_log_level level, const char *line);

/* Two clocks, in nanoseconds. */
struct atlock_time {
	int64_t steady; /* since any fixed point; never steps */
	int64_t wall;   /* since 1970 */
};

/* How to open. Zero is the default of every field; atlock_open() copies what it needs. */
struct atlock_setup {
	const struct atlock_options *options; /* NULL: defaults */
	const char *host;                     /* this machine's name in records and events; NULL: the system's */
	atlock_change_fn *on_change;          /* NULL: none */
	atlock_cut_fn *on_cut;                /* NULL: none */
	void *change_arg;                     /* of both */
	atlock_log_fn *log;                   /* NULL: the process's log (program.h) */
	void *log_arg;
	bool readonly; /* refuse every change, and start nothing */
	bool repair;   /* for check.h: open a damaged store too; recover, start and end nothing */

	/* For tests. */
	void (*clock)(void *arg, struct atlock_time *out); /* replaces the system's clocks; NULL: those */
	void *clock_arg;
	bool manual;              /* start no thread: the caller drives time with manual.h */
	uint64_t seed;            /* of ids and of deadlock_policy=random; 0: from the system */
	uint64_t store_max_bytes; /* size that the store may grow to; 0: its default */
	uid_t store_owner;        /* trusted with the store's files, beside root and the process's user */
	const void *store_engine; /* a struct store_engine of the test; NULL: chosen by the store's name */
	void *store_engine_arg;
};

/*
 * Opens the store at `store`, drops what ended with the manager before (waits of its callers, holders whose process is gone),
 * and starts the thread that ends leases. On success `*out` is the caller's until atlock_close(). A store that this version
 * cannot read is refused and left as it was.
 */
int atlock_open(struct atlock **out, const char *store, const struct atlock_setup *setup, struct atlock_why *why);

/*
 * Ends every blocked wait with -ECANCELED, stops the threads, closes the store and frees the manager. No other call may be in
 * progress or come after. NULL is allowed.
 */
void atlock_close(struct atlock *al);

/* Whether other hosts may change the store as well: what was read of it may be out of date at any time. */
bool atlock_is_shared(struct atlock *al);

/* The present instant. */
int64_t atlock_now(struct atlock *al);

/* An instant as wall time, nanoseconds since 1970. */
int64_t atlock_wall(struct atlock *al, int64_t instant);

/* Writes an instant as RFC 3339 in UTC, or "never". */
void atlock_instant_print(struct atlock *al, int64_t instant, char *out, size_t len);

#endif
