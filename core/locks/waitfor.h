/*
 * The wait-for graph: who cannot go on points to who holds what it waits for. Nodes are holders, not requests. A holder waits by
 * its tickets, and by the blocked calls that it stands behind (behind.h). The graph is read from the store and that table, so it
 * needs no upkeep. Private to core/; runs inside an operation's transaction.
 */
#ifndef CORE_WAITFOR_H
#define CORE_WAITFOR_H

#include "table.h"

/* A holder, by all that tells it from others. The same pull request number in two repositories is two. */
struct actor {
	struct slice owner;
	struct slice who;
	struct slice repo;
	uint64_t start; /* of a process or session; 0: unknown */
	uint32_t boot;
};

/* An actor on the way that is searched, and the edge by which the way leaves it. */
struct step {
	struct actor actor;
	struct actor waiter; /* whose ticket the edge is: the actor's, or that of a call it stands behind */
	struct slice lock;   /* what is waited for */
	/* The search's own: where to go on. */
	uint64_t number; /* last wait of its own that was looked at */
	uint64_t *calls; /* that it stands behind; NULL: not asked for yet */
	size_t count, next;
};

struct waitfor {
	struct op *op;
	struct step *steps;
	size_t depth, cap;
	struct mark *marks;
	size_t mark_count, mark_cap; /* capacity is a power of two */
};

struct actor actor_of_lock(struct slice lock, const struct record_lock *record);
struct actor actor_of_ticket(struct slice lock, const struct record_ticket *record);
struct actor actor_of_caller(struct slice lock, const struct op *op, const struct atlock_caller *caller);
bool actor_same(const struct actor *a, const struct actor *b);

/* Whether it waits for anything, by itself or behind a call: 1 or 0. */
int actor_waits(struct op *op, const struct actor *actor);

/* Whether a lock's record says that it is held at this instant. */
bool waitfor_holds(const struct op *op, const struct record_lock *record);

/*
 * Searches for a way from `start` back to itself, or with `any` for any circle that is met: 1 and the index of its first step, the
 * last being the top; 0 if there is none. What was finished by an earlier search of the same graph is not entered again.
 */
int waitfor_from(struct waitfor *graph, const struct actor *start, bool any, size_t *first);

/*
 * The same for a wait that has just begun: for a way from the lock's holder to the waiter, or to one of the `n` who stand behind
 * the call. The first step is that wait.
 */
int waitfor_new(struct waitfor *graph, struct slice lock, const struct record_lock *record, const struct actor *waiter,
		const struct actor *behind, size_t n);

/* The newest request behind a step, and its rank. */
int waitfor_newest(struct op *op, const struct step *step, uint64_t *number, uint8_t *rank);

void waitfor_free(struct waitfor *graph);

#endif
