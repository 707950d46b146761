/* What `atlock guard` says of its runs, and its counters for readers. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guards.h"
#include "state.h"
#include "why.h"

#define NOTE_MAX 512 /* longest line of a note */

static const char *const results[ATLOCK_GUARD_RESULTS] = {
	[ATLOCK_GUARD_STOPPED] = "stopped",
	[ATLOCK_GUARD_IN_USE] = "in_use",
	[ATLOCK_GUARD_CONTENDED] = "contended",
};

const char *atlock_guard_result_name(enum atlock_guard_result result)
{
	return results[result];
}

static int note_refuse(struct atlock_why *why)
{
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "what atlock guard writes here is <app> stopped|in_use|contended <tries> <milliseconds>");
}

static int result_of(const char *word)
{
	for (int i = 0; i < ATLOCK_GUARD_RESULTS; i++)
		if (strcmp(results[i], word) == 0)
			return i;
	return -1;
}

int atlock_guard_note(struct atlock *al, const char *resource, const struct atlock_caller *caller, const char *text,
		      size_t len, struct atlock_why *why)
{
	char line[NOTE_MAX];
	char word[16] = "";
	struct atlock_app app;
	char *rest = line;
	const char *name;
	uint64_t tries = 0;
	uint64_t time = 0;

	if (len >= sizeof(line))
		return note_refuse(why);
	memcpy(line, text, len);
	line[len] = '\0';
	name = strsep(&rest, " ");
	if (rest == NULL || sscanf(rest, "%15s %" SCNu64 " %" SCNu64, word, &tries, &time) != 3 ||
	    result_of(word) < 0 || tries > UINT32_MAX || time > UINT32_MAX)
		return note_refuse(why);
	if (atlock_app_get(al, resource, name, &app) < 0)
		return why_set(why, -ENOENT, ATLOCK_LOCK_NOT_FOUND, "it names no app of the resource");
	if (app.uid != caller->uid && !caller->admin)
		return why_set(why, -EACCES, ATLOCK_PERMISSION_DENIED, "the app belongs to %s", app.owner);
	guards_add(&al->guards, resource, (enum atlock_guard_result)result_of(word), tries,
		   time * (uint64_t)(ATLOCK_SECOND / 1000));
	return 0;
}

int atlock_guard_text(struct atlock *al, const char *resource, char **text, size_t *len)
{
	struct atlock_shared shared;
	struct guard_count count;
	int n = atlock_shared_get(al, resource, &shared);

	if (n < 0)
		return n;
	guards_get(&al->guards, resource, &count);
	n = asprintf(text,
		     "stopped=%" PRIu64 "\nin_use=%" PRIu64 "\ncontended=%" PRIu64 "\ntries=%" PRIu64
		     "\ntry_seconds=%" PRIu64 ".%03" PRIu64 "\n",
		     count.results[ATLOCK_GUARD_STOPPED], count.results[ATLOCK_GUARD_IN_USE],
		     count.results[ATLOCK_GUARD_CONTENDED], count.tries, count.time / (uint64_t)ATLOCK_SECOND,
		     count.time % (uint64_t)ATLOCK_SECOND / 1000000);
	*len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -ENOMEM : 0;
}
