/*
 * Records derived from the events: the end of their chain, and which events are in which day's file. Events themselves are never
 * changed, and a readable end is trusted: atlock_events_verify() checks whether they match.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "day.h"
#include "event_day.h"
#include "event_log.h"
#include "fsck.h"
#include "owed.h"
#include "scan.h"

/* --- The end of the chain --- */

/* The last events that exist and that can be read. */
struct last {
	uint64_t seq;  /* of the last event, readable or not */
	uint64_t good; /* of the last readable event; 0: none */
	uint32_t day;  /* of the readable one, and the first event of its day's run */
	uint64_t first;
	struct event event; /* the readable one */
};

static int last_find(struct fsck *fsck, struct last *last)
{
	struct op *op = fsck->op;
	uint64_t seq = 0;
	int rc;

	while ((rc = event_first(op, seq, &seq)) == 0) {
		last->seq = seq;
		rc = event_get(op, seq, &last->event);
		if (rc < 0 && rc != -EIO)
			return rc;
		if (rc == 0 && (last->good == 0 || day_of(last->event.record.wall) != last->day)) {
			last->day = day_of(last->event.record.wall);
			last->first = seq;
		}
		if (rc == 0)
			last->good = seq;
		seq++;
	}
	if (rc == 1 && last->good != 0)
		rc = event_get(op, last->good, &last->event);
	return rc < 0 ? rc : 0;
}

/* The day's record, if there is one, has the start of the run, even if those events are gone. */
static int run_begin(struct fsck *fsck, struct last *last)
{
	struct record_key prefix = record_key_day(fsck->op->al->chain, last->day);
	struct scan scan = scan_prefix(&prefix);
	struct record_day record;
	int rc;

	while ((rc = scan_next(fsck->op, &scan)) == 0) {
		if (scan.key.len == scan.prefix.len + 8 && record_decode(RECORD_DAY, scan.value, &record) == 0 &&
		    record.last == 0)
			last->first = record_number((const unsigned char *)scan.key.data + scan.prefix.len);
	}
	return rc < 0 ? rc : 0;
}

static int tail_make(struct fsck *fsck, struct last *last)
{
	struct op *op = fsck->op;
	const struct event *event = &last->event;
	int rc = run_begin(fsck, last);

	if (rc < 0)
		return rc;
	memset(op->tail_hash, 0, sizeof(op->tail_hash));
	if (last->seq == last->good)
		memcpy(op->tail_hash, event->hash, sizeof(op->tail_hash));
	op->tail = (struct record_tail){
		.seq = last->seq,
		.day = last->day,
		.first = last->first,
		.size = event->record.offset + event->len,
		.hash = { op->tail_hash, sizeof(op->tail_hash) },
	};
	op->tail_loaded = op->tail_dirty = true;
	return 0;
}

/* A missing end is right in a store without events. */
static int tail_mend(struct fsck *fsck, const struct record_key *key, struct last *last)
{
	struct slice any;
	int rc = last_find(fsck, last);

	if (rc == 0 && last->seq == 0)
		rc = store_get(fsck->op->txn, record_key_slice(key), &any);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	fsck_problem(fsck, record_key_slice(key), "the end of the event chain is damaged or gone",
		     "it is the last event that is there");
	fsck->events_lost = !fsck->fix;
	if (!fsck->fix)
		return 0;
	if (last->good != 0)
		return tail_make(fsck, last);
	return store_del(fsck->op->txn, record_key_slice(key));
}

static int tail_check(struct fsck *fsck)
{
	struct record_key key = record_key_tail(fsck->op->al->chain);
	struct record_tail tail;
	struct last *last;
	int rc = fsck_get(fsck, RECORD_TAIL, &key, &tail);

	if (rc <= 0)
		return rc;
	last = calloc(1, sizeof(*last));
	if (last == NULL)
		return -ENOMEM;
	rc = tail_mend(fsck, &key, last);
	free(last);
	return rc < 0 ? rc : 0;
}

/* --- Days --- */

struct days {
	struct fsck *fsck;
	struct segment *known; /* in the order of events */
	size_t count;
	size_t at;
	struct segment open; /* being built; first 0: none */
	struct event event;
};

static int day_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_day record;
	int rc = key.len == 15 ? fsck_decode(fsck, RECORD_DAY, key, value, &record) : 1;

	return rc == 1 ? fsck_drop(fsck, key, "the record of a day of events is damaged") : rc;
}

static int segment_put(struct fsck *fsck, const struct segment *segment, bool grows)
{
	struct record_key key = record_key_segment(fsck->op->al->chain, segment->day, segment->first);
	struct record_day record = {
		.offset = segment->offset,
		.last = grows ? 0 : segment->last,
		.end = grows ? 0 : segment->end,
	};

	fsck_problem(fsck, record_key_slice(&key), "events are in the file of no day", "in that of theirs again");
	return fsck->fix ? op_put(fsck->op, RECORD_DAY, &key, &record) : 0;
}

/* The run of events that still grows always has a record. */
static int growing_check(struct fsck *fsck, struct days *days)
{
	const struct record_tail *tail = &fsck->op->tail;
	struct record_key key = record_key_segment(fsck->op->al->chain, (uint32_t)tail->day, tail->first);
	struct segment segment = { .day = (uint32_t)tail->day, .first = tail->first };
	struct slice any;
	int rc = tail->seq == 0 ? 0 : store_get(fsck->op->txn, record_key_slice(&key), &any);

	if (rc != 1)
		return rc;
	rc = event_next(fsck->op, tail->first, &days->event);
	segment.offset = rc == 0 ? days->event.record.offset : tail->size;
	return rc < 0 && rc != -EIO ? rc : segment_put(fsck, &segment, true);
}

static int open_end(struct days *days)
{
	int rc = days->open.first != 0 ? segment_put(days->fsck, &days->open, false) : 0;

	days->open.first = 0;
	return rc;
}

static bool is_known(struct days *days, uint64_t seq)
{
	while (days->at < days->count && days->known[days->at].last < seq)
		days->at++;
	return days->at < days->count && days->known[days->at].first <= seq;
}

static int event_place(struct days *days)
{
	const struct event *event = &days->event;
	uint32_t day = day_of(event->record.wall);
	int rc = 0;

	if (days->open.first != 0 && days->open.day != day)
		rc = open_end(days);
	if (days->open.first == 0)
		days->open = (struct segment){ .day = day, .first = event->seq, .offset = event->record.offset };
	days->open.last = event->seq;
	days->open.end = event->record.offset + event->len;
	return rc;
}

/*
 * Assigns every event without a day's record to one. Events before all records were dropped with their day and only wait for
 * removal. But if a record was lost, that cannot be told apart, and these events are shown again.
 */
static int events_place(struct fsck *fsck, struct days *days, bool all)
{
	uint64_t seq = 0;
	int rc = 0;

	while (rc == 0 && (rc = event_first(fsck->op, seq, &seq)) == 0) {
		if (is_known(days, seq) || (!all && days->at == 0 && days->count > 0)) {
			rc = open_end(days);
		} else {
			rc = event_get(fsck->op, seq, &days->event);
			rc = rc == 0 ? event_place(days) : rc == -EIO ? 0 : rc;
		}
		seq++;
	}
	return rc < 0 ? rc : open_end(days);
}

static int days_check(struct fsck *fsck)
{
	struct days *days = calloc(1, sizeof(*days));
	int64_t before = fsck->problems;
	int rc = days == NULL ? -ENOMEM : fsck_table(fsck, TABLE_DAY, day_one);

	if (rc == 0)
		rc = op_tail(fsck->op);
	/* An unreadable record prevents further checks. */
	if (rc == 0 && (fsck->fix || fsck->problems == before)) {
		days->fsck = fsck;
		rc = growing_check(fsck, days);
		if (rc == 0)
			rc = event_segments(fsck->op, &days->known, &days->count);
		if (rc == 0)
			rc = events_place(fsck, days, fsck->problems != before);
		free(days->known);
	}
	free(days);
	return rc;
}

static int key_one(struct fsck *fsck, struct slice key, struct slice value)
{
	if (key.len == 11) {
		fsck->events += event_bytes(value.len);
		return 0;
	}
	fsck->events_lost = !fsck->fix;
	return fsck_drop(fsck, key, "the event's key is damaged");
}

int fsck_events(struct fsck *fsck)
{
	int rc = fsck_table(fsck, TABLE_EVENT, key_one);

	if (rc == 0 && !fsck->events_lost)
		rc = tail_check(fsck);
	return rc < 0 || fsck->events_lost ? rc : days_check(fsck);
}

/* --- Counters in the chain's end --- */

/*
 * Checks the space reserved for future events. Older versions did not count it: then the next open does. With damaged locks the
 * figure cannot be right, and that is not reported again.
 */
static int owed_check(struct fsck *fsck)
{
	struct op *op = fsck->op;
	struct record_key key = record_key_tail(op->al->chain);
	uint64_t owed;
	int rc = owed_count(op, &owed);

	if (rc < 0)
		return rc;
	if (op->tail.owed != owed && op->tail.events != 0 && fsck->problems == 0)
		fsck_problem(fsck, record_key_slice(&key), "what events will take is wrong", "counted anew");
	if (fsck->fix && (op->tail.owed != owed || op->tail.events != fsck->events)) {
		op->tail.owed = owed;
		op->tail.events = fsck->events;
		op->tail_dirty = true;
	}
	return 0;
}

int fsck_counts(struct fsck *fsck)
{
	struct op *op = fsck->op;
	struct record_key key = record_key_tail(op->al->chain);
	int rc = fsck->events_lost ? 0 : op_tail(op);

	if (rc < 0 || fsck->events_lost)
		return rc;
	if (op->tail.held == fsck->held && op->tail.waiting == fsck->waiting)
		return owed_check(fsck);
	fsck_problem(fsck, record_key_slice(&key), "the numbers of held locks or waiters are wrong", "counted anew");
	if (fsck->fix) {
		op->tail.held = fsck->held;
		op->tail.waiting = fsck->waiting;
		op->tail_dirty = true;
	}
	return owed_check(fsck);
}
