/* The counter of tokens and tickets: whatever is lost, no number may be given out twice. */
#include <errno.h>
#include <stdlib.h>

#include "event_log.h"
#include "fsck.h"
#include "scan.h"

/* More numbers than can have been given out without a trace. */
#define LEAP (UINT64_C(1) << 32)

/* No counter gets this far: a greater number comes from a damaged key, since keys have no checksum. */
#define NUMBER_END (UINT64_C(1) << 62)

static void number_see(uint64_t number, uint64_t *most)
{
	if (number > *most && number < NUMBER_END)
		*most = number;
}

/* The greatest number in one of the indexes of holders, whose keys end with it. */
static int index_most(struct fsck *fsck, enum record_table table, uint64_t *most)
{
	struct scan scan = scan_table(table);
	int rc;

	while ((rc = scan_next(fsck->op, &scan)) == 0) {
		if (scan.key.len > 8)
			number_see(record_number((const unsigned char *)scan.key.data + scan.key.len - 8), most);
	}
	return rc < 0 ? rc : 0;
}

static int locks_most(struct fsck *fsck, uint64_t *most)
{
	struct scan scan = scan_table(TABLE_LOCK);
	struct record_lock record;
	int rc;

	while ((rc = scan_next(fsck->op, &scan)) == 0) {
		if (record_decode(RECORD_LOCK, scan.value, &record) == 0)
			number_see(record.grant.token, most);
	}
	return rc < 0 ? rc : 0;
}

static int events_most(struct fsck *fsck, uint64_t *most)
{
	struct event *event = malloc(sizeof(*event));
	uint64_t seq = 0;
	int rc = event == NULL ? -ENOMEM : 0;

	while (rc == 0 && (rc = event_first(fsck->op, seq, &seq)) == 0) {
		rc = event_get(fsck->op, seq, event);
		if (rc == 0) {
			number_see(event->record.token, most);
			number_see(event->record.ticket, most);
		}
		rc = rc == -EIO ? 0 : rc;
		seq++;
	}
	free(event);
	return rc < 0 ? rc : 0;
}

/* Numbers below the ceiling may have been given out in commits that a crash undid; a mount skips them, too. */
static int ceiling_take(struct fsck *fsck, const struct record_key *key, struct record_counter counter)
{
	if (!fsck->fix || counter.next >= counter.ceiling)
		return 0;
	counter.next = counter.ceiling;
	fsck->op->counter_loaded = false;
	return op_put(fsck->op, RECORD_COUNTER, key, &counter);
}

int fsck_counter(struct fsck *fsck)
{
	struct record_key key = record_key_meta("counter");
	struct record_counter counter = { .next = 0 };
	struct slice any;
	uint64_t most = 0;
	int rc = fsck_get(fsck, RECORD_COUNTER, &key, &counter);
	bool lost = rc == 1;

	if (rc >= 0)
		rc = locks_most(fsck, &most);
	if (rc == 0)
		rc = index_most(fsck, TABLE_HELD, &most);
	if (rc == 0)
		rc = index_most(fsck, TABLE_TICKET, &most);
	if (rc < 0 || (!lost && counter.next > most))
		return rc < 0 ? rc : ceiling_take(fsck, &key, counter);
	rc = fsck->events_lost ? 0 : events_most(fsck, &most);
	if (rc < 0)
		return rc;
	/* A missing counter is right if no number was ever given out. */
	if (lost && most == 0 && store_get(fsck->op->txn, record_key_slice(&key), &any) == 1)
		return 0;
	fsck_problem(fsck, record_key_slice(&key), "the counter of tokens is damaged, gone or behind",
		     "it goes on far above all that are known");
	counter = (struct record_counter){ .next = most + LEAP };
	fsck->op->counter_loaded = false;
	return fsck->fix ? op_put(fsck->op, RECORD_COUNTER, &key, &counter) : 0;
}
