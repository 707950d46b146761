#include <errno.h>
#include <limits.h>
#include <string.h>

#include "model_parts.h"

#define EDGES (CAST_LOCKS * CAST_ACTORS)

/* One holder waits for one lock that another has. A pull request is one holder in each repository. */
struct edge {
	int lock;
	int actor;
	int from;
	int to;
	const struct model_ticket *newest;
};

/* A way to break a cycle, and how long the shortest cycle is that it breaks. */
struct victim {
	int lock;
	int actor;
	int length;
};

struct search {
	const struct model *model;
	struct edge edges[EDGES];
	int edges_len;
	int start;
	const struct edge *path[CAST_LOCKS + 1];
	int depth;
	struct victim victims[EDGES];
	int victims_len;
	bool leaves[CAST_LOCKS]; /* a cycle leaves the start by a wait for this lock */
};

static int node(int lock, int actor)
{
	return actor * CAST_REPOS + (cast_actors[actor].pull ? cast_locks[lock].repo : 0);
}

/* What is over holds nobody up, settled or not: a lease, a grant that was not taken up in time, a ticket. */
static void edges_of(struct search *search, int index)
{
	const struct model_lock *lock = &search->model->locks[index];
	int64_t now = search->model->now;
	if (!lock->held || lock->expires_at < now || (lock->pending && lock->claim_by < now))
		return;
	for (int actor = 0; actor < CAST_ACTORS; actor++) {
		const struct model_ticket *newest = NULL;
		for (int i = 0; i < lock->tickets_len; i++) {
			const struct model_ticket *ticket = &lock->tickets[i];
			if (ticket->actor != actor || ticket->deadline < now)
				continue;
			if (!newest || ticket->order > newest->order)
				newest = ticket;
		}
		if (newest)
			search->edges[search->edges_len++] = (struct edge){
				.lock = index,
				.actor = actor,
				.from = node(index, actor),
				.to = node(index, lock->actor),
				.newest = newest,
			};
	}
}

static void search_init(struct search *search, const struct model *model)
{
	search->model = model;
	search->edges_len = 0;
	search->victims_len = 0;
	search->depth = 0;
	memset(search->leaves, 0, sizeof(search->leaves));
	for (int i = 0; i < CAST_LOCKS; i++)
		edges_of(search, i);
}

static bool loses_to(int64_t policy, const struct edge *a, const struct edge *b)
{
	if (policy == ATLOCK_DEADLOCK_FIFO)
		return a->newest->order < b->newest->order;
	if (policy == ATLOCK_DEADLOCK_LOWEST_PRIORITY && a->newest->priority != b->newest->priority)
		return a->newest->priority < b->newest->priority;
	return a->newest->order > b->newest->order;
}

static void victim_add(struct search *search, const struct edge *edge)
{
	struct victim *victim = search->victims;
	struct victim *end = victim + search->victims_len;
	while (victim < end && (victim->lock != edge->lock || victim->actor != edge->actor))
		victim++;
	if (victim == end) {
		*victim = (struct victim){ .lock = edge->lock, .actor = edge->actor, .length = INT_MAX };
		search->victims_len++;
	}
	if (search->depth < victim->length)
		victim->length = search->depth;
}

static void cycle_found(struct search *search)
{
	int64_t policy = search->model->options.policy;
	const struct edge *loser = search->path[0];
	search->leaves[loser->lock] = true;
	for (int i = 0; i < search->depth; i++) {
		if (policy == ATLOCK_DEADLOCK_RANDOM)
			victim_add(search, search->path[i]);
		else if (loses_to(policy, search->path[i], loser))
			loser = search->path[i];
	}
	if (policy != ATLOCK_DEADLOCK_RANDOM)
		victim_add(search, loser);
}

static bool on_path(const struct search *search, int at)
{
	for (int i = 0; i < search->depth; i++) {
		if (search->path[i]->from == at)
			return true;
	}
	return false;
}

/* Every way back to the start that meets nobody twice. */
static void walk(struct search *search, int at)
{
	for (int i = 0; i < search->edges_len; i++) {
		const struct edge *edge = &search->edges[i];
		if (edge->from != at)
			continue;
		search->path[search->depth++] = edge;
		if (edge->to == search->start)
			cycle_found(search);
		else if (!on_path(search, edge->to))
			walk(search, edge->to);
		search->depth--;
	}
}

/* The victim to take next: whoever is in a shortest cycle by the model's first idea, any of them otherwise. */
static const struct victim *victim_choose(struct model *model, struct search *search)
{
	for (int i = 1; i < search->victims_len; i++) {
		struct victim moved = search->victims[i];
		int at = i;
		for (; at > 0 && moved.length < search->victims[at - 1].length; at--)
			search->victims[at] = search->victims[at - 1];
		search->victims[at] = moved;
	}
	return &search->victims[choice_take(model, CHOICE_CYCLE, search->victims_len)];
}

/* Takes the victim's tickets away. True if the ticket of order `request` was among them. */
static bool victim_end(struct model *model, const struct victim *victim, uint64_t request)
{
	struct model_lock *lock = &model->locks[victim->lock];
	bool self = false;
	model->tally[TALLY_DEADLOCK_LONG] += victim->length > 2;
	for (int i = lock->tickets_len - 1; i >= 0; i--) {
		struct model_ticket *ticket = &lock->tickets[i];
		if (ticket->actor != victim->actor)
			continue;
		if (request && ticket->order == request) {
			self = true;
			ticket->waiter = -1;
		}
		model_ticket_drop(model, victim->lock, i, -EDEADLK);
	}
	model_event(model, victim->lock, ATLOCK_EVENT_DEADLOCK);
	if (request)
		model->tally[self ? TALLY_DEADLOCK_SELF : TALLY_DEADLOCK_OTHER]++;
	return self;
}

bool model_break_cycles(struct model *model, int lock, int actor, uint64_t request)
{
	bool self = false;
	while (model->options.policy != ATLOCK_DEADLOCK_OFF) {
		struct search search;
		search_init(&search, model);
		search.start = node(lock, actor);
		walk(&search, search.start);
		if (search.victims_len == 0)
			break;
		if (request && !search.leaves[lock] && choice_take(model, CHOICE_OLDER, 2) == 1)
			break;
		self |= victim_end(model, victim_choose(model, &search), request);
		model->tally[TALLY_DEADLOCK_HAND_OVER] += request == 0;
	}
	return self;
}

bool model_in_cycle(const struct model *model, int lock, int actor)
{
	struct search search;
	search_init(&search, model);
	search.start = node(lock, actor);
	walk(&search, search.start);
	return search.victims_len > 0;
}

int model_break_all(struct model *model)
{
	int victims = 0;
	while (model->options.policy != ATLOCK_DEADLOCK_OFF) {
		struct search search;
		search_init(&search, model);
		for (search.start = 0; search.start < CAST_ACTORS * CAST_REPOS; search.start++)
			walk(&search, search.start);
		if (search.victims_len == 0)
			break;
		victim_end(model, victim_choose(model, &search), 0);
		model->tally[TALLY_DEADLOCK_PASS]++;
		victims++;
	}
	return victims;
}
