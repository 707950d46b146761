#include "event_merge.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "event_chains.h"

/* How far the events of a chain are among a day's lines. */
struct reached {
	uint16_t chain;
	uint64_t last;
};

struct day_lines {
	struct day_lines *next;
	uint32_t day;
	struct merge_line *lines;
	size_t count;
	size_t room;
	struct reached *reached;
	size_t chains;
	int64_t changed;
};

struct merges {
	pthread_mutex_t mutex; /* protects all fields; held while transactions begin */
	struct day_lines *days;
};

int merges_new(struct merges **out)
{
	struct merges *merges = calloc(1, sizeof(*merges));

	if (merges == NULL)
		return -ENOMEM;
	pthread_mutex_init(&merges->mutex, NULL);
	*out = merges;
	return 0;
}

/* Keeps the element itself. */
static void lines_empty(struct day_lines *lines)
{
	free(lines->lines);
	free(lines->reached);
	lines->lines = NULL;
	lines->count = lines->room = 0;
	lines->reached = NULL;
	lines->chains = 0;
	lines->changed = 0;
}

void merges_free(struct merges *merges)
{
	if (merges == NULL)
		return;
	while (merges->days != NULL) {
		struct day_lines *lines = merges->days;

		merges->days = lines->next;
		lines_empty(lines);
		free(lines);
	}
	pthread_mutex_destroy(&merges->mutex);
	free(merges);
}

void merges_lock(struct merges *merges)
{
	pthread_mutex_lock(&merges->mutex);
}

void merges_unlock(struct merges *merges)
{
	pthread_mutex_unlock(&merges->mutex);
}

static struct day_lines *lines_find(struct merges *merges, uint32_t day)
{
	struct day_lines *lines = merges->days;

	while (lines != NULL && lines->day != day)
		lines = lines->next;
	return lines;
}

static struct day_lines *lines_get(struct merges *merges, uint32_t day)
{
	struct day_lines *lines = lines_find(merges, day);

	if (lines != NULL)
		return lines;
	lines = calloc(1, sizeof(*lines));
	if (lines == NULL)
		return NULL;
	lines->day = day;
	lines->next = merges->days;
	merges->days = lines;
	return lines;
}

static struct reached *reached_get(struct day_lines *lines, uint16_t chain)
{
	struct reached *more;

	for (size_t i = 0; i < lines->chains; i++)
		if (lines->reached[i].chain == chain)
			return &lines->reached[i];
	more = reallocarray(lines->reached, lines->chains + 1, sizeof(*more));
	if (more == NULL)
		return NULL;
	lines->reached = more;
	more[lines->chains] = (struct reached){ .chain = chain };
	return &more[lines->chains++];
}

/* --- Events that are not among the lines yet --- */

struct fresh {
	int64_t wall; /* not before that of the event before it in its chain: the clock may have been set back */
	uint64_t number;
	uint64_t len;
};

struct gather {
	struct op *op;
	struct day_lines *lines;
	struct fresh *fresh;
	size_t count;
	size_t room;
};

static int fresh_add(struct gather *gather, struct fresh fresh)
{
	struct fresh *more = gather->fresh;
	size_t room = gather->room == 0 ? 64 : 2 * gather->room;

	if (gather->count == gather->room) {
		more = reallocarray(more, room, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		gather->fresh = more;
		gather->room = room;
	}
	more[gather->count++] = fresh;
	return 0;
}

/* From `reached` on. A line is as long as the distance to the next one's offset. */
static int segment_gather(struct gather *gather, struct reached *reached, const struct segment *segment)
{
	uint64_t seq = segment->first > reached->last ? segment->first : reached->last + 1;
	struct fresh *before = NULL;
	struct record_event event;
	uint64_t offset = 0;
	int64_t wall = INT64_MIN;
	struct slice value;
	int rc;

	while ((rc = event_chain_first(gather->op, reached->chain, &seq, &value)) == 0 && seq <= segment->last) {
		rc = record_decode(RECORD_EVENT, value, &event);
		if (rc < 0)
			return op_corrupt(gather->op, slice_of("event"), rc);
		if (before != NULL)
			before->len = event.offset - offset;
		offset = event.offset;
		wall = event.wall > wall ? event.wall : wall;
		rc = fresh_add(gather, (struct fresh){ wall, (uint64_t)reached->chain << 48 | seq, 0 });
		if (rc < 0)
			return rc;
		before = &gather->fresh[gather->count - 1];
		reached->last = seq++;
	}
	if (rc >= 0 && before != NULL)
		before->len = segment->end - offset;
	return rc < 0 ? rc : 0;
}

/* -ESTALE: the chain is shorter than what was read of it. */
static int chain_gather(struct gather *gather, uint16_t chain, const struct record_tail *tail)
{
	struct record_key prefix = record_key_day(chain, gather->lines->day);
	struct reached *reached = reached_get(gather->lines, chain);
	struct record_key from = prefix;
	struct segment segment;
	int rc = reached == NULL ? -ENOMEM : 0;

	if (rc == 0 && reached->last > tail->seq)
		return -ESTALE;
	while (rc == 0) {
		rc = event_chain_segment(gather->op, tail, &from, record_key_slice(&prefix), &segment);
		if (rc == 0)
			rc = segment_gather(gather, reached, &segment);
	}
	return rc < 0 ? rc : 0;
}

static int fresh_compare(const void *a, const void *b)
{
	const struct fresh *first = a;
	const struct fresh *second = b;

	if (first->wall != second->wall)
		return first->wall < second->wall ? -1 : 1;
	return first->number < second->number ? -1 : first->number > second->number;
}

static int lines_append(struct day_lines *lines, const struct fresh *fresh, size_t count)
{
	uint64_t end = lines->count == 0 ? 0 : lines->lines[lines->count - 1].end;
	size_t room = 2 * lines->room > lines->count + count ? 2 * lines->room : lines->count + count;
	struct merge_line *more = lines->lines;

	if (lines->count + count > lines->room) {
		more = reallocarray(more, room, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		lines->lines = more;
		lines->room = room;
	}
	for (size_t i = 0; i < count; i++) {
		end += fresh[i].len;
		more[lines->count++] = (struct merge_line){ fresh[i].number, end };
		lines->changed = fresh[i].wall;
	}
	return 0;
}

/* After a failure it must be emptied: the chains say that they were read farther than the lines go. */
static int lines_load(struct op *op, struct day_lines *lines)
{
	struct gather gather = { .op = op, .lines = lines };
	struct record_tail tail;
	uint16_t chain = 0;
	int rc;

	while ((rc = event_chain_next(op, &chain, &tail)) == 0) {
		rc = chain_gather(&gather, chain, &tail);
		if (rc < 0 || chain++ == UINT16_MAX)
			break;
	}
	if (rc >= 0 && gather.count > 0) {
		qsort(gather.fresh, gather.count, sizeof(*gather.fresh), fresh_compare);
		rc = lines_append(lines, gather.fresh, gather.count);
	}
	free(gather.fresh);
	return rc < 0 ? rc : 0;
}

int merge_day(struct op *op, uint32_t day, struct merge_day *out)
{
	struct day_lines *lines = lines_get(op->al->merges, day);
	int rc = lines == NULL ? -ENOMEM : lines_load(op, lines);

	if (rc == -ESTALE) {
		lines_empty(lines);
		rc = lines_load(op, lines);
	}
	if (rc < 0) {
		if (lines != NULL)
			lines_empty(lines);
		return rc;
	}
	*out = (struct merge_day){ lines->lines, lines->count, lines->changed };
	return 0;
}

size_t merge_at(const struct merge_day *day, uint64_t offset)
{
	size_t first = 0;
	size_t last = day->count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (day->lines[middle].end > offset)
			last = middle;
		else
			first = middle + 1;
	}
	return first;
}

void merge_forget(struct op *op, uint32_t day)
{
	struct day_lines *lines = lines_find(op->al->merges, day);

	if (lines != NULL)
		lines_empty(lines);
}
