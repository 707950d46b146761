#include "event_day.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "day.h"
#include "event_log.h"

#define SEGMENT_KEY 15 /* bytes: table, chain, day, sequence */

static uint32_t big32(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

int event_chain_segment(struct op *op, const struct record_tail *tail, struct record_key *from, struct slice prefix,
			struct segment *out)
{
	const unsigned char *bytes;
	struct record_day record;
	struct slice key;
	struct slice value;
	int rc;

	rc = store_next(op->txn, record_key_slice(from), prefix, &key, &value);
	if (rc != 0)
		return rc;
	rc = key.len == SEGMENT_KEY ? record_decode(RECORD_DAY, value, &record) : -EBADMSG;
	if (rc < 0)
		return op_corrupt(op, key, rc);
	bytes = key.data;
	*out = (struct segment){
		.day = big32(bytes + 3),
		.first = record_number(bytes + 7),
		.last = record.last,
		.offset = record.offset,
		.end = record.end,
	};
	if (out->day == tail->day && out->first == tail->first) {
		out->last = tail->seq;
		out->end = tail->size;
	}
	*from = record_key_after(key);
	return 0;
}

int event_segment_next(struct op *op, struct record_key *from, struct slice prefix, struct segment *out)
{
	return event_chain_segment(op, &op->tail, from, prefix, out);
}

static int segment_put(struct op *op, uint32_t day, uint64_t first, const struct record_day *record)
{
	struct record_key key = record_key_segment(op->al->chain, day, first);

	return op_put(op, RECORD_DAY, &key, record);
}

/* Writes the end of the current segment. */
static int segment_close(struct op *op)
{
	struct record_key key = record_key_segment(op->al->chain, (uint32_t)op->tail.day, op->tail.first);
	struct record_day record;
	int rc;

	if (op->tail.seq == 0)
		return 0;
	rc = op_get(op, RECORD_DAY, &key, &record);
	if (rc != 0)
		return rc == 1 ? op_corrupt(op, record_key_slice(&key), -EBADMSG) : rc;
	record.last = op->tail.seq;
	record.end = op->tail.size;
	return op_put(op, RECORD_DAY, &key, &record);
}

int event_day_begin(struct op *op, int64_t wall)
{
	uint32_t day = day_of(wall);
	struct segment before = { .end = 0 };
	struct record_day record;
	int rc;

	if (op->tail.seq > 0 && op->tail.day == day)
		return 0;
	struct record_key prefix = record_key_day(op->al->chain, day);
	struct record_key from = prefix;
	rc = segment_close(op);
	while (rc == 0)
		rc = event_segment_next(op, &from, record_key_slice(&prefix), &before);
	if (rc < 0)
		return rc;
	record = (struct record_day){ .offset = before.end };
	op->tail.day = day;
	op->tail.first = op->tail.seq + 1;
	op->tail.size = before.end;
	return segment_put(op, day, op->tail.first, &record);
}

static int segment_compare(const void *a, const void *b)
{
	uint64_t first = ((const struct segment *)a)->first;
	uint64_t second = ((const struct segment *)b)->first;

	return first < second ? -1 : first > second;
}

int event_segments(struct op *op, struct segment **out, size_t *count)
{
	struct record_key prefix = record_key_days(op->al->chain);
	struct record_key from = prefix;
	struct segment *all = NULL;
	struct segment *more;
	struct segment segment;
	size_t n = 0;
	int rc = op_tail(op);

	while (rc == 0 && (rc = event_segment_next(op, &from, record_key_slice(&prefix), &segment)) == 0) {
		more = reallocarray(all, n + 1, sizeof(*all));
		if (more == NULL) {
			rc = -ENOMEM;
			break;
		}
		all = more;
		all[n++] = segment;
	}
	if (rc < 0) {
		free(all);
		return rc;
	}
	if (n > 0)
		qsort(all, n, sizeof(*all), segment_compare);
	*out = all;
	*count = n;
	return 0;
}
