#include "waitfor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call_holders.h"
#include "waits.h"

#define CALLS_MAX 1024 /* calls behind one holder that a search follows: bounds the search */

/* What the search knows of an actor. */
struct mark {
	struct actor actor;
	uint64_t hash; /* 0: free slot */
	size_t place;  /* 1 + index of its step; 0: finished */
};

/* --- Actors --- */

static struct slice actor_repo(struct slice lock, struct slice who)
{
	const char *key = lock.data;
	const char *end;

	if (!slice_begins(who, slice_of("pr:")) || lock.len == 0 || key[0] != 'r')
		return (struct slice){ NULL, 0 };
	end = memmem(key, lock.len, "/-/", 3);
	return (struct slice){ key, end != NULL ? (size_t)(end - key) : lock.len };
}

struct actor actor_of(struct slice lock, const struct record_holder *holder)
{
	return (struct actor){ holder->owner, holder->who, actor_repo(lock, holder->who), holder->start, holder->boot };
}

struct actor actor_of_caller(struct slice lock, const struct op *op, const struct atlock_caller *caller)
{
	struct slice who = slice_of(caller->who);

	return (struct actor){ slice_of(caller->owner), who, actor_repo(lock, who), caller->bound_start, op->al->boot };
}

/* Compares as rules_is_holder() does. */
static bool actor_same(const struct actor *a, const struct actor *b)
{
	if (!slice_equal(a->owner, b->owner) || !slice_equal(a->who, b->who) || !slice_equal(a->repo, b->repo))
		return false;
	if (slice_begins(a->who, slice_of("pid:")))
		return a->boot == b->boot && a->start == b->start;
	if (slice_begins(a->who, slice_of("sid:")))
		return a->boot == b->boot && (a->start == b->start || a->start == 0 || b->start == 0);
	return a->boot == b->boot || !slice_begins(a->who, slice_of("flock:"));
}

/* Hashes only the fields that must be equal byte by byte; actor_same() compares the others. */
static uint64_t actor_hash(const struct actor *actor)
{
	uint64_t hash = slice_hash(SLICE_HASH, actor->owner);

	hash = slice_hash(slice_hash(hash, actor->who), actor->repo);
	return hash != 0 ? hash : 1;
}

/* The actor's next wait that is not past its deadline, as table_wait_next(). */
static int wait_next(struct op *op, const struct actor *actor, uint64_t *number, uint8_t *rank, struct slice *lock)
{
	struct ticket ticket;
	struct actor waiter;
	int rc;

	while ((rc = table_wait_next(op, actor->owner, actor->who, *number, number, rank, lock)) == 0) {
		rc = table_ticket_get(op, *lock, *rank, *number, &ticket);
		if (rc != 0)
			return rc < 0 ? rc : op_corrupt(op, *lock, -EBADMSG);
		waiter = actor_of(*lock, &ticket.record.holder);
		if (!table_ticket_is_over(op, &ticket.record) && actor_same(&waiter, actor))
			return 0;
	}
	return rc;
}

int actor_waits(struct op *op, const struct actor *actor)
{
	uint64_t number = 0;
	struct slice lock;
	uint8_t rank;
	int rc;

	if (call_holders_calls(waits_holders(op->al->waits), actor->owner, actor->who, actor->start, &number, 1) > 0)
		return 1;
	number = 0;
	rc = table_wait_next(op, actor->owner, actor->who, 0, &number, &rank, &lock);
	return rc < 0 ? rc : rc == 0;
}

/* --- Marks and steps --- */

static struct mark *mark_slot(struct mark *marks, size_t cap, const struct actor *actor, uint64_t hash)
{
	size_t i = (size_t)hash & (cap - 1);

	while (marks[i].hash != 0 && (marks[i].hash != hash || !actor_same(&marks[i].actor, actor)))
		i = (i + 1) & (cap - 1);
	return &marks[i];
}

/* The actor's mark, or the free slot for it; NULL without memory. */
static struct mark *graph_mark(struct waitfor *graph, const struct actor *actor)
{
	struct mark *marks;
	size_t cap;
	size_t i;

	if (2 * graph->mark_count >= graph->mark_cap) {
		cap = graph->mark_cap != 0 ? 2 * graph->mark_cap : 64;
		marks = calloc(cap, sizeof(*marks));
		if (marks == NULL)
			return NULL;
		for (i = 0; i < graph->mark_cap; i++) {
			const struct mark *mark = &graph->marks[i];

			if (mark->hash != 0)
				*mark_slot(marks, cap, &mark->actor, mark->hash) = *mark;
		}
		free(graph->marks);
		graph->marks = marks;
		graph->mark_cap = cap;
	}
	return mark_slot(graph->marks, graph->mark_cap, actor, actor_hash(actor));
}

static int graph_push(struct waitfor *graph, const struct actor *actor, struct mark *mark)
{
	struct step *steps;

	if (graph->depth == graph->cap) {
		size_t cap = graph->cap != 0 ? 2 * graph->cap : 32;

		steps = reallocarray(graph->steps, cap, sizeof(*steps));
		if (steps == NULL)
			return -ENOMEM;
		graph->steps = steps;
		graph->cap = cap;
	}
	graph->steps[graph->depth++] = (struct step){ .actor = *actor };
	graph->mark_count += mark->hash == 0;
	*mark = (struct mark){ *actor, actor_hash(actor), graph->depth };
	return 0;
}

static void graph_pop(struct waitfor *graph)
{
	free(graph->steps[--graph->depth].calls);
}

void waitfor_free(struct waitfor *graph)
{
	while (graph->depth > 0)
		graph_pop(graph);
	free(graph->steps);
	free(graph->marks);
	*graph = (struct waitfor){ .op = graph->op };
}

/* --- Edges --- */

static bool is_tired(const struct waitfor *graph)
{
	return graph->most != 0 && graph->edges >= graph->most;
}

/* The holder of the lock that the step waits for: 0, or 1 if it is free. */
static int edge_holder(struct waitfor *graph, const struct step *step, struct actor *to)
{
	struct record_lock record;
	int rc = table_lock_get(graph->op, step->lock, &record);

	graph->edges++;
	if (rc != 0)
		return rc;
	if (!table_grant_is_held(graph->op, &record.grant))
		return 1;
	*to = actor_of(step->lock, &record.grant.holder);
	return 0;
}

/* The edge of the actor's next own ticket. */
static int edge_own(struct waitfor *graph, struct step *top, struct actor *to)
{
	uint8_t rank;
	int rc = 1;

	while (!is_tired(graph) && (rc = wait_next(graph->op, &top->actor, &top->number, &rank, &top->lock)) == 0) {
		top->waiter = top->actor;
		rc = edge_holder(graph, top, to);
		if (rc != 1)
			return rc;
	}
	return rc;
}

static int calls_load(struct waitfor *graph, struct step *top)
{
	struct call_holders *table = waits_holders(graph->op->al->waits);
	uint64_t few[1];

	if (top->calls != NULL ||
	    call_holders_calls(table, top->actor.owner, top->actor.who, top->actor.start, few, 1) == 0)
		return 0;
	top->calls = reallocarray(NULL, CALLS_MAX, sizeof(*top->calls));
	if (top->calls == NULL)
		return -ENOMEM;
	top->count = call_holders_calls(table, top->actor.owner, top->actor.who, top->actor.start, top->calls,
					CALLS_MAX);
	return 0;
}

/* The edge of the next call that the actor stands behind. */
static int edge_behind(struct waitfor *graph, struct step *top, struct actor *to)
{
	struct ticket ticket;
	int rc = top->next == 0 ? calls_load(graph, top) : 0;

	while (rc == 0 && !is_tired(graph) && top->next < top->count) {
		rc = waits_ticket(graph->op, top->calls[top->next++], &top->lock, &ticket);
		if (rc < 0)
			return rc;
		if (rc == 1 || table_ticket_is_over(graph->op, &ticket.record)) {
			rc = 0;
			continue;
		}
		top->waiter = actor_of(top->lock, &ticket.record.holder);
		rc = edge_holder(graph, top, to);
		if (rc != 1)
			return rc;
		rc = 0;
	}
	return rc < 0 ? rc : 1;
}

/* --- Searching --- */

/* Continues from the top step until it reaches one of `ends`, or with `any` an actor on the path, as waitfor_from(). */
static int graph_search(struct waitfor *graph, size_t base, const struct actor *ends, size_t n, bool any, size_t *first,
			size_t *end)
{
	struct actor to = { .start = 0 };
	struct mark *mark;
	int rc = 0;

	while (rc == 0 && !is_tired(graph) && graph->depth > base) {
		struct step *top = &graph->steps[graph->depth - 1];

		rc = edge_own(graph, top, &to);
		if (rc == 1)
			rc = edge_behind(graph, top, &to);
		if (rc < 0)
			return rc;
		for (*end = 0; rc == 0 && *end < n; ++*end)
			if (actor_same(&to, &ends[*end]))
				return 1;
		mark = graph_mark(graph, rc == 1 ? &top->actor : &to);
		if (mark == NULL)
			return -ENOMEM;
		if (rc == 1) {
			mark->place = 0;
			graph_pop(graph);
			rc = 0;
		} else if (mark->hash == 0) {
			rc = graph_push(graph, &to, mark);
		} else if (any && mark->place > 0) {
			*first = mark->place - 1;
			return 1;
		}
	}
	return rc;
}

int waitfor_from(struct waitfor *graph, const struct actor *start, bool any, size_t *first)
{
	struct mark *mark = graph_mark(graph, start);
	size_t end;
	int rc;

	*first = 0;
	if (mark == NULL)
		return -ENOMEM;
	if (mark->hash != 0)
		return 0;
	rc = graph_push(graph, start, mark);
	return rc < 0 ? rc : graph_search(graph, 0, start, 1, any, first, &end);
}

int waitfor_new(struct waitfor *graph, struct slice lock, const struct record_holder *holder,
		const struct actor *waiter, const struct actor *behind, size_t n)
{
	struct actor blocker = actor_of(lock, holder);
	struct actor ends[CALL_HOLDERS_MAX + 1] = { *waiter };
	struct mark *mark = graph_mark(graph, waiter);
	size_t first;
	size_t end;
	int rc = mark == NULL ? -ENOMEM : graph_push(graph, waiter, mark);

	if (rc < 0)
		return rc;
	graph->steps[0].waiter = *waiter;
	graph->steps[0].lock = lock;
	if (n > CALL_HOLDERS_MAX)
		n = CALL_HOLDERS_MAX;
	for (size_t i = 0; i < n; i++)
		ends[1 + i] = behind[i];
	for (end = 0; end <= n && !actor_same(&blocker, &ends[end]); end++)
		;
	if (end > n) {
		mark = graph_mark(graph, &blocker);
		rc = mark == NULL ? -ENOMEM : graph_push(graph, &blocker, mark);
		if (rc == 0)
			rc = graph_search(graph, 1, ends, n + 1, false, &first, &end);
		if (rc != 1)
			return rc;
	}
	graph->steps[0].actor = ends[end];
	return 1;
}

int waitfor_newest(struct op *op, const struct step *step, uint64_t *order, uint8_t *rank)
{
	uint64_t at = 0;
	struct ticket ticket;
	struct slice lock;
	uint8_t its;
	int rc;

	*order = 0;
	*rank = 0;
	while ((rc = wait_next(op, &step->waiter, &at, &its, &lock)) == 0) {
		if (!slice_equal(lock, step->lock))
			continue;
		*order = at;
		*rank = its;
		rc = op->al->shared ? table_ticket_get(op, lock, its, at, &ticket) : 1;
		if (rc < 0)
			return rc;
		if (rc == 0)
			*order = (uint64_t)ticket.record.since;
	}
	return rc < 0 ? rc : 0;
}
