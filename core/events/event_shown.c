#include "event_shown.h"

#include <string.h>

#include "dir_path.h"

static const char custom[] = "custom/";

/* A refusal names a path of the mount; of a longer path than this only the end is stored. */
#define SUBJECT_WHOLE 254

static struct slice without(struct slice text, size_t n)
{
	return (struct slice){ (const char *)text.data + n, text.len - n };
}

/* The path that the event is about; empty if there is none. */
static struct slice event_path(const struct record_event *event, bool *whole)
{
	static const char *const mirrors[] = { "queue/", "wait/" };
	struct slice path = event->lock;

	*whole = true;
	if (event->type != ATLOCK_EVENT_REFUSED || path.len > 0)
		return path;
	path = event->old;
	*whole = path.len <= SUBJECT_WHOLE;
	for (size_t i = 0; i < sizeof(mirrors) / sizeof(mirrors[0]); i++)
		if (slice_begins(path, slice_of(mirrors[i])))
			path = without(path, strlen(mirrors[i]));
	return path;
}

/* The directory with this path below custom/, and since when it and all above it are there: 0 or 1 (there is none). */
static int dir_of_path(struct op *op, struct slice path, uint64_t *dir, int64_t *since)
{
	struct record_dir record;
	const char *slash;
	int rc = 0;

	*dir = 0;
	*since = INT64_MIN;
	path = without(path, strlen(custom));
	while (rc == 0 && (slash = memchr(path.data, '/', path.len)) != NULL) {
		size_t len = (size_t)(slash - (const char *)path.data);

		rc = len == 0 ? 1 : dir_entry(op, *dir, (struct slice){ path.data, len }, dir);
		if (rc == 0)
			rc = dir_load(op, *dir, &record);
		if (rc == 0 && record.made > *since)
			*since = record.made;
		path = without(path, len + 1);
	}
	return rc;
}

static int path_is_shown(struct op *op, struct event_shown *shown, struct slice path, int64_t wall)
{
	const char *end = memrchr(path.data, '/', path.len);
	size_t len = (size_t)(end - (const char *)path.data) + 1;
	uint64_t dir = 0;
	int rc;

	if (len == shown->len && memcmp(shown->dir, path.data, len) == 0)
		return shown->may && wall >= shown->since;
	rc = dir_of_path(op, path, &dir, &shown->since);
	if (rc < 0)
		return rc;
	shown->may = rc == 0 && shown->reader->may(shown->reader->arg, dir);
	shown->len = len <= sizeof(shown->dir) ? len : 0;
	memcpy(shown->dir, path.data, shown->len);
	return shown->may && wall >= shown->since;
}

/*
 * The value of an option that only administrators may read. Events say "hidden" instead of it; older ones, which cannot be changed, have
 * the value itself.
 */
static bool has_secret(const struct record_event *event)
{
	const struct slice values[] = { event->old, event->new };

	if (event->type != ATLOCK_EVENT_CONFIGURED || !slice_equal(event->lock, slice_of("config/on_event")))
		return false;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i].len > 0 && !slice_equal(values[i], slice_of("hidden")))
			return true;
	return false;
}

int event_is_shown(struct op *op, struct event_shown *shown, const struct record_event *event)
{
	const struct atlock_reader *reader = shown->reader;
	struct slice path;
	bool whole;

	if (reader == NULL || slice_equal(event->owner, slice_of(reader->user)) ||
	    slice_equal(event->actor, slice_of(reader->user)))
		return 1;
	path = event_path(event, &whole);
	if (!whole || has_secret(event))
		return 0;
	return slice_begins(path, slice_of(custom)) ? path_is_shown(op, shown, path, event->wall) : 1;
}
