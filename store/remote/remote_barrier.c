#include "remote_barrier.h"

#include "remote_engine.h"
#include "remote_feed.h"

/* Asks how far the engine is, and takes the mirror there. */
static int barrier_run(struct engine *engine)
{
	struct remote_at base = mirror_at(engine->mirror);
	struct remote_at at;
	int64_t sent = remote_clock(engine);

	pthread_mutex_lock(&engine->read_lock);
	int rc = engine->adapter->ops->barrier(engine->adapter, REMOTE_LINE_READ, &base, &at);
	if (rc == 0) {
		atomic_store(&engine->answered, sent);
		asked_note(&engine->asked, base.epoch, at.revision, sent);
		rc = feed_catch_up(engine, REMOTE_LINE_READ, at.revision);
	}
	if (rc == 0)
		atomic_store(&engine->fresh, sent);
	pthread_mutex_unlock(&engine->read_lock);
	if (rc == REMOTE_HELLO)
		atomic_store(&engine->strange, true);
	return rc;
}

/* With barrier_lock held, which is given up meanwhile. */
static void barrier_lead(struct engine *engine)
{
	uint64_t number = ++engine->barriers_begun;

	engine->barrier_busy = true;
	pthread_mutex_unlock(&engine->barrier_lock);
	int rc = barrier_run(engine);
	pthread_mutex_lock(&engine->barrier_lock);
	engine->barrier_busy = false;
	engine->barriers_ended = number;
	engine->barrier_error = rc;
	if (rc == 0)
		engine->barrier_good = number;
	pthread_cond_broadcast(&engine->barrier_done);
}

int barrier_pass(struct engine *engine)
{
	pthread_mutex_lock(&engine->barrier_lock);
	/* The one under way may have been answered before this caller asked. */
	uint64_t need = engine->barriers_begun + 1;
	while (engine->barriers_ended < need) {
		if (engine->barrier_busy)
			pthread_cond_wait(&engine->barrier_done, &engine->barrier_lock);
		else
			barrier_lead(engine);
	}
	int rc = engine->barrier_good >= need ? 0 : engine->barrier_error;
	pthread_mutex_unlock(&engine->barrier_lock);
	return rc;
}
