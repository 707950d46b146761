#include "deadlock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_holders.h"
#include "dir_path.h"
#include "grant.h"
#include "holder.h"
#include "lock_name.h"
#include "why.h"

#define LINKS_SHOWN 4 /* of a longer circle the other links are only counted */
#define LINK_MAX 240
#define ADVICE ": release what you hold, then try again"

static bool is_off(const struct op *op)
{
	return op->options->deadlock_policy == ATLOCK_DEADLOCK_OFF;
}

/* --- The victim --- */

/* Picks the step of the circle whose wait is cancelled. */
static int circle_victim(struct waitfor *graph, size_t first, size_t *victim)
{
	int64_t policy = graph->op->options->deadlock_policy;
	uint64_t best = 0;
	uint8_t best_rank = 0;
	size_t i;

	if (first >= graph->depth)
		return -EINVAL;
	*victim = first + (size_t)(graph->op->random % (graph->depth - first));
	if (policy == ATLOCK_DEADLOCK_RANDOM)
		return 0;
	for (i = first; i < graph->depth; i++) {
		uint64_t newest;
		uint8_t rank;
		bool better;
		int rc = waitfor_newest(graph->op, &graph->steps[i], &newest, &rank);

		if (rc < 0)
			return rc;
		better = i == first || (policy == ATLOCK_DEADLOCK_FIFO ? newest < best : newest > best);
		if (policy == ATLOCK_DEADLOCK_LOWEST_PRIORITY && i != first && rank != best_rank)
			better = rank > best_rank;
		if (better) {
			*victim = i;
			best = newest;
			best_rank = rank;
		}
	}
	return 0;
}

/* --- The circle in words --- */

/* The victim may see its own waits and locks, but not the actions of others in directories of custom/. */
static bool link_is_shown(const struct step *step, const struct actor *holder, const struct actor *victim)
{
	struct atlock_name name;
	uint64_t dir;

	name_from_key(&name, step->lock);
	return !atlock_name_dir(&name, &dir) || dir == 0 || slice_equal(step->actor.owner, victim->owner) ||
	       slice_equal(holder->owner, victim->owner);
}

static void link_print(struct op *op, const struct step *step, const struct actor *holder, const struct actor *victim,
		       char out[LINK_MAX])
{
	const struct actor *actor = &step->actor;
	char path[ATLOCK_PATH_MAX];

	if (!link_is_shown(step, holder, victim) || dir_path(op, step->lock, path, sizeof(path)) < 0)
		(void)snprintf(path, sizeof(path), "a lock in custom/");
	(void)snprintf(out, LINK_MAX, "%.*s@%.*s waits for %.100s, held by %.*s@%.*s", (int)actor->owner.len,
		       (const char *)actor->owner.data, (int)actor->who.len, (const char *)actor->who.data, path,
		       (int)holder->owner.len, (const char *)holder->owner.data, (int)holder->who.len,
		       (const char *)holder->who.data);
}

/* Prints the circle link by link, starting with the victim's. */
static void circle_print(struct waitfor *graph, size_t first, size_t victim, char *out, size_t len)
{
	size_t count = graph->depth - first;
	const struct step *steps = graph->steps + first;
	char text[LINK_MAX];
	size_t at = 0;
	size_t i;

	(void)snprintf(out, len, "a deadlock: ");
	for (i = 0; i < count && i < LINKS_SHOWN; i++) {
		size_t place = (victim - first + i) % count;

		at = strlen(out);
		link_print(graph->op, &steps[place], &steps[(place + 1) % count].actor, &graph->steps[victim].waiter,
			   text);
		if (at + strlen(text) + sizeof(ADVICE) + 24 > len)
			break;
		(void)snprintf(out + at, len - at, "%s%s", i > 0 ? "; " : "", text);
	}
	at = strlen(out);
	if (i < count)
		(void)snprintf(out + at, len - at, "; and %zu more", count - i);
	at = strlen(out);
	(void)snprintf(out + at, len - at, ADVICE);
}

/* --- Resolving --- */

int deadlock_resolve(struct waitfor *graph, size_t first)
{
	char text[sizeof(((struct atlock_why *)NULL)->text)];
	struct op *op = graph->op;
	const struct step *step;
	size_t victim = 0;
	int rc = circle_victim(graph, first, &victim);

	if (rc < 0)
		return rc;
	step = &graph->steps[victim];
	circle_print(graph, first, victim, text, sizeof(text));
	op_circle(op, text);
	rc = grant_drop_tickets(op, step->lock,
				&(struct record_holder){ .owner = step->waiter.owner, .who = step->waiter.who },
				-EDEADLK, ATLOCK_DEADLOCK, NULL, NULL);
	/* If no ticket was dropped, the same circle would be found again, for ever. */
	return rc <= 0 ? rc : victim == 0 ? 2 : 1;
}

/* Whether a holder can be part of a circle: it holds a lock and waits for one. */
static int may_be_in_circle(struct op *op, const struct actor *actor)
{
	struct slice lock;
	uint64_t token;
	int rc;

	if (is_off(op))
		return 0;
	rc = table_held_next(op, actor->owner, actor->who, 0, &token, &lock);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return actor_waits(op, actor);
}

/* Of the holders behind a call, picks those that hold a lock: the others cannot block a wait. */
static int holders_only(struct op *op, const struct actor *behind, size_t n, struct actor out[CALL_HOLDERS_MAX])
{
	struct slice lock;
	uint64_t token;
	int count = 0;

	for (size_t i = 0; i < n && i < CALL_HOLDERS_MAX; i++) {
		int rc = table_held_next(op, behind[i].owner, behind[i].who, 0, &token, &lock);

		if (rc < 0)
			return rc;
		if (rc == 0)
			out[count++] = behind[i];
	}
	return count;
}

/* Searches for a circle through a wait that has just begun: 1 and the circle, or 0. */
static int search_wait(struct waitfor *graph, struct slice lock, const struct record_grant *held,
		       const struct actor *waiter, const struct actor *behind, size_t n)
{
	struct actor holder = actor_of(lock, &held->holder);
	struct actor ends[CALL_HOLDERS_MAX];
	struct op *op = graph->op;
	int count;
	int rc;

	if (is_off(op) || !table_grant_is_held(op, held))
		return 0;
	rc = actor_waits(op, &holder);
	if (rc != 1)
		return rc;
	count = holders_only(op, behind, n, ends);
	if (count < 0)
		return count;
	rc = count > 0 ? 1 : may_be_in_circle(op, waiter);
	return rc == 1 ? waitfor_new(graph, lock, &held->holder, waiter, ends, (size_t)count) : rc;
}

int deadlock_look(struct op *op, struct slice lock, const struct record_grant *held, const struct actor *waiter,
		  const struct actor *behind, size_t n)
{
	struct waitfor graph = { .op = op, .most = WAITFOR_EDGES };
	int rc = search_wait(&graph, lock, held, waiter, behind, n);

	waitfor_free(&graph);
	return rc;
}

int deadlock_check_wait(struct op *op, struct slice lock, const struct record_grant *held, const struct actor *waiter,
			const struct actor *behind, size_t n)
{
	int rc;

	do {
		struct waitfor graph = { .op = op, .most = WAITFOR_EDGES };

		rc = search_wait(&graph, lock, held, waiter, behind, n);
		if (rc == 1)
			rc = deadlock_resolve(&graph, 0);
		waitfor_free(&graph);
	} while (rc == 1);
	return rc == 2 ? 1 : rc;
}

int deadlock_check(struct op *op, struct slice lock, const struct record_holder *holder)
{
	struct actor start = actor_of(lock, holder);
	size_t first;
	int rc = may_be_in_circle(op, &start);

	while (rc > 0) {
		struct waitfor graph = { .op = op, .most = WAITFOR_EDGES };

		rc = waitfor_from(&graph, &start, false, &first);
		if (rc == 1)
			rc = deadlock_resolve(&graph, first);
		waitfor_free(&graph);
	}
	return rc;
}

static int refuse_circle(struct op *op, struct slice lock, const struct step *first)
{
	char given[ATLOCK_PATH_MAX];
	char waited[ATLOCK_PATH_MAX];

	if (op->why == NULL)
		return -EDEADLK;
	if (dir_path(op, lock, given, sizeof(given)) < 0 || dir_path(op, first->lock, waited, sizeof(waited)) < 0)
		return -EDEADLK;
	return why_set(
		op->why, -EDEADLK, ATLOCK_DEADLOCK,
		"%.*s@%.*s waits for %.150s and would keep its holder waiting for %.150s: release this lock instead, or "
		"let them leave that queue first",
		(int)first->actor.owner.len, (const char *)first->actor.owner.data, (int)first->actor.who.len,
		(const char *)first->actor.who.data, waited, given);
}

int deadlock_refuse(struct op *op, struct slice lock, const struct record_holder *holder)
{
	struct actor start = actor_of(lock, holder);
	struct waitfor graph = { .op = op, .most = WAITFOR_EDGES };
	size_t first = 0;
	int rc = may_be_in_circle(op, &start);

	if (rc == 1)
		rc = waitfor_from(&graph, &start, false, &first);
	if (rc == 1)
		rc = refuse_circle(op, lock, &graph.steps[first]);
	waitfor_free(&graph);
	return rc;
}
