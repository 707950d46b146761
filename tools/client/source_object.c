/* The members of an object of locks.jsonl. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "source.h"

const char *source_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text == NULL ? "" : text;
}

bool source_is_waiter(const json_t *object)
{
	return strcmp(source_text(object, "kind"), "waiter") == 0;
}

/* "2026-11-16T02:20:38.863Z" or "never". */
int64_t source_time(const json_t *object, const char *key)
{
	struct tm tm = { .tm_year = 0 };
	const char *rest = strptime(source_text(object, key), "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t time;

	if (rest == NULL)
		return ATLOCK_NEVER;
	time = (int64_t)timegm(&tm) * ATLOCK_SECOND;
	return rest[0] == '.' ? time + strtol(rest + 1, NULL, 10) * 1000000 : time;
}
