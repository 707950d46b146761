#include "moment.h"

#include <atlock.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t moment_read(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * ATLOCK_SECOND + ts.tv_nsec;
}

int64_t moment_steady(void)
{
	return moment_read(CLOCK_BOOTTIME);
}

int64_t moment_wall(void)
{
	return moment_read(CLOCK_REALTIME);
}

int64_t moment_parse(const char *text)
{
	struct tm tm = { .tm_year = 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t time;

	if (rest == NULL)
		return ATLOCK_NEVER;
	time = (int64_t)timegm(&tm) * ATLOCK_SECOND;
	return rest[0] == '.' ? time + strtol(rest + 1, NULL, 10) * 1000000 : time;
}

struct timespec moment_timespec(int64_t time)
{
	return (struct timespec){ .tv_sec = (time_t)(time / ATLOCK_SECOND), .tv_nsec = (long)(time % ATLOCK_SECOND) };
}

void moment_sleep(int64_t time)
{
	const struct timespec ts = moment_timespec(time);

	nanosleep(&ts, NULL);
}

void moment_age(int64_t age, char out[MOMENT_AGE_MAX])
{
	int64_t seconds = age < 0 ? 0 : age / ATLOCK_SECOND;
	int64_t minutes = seconds / 60;
	int64_t hours = minutes / 60;

	if (age == ATLOCK_NEVER)
		(void)snprintf(out, MOMENT_AGE_MAX, "-");
	else if (minutes == 0)
		(void)snprintf(out, MOMENT_AGE_MAX, "%" PRId64 "s", seconds);
	else if (hours == 0)
		(void)snprintf(out, MOMENT_AGE_MAX, "%" PRId64 "m%02" PRId64 "s", minutes, seconds % 60);
	else if (hours < 24)
		(void)snprintf(out, MOMENT_AGE_MAX, "%" PRId64 "h%02" PRId64 "m", hours, minutes % 60);
	else
		(void)snprintf(out, MOMENT_AGE_MAX, "%" PRId64 "d%02" PRId64 "h", hours / 24, hours % 24);
}
