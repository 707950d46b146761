#include "expect.h"

#include "arrival.h"
#include "grant.h"

int expect_wait(struct op *op, struct slice lock, uint64_t position, int64_t *out)
{
	struct record_lock record;
	int64_t left = 0;
	int64_t mean;
	int rc;

	*out = -1;
	rc = grant_mean_hold(op, lock, &mean);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = table_lock_get(op, lock, &record);
	if (rc < 0)
		return rc;
	if (rc == 0 && op->now - record.grant.acquired < mean)
		left = mean - (op->now - record.grant.acquired);
	if (__builtin_mul_overflow(mean, (int64_t)position - 1, out) || __builtin_add_overflow(*out, left, out))
		*out = ATLOCK_NEVER;
	return 0;
}

int64_t expect_timeout(int64_t expected)
{
	if (expected < 0)
		return EXPECT_UNKNOWN;
	if (expected <= EXPECT_LEAST / EXPECT_FACTOR)
		return EXPECT_LEAST;
	return expected >= EXPECT_MOST / EXPECT_FACTOR ? EXPECT_MOST : expected * EXPECT_FACTOR;
}

int64_t expect_stretch(const struct expect_load *load, int64_t timeout)
{
	uint64_t ended = load->served + load->timed_out;
	double factor = 1;
	double crowd = load->held == 0 ? 0 : (double)load->waiting / (double)load->held / EXPECT_CROWD;

	if (ended >= EXPECT_WAITS)
		factor = load->served * EXPECT_LATE <= ended ? EXPECT_LATE : (double)ended / (double)load->served;
	if (crowd > 1)
		factor *= crowd < 2 ? crowd : 2;
	return (double)timeout * factor >= (double)EXPECT_MOST ? EXPECT_MOST : (int64_t)((double)timeout * factor);
}

static int load_read(struct op *op, struct expect_load *load)
{
	const struct metrics *metrics = &op->al->metrics;

	*load = (struct expect_load){ .served = metrics_served(metrics) };
	load->timed_out = atomic_load_explicit(&metrics->events[ATLOCK_EVENT_TIMED_OUT], memory_order_relaxed);
	return arrival_counts(op, &load->held, &load->waiting);
}

/* Walks over all tickets that are served before. Runs only with queue_timeout=auto, and over at most max_queue tickets. */
static int expect_position(struct op *op, struct slice lock, uint8_t priority, uint64_t *out)
{
	struct ticket ticket = { .number = 0 };
	uint8_t rank = 0;
	int rc;

	*out = 1;
	while ((rc = table_ticket_next(op, lock, rank, ticket.number, &ticket)) == 0) {
		rank = table_rank(ticket.record.priority);
		if (rank > table_rank(priority))
			return 0;
		(*out)++;
	}
	return rc < 0 ? rc : 0;
}

int expect_patience(struct op *op, struct slice lock, uint8_t priority, int64_t *timeout)
{
	struct expect_load load = { .served = 0 };
	int64_t expected = -1;
	uint64_t position;
	int rc;

	rc = expect_position(op, lock, priority, &position);
	if (rc == 0)
		rc = expect_wait(op, lock, position, &expected);
	if (rc == 0)
		rc = load_read(op, &load);
	*timeout = expect_stretch(&load, expect_timeout(expected));
	return rc;
}
