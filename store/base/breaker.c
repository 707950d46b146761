#include "breaker.h"

void breaker_init(struct breaker *breaker, const struct breaker_limits *limits)
{
	*breaker = (struct breaker){ .limits = limits, .state = BREAKER_CLOSED, .pause = limits->pause };
}

int64_t breaker_backoff(int64_t *pause, int64_t max, uint64_t random)
{
	int64_t quarter = *pause / 4;
	int64_t now = *pause - quarter + (int64_t)(random % (uint64_t)(2 * quarter + 1));

	*pause = *pause > max / 2 ? max : *pause * 2;
	return now;
}

bool breaker_admit(struct breaker *breaker, int64_t now)
{
	switch (breaker->state) {
	case BREAKER_CLOSED: return true;
	case BREAKER_HALF_OPEN: return false; /* the trial call is running */
	case BREAKER_OPEN: break;
	}
	if (now < breaker->until)
		return false;
	breaker->state = BREAKER_HALF_OPEN;
	return true;
}

static void breaker_open(struct breaker *breaker, int64_t now, uint64_t random)
{
	breaker->state = BREAKER_OPEN;
	breaker->opened++;
	breaker->until = now + breaker_backoff(&breaker->pause, breaker->limits->pause_max, random);
}

void breaker_done(struct breaker *breaker, bool ok, int64_t now, uint64_t random)
{
	if (ok) {
		/* A call that began before the breaker opened says nothing about the present. */
		if (breaker->state == BREAKER_OPEN)
			return;
		breaker->state = BREAKER_CLOSED;
		breaker->failed = 0;
		breaker->pause = breaker->limits->pause;
		return;
	}
	if (breaker->state == BREAKER_OPEN)
		return;
	breaker->failed++;
	if (breaker->state == BREAKER_HALF_OPEN || breaker->failed >= breaker->limits->failures)
		breaker_open(breaker, now, random);
}
