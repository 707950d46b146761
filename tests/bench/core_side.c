#include "core_side.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#define SPREAD_STEP 243 /* SIDE_NAMES of them reach over a million */

/* Names and holders from the middle of those that core_million.c makes: none profits from being first or last. */
#define MIDDLE_NAME 500000
#define MIDDLE_CALLER 500

void side_check(int rc, const struct atlock_why *why)
{
	if (rc < 0)
		errx(1, "%s (%d): %s", atlock_code_name(why->code), rc, why->text);
}

void side_name(struct atlock_name *name, unsigned int i, const char *workspace)
{
	struct atlock_why why;
	char path[128];

	(void)snprintf(path, sizeof(path), "repos/bench/infra-%07u/-/-/%s", i, workspace);
	side_check(atlock_name_parse(path, name, &why), &why);
}

void side_caller(struct atlock_caller *caller, unsigned int i)
{
	char who[32];

	(void)snprintf(who, sizeof(who), "build-%u", i);
	if (atlock_caller_init(caller, "bench", who, 1000) < 0)
		errx(1, "no such caller: %s", who);
}

struct side *side_new(const char *dir, bool sync, const struct store_engine *engine)
{
	struct atlock_options options;
	struct atlock_setup setup = { .options = &options, .host = "bench-host", .store_engine = engine };
	struct side *side = malloc(sizeof(*side));
	struct atlock_why why;

	if (side == NULL)
		err(1, "malloc");
	atlock_options_init(&options);
	options.sync = sync ? ATLOCK_SYNC_COMMIT : ATLOCK_SYNC_OFF;
	options.max_queue = 100000;
	options.queue_share = 100;
	/* One user makes all the load. */
	options.rate_limit = 0;
	options.max_locks_per_user = 0;
	options.max_waiters_per_user = 0;
	side_check(atlock_open(&side->al, dir, &setup, &why), &why);
	for (unsigned int i = 0; i < LOAD_THREADS; i++) {
		side_caller(&side->callers[i], MIDDLE_CALLER + i);
		side_name(&side->own[i], MIDDLE_NAME + i, "own");
	}
	for (unsigned int i = 0; i < SIDE_NAMES; i++)
		side_name(&side->spread[i], i * SPREAD_STEP, "spread");
	return side;
}

void side_free(struct side *side)
{
	atlock_close(side->al);
	free(side);
}

static void pair(const struct side *side, unsigned int thread, const struct atlock_name *name)
{
	struct atlock_request req = { .name = name, .caller = &side->callers[thread] };
	struct atlock_grant grant;
	struct atlock_why why;

	side_check(atlock_acquire(side->al, &req, &grant, &why), &why);
	side_check(atlock_release(side->al, &req, NULL, &why), &why);
}

void side_pair(void *arg, unsigned int thread, uint64_t turn)
{
	const struct side *side = arg;

	(void)turn;
	pair(side, thread, &side->own[thread]);
}

void side_pair_spread(void *arg, unsigned int thread, uint64_t turn)
{
	const struct side *side = arg;

	/* An odd step meets every name, and neighbours far apart. */
	pair(side, thread, &side->spread[turn * 1597 % SIDE_NAMES]);
}
