#include "state.h"

const struct config *state_config(struct atlock *al)
{
	return atomic_load_explicit(&al->config, memory_order_acquire);
}

const struct atlock_options *state_options(struct atlock *al)
{
	return &state_config(al)->options;
}

uint32_t state_life(const struct store_host *host)
{
	return (uint32_t)host->chain << STATE_LIFE_BITS | (uint32_t)(host->incarnation & ((1U << STATE_LIFE_BITS) - 1));
}

struct store_host state_life_of(uint32_t boot)
{
	return (struct store_host){
		.chain = (uint16_t)(boot >> STATE_LIFE_BITS),
		.incarnation = boot & ((1U << STATE_LIFE_BITS) - 1),
	};
}

void state_host(struct atlock *al)
{
	struct store_host host;

	if (!al->shared)
		return;
	store_host(al->store, &host);
	atomic_store_explicit(&al->boot, state_life(&host), memory_order_relaxed);
	atomic_store_explicit(&al->chain, host.chain, memory_order_relaxed);
}

/* splitmix64: any state gives a good sequence, and a step is one atomic addition. */
uint64_t state_random(struct atlock *al)
{
	uint64_t z = atomic_fetch_add_explicit(&al->random, UINT64_C(0x9e3779b97f4a7c15), memory_order_relaxed);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

bool atlock_is_shared(struct atlock *al)
{
	return al != NULL && al->shared;
}

int64_t atlock_now(struct atlock *al)
{
	return al == NULL ? 0 : clock_now(&al->clock);
}

int64_t atlock_wall(struct atlock *al, int64_t instant)
{
	int64_t wall;

	if (al == NULL || instant == ATLOCK_NEVER || __builtin_add_overflow(instant, clock_offset(&al->clock), &wall))
		return instant;
	return wall;
}
