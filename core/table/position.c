#include "position.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct spot {
	uint64_t number;
	uint64_t position;
	uint8_t rank;
};

struct queue {
	pthread_mutex_t mutex; /* only tried: a walk that fails to lock it starts at the front */
	atomic_bool stale;     /* a change failed to lock the mutex */
	_Atomic uint64_t seen; /* the newest event of a change */
	struct atlock_name lock;
	int64_t until; /* earliest deadline of the counted tickets */
	uint64_t apart;
	size_t count;
	struct spot spots[POSITION_SPOTS];
};

struct positions {
	struct queue queues[POSITION_QUEUES];
};

int positions_new(struct positions **out)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < POSITION_QUEUES; i++)
		pthread_mutex_init(&(*out)->queues[i].mutex, NULL);
	return 0;
}

void positions_free(struct positions *positions)
{
	for (size_t i = 0; positions != NULL && i < POSITION_QUEUES; i++)
		pthread_mutex_destroy(&positions->queues[i].mutex);
	free(positions);
}

static size_t queue_index(struct slice lock)
{
	uint64_t hash = slice_hash(SLICE_HASH, lock);

	return (hash ^ hash >> 32) % POSITION_QUEUES;
}

static bool is_before(const struct spot *spot, uint8_t rank, uint64_t number)
{
	return spot->rank != rank ? spot->rank < rank : spot->number < number;
}

/* The last remembered spot before a ticket. */
static struct spot spot_before(const struct queue *queue, uint8_t rank, uint64_t number)
{
	size_t low = 0;
	size_t high = queue->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (is_before(&queue->spots[middle], rank, number))
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0)
		return queue->spots[low - 1];
	return (struct spot){ .number = 0 };
}

/* Remembers a spot behind all others. Drops every second one when the array is full. */
static void spot_add(struct queue *queue, const struct spot *spot)
{
	uint64_t last = queue->count == 0 ? 0 : queue->spots[queue->count - 1].position;

	if (spot->position < last + queue->apart)
		return;
	if (queue->count == POSITION_SPOTS) {
		for (size_t i = 0; i < POSITION_SPOTS / 2; i++)
			queue->spots[i] = queue->spots[2 * i + 1];
		queue->count = POSITION_SPOTS / 2;
		queue->apart *= 2;
	}
	queue->spots[queue->count++] = *spot;
}

/* Walks from a spot to the ticket: 0, or 1 if it is not there. */
static int walk(struct op *op, struct slice lock, struct queue *queue, struct spot at, const struct ticket *ticket,
		uint64_t *out)
{
	struct ticket next;
	int rc;

	while ((rc = table_ticket_next(op, lock, at.rank, at.number, &next)) == 0) {
		at.rank = table_rank(next.record.priority);
		at.number = next.number;
		if (table_ticket_is_over(op, &next.record))
			continue;
		at.position++;
		if (next.number == ticket->number) {
			*out = at.position;
			return 0;
		}
		if (queue == NULL)
			continue;
		spot_add(queue, &at);
		if (table_ticket_over_at(&next.record) < queue->until)
			queue->until = table_ticket_over_at(&next.record);
	}
	return rc;
}

/* Forgets the spots of another queue, and those that are out of date. */
static void queue_renew(const struct op *op, struct queue *queue, struct slice lock)
{
	bool stale = atomic_exchange(&queue->stale, false);

	if (!stale && queue->until >= op->now && slice_equal(name_slice(&queue->lock), lock))
		return;
	name_from_key(&queue->lock, lock);
	queue->until = ATLOCK_NEVER;
	queue->apart = 1;
	queue->count = 0;
}

int position_find(struct op *op, struct slice lock, const struct ticket *ticket, uint64_t *out)
{
	struct queue *queue = &op->al->positions->queues[queue_index(lock)];
	struct spot at = { .number = 0 };
	int rc = op_tail(op);

	if (rc < 0 || table_ticket_is_over(op, &ticket->record))
		return rc < 0 ? rc : 1;
	/* Another host's changes are not noted. */
	if (op->al->shared || pthread_mutex_trylock(&queue->mutex) != 0)
		return walk(op, lock, NULL, at, ticket, out);
	if (op->tail.seq < atomic_load(&queue->seen)) {
		pthread_mutex_unlock(&queue->mutex);
		return walk(op, lock, NULL, at, ticket, out);
	}
	queue_renew(op, queue, lock);
	at = spot_before(queue, table_rank(ticket->record.priority), ticket->number);
	rc = walk(op, lock, queue, at, ticket, out);
	pthread_mutex_unlock(&queue->mutex);
	return rc;
}

void position_note(struct op *op, struct slice lock, uint8_t rank, uint64_t number)
{
	size_t i = queue_index(lock);
	struct position_change *first = &op->positions.first[i];

	if ((op->positions.noted & 1U << i) != 0 &&
	    (rank > first->rank || (rank == first->rank && number >= first->number)))
		return;
	op->positions.noted |= 1U << i;
	*first = (struct position_change){ rank, number };
}

static void queue_cut(struct queue *queue, const struct position_change *change, uint64_t seq)
{
	uint64_t seen = atomic_load(&queue->seen);

	while (seen < seq && !atomic_compare_exchange_weak(&queue->seen, &seen, seq))
		;
	if (pthread_mutex_trylock(&queue->mutex) != 0) {
		atomic_store(&queue->stale, true);
		return;
	}
	while (queue->count > 0 && !is_before(&queue->spots[queue->count - 1], change->rank, change->number))
		queue->count--;
	pthread_mutex_unlock(&queue->mutex);
}

void position_committed(struct op *op)
{
	for (size_t i = 0; op->positions.noted >> i != 0; i++)
		if ((op->positions.noted >> i & 1U) != 0)
			queue_cut(&op->al->positions->queues[i], &op->positions.first[i], op->tail.seq);
}
