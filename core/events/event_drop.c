/*
 * Removes events: days older than events_keep, and archived events. Nothing else removes an event, not even a full
 * store. The last removed one is recorded, so that the log visibly begins after it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "atlock/manual.h"
#include "day.h"
#include "event_day.h"
#include "event_log.h"
#include "log.h"
#include "why.h"

#define DROP_BATCH 1024 /* events removed in one transaction: others run in between */

/* An older version that dropped whole days also removed their records: then the first event is the first of its day. */
static int anchor_guess(struct op *op, struct anchor *out)
{
	struct segment *all = NULL;
	struct event *event;
	size_t count = 0;
	uint64_t oldest = 0;
	int rc = event_first(op, 0, &oldest);

	if (rc != 0 || oldest == 1)
		return rc < 0 ? rc : 1;
	rc = event_segments(op, &all, &count);
	if (rc < 0)
		return rc;
	bool whole = count > 0 && all[0].first == oldest;
	free(all);
	if (!whole)
		return 1;
	event = malloc(sizeof(*event));
	if (event == NULL)
		return -ENOMEM;
	rc = event_get(op, oldest, event);
	if (rc == 0) {
		*out = (struct anchor){ .why = RECORD_KEPT, .guessed = true, .seq = oldest - 1 };
		memcpy(out->hash, event->record.prev.data, sizeof(out->hash));
	}
	free(event);
	return rc;
}

int event_anchor(struct op *op, struct anchor *out)
{
	struct record_key key = record_key_anchor(op->al->chain);
	struct record_anchor record;
	int rc = op_get(op, RECORD_ANCHOR, &key, &record);

	if (rc != 0)
		return rc < 0 ? rc : anchor_guess(op, out);
	if (record.hash.len != sizeof(out->hash))
		return op_corrupt(op, record_key_slice(&key), -EBADMSG);
	*out = (struct anchor){ .why = record.why, .seq = record.seq, .wall = record.wall, .by = record.by };
	memcpy(out->hash, record.hash.data, sizeof(out->hash));
	return 0;
}

static int anchor_put(struct op *op, enum record_anchor_why why, uint64_t seq, const unsigned char hash[EVENT_HASH])
{
	struct record_key key = record_key_anchor(op->al->chain);
	struct record_anchor record = {
		.why = (uint8_t)why,
		.seq = seq,
		.wall = op->wall,
		.by = slice_of(op->caller != NULL ? op->caller->owner : ""),
		.hash = { hash, EVENT_HASH },
	};

	return op_put(op, RECORD_ANCHOR, &key, &record);
}

/* The event to stop at, and how many to remove in one transaction. */
struct drop {
	uint64_t end;
	int batch;
};

static int drop_in_txn(struct op *op)
{
	const struct drop *drop = op->arg;
	int count = 0;
	int rc = 0;

	while (count < drop->batch && (rc = event_remove(op, 0, drop->end)) == 0)
		count++;
	return rc < 0 ? rc : count;
}

/* Removing needs free pages, too: if there are few, it removes fewer events at once. */
static int drop_events(struct atlock *al, uint64_t end)
{
	struct drop drop = { .end = end, .batch = DROP_BATCH };
	int total = 0;
	int rc;

	do {
		rc = op_call(al, NULL, METRICS_NONE, drop_in_txn, &drop, NULL);
		if (rc > 0)
			total += rc;
		else if (rc == -ENOSPC)
			drop.batch /= 2;
	} while (rc == -ENOSPC ? drop.batch > 0 : rc == drop.batch);
	return rc < 0 ? rc : total;
}

static int segments_drop(struct op *op, const struct segment *all, size_t count)
{
	struct record_key key;
	int rc = 0;

	for (size_t i = 0; i < count && rc >= 0; i++) {
		key = record_key_segment(op->al->chain, all[i].day, all[i].first);
		rc = store_del(op->txn, record_key_slice(&key));
	}
	return rc < 0 ? rc : 0;
}

/*
 * How many of the oldest segments have expired. A day in the future, made by a wrong clock, goes together with the
 * segment after it.
 */
static size_t prune_count(const struct op *op, const struct segment *all, size_t count)
{
	uint32_t tomorrow = day_of(op->wall) + 1;
	size_t drop = 0;
	size_t i;

	for (i = 0; i < count && all[i].last != op->tail.seq; i++) {
		if ((all[i].day + 1) * DAY_NS <= op->wall - op->options->events_keep)
			drop = i + 1;
		else if (all[i].day <= tomorrow)
			break;
	}
	return drop;
}

/* Sets the anchor to `last`, unless that is removed already. */
static int prune_anchor(struct op *op, uint64_t last)
{
	struct event *event = malloc(sizeof(*event));
	int rc = event == NULL ? -ENOMEM : event_get(op, last, event);

	if (rc == 0)
		rc = anchor_put(op, RECORD_KEPT, last, event->hash);
	free(event);
	return rc < 0 ? rc : 0;
}

/* Removes whole days in one transaction; sets `arg` to the first event that stays. */
static int prune_days_in_txn(struct op *op)
{
	uint64_t *keep = op->arg;
	struct segment *all = NULL;
	struct anchor anchor = { .seq = 0 };
	size_t count = 0;
	size_t drop;
	int rc = event_segments(op, &all, &count);

	if (rc < 0)
		return rc;
	drop = prune_count(op, all, count);
	*keep = drop < count ? all[drop].first : 0;
	if (drop > 0)
		rc = prune_anchor(op, all[drop - 1].last);
	if (rc == 0)
		rc = segments_drop(op, all, drop);
	free(all);
	if (rc == 0)
		rc = event_anchor(op, &anchor);
	if (rc == 0 && anchor.seq >= *keep)
		*keep = anchor.seq + 1;
	return rc < 0 ? rc : 0;
}

int atlock_run_prune(struct atlock *al)
{
	uint64_t keep = 0;
	int rc;

	if (al == NULL)
		return -EINVAL;
	rc = op_call(al, NULL, METRICS_NONE, prune_days_in_txn, &keep, NULL);
	return rc < 0 ? rc : drop_events(al, keep);
}

struct archive {
	uint64_t last;
	unsigned char hash[EVENT_HASH];
	const char *text;
	struct event event;
};

static int archive_refuse(struct op *op, const struct archive *archive)
{
	struct anchor anchor = { .seq = 0 };

	if (event_anchor(op, &anchor) == 0 && archive->last <= anchor.seq)
		return why_set(op->why, -EEXIST, ATLOCK_INVALID_REQUEST,
			       "events up to %" PRIu64 " are gone already: the log begins behind that one", anchor.seq);
	return why_set(op->why, -EINVAL, ATLOCK_INVALID_REQUEST, "there is no event %" PRIu64, archive->last);
}

/* Removes days that are archived completely; the current one stays. */
static int archive_days(struct op *op, uint64_t last)
{
	struct segment *all = NULL;
	size_t count = 0;
	size_t drop = 0;
	int rc = event_segments(op, &all, &count);

	while (rc == 0 && drop < count && all[drop].last <= last)
		drop++;
	if (rc == 0)
		rc = segments_drop(op, all, drop);
	free(all);
	return rc;
}

static int archive_in_txn(struct op *op)
{
	struct archive *archive = op->arg;
	int rc = event_get(op, archive->last, &archive->event);

	if (rc != 0)
		return rc < 0 ? rc : archive_refuse(op, archive);
	if (memcmp(archive->event.hash, archive->hash, EVENT_HASH) != 0)
		return why_set(op->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "event %" PRIu64 " has another hash: what was archived is not this log", archive->last);
	rc = event_archived(op, archive->text);
	if (rc == 0)
		rc = anchor_put(op, RECORD_ARCHIVED, archive->last, archive->hash);
	return rc == 0 ? archive_days(op, archive->last) : rc;
}

int atlock_archived(struct atlock *al, const struct atlock_caller *caller, const char *anchor, struct atlock_why *why)
{
	struct archive *archive;
	uint64_t last;
	int rc;

	if (al == NULL || anchor == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no event given");
	if (caller != NULL && !caller->admin)
		return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED,
			       "events are archived by administrators: root, and the members of admin_group");
	archive = malloc(sizeof(*archive));
	if (archive == NULL)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	rc = event_anchor_parse(anchor, &archive->last, archive->hash, why);
	archive->text = anchor;
	last = archive->last;
	if (rc == 0) {
		rc = op_call(al, caller, METRICS_NONE, archive_in_txn, archive, why);
	}
	free(archive);
	if (rc < 0)
		return rc;
	rc = drop_events(al, last + 1);
	if (rc < 0)
		return why_set(why, rc, ATLOCK_BACKEND_ERROR, "not all archived events could be removed yet: %s",
			       strerror(-rc));
	log_write(al, ATLOCK_LOG_INFO, "%d archived events were removed, up to %" PRIu64, rc, last);
	return 0;
}

static int anchor_in_txn(struct op *op)
{
	struct atlock_anchor *out = op->arg;
	struct anchor anchor = { .seq = 0 };
	int rc = event_anchor(op, &anchor);

	if (rc != 0)
		return rc;
	*out = (struct atlock_anchor){
		.seq = anchor.seq,
		.archived = anchor.why == RECORD_ARCHIVED,
	};
	if (!anchor.guessed)
		*day_print_time(anchor.wall, out->time) = '\0';
	event_hash_print(anchor.hash, out->hash);
	if (anchor.by.len < sizeof(out->by) && anchor.by.len > 0)
		memcpy(out->by, anchor.by.data, anchor.by.len);
	return 0;
}

int atlock_anchor(struct atlock *al, struct atlock_anchor *out)
{
	if (al == NULL || out == NULL)
		return -EINVAL;
	return op_look(al, anchor_in_txn, out, NULL);
}
