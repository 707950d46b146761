#include "age.h"

#include <atlock.h>
#include <inttypes.h>
#include <stdio.h>

void age_print(int64_t age, char out[AGE_MAX])
{
	int64_t seconds = age < 0 ? 0 : age / ATLOCK_SECOND;
	int64_t minutes = seconds / 60;
	int64_t hours = minutes / 60;

	if (age == ATLOCK_NEVER)
		(void)snprintf(out, AGE_MAX, "-");
	else if (minutes == 0)
		(void)snprintf(out, AGE_MAX, "%" PRId64 "s", seconds);
	else if (hours == 0)
		(void)snprintf(out, AGE_MAX, "%" PRId64 "m%02" PRId64 "s", minutes, seconds % 60);
	else if (hours < 24)
		(void)snprintf(out, AGE_MAX, "%" PRId64 "h%02" PRId64 "m", hours, minutes % 60);
	else
		(void)snprintf(out, AGE_MAX, "%" PRId64 "d%02" PRId64 "h", hours / 24, hours % 24);
}
