#include "remote_hosts.h"

#include "remote_barrier.h"
#include "remote_engine.h"
#include "remote_feed.h"
#include "remote_gate.h"

#include <errno.h>
#include <time.h>

#define MS INT64_C(1000000)
#define BEATS 5                 /* heartbeats in a time-out */
#define TICK 250                /* ms */
#define CONTACT_MAX (1000 * MS) /* a longer time between two ticks is a pause of this host, in which it saw nothing */

bool hosts_heartbeat_due(const struct engine *engine)
{
	return remote_clock(engine) - engine->box_sent >= (int64_t)engine->options.host_timeout * MS / BEATS;
}

/* A host that may be gone. */
struct suspect {
	struct engine *engine;
	uint16_t chain;
	struct box box;
};

static int mark_fn(struct store_txn *txn, void *arg)
{
	const struct suspect *suspect = arg;
	struct box_key key = box_key(suspect->chain);
	unsigned char bytes[REMOTE_BOX_MAX];
	struct slice value;
	struct box box;
	int rc = store_get(txn, box_key_slice(&key), &value);

	if (rc == 0)
		rc = box_decode(value, &box);
	/* It has written its box meanwhile. */
	if (rc != 0 || box.gone || box.commit != suspect->box.commit || box.incarnation != suspect->box.incarnation)
		return rc < 0 ? rc : 0;
	box.incarnation++;
	box.gone = true;
	return store_put(txn, box_key_slice(&key),
			 (struct slice){ .data = bytes, .len = box_encode_whole(&box, bytes) });
}

/* Notes when boxes changed; finds one that has not for too long: 1, else 0. */
static int suspect_fn(struct store_txn *txn, void *arg)
{
	struct suspect *suspect = arg;
	struct engine *engine = suspect->engine;
	struct slice value;
	uint64_t version;
	int found = 0;

	for (int chain = 1; chain < REMOTE_CHAINS && found == 0; chain++) {
		struct box_key key = box_key((uint16_t)chain);
		struct remote_seen *seen = &engine->seen[chain];
		int rc = mirror_get(txn, box_key_slice(&key), &value, &version);

		if (rc < 0)
			return rc;
		if (rc == 0)
			rc = box_decode(value, &suspect->box);
		if (rc < 0)
			return rc;
		if (rc == 0 && seen->incarnation != suspect->box.incarnation) {
			seen->incarnation = suspect->box.incarnation;
			feed_tell(engine, box_key_slice(&key));
		}
		if (rc == 1 || chain == (int)engine->chain)
			continue;
		if (version != seen->version) {
			seen->version = version;
			seen->contact = engine->contact;
		}
		suspect->chain = (uint16_t)chain;
		found = !suspect->box.gone && engine->contact - seen->contact > (int64_t)suspect->box.timeout * MS;
	}
	return found;
}

/* As remote_tick(), or REMOTE_HELLO: the leader must join again. */
static int hosts_look(struct engine *engine)
{
	struct suspect suspect = { .engine = engine };
	struct remote_at at;
	int64_t now = remote_clock(engine);
	int64_t passed = now - engine->ticked;
	int rc = barrier_pass(engine);

	engine->ticked = now;
	if (rc != 0)
		return rc;
	gate_alive(engine);
	engine->contact += passed < CONTACT_MAX ? passed : CONTACT_MAX;
	rc = mirror_view(engine->mirror, suspect_fn, &suspect, &at);
	return rc == 1 ? remote_update(engine, mark_fn, &suspect) : rc;
}

int remote_tick(struct engine *engine)
{
	int rc = commit_update(&engine->queue, NULL, NULL);

	if (rc == 0)
		rc = hosts_look(engine);
	return rc == REMOTE_HELLO ? commit_update(&engine->queue, NULL, NULL) : rc;
}

bool hosts_pause(struct engine *engine, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * MS;
	if (until.tv_nsec >= 1000 * MS) {
		until.tv_sec++;
		until.tv_nsec -= 1000 * MS;
	}
	pthread_mutex_lock(&engine->stop_lock);
	while (!engine->stop && ms > 0 && pthread_cond_timedwait(&engine->stop_told, &engine->stop_lock, &until) == 0)
		;
	bool stop = engine->stop;
	pthread_mutex_unlock(&engine->stop_lock);
	return stop;
}

void *hosts_thread(void *engine)
{
	while (!hosts_pause(engine, TICK))
		(void)remote_tick(engine);
	return NULL;
}
