/*
 * Counters of a running manager: calls by operation and outcome and their durations, events by type, and how long locks
 * were waited for and held. Private to core/.
 *
 * Counting takes no lock: each number is a separate atomic, so a reader may see a call counted before its duration.
 * Counters start at zero when the manager opens, as Prometheus expects. Events inside a transaction are marked
 * (op_mark()) and counted after the commit.
 */
#ifndef CORE_METRICS_H
#define CORE_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "atlock.h"

/* The kinds of calls. METRICS_NONE are the manager's own operations. */
enum metrics_call {
	METRICS_NONE,
	METRICS_ACQUIRE,
	METRICS_RELEASE,
	METRICS_FORCE, /* a release by an administrator who is not the holder */
	METRICS_RENEW,
	METRICS_WRITE,
	METRICS_TRANSFER,
	METRICS_CHMOD, /* mode and group */
	METRICS_CLAIM,
	METRICS_WAIT, /* from the call to its reply */
	METRICS_ENQUEUE,
	METRICS_CANCEL,
	METRICS_REPRIORITISE,
	METRICS_DIRECTORY,
	METRICS_OWNERS,
	METRICS_SHARED,
	METRICS_PULLS,
	METRICS_CALLS
};

#define METRICS_BOUNDS 20 /* upper bounds of a histogram, without the infinite one */

struct metrics_histogram {
	_Atomic uint64_t counts[METRICS_BOUNDS + 1]; /* each value is counted in one of them */
	_Atomic uint64_t sum;                        /* ns */
};

struct metrics {
	_Atomic uint64_t calls[METRICS_CALLS][ATLOCK_CODES];
	struct metrics_histogram took[METRICS_CALLS];
	struct metrics_histogram waited[ATLOCK_PRIORITIES]; /* of granted tickets, by priority */
	struct metrics_histogram held;
	_Atomic uint64_t events[ATLOCK_EVENTS];
	_Atomic uint64_t refusals[ATLOCK_CODES];
};

/* To be counted after the commit. */
enum metrics_mark_kind { MARK_EVENT, MARK_WAITED, MARK_HELD };

struct metrics_mark {
	enum metrics_mark_kind kind;
	unsigned int label; /* MARK_EVENT: type; MARK_WAITED: priority */
	int64_t value;      /* ns */
};

/*
 * Counts a call that began at `began` and ended with `rc` and, if that is an error, with `why` (may be NULL). Returns
 * `rc`.
 */
int metrics_count(struct metrics *metrics, enum metrics_call call, int64_t began, int rc, const struct atlock_why *why);

/* The same for a call refused before it took measurable time. `al` may be NULL. */
int metrics_refused(struct atlock *al, enum metrics_call call, int rc, const struct atlock_why *why);

/* Counts a refusal, whether or not the event log has it. */
void metrics_refusal(struct metrics *metrics, enum atlock_code code);

void metrics_mark(struct metrics *metrics, const struct metrics_mark *mark);

/* How many waits ended with the lock. */
uint64_t metrics_served(const struct metrics *metrics);

/* "acquire". Never NULL. */
const char *metrics_call_name(enum metrics_call call);

/* Upper bound of the i-th count of a histogram, in nanoseconds. */
int64_t metrics_bound(size_t i);

#endif
