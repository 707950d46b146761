#include "deadlock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dir.h"
#include "grant.h"
#include "holder.h"
#include "why.h"

/* A holder. The same pull request number in two repositories is two holders. */
struct node {
	struct slice owner;
	struct slice who;
	struct slice repo;
};

/* A node on the way from the start, and the edge by which the way leaves it. */
struct frame {
	struct node node;
	uint64_t number;   /* last wait looked at */
	struct slice lock; /* what it waits for on this way */
};

/* What is known of a node, by its hash. */
struct mark {
	uint64_t hash; /* 0: free slot */
	size_t place;  /* 1 + index on the stack; 0: finished */
};

struct graph {
	struct op *op;
	struct frame *stack;
	size_t depth, stack_cap;
	struct mark *marks;
	size_t mark_count, mark_cap; /* capacity is a power of two */
};

static struct node node_of(struct slice lock, struct slice owner, struct slice who)
{
	struct node node = { owner, who, { NULL, 0 } };
	const char *key = lock.data;
	const char *end;

	if (who.len < 3 || memcmp(who.data, "pr:", 3) != 0 || lock.len == 0 || key[0] != 'r')
		return node;
	end = memmem(key, lock.len, "/-/", 3);
	node.repo = (struct slice){ key, end != NULL ? (size_t)(end - key) : lock.len };
	return node;
}

static uint64_t hash_bytes(uint64_t hash, struct slice bytes)
{
	const unsigned char *at = bytes.data;
	size_t i;

	for (i = 0; i < bytes.len; i++)
		hash = (hash ^ at[i]) * UINT64_C(1099511628211);
	return hash * UINT64_C(1099511628211);
}

static uint64_t node_hash(const struct node *node)
{
	uint64_t hash = hash_bytes(UINT64_C(14695981039346656037), node->owner);

	hash = hash_bytes(hash_bytes(hash, node->who), node->repo);
	return hash != 0 ? hash : 1;
}

static struct mark *mark_slot(struct mark *marks, size_t cap, uint64_t hash)
{
	size_t i = (size_t)hash & (cap - 1);

	while (marks[i].hash != 0 && marks[i].hash != hash)
		i = (i + 1) & (cap - 1);
	return &marks[i];
}

/* The node's mark, or a free slot to make it in; NULL without memory. */
static struct mark *graph_mark(struct graph *graph, uint64_t hash)
{
	struct mark *marks;
	size_t cap;
	size_t i;

	if (2 * graph->mark_count >= graph->mark_cap) {
		cap = graph->mark_cap != 0 ? 2 * graph->mark_cap : 64;
		marks = calloc(cap, sizeof(*marks));
		if (marks == NULL)
			return NULL;
		for (i = 0; i < graph->mark_cap; i++)
			if (graph->marks[i].hash != 0)
				*mark_slot(marks, cap, graph->marks[i].hash) = graph->marks[i];
		free(graph->marks);
		graph->marks = marks;
		graph->mark_cap = cap;
	}
	return mark_slot(graph->marks, graph->mark_cap, hash);
}

static int graph_push(struct graph *graph, const struct node *node, struct mark *mark)
{
	struct frame *stack;

	if (graph->depth == graph->stack_cap) {
		size_t cap = graph->stack_cap != 0 ? 2 * graph->stack_cap : 32;

		stack = reallocarray(graph->stack, cap, sizeof(*stack));
		if (stack == NULL)
			return -ENOMEM;
		graph->stack = stack;
		graph->stack_cap = cap;
	}
	graph->stack[graph->depth++] = (struct frame){ .node = *node };
	graph->mark_count += mark->hash == 0;
	*mark = (struct mark){ node_hash(node), graph->depth };
	return 0;
}

static void graph_free(struct graph *graph)
{
	free(graph->stack);
	free(graph->marks);
}

static bool record_holds(const struct op *op, const struct record_lock *record)
{
	return record->state != RECORD_DELAYED && table_lock_due(record) >= op->now;
}

/* The next wait of a holder that is not past its deadline, as table_wait_next(). */
static int wait_next(struct op *op, const struct node *node, uint64_t *number, uint8_t *rank, struct slice *lock)
{
	struct ticket ticket;
	int rc;

	while ((rc = table_wait_next(op, node->owner, node->who, *number, number, rank, lock)) == 0) {
		rc = table_ticket_get(op, *lock, *rank, *number, &ticket);
		if (rc != 0)
			return rc < 0 ? rc : op_corrupt(op, *lock, -EBADMSG);
		if (ticket.record.deadline >= op->now)
			return 0;
	}
	return rc;
}

/* Follows the next edge of the top frame: 0 and the node it leads to, 1 if there is none left. */
static int graph_edge(struct graph *graph, struct node *to)
{
	struct frame *top = &graph->stack[graph->depth - 1];
	struct record_lock record;
	struct slice lock;
	uint8_t rank;
	int rc;

	while ((rc = wait_next(graph->op, &top->node, &top->number, &rank, &lock)) == 0) {
		if (!slice_equal(node_of(lock, top->node.owner, top->node.who).repo, top->node.repo))
			continue;
		rc = table_lock_get(graph->op, lock, &record);
		if (rc < 0)
			return rc;
		if (rc == 1 || !record_holds(graph->op, &record))
			continue;
		top->lock = lock;
		*to = node_of(lock, record.owner, record.who);
		return 0;
	}
	return rc;
}

/*
 * Looks for a cycle: 1 and the index of its first frame, the last one being the top; 0 if there is none. With `any` false
 * only a cycle through `start` counts. Nodes marked finished before are not entered again.
 */
static int graph_search(struct graph *graph, const struct node *start, bool any, size_t *first)
{
	struct mark *mark = graph_mark(graph, node_hash(start));
	struct node to = { .owner = { NULL, 0 } };
	int rc;

	if (mark == NULL)
		return -ENOMEM;
	if (mark->hash != 0)
		return 0;
	rc = graph_push(graph, start, mark);
	while (rc == 0 && graph->depth > 0) {
		rc = graph_edge(graph, &to);
		if (rc < 0)
			return rc;
		mark = graph_mark(graph, node_hash(rc == 1 ? &graph->stack[graph->depth - 1].node : &to));
		if (mark == NULL)
			return -ENOMEM;
		if (rc == 1) {
			mark->place = 0;
			graph->depth--;
			rc = 0;
		} else if (mark->hash == 0) {
			rc = graph_push(graph, &to, mark);
		} else if (mark->place == 1 || (any && mark->place > 0)) {
			*first = mark->place - 1;
			return 1;
		}
	}
	return rc;
}

/* The newest request behind an edge. */
static int edge_newest(struct op *op, const struct frame *frame, uint64_t *newest, uint8_t *rank)
{
	uint64_t number = 0;
	struct slice lock;
	uint8_t at;
	int rc;

	*newest = 0;
	*rank = 0;
	while ((rc = wait_next(op, &frame->node, &number, &at, &lock)) == 0) {
		if (slice_equal(lock, frame->lock)) {
			*newest = number;
			*rank = at;
		}
	}
	return rc < 0 ? rc : 0;
}

/* Picks the edge of the cycle that is to go. */
static int cycle_victim(struct graph *graph, size_t first, size_t *victim)
{
	int64_t policy = graph->op->options->deadlock_policy;
	uint64_t best = 0;
	uint8_t best_rank = 0;
	size_t i;

	*victim = first + (size_t)(graph->op->random % (graph->depth - first));
	if (policy == ATLOCK_DEADLOCK_RANDOM)
		return 0;
	for (i = first; i < graph->depth; i++) {
		uint64_t newest;
		uint8_t rank;
		bool better;
		int rc = edge_newest(graph->op, &graph->stack[i], &newest, &rank);

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

/* Finds one cycle from `start` and resolves it: 1, or 0 if there is none. */
static int resolve_one(struct op *op, const struct node *start, bool any)
{
	struct graph graph = { .op = op };
	size_t victim = 0;
	size_t first = 0;
	int rc;

	rc = graph_search(&graph, start, any, &first);
	if (rc == 1)
		rc = cycle_victim(&graph, first, &victim) < 0 ? -EIO : 1;
	if (rc == 1) {
		const struct frame *frame = &graph.stack[victim];

		rc = grant_drop_tickets(op, frame->lock, frame->node.owner, frame->node.who, -EDEADLK, ATLOCK_DEADLOCK,
					NULL, NULL);
		if (rc > 0)
			rc = 1;
	}
	graph_free(&graph);
	return rc;
}

/* Whether a holder can be in a cycle at all: it has something and waits for something. */
static int may_be_in_cycle(struct op *op, struct slice owner, struct slice who)
{
	struct slice other;
	uint64_t number;
	uint8_t rank;
	int rc;

	if (op->options->deadlock_policy == ATLOCK_DEADLOCK_OFF)
		return 0;
	rc = table_held_next(op, owner, who, 0, &number, &other);
	if (rc == 0)
		rc = table_wait_next(op, owner, who, 0, &number, &rank, &other);
	return rc < 0 ? rc : rc == 0;
}

int deadlock_check_wait(struct op *op, struct slice lock, const struct record_lock *record, struct slice owner,
			struct slice who)
{
	struct slice other;
	uint64_t number;
	uint8_t rank;
	int rc;

	if (op->options->deadlock_policy == ATLOCK_DEADLOCK_OFF)
		return 0;
	rc = table_wait_next(op, record->owner, record->who, 0, &number, &rank, &other);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return deadlock_check(op, lock, owner, who);
}

int deadlock_check(struct op *op, struct slice lock, struct slice owner, struct slice who)
{
	struct node start = node_of(lock, owner, who);
	int rc = may_be_in_cycle(op, owner, who);

	if (rc != 1)
		return rc;
	while ((rc = resolve_one(op, &start, false)) == 1)
		;
	return rc;
}

static int refuse_cycle(struct op *op, struct slice lock, const struct frame *first)
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
		(int)first->node.owner.len, (const char *)first->node.owner.data, (int)first->node.who.len,
		(const char *)first->node.who.data, waited, given);
}

int deadlock_refuse(struct op *op, struct slice lock, struct slice owner, struct slice who)
{
	struct node start = node_of(lock, owner, who);
	struct graph graph = { .op = op };
	size_t first = 0;
	int rc = may_be_in_cycle(op, owner, who);

	if (rc == 1)
		rc = graph_search(&graph, &start, false, &first);
	if (rc == 1)
		rc = refuse_cycle(op, lock, &graph.stack[first]);
	graph_free(&graph);
	return rc;
}

/* Every waiting holder is a start; a victim's way is searched again until it is clean. */
static int run_in_txn(struct op *op)
{
	struct record_key from = record_key_of(TABLE_WAITS, (struct slice){ NULL, 0 });
	struct slice prefix = { from.data, 1 };
	struct graph graph = { .op = op };
	int victims = 0;
	struct slice key = { NULL, 0 };
	struct slice value = { NULL, 0 };
	int rc;

	while ((rc = store_next(op->txn, record_key_slice(&from), prefix, &key, &value)) == 0) {
		const char *owner = (const char *)key.data + 1;
		const char *who = memchr(owner, 0, key.len - 1);
		struct node start;
		size_t first;

		if (who == NULL || key.len < 11 || value.len < 2) {
			rc = op_corrupt(op, key, -EBADMSG);
			break;
		}
		who++;
		start = node_of((struct slice){ (const char *)value.data + 1, value.len - 1 },
				(struct slice){ owner, (size_t)(who - owner - 1) },
				(struct slice){ who, key.len - 9 - (size_t)(who - (const char *)key.data) });
		graph.depth = 0;
		rc = graph_search(&graph, &start, true, &first);
		if (rc == 1) {
			rc = resolve_one(op, &start, true);
			victims += rc == 1;
			graph_free(&graph);
			graph = (struct graph){ .op = op };
			if (rc == 1)
				continue;
		}
		if (rc < 0)
			break;
		from = record_key_after(key);
	}
	graph_free(&graph);
	return rc < 0 ? rc : victims;
}

int atlock_run_deadlock(struct atlock *al)
{
	struct op op;

	if (al == NULL)
		return -EINVAL;
	op_init(&op, al, NULL, NULL);
	if (op.options->deadlock_policy == ATLOCK_DEADLOCK_OFF)
		return 0;
	return op_run(&op, run_in_txn);
}
