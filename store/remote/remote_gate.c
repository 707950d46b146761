#include "remote_gate.h"

#include "remote_engine.h"

#include <stdlib.h>

#define MS INT64_C(1000000)
#define PAUSE_MAX 16 /* times the first pause */

void gate_init(struct engine *engine)
{
	struct gate *gate = &engine->gate;
	const struct remote_options *options = &engine->options;
	int64_t pause = options->breaker_pause == 0 ? 1000 : (int64_t)options->breaker_pause;

	pthread_mutex_init(&gate->lock, NULL);
	gate->limits = (struct breaker_limits){
		.failures = options->breaker_failures == 0 ? 1 : options->breaker_failures,
		.pause = pause * MS,
		.pause_max = pause * MS * PAUSE_MAX,
	};
	breaker_init(&gate->breaker, &gate->limits);
}

void gate_destroy(struct engine *engine)
{
	pthread_mutex_destroy(&engine->gate.lock);
}

bool gate_admit(struct engine *engine, bool *trial)
{
	struct gate *gate = &engine->gate;

	pthread_mutex_lock(&gate->lock);
	bool admitted = breaker_admit(&gate->breaker, remote_clock(engine));
	*trial = gate->breaker.state == BREAKER_HALF_OPEN;
	pthread_mutex_unlock(&gate->lock);
	return admitted;
}

static void breaker_tell(struct engine *engine, enum breaker_state before, enum breaker_state now)
{
	if (before != now && engine->options.breaker != NULL)
		engine->options.breaker(engine->options.changed_arg, now == BREAKER_CLOSED);
}

void gate_done(struct engine *engine, bool answered)
{
	struct gate *gate = &engine->gate;
	int64_t now = remote_clock(engine);

	pthread_mutex_lock(&gate->lock);
	enum breaker_state before = gate->breaker.state;
	breaker_done(&gate->breaker, answered, now, arc4random());
	enum breaker_state state = gate->breaker.state;
	if (before == BREAKER_CLOSED && state == BREAKER_OPEN)
		gate->since = now;
	pthread_mutex_unlock(&gate->lock);
	/* A trial that failed is no change. */
	breaker_tell(engine, before == BREAKER_HALF_OPEN ? BREAKER_OPEN : before, state);
}

void gate_alive(struct engine *engine)
{
	struct gate *gate = &engine->gate;

	pthread_mutex_lock(&gate->lock);
	bool open = gate->breaker.state == BREAKER_OPEN;
	if (open)
		gate->breaker.state = BREAKER_HALF_OPEN; /* and this was the trial */
	pthread_mutex_unlock(&gate->lock);
	if (open)
		gate_done(engine, true);
}

void gate_stats(struct engine *engine, struct store_stats *out)
{
	struct gate *gate = &engine->gate;
	int64_t now = remote_clock(engine);

	pthread_mutex_lock(&gate->lock);
	out->breaker = gate->breaker.state;
	out->breaker_opened = gate->breaker.opened;
	out->breaker_since = gate->breaker.state == BREAKER_CLOSED ? 0 : now - gate->since;
	out->breaker_retry = gate->breaker.state == BREAKER_OPEN && gate->breaker.until > now
				     ? gate->breaker.until - now
				     : 0;
	pthread_mutex_unlock(&gate->lock);
}
