/* The four priorities by name, or by number from 0. */
#include <errno.h>
#include <string.h>

#include "atlock.h"

static const char *const names[ATLOCK_PRIORITIES] = {
	[ATLOCK_LOW] = "low",
	[ATLOCK_NORMAL] = "normal",
	[ATLOCK_HIGH] = "high",
	[ATLOCK_CRITICAL] = "critical",
};

const char *atlock_priority_name(enum atlock_priority priority)
{
	return (unsigned int)priority < ATLOCK_PRIORITIES ? names[priority] : "unknown";
}

int atlock_priority_parse(const char *text, enum atlock_priority *out)
{
	if (!text || !out)
		return -EINVAL;
	for (unsigned int i = 0; i < ATLOCK_PRIORITIES; i++) {
		const char number[] = { (char)('0' + i), '\0' };

		if (strcmp(text, names[i]) != 0 && strcmp(text, number) != 0)
			continue;
		*out = (enum atlock_priority)i;
		return 0;
	}
	return -EINVAL;
}
