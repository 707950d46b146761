/* The clock of waits and pauses inside engines: nanoseconds that nothing sets. */
#ifndef STORE_ENGINE_TIME_H
#define STORE_ENGINE_TIME_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, or CLOCK_MONOTONIC_COARSE where a few milliseconds do not matter. */
static inline int64_t engine_time(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

#endif
