/* events/: the event log as files, one for each day. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "day.h"
#include "event_chains.h"
#include "event_day.h"
#include "event_log.h"
#include "event_merge.h"
#include "event_shown.h"
#include "place.h"

struct day_read {
	uint32_t day;
	uint64_t at;
	char *out;
	size_t left;
	struct event_shown shown;
	struct event event; /* the current event */
};

static void read_bytes(struct day_read *read, const char *text, size_t len)
{
	size_t n = len < read->left ? len : read->left;

	memcpy(read->out, text, n);
	read->out += n;
	read->left -= n;
	read->at += n;
}

/* The byte at an offset of a gap: a line that explains the gap, if it is long enough, and spaces. */
static char gap_byte(uint64_t at, uint64_t len)
{
	static const char notice[] = EVENT_LINE_GONE "\"these events were archived, or were older than "
						     "events_keep: see events/anchor\"}";
	const size_t said = sizeof(notice) - 1;

	if (at == len - 1)
		return '\n';
	if (len > said && at < said)
		return notice[at];
	return ' ';
}

/* Fills the place of removed events, from `begin` to `end`, so that the offsets of all others stay valid. */
static void read_gap(struct day_read *read, uint64_t begin, uint64_t end)
{
	for (; read->left > 0 && read->at < end; read->at++, read->left--)
		*read->out++ = gap_byte(read->at - begin, end - begin);
}

/* The event whose line has the byte at `read->at`, or the first event if that byte is before it. */
static int read_find(struct op *op, struct day_read *read, uint64_t first, uint64_t last)
{
	int rc;

	while (first < last) {
		uint64_t middle = first + (last - first + 1) / 2;

		rc = event_get(op, middle, &read->event);
		if (rc < 0)
			return rc;
		if (rc == 0 && read->event.record.offset <= read->at)
			first = middle;
		else
			last = middle - 1;
	}
	return event_next(op, first, &read->event);
}

/* Copies the current line, or a line of the same length that hides its contents. */
static int read_line(struct op *op, struct day_read *read, uint64_t skip)
{
	struct event *event = &read->event;
	int rc = event_is_shown(op, &read->shown, &event->record);

	if (rc < 0)
		return rc;
	if (rc == 0)
		event_line_hide(event->line, event->len, (struct event_number){ event->chain, event->seq });
	read_bytes(read, event->line + skip, event->len - skip);
	return 0;
}

static int read_segment(struct op *op, struct day_read *read, const struct segment *segment)
{
	uint64_t seq = segment->first;
	int rc;

	rc = event_first(op, seq, &seq);
	if (rc < 0)
		return rc;
	if (rc == 1 || seq > segment->last) {
		read_gap(read, segment->offset, segment->end);
		return 0;
	}
	rc = read_find(op, read, seq, segment->last);
	if (rc == 0 && read->event.record.offset > read->at)
		read_gap(read, segment->offset, read->event.record.offset);
	while (rc == 0 && read->left > 0) {
		const struct event *event = &read->event;
		uint64_t skip = read->at - event->record.offset;

		if (read->at < event->record.offset || skip > event->len)
			return op_corrupt(op, slice_of("event offset"), -EBADMSG);
		rc = read_line(op, read, skip);
		if (rc < 0 || event->seq >= segment->last)
			break;
		rc = event_get(op, event->seq + 1, &read->event);
	}
	return rc == 1 ? op_corrupt(op, slice_of("event"), -EBADMSG) : rc;
}

static int read_in_txn(struct op *op)
{
	struct day_read *read = op->arg;
	struct record_key prefix = record_key_day(op->al->chain, read->day);
	struct record_key from = prefix;
	struct segment segment;
	int rc = op_tail(op);

	while (rc == 0 && read->left > 0) {
		rc = event_segment_next(op, &from, record_key_slice(&prefix), &segment);
		if (rc == 0 && segment.end > read->at)
			rc = read_segment(op, read, &segment);
	}
	return rc < 0 ? rc : 0;
}

/* Copies a line of any host. A line that is gone leaves a gap; 1: the event is not the one that was put in this place. */
static int read_merged(struct op *op, struct day_read *read, const struct merge_line *line, uint64_t begin)
{
	int rc = event_get_of(op, merge_number(line), &read->event);

	if (rc < 0)
		return rc;
	if (rc == 0 && read->event.len == line->end - begin)
		return read_line(op, read, read->at - begin);
	read_gap(read, begin, line->end);
	return rc == 0;
}

static int read_merged_in_txn(struct op *op)
{
	struct day_read *read = op->arg;
	struct merge_day day;
	bool other = false;
	int rc = merge_day(op, read->day, &day);
	size_t i = rc == 0 ? merge_at(&day, read->at) : 0;

	for (; rc == 0 && i < day.count && read->left > 0; i++) {
		rc = read_merged(op, read, &day.lines[i], i == 0 ? 0 : day.lines[i - 1].end);
		other = other || rc == 1;
		rc = rc < 0 ? rc : 0;
	}
	if (other)
		merge_forget(op, read->day);
	return rc;
}

/* Where several hosts write, what they wrote is put in order first, and stays so until it was used: see event_merge.h. */
static int look(struct atlock *al, op_fn *alone, op_fn *merged, void *arg)
{
	int rc;

	if (!al->chains)
		return op_look(al, alone, arg, NULL);
	merges_lock(al->merges);
	rc = op_look(al, merged, arg, NULL);
	merges_unlock(al->merges);
	return rc;
}

/* "2026-11-16.jsonl" */
static bool day_name_parse(const char *name, uint32_t *day)
{
	return day_parse(name, day) && strcmp(name + DAY_TEXT, ".jsonl") == 0;
}

ssize_t atlock_day_read(struct atlock *al, const struct atlock_reader *reader, const char *name, uint64_t offset,
			char *out, size_t len)
{
	struct day_read *read;
	ssize_t rc;

	if (al == NULL || name == NULL || out == NULL || len > INT32_MAX)
		return -EINVAL;
	read = malloc(sizeof(*read));
	if (read == NULL)
		return -ENOMEM;
	read->shown.reader = reader;
	read->shown.len = 0;
	read->at = offset;
	read->out = out;
	read->left = len;
	rc = day_name_parse(name, &read->day) ? 0 : -ENOENT;
	if (rc == 0) {
		rc = look(al, read_in_txn, read_merged_in_txn, read);
	}
	if (rc == 0)
		rc = (ssize_t)(len - read->left);
	free(read);
	return rc;
}

static void day_fill(uint32_t day, struct atlock_day *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(day_print(day, out->name), ".jsonl", sizeof(".jsonl"));
	out->changed = day * DAY_NS;
}

struct day_get {
	uint32_t day;
	struct atlock_day *out;
	struct event last;
};

static int get_in_txn(struct op *op)
{
	struct day_get *get = op->arg;
	struct record_key prefix = record_key_day(op->al->chain, get->day);
	struct record_key from = prefix;
	struct segment segment;
	uint64_t last = 0;
	uint64_t oldest;
	int rc = op_tail(op);

	day_fill(get->day, get->out);
	while (rc == 0 && (rc = event_segment_next(op, &from, record_key_slice(&prefix), &segment)) == 0) {
		get->out->size = segment.end;
		last = segment.last;
	}
	if (rc < 0)
		return rc;
	rc = event_first(op, 0, &oldest);
	if (rc == 0 && last >= oldest)
		rc = event_get(op, last, &get->last);
	else if (rc == 0)
		rc = 1;
	if (rc == 0)
		get->out->changed = get->last.record.wall;
	return rc == 1 && get->day == day_of(op->wall) ? 0 : rc;
}

static int get_merged_in_txn(struct op *op)
{
	struct day_get *get = op->arg;
	struct merge_day day;
	int rc = merge_day(op, get->day, &day);

	day_fill(get->day, get->out);
	if (rc < 0)
		return rc;
	if (day.count == 0)
		return get->day == day_of(op->wall) ? 0 : 1;
	get->out->size = day.lines[day.count - 1].end;
	get->out->changed = day.changed;
	return 0;
}

int atlock_day_get(struct atlock *al, const char *name, struct atlock_day *out)
{
	struct day_get *get;
	int rc;

	if (al == NULL || name == NULL || out == NULL)
		return -EINVAL;
	get = malloc(sizeof(*get));
	if (get == NULL)
		return -ENOMEM;
	get->out = out;
	rc = day_name_parse(name, &get->day) ? 0 : 1;
	if (rc == 0) {
		rc = look(al, get_in_txn, get_merged_in_txn, get);
	}
	free(get);
	return rc;
}

struct day_list {
	uint32_t *days;
	size_t count;
};

static int day_compare(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a;
	uint32_t second = *(const uint32_t *)b;

	return first < second ? -1 : first > second;
}

/* The days that have events, and today, which may have none yet. */
static int days_in_txn(struct op *op)
{
	struct day_list *list = op->arg;
	struct segment *all = NULL;
	size_t count = 0;
	uint64_t oldest = 0;
	size_t i;
	int rc = event_segments(op, &all, &count);

	if (rc == 0)
		rc = event_first(op, 0, &oldest);
	if (rc >= 0) {
		list->days = calloc(count + 1, sizeof(*list->days));
		rc = list->days == NULL ? -ENOMEM : 0;
	}
	list->count = 0;
	for (i = 0; rc == 0 && i < count; i++)
		if (all[i].last >= oldest)
			list->days[list->count++] = all[i].day;
	free(all);
	if (rc < 0)
		return rc;
	list->days[list->count++] = day_of(op->wall);
	qsort(list->days, list->count, sizeof(*list->days), day_compare);
	return 0;
}

static int list_add(struct day_list *list, uint32_t day)
{
	uint32_t *days = reallocarray(list->days, list->count + 1, sizeof(*days));

	if (days == NULL)
		return -ENOMEM;
	list->days = days;
	days[list->count++] = day;
	return 0;
}

/* The days of which a chain has events. */
static int chain_days(struct op *op, struct day_list *list, uint16_t chain, const struct record_tail *tail)
{
	struct record_key prefix = record_key_days(chain);
	struct record_key from = prefix;
	struct segment segment;
	struct slice value;
	int rc = 0;

	while (rc >= 0 && (rc = event_chain_segment(op, tail, &from, record_key_slice(&prefix), &segment)) == 0) {
		uint64_t seq = segment.first;

		rc = event_chain_first(op, chain, &seq, &value);
		if (rc == 0 && seq <= segment.last)
			rc = list_add(list, segment.day);
	}
	return rc < 0 ? rc : 0;
}

static int days_merged_in_txn(struct op *op)
{
	struct day_list *list = op->arg;
	struct record_tail tail;
	uint16_t chain = 0;
	int rc;

	list->count = 0;
	while ((rc = event_chain_next(op, &chain, &tail)) == 0) {
		rc = chain_days(op, list, chain, &tail);
		if (rc < 0 || chain++ == UINT16_MAX)
			break;
	}
	if (rc >= 0)
		rc = list_add(list, day_of(op->wall));
	if (rc == 0)
		qsort(list->days, list->count, sizeof(*list->days), day_compare);
	return rc;
}

#define PART 'd' /* part of a place; its text is the file's name, which sorts by day */

int atlock_days(struct atlock *al, struct atlock_place *place, atlock_day_fn *fn, void *arg)
{
	struct slice after = place_text(place, PART);
	struct day_list list = { .days = NULL };
	char last[ATLOCK_DAY_NAME] = "";
	struct atlock_day day;
	size_t i;
	int rc;

	if (al == NULL || fn == NULL)
		return -EINVAL;
	rc = op_look(al, al->chains ? days_merged_in_txn : days_in_txn, &list, NULL);
	if (after.len > 0 && after.len < sizeof(last))
		memcpy(last, after.data, after.len);
	for (i = 0; rc == 0 && i < list.count; i++) {
		day_fill(list.days[i], &day);
		if (strcmp(day.name, last) <= 0)
			continue;
		memcpy(last, day.name, sizeof(last));
		place_set(place, PART, slice_of(last));
		/* To know the size of a day of several hosts, all its events would be put in order. */
		rc = al->chains ? 0 : atlock_day_get(al, day.name, &day);
		/* Skips a day that was removed meanwhile. */
		rc = rc == 0 ? fn(arg, &day) : rc < 0 ? rc : 0;
	}
	free(list.days);
	return rc < 0 ? rc : 0;
}

void atlock_day_live(struct atlock *al, char out[ATLOCK_DAY_NAME])
{
	struct atlock_day day;
	int64_t now;
	int64_t wall = 0;

	if (al != NULL)
		clock_read(&al->clock, &now, &wall);
	day_fill(day_of(wall), &day);
	memcpy(out, day.name, sizeof(day.name));
}
