#include "engine_refuse.h"
#include "remote_barrier.h"
#include "remote_batch.h"
#include "remote_engine.h"
#include "remote_feed.h"
#include "remote_gate.h"
#include "remote_hello.h"
#include "remote_hosts.h"
#include "remote_number.h"
#include "remote_watchdog.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define ARENA_SIZE ((size_t)64 * 1024)
#define LIST_AGE INT64_C(1000000000) /* ns: how old a listing may be */

static int64_t timespec_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void remote_now(struct engine *engine, struct store_time *out)
{
	(void)engine;
	*out = (struct store_time){ .steady = timespec_ns(CLOCK_BOOTTIME), .wall = timespec_ns(CLOCK_REALTIME) };
}

int64_t remote_clock(const struct engine *engine)
{
	struct store_time time;

	if (engine->clock.read == NULL)
		return timespec_ns(CLOCK_BOOTTIME);
	engine->clock.read(engine->clock.arg, &time);
	return time.steady;
}

uint64_t remote_random(struct engine *engine)
{
	uint64_t z = (engine->random += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* The feed waits on a line for a second at most, and on the lock for less. */
static void threads_end(struct engine *engine)
{
	pthread_mutex_lock(&engine->stop_lock);
	engine->stop = true;
	pthread_cond_broadcast(&engine->stop_told);
	pthread_mutex_unlock(&engine->stop_lock);
	if (engine->ticks)
		(void)pthread_join(engine->ticker, NULL);
	if (engine->follows)
		(void)pthread_join(engine->follower, NULL);
	if (engine->watches)
		(void)pthread_join(engine->watchdog, NULL);
}

static int threads_begin(struct engine *engine)
{
	if (!engine->options.threads)
		return 0;
	engine->ticks = pthread_create(&engine->ticker, NULL, hosts_thread, engine) == 0;
	engine->follows = pthread_create(&engine->follower, NULL, feed_thread, engine) == 0;
	engine->watches = pthread_create(&engine->watchdog, NULL, watchdog_thread, engine) == 0;
	return engine->ticks && engine->follows && engine->watches ? 0 : -EAGAIN;
}

void remote_close(struct engine *engine)
{
	threads_end(engine);
	mirror_close(engine->mirror);
	engine->adapter->ops->close(engine->adapter);
	txn_free(engine->writer);
	arena_free(&engine->arena);
	commit_destroy(&engine->queue);
	pthread_mutex_destroy(&engine->barrier_lock);
	pthread_cond_destroy(&engine->barrier_done);
	pthread_mutex_destroy(&engine->read_lock);
	pthread_mutex_destroy(&engine->cut_lock);
	pthread_mutex_destroy(&engine->stop_lock);
	pthread_cond_destroy(&engine->stop_told);
	asked_destroy(&engine->asked);
	gate_destroy(engine);
	free(engine);
}

static void locks_init(struct engine *engine)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&engine->barrier_lock, NULL);
	pthread_cond_init(&engine->barrier_done, NULL);
	pthread_mutex_init(&engine->read_lock, NULL);
	pthread_mutex_init(&engine->cut_lock, NULL);
	pthread_mutex_init(&engine->stop_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&engine->stop_told, &attr);
	pthread_condattr_destroy(&attr);
}

static int engine_new(struct engine **out, struct remote_adapter *adapter, const struct remote_options *remote,
		      const struct store_options *options)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (engine == NULL) {
		adapter->ops->close(adapter);
		return -ENOMEM;
	}
	engine->adapter = adapter;
	engine->options = *remote;
	if (options->clock != NULL)
		engine->clock = *options->clock;
	engine->share = options->share;
	locks_init(engine);
	asked_init(&engine->asked);
	gate_init(engine);
	commit_init(&engine->queue, engine, remote_batch_run, true);
	engine->box.timeout = remote->host_timeout;
	(void)strlcpy(engine->box.name, remote->host, sizeof(engine->box.name));
	engine->ticked = remote_clock(engine);
	*out = engine;
	bool random = getrandom(&engine->random, sizeof(engine->random), 0) == sizeof(engine->random);
	engine->box.instance = remote_random(engine);
	return random && arena_init(&engine->arena, ARENA_SIZE) ? 0 : -ENOMEM;
}

/* Joining fails for good, or takes at most as long as waiting for other hosts does. */
static int engine_join(struct engine *engine)
{
	int64_t until = remote_clock(engine) + INT64_C(2500000) * engine->options.host_timeout;
	int rc = commit_update(&engine->queue, NULL, NULL);

	while (engine->options.threads && rc == -EHOSTDOWN && remote_clock(engine) < until) {
		(void)hosts_pause(engine, 50);
		rc = commit_update(&engine->queue, NULL, NULL);
	}
	return rc;
}

int remote_open(struct engine **out, struct remote_adapter *adapter, const struct remote_options *remote,
		const struct store_options *options, char *why, size_t whylen)
{
	struct engine *engine = NULL;
	int rc = engine_new(&engine, adapter, remote, options);

	if (rc == 0)
		rc = mirror_open(&engine->mirror, remote->cache, options, why, whylen);
	else
		(void)store_refuse(why, whylen, rc, "out of memory");
	if (rc == 0) {
		rc = engine_join(engine);
		if (rc == 0)
			rc = threads_begin(engine);
		if (rc == -ENOENT)
			(void)store_refuse(
				why, whylen, rc,
				"there is no realm of that name: make it once, by `atlock realm create` with this address");
		else if (rc < 0)
			(void)store_refuse(why, whylen, rc, "the realm cannot be joined: %s",
					   adapter->trouble[0] != '\0' ? adapter->trouble : strerror(-rc));
	}
	if (rc < 0 && engine != NULL)
		remote_close(engine);
	else
		*out = engine;
	return rc;
}

int remote_update(struct engine *engine, store_fn *fn, void *arg)
{
	return commit_update(&engine->queue, fn, arg);
}

void remote_submit(struct engine *engine, struct store_job *job)
{
	commit_submit(&engine->queue, job);
}

struct reading {
	struct store_txn *txn;
	store_fn *fn;
	void *arg;
};

static int reading_fn(struct store_txn *mirror, void *arg)
{
	const struct reading *reading = arg;

	return txn_run(reading->txn, mirror, reading->fn, reading->arg);
}

/* Passes a barrier; if the history is another, or this host's life is over, the leader joins again first. */
static int view_barrier(struct engine *engine)
{
	int64_t until = remote_clock(engine) + (int64_t)engine->options.timeout * 1000000;
	int rc = watchdog_cut(engine) ? REMOTE_HELLO : barrier_pass(engine);

	while (rc != 0 && remote_clock(engine) < until && !hosts_pause(engine, 5)) {
		rc = rc > 0 || watchdog_cut(engine) ? commit_update(&engine->queue, NULL, NULL) : 0;
		if (rc == 0)
			rc = barrier_pass(engine);
	}
	return rc == 0 ? 0 : -EHOSTDOWN;
}

static int view_try(struct engine *engine)
{
	bool trial;

	if (!gate_admit(engine, &trial))
		return -EHOSTDOWN;
	int rc = view_barrier(engine);
	gate_done(engine, rc == 0);
	return rc;
}

int remote_peek(struct engine *engine, store_fn *fn, void *arg)
{
	struct reading reading = { .txn = txn_new(&mirror_source, true), .fn = fn, .arg = arg };
	struct remote_at at;

	if (reading.txn == NULL)
		return -ENOMEM;
	int rc = mirror_view(engine->mirror, reading_fn, &reading, &at);
	txn_free(reading.txn);
	return rc;
}

int remote_view(struct engine *engine, store_fn *fn, void *arg)
{
	int rc = view_try(engine);

	return rc < 0 ? rc : remote_peek(engine, fn, arg);
}

/* The host's own looks at the others (remote_hosts.c) keep the mirror fresh while it is in contact. */
int remote_list(struct engine *engine, store_fn *fn, void *arg)
{
	int64_t age = remote_clock(engine) - atomic_load(&engine->fresh);

	if (age < LIST_AGE && atomic_load(&engine->fresh) != 0 && !watchdog_cut(engine))
		return remote_peek(engine, fn, arg);
	return remote_view(engine, fn, arg);
}

/* The engine says by itself when it is full. */
void remote_space(struct engine *engine, struct store_space *out)
{
	(void)engine;
	*out = (struct store_space){ .free = UINT64_MAX, .size = UINT64_MAX };
}

void remote_stats(struct engine *engine, struct store_stats *out)
{
	*out = (struct store_stats){ .dead = false };
	commit_stats(&engine->queue, out);
	gate_stats(engine, out);
}

int remote_number(struct store_txn *txn, struct slice name, uint64_t *out)
{
	return number_next(txn, name, out);
}

void remote_host(struct engine *engine, struct store_host *out)
{
	*out = (struct store_host){ .chain = engine->chain, .incarnation = engine->incarnation };
}

int remote_host_life(struct store_txn *txn, uint16_t chain, uint64_t *out)
{
	struct box_key key = box_key(chain);
	struct slice value;
	struct box box;
	int rc = store_get(txn, box_key_slice(&key), &value);

	if (rc == 0)
		rc = box_decode(value, &box);
	if (rc == 0)
		*out = box.incarnation;
	return rc;
}

size_t remote_limit(const struct engine *engine)
{
	return engine->adapter->limits.keys;
}

int remote_publish(struct engine *engine, const char *event, struct slice text)
{
	const struct remote_ops *ops = engine->adapter->ops;

	return ops->publish == NULL ? 1 : ops->publish(engine->adapter, event, text);
}

uint16_t remote_chain(const struct engine *engine)
{
	return engine->chain;
}

uint64_t remote_incarnation(const struct engine *engine)
{
	return engine->incarnation;
}
