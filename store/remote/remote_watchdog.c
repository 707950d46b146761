#include "remote_watchdog.h"

#include "remote_engine.h"
#include "remote_hosts.h"

#define MS INT64_C(1000000)
#define LONGEST 1000 /* ms between two looks */

/* ns until this host is cut off if it writes nothing. */
static int64_t time_left(const struct engine *engine)
{
	int64_t limit = (int64_t)engine->options.host_timeout * MS / 100 * WATCHDOG_PERCENT;

	return atomic_load(&engine->box_sent) + limit - remote_clock(engine);
}

void watchdog_tell(struct engine *engine)
{
	if (engine->options.cut == NULL)
		return;
	pthread_mutex_lock(&engine->cut_lock);
	engine->options.cut(engine->options.changed_arg);
	pthread_mutex_unlock(&engine->cut_lock);
}

bool watchdog_cut(struct engine *engine)
{
	if (atomic_load(&engine->cut))
		return true;
	if (!atomic_load(&engine->alive) || time_left(engine) > 0)
		return false;
	if (!atomic_exchange(&engine->cut, true))
		watchdog_tell(engine);
	return true;
}

void watchdog_renewed(struct engine *engine)
{
	atomic_store(&engine->cut, false);
	atomic_store(&engine->alive, true);
}

void *watchdog_thread(void *arg)
{
	struct engine *engine = arg;
	int64_t left = LONGEST * MS;

	while (!hosts_pause(engine, left < LONGEST * MS ? (int)(left / MS) + 1 : LONGEST)) {
		bool before = atomic_load(&engine->cut);

		left = LONGEST * MS;
		if (watchdog_cut(engine) && before)
			watchdog_tell(engine);
		else if (!atomic_load(&engine->cut))
			left = time_left(engine);
		if (left < 0)
			left = 0;
	}
	return NULL;
}
