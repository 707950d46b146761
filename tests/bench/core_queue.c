#include "core_queue.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_load.h"
#include "core_report.h"
#include "core_side.h"

#define WAITERS 10000U
#define CHECKS 20U /* joins in one sample */
#define MICRO 1e6

static const struct goal no_goal;

struct side *queue_side(const char *dir, const char *name)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return side_new(path, false, NULL);
}

static void lock_take(struct side *side, const struct atlock_name *name, unsigned int caller)
{
	struct atlock_caller who;
	struct atlock_request req = { .name = name, .caller = &who };
	struct atlock_why why;

	side_caller(&who, caller);
	side_check(atlock_acquire(side->al, &req, NULL, &why), &why);
}

/* Seconds a release takes. */
static double lock_free(struct side *side, const struct atlock_name *name, unsigned int caller)
{
	struct atlock_caller who;
	struct atlock_request req = { .name = name, .caller = &who };
	struct atlock_why why;
	double begun;

	side_caller(&who, caller);
	begun = load_clock();
	side_check(atlock_release(side->al, &req, NULL, &why), &why);
	return load_clock() - begun;
}

/* Seconds joining the queue takes; `ticket` may be NULL. */
static double lock_join(struct side *side, const struct atlock_name *name, unsigned int caller, uint64_t *ticket)
{
	struct atlock_caller who;
	struct atlock_request req = { .name = name, .caller = &who, .priority = ATLOCK_NORMAL };
	struct atlock_why why;
	uint64_t number;
	double begun;
	int rc;

	side_caller(&who, caller);
	begun = load_clock();
	rc = atlock_enqueue(side->al, &req, &number, NULL, &why);
	begun = load_clock() - begun;
	side_check(rc, &why);
	if (rc != 0)
		errx(1, "the store already has holders or waiters: %d", rc);
	if (ticket != NULL)
		*ticket = number;
	return begun;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of so many seconds the median, in microseconds: now and then one call pays for what the store puts off for many. */
static double usual(double *seconds, unsigned int count)
{
	qsort(seconds, count, sizeof(*seconds), compare);
	return seconds[count / 2] * MICRO;
}

/* --- Handing over --- */

void queue_fill(struct side *side, const struct atlock_name *name, unsigned int count)
{
	lock_take(side, name, 0);
	for (unsigned int i = 1; i <= count; i++)
		(void)lock_join(side, name, i, NULL);
}

double queue_grant_long(struct side *side, const struct atlock_name *name, unsigned int first, unsigned int grants)
{
	double seconds[QUEUE_GRANTS];

	for (unsigned int i = 0; i < grants; i++)
		seconds[i] = lock_free(side, name, first + i);
	return usual(seconds, grants);
}

double queue_grant_short(struct side *side, const struct atlock_name *name, unsigned int grants)
{
	double seconds[QUEUE_GRANTS];

	lock_take(side, name, 0);
	for (unsigned int i = 0; i < grants; i++) {
		(void)lock_join(side, name, i + 1, NULL);
		seconds[i] = lock_free(side, name, i);
	}
	(void)lock_free(side, name, grants);
	return usual(seconds, grants);
}

void queue_measure_grant(const char *dir)
{
	struct side *side = queue_side(dir, "grant");
	struct series one = { .count = 0 };
	struct series many = { .count = 0 };
	struct atlock_name name;
	unsigned int first = 0;

	report_part("Handing over", "A release that grants the lock to the next in its queue, sync=off.");
	side_name(&name, 1, "hot");
	queue_fill(side, &name, WAITERS + REPETITIONS * QUEUE_GRANTS);
	for (int i = 0; i < REPETITIONS; i++) {
		struct atlock_name other;

		side_name(&other, 2, "cold");
		series_add(&one, queue_grant_short(side, &other, QUEUE_GRANTS));
		series_add(&many, queue_grant_long(side, &name, first, QUEUE_GRANTS));
		first += QUEUE_GRANTS;
	}
	side_free(side);

	struct series ratio = series_ratio(&many, &one);
	report_line("one waiter", "us", &one, no_goal);
	report_line("10,000 waiters and more", "us", &many, no_goal);
	report_line("10,000 waiters / one", "x", &ratio, no_goal);
}

/* --- Deadlocks --- */

double queue_join_cost(struct side *side, const struct atlock_name *name, unsigned int caller, const char *policy)
{
	struct atlock_caller who;
	struct atlock_request req = { .name = name, .caller = &who };
	struct atlock_why why;
	double seconds[CHECKS];
	uint64_t ticket;

	side_caller(&who, caller);
	side_check(atlock_configure(side->al, NULL, "deadlock_policy", policy, &why), &why);
	for (unsigned int i = 0; i < CHECKS; i++) {
		seconds[i] = lock_join(side, name, caller, &ticket);
		side_check(atlock_cancel(side->al, &req, ticket, &why), &why);
	}
	return usual(seconds, CHECKS);
}

void queue_chain(struct side *side, unsigned int waiters)
{
	struct atlock_name name;

	/* And one more, who only joins queues. */
	side_name(&name, waiters + 1, "own");
	lock_take(side, &name, waiters + 1);
	for (unsigned int i = 0; i <= waiters; i++) {
		side_name(&name, i, "chain");
		lock_take(side, &name, i);
	}
	for (unsigned int i = 0; i < waiters; i++) {
		side_name(&name, i + 1, "chain");
		(void)lock_join(side, &name, i, NULL);
	}
}

struct check_cost {
	struct series with;
	struct series without;
	struct series check;
};

static void check_measure(struct check_cost *cost, struct side *side, const struct atlock_name *name,
			  unsigned int caller)
{
	double with = queue_join_cost(side, name, caller, "lifo");
	double without = queue_join_cost(side, name, caller, "off");

	series_add(&cost->with, with);
	series_add(&cost->without, without);
	series_add(&cost->check, with > without ? with - without : 0);
}

void queue_measure_deadlock(const char *dir)
{
	struct side *side = queue_side(dir, "deadlock");
	struct check_cost near = { .check = { .count = 0 } };
	struct check_cost worst = { .check = { .count = 0 } };
	struct atlock_name last;
	struct atlock_name first;
	unsigned int caller = WAITERS + 1;

	report_part(
		"Deadlock check",
		"10,001 held locks, 10,000 waiters: holder i waits for what holder i + 1 has. A caller who holds\n"
		"another lock joins a queue, with deadlock_policy=lifo and =off; the difference is the check. sync=off.");
	queue_chain(side, WAITERS);
	side_name(&first, 0, "chain");
	side_name(&last, WAITERS, "chain");
	for (int i = 0; i < REPETITIONS; i++) {
		check_measure(&near, side, &last, caller);
		check_measure(&worst, side, &first, caller);
	}
	side_free(side);

	struct series share = series_ratio(&near.check, &near.without);
	report_line("joining without the check", "us", &near.without, no_goal);
	report_line("check, the holder waits for no lock", "us", &near.check, no_goal);
	report_line("its share of joining", "x", &share, no_goal);
	report_line("check, the way is 10,000 holders long", "us", &worst.check, no_goal);
}
