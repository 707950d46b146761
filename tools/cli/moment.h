/* Clocks, and how long something has lasted or will last, for people. All times are nanoseconds. */
#ifndef TOOLS_MOMENT_H
#define TOOLS_MOMENT_H

#include <stdint.h>
#include <time.h>

/* A clock that never steps and goes on while the machine sleeps (CLOCK_BOOTTIME), as leases do. */
int64_t moment_steady(void);

/* Since 1970, as the times of locks.jsonl. */
int64_t moment_wall(void);

/* What "2026-11-16T02:20:38.863Z" is on that clock; ATLOCK_NEVER for any other text. */
int64_t moment_parse(const char *text);

struct timespec moment_timespec(int64_t time);

/* Sleeps for so long, or until a signal. */
void moment_sleep(int64_t time);

#define MOMENT_AGE_MAX 24 /* bytes of a duration, with its NUL */

/* Two units are enough: "42s", "12m07s", "3h05m", "12d03h"; "0s" of what is over, "-" of ATLOCK_NEVER. */
void moment_age(int64_t age, char out[MOMENT_AGE_MAX]);

#endif
