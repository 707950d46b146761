#include "hosts_fixture.h"

#include "engine.h"
#include "redis_store.h"
#include "remote_engine.h"
#include "remote_feed.h"
#include "remote_hosts.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <bsd/string.h>
#include <cmocka.h>

#define HOUR (3600 * ATLOCK_SECOND)

static int place_open(struct engine **out, const char *where, const struct store_options *options, char *why,
		      size_t whylen)
{
	struct hosts_place *place = options->engine_arg;
	const struct remote_options remote = {
		.cache = place->dir,
		.host = options->share->host,
		.host_timeout = options->share->host_timeout,
		.timeout = options->share->timeout,
		.changed = options->share->changed,
		.cut = options->share->cut,
		.breaker = options->share->breaker,
		.breaker_failures = options->share->breaker_failures,
		.breaker_pause = options->share->breaker_pause,
		.changed_arg = options->share->arg,
	};
	int rc = remote_open(out, mem_realm_adapter(place->hosts->realm, &place->hosts->faults[place->number]), &remote,
			     options, why, whylen);

	(void)where;
	place->engine = rc < 0 ? NULL : *out;
	return rc;
}

/* As the engine of a realm, with an opening of its own. Events are not published. */
static struct store_engine realm_engine;

int hosts_setup(void **state)
{
	static const char *const names[] = { "host-a", "host-b", "host-c" };
	static const int64_t skews[] = { 0, 5 * HOUR, -7 * HOUR };
	struct hosts *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	realm_engine = store_redis;
	realm_engine.scheme = "realm";
	realm_engine.open = place_open;
	realm_engine.publish = NULL;
	h->realm = mem_realm_new();
	mem_realm_create(h->realm);
	for (int i = 0; i < HOSTS_COUNT; i++) {
		struct stage *s = stage_new();

		h->places[i] = (struct hosts_place){ .hosts = h, .number = i, .dir = scratch_new() };
		s->engine = &realm_engine;
		s->engine_arg = &h->places[i];
		s->host = names[i];
		s->seed = (uint64_t)i + 1;
		s->tick = ATLOCK_SECOND / 1000;
		s->damaged = true; /* fsck is for one host's store */
		s->time.steady += 24 * HOUR + skews[i] / 3;
		s->time.wall += skews[i];
		s->options.host_timeout = 15 * ATLOCK_SECOND;
		s->options.engine_timeout = ATLOCK_SECOND / 5;
		stage_open(s);
		h->stages[i] = s;
	}
	*state = h;
	return 0;
}

int hosts_teardown(void **state)
{
	struct hosts *h = *state;

	for (int i = 0; i < HOSTS_COUNT; i++) {
		void *stage = h->stages[i];

		h->faults[i].cut = false;
		stage_teardown(&stage);
		scratch_remove(h->places[i].dir);
	}
	mem_realm_free(h->realm);
	free(h);
	return 0;
}

void hosts_follow(struct hosts *h, int host)
{
	(void)remote_tick(h->places[host].engine);
	(void)remote_follow(h->places[host].engine, 0);
	(void)atlock_run_feed(h->stages[host]->al);
	(void)atlock_run_due(h->stages[host]->al);
}

void hosts_run(struct hosts *h, int seconds, unsigned int mask)
{
	int64_t until[HOSTS_COUNT];

	for (int i = 0; i < HOSTS_COUNT; i++)
		until[i] = h->stages[i]->time.steady + seconds * ATLOCK_SECOND;
	for (int step = 0; step < seconds * 4; step++) {
		for (int i = 0; i < HOSTS_COUNT; i++) {
			int64_t left = until[i] - h->stages[i]->time.steady;
			int64_t by = left / (seconds * 4 - step);

			if (by > 0)
				stage_advance_ns(h->stages[i], by);
			if (mask & 1u << i)
				hosts_follow(h, i);
		}
	}
}

void hosts_forget(struct hosts *h, int host)
{
	stage_close(h->stages[host]);
	scratch_remove(h->places[host].dir);
	h->places[host].dir = scratch_new();
	stage_open(h->stages[host]);
}

void hosts_kill(struct hosts *h, int host)
{
	h->faults[host].cut = true;
	stage_close(h->stages[host]);
	h->faults[host].cut = false;
	stage_open(h->stages[host]);
}

void hosts_refill(struct hosts *h, int host)
{
	struct stage *other = h->stages[(host + 1) % HOSTS_COUNT];

	/* It has not seen these changes, and cannot any more. */
	assert_int_equal(stage_acquire(other, "global/refill", "root@refill", 60), 0);
	assert_int_equal(stage_release(other, "global/refill", "root@refill"), 0);
	mem_realm_trim(h->realm, 1);
	hosts_follow(h, host);
}

bool hosts_is_sure(struct stage *s, const char *lock, const char *who)
{
	struct atlock_name name = stage_name(lock);

	assert_true(strlcpy(name.who, who, sizeof(name.who)) < sizeof(name.who));
	int rc = atlock_get(s->al, &name, NULL);
	assert_true(rc >= 0);
	return rc == 0;
}

void hosts_cut_after(void *arg)
{
	struct mem_line_faults *faults = arg;

	/* That commit has been: this is the next. */
	faults->cut = faults->lose_reply_in == 0;
}
