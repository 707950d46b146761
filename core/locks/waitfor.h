/*
 * The wait-for graph: an edge leads from a holder that waits to the holder of the lock it waits for. Nodes are holders, not
 * requests. A holder waits by its tickets, and by the blocked calls that it stands behind (call_holders.h). The graph is read from the
 * store and from that table, so it needs no upkeep. Private to core/; runs inside an operation's transaction.
 */
#ifndef CORE_WAITFOR_H
#define CORE_WAITFOR_H

#include "table.h"

/* A holder, with all fields that tell it from others. The same pull request number in two repositories is two actors. */
struct actor {
	struct slice owner;
	struct slice who;
	struct slice repo;
	uint64_t start; /* of a process or session; 0: unknown */
	uint32_t boot;
};

/* An actor on the path being searched, and the edge by which the path leaves it. */
struct step {
	struct actor actor;
	struct actor waiter; /* the ticket's holder: the actor itself, or the waiter of a call it stands behind */
	struct slice lock;   /* that it waits for */
	/* Private to the search: where to continue. */
	uint64_t number; /* last own wait that was followed */
	uint64_t *calls; /* that it stands behind; NULL: not read yet */
	size_t count, next;
};

/*
 * Edges that a search inside a change follows: it delays all other changes. A circle that is longer is left to the periodic pass,
 * whose search delays none.
 */
#define WAITFOR_EDGES 1024

struct waitfor {
	struct op *op;
	size_t most;  /* edges to follow; 0: all of them */
	size_t edges; /* followed */
	struct step *steps;
	size_t depth, cap;
	struct mark *marks;
	size_t mark_count, mark_cap; /* capacity is a power of two */
};

struct actor actor_of(struct slice lock, const struct record_holder *holder);
struct actor actor_of_caller(struct slice lock, const struct op *op, const struct atlock_caller *caller);

/* Whether the actor waits, by its own ticket or behind a call: 1 or 0. */
int actor_waits(struct op *op, const struct actor *actor);

/*
 * Searches for a path from `start` back to itself, or with `any` for any circle on the way: 1 and the index of the circle's first
 * step (its last is the top); 0 if there is none, or none within `graph->most` edges. Actors that an earlier search of the same graph finished are not entered again.
 */
int waitfor_from(struct waitfor *graph, const struct actor *start, bool any, size_t *first);

/*
 * The same for a wait that has just begun: searches for a path from the lock's holder to the waiter, or to one of the `n` holders
 * behind the call. The first step is that wait.
 */
int waitfor_new(struct waitfor *graph, struct slice lock, const struct record_holder *holder,
		const struct actor *waiter, const struct actor *behind, size_t n);

/*
 * The newest request of a step, and its rank. `order` is greater for later ones of any lock: the ticket's number, or in a shared store, where numbers are
 * by lock, when it came.
 */
int waitfor_newest(struct op *op, const struct step *step, uint64_t *order, uint8_t *rank);

void waitfor_free(struct waitfor *graph);

#endif
