#include "fsck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "atlock/check.h"
#include "event_log.h"
#include "scan.h"
#include "seal.h"
#include "why.h"

struct slice fsck_rest(struct slice key)
{
	return (struct slice){ (const unsigned char *)key.data + 1, key.len - 1 };
}

static void key_print(FILE *out, struct slice key)
{
	const unsigned char *bytes = key.data;

	for (size_t i = 0; i < key.len; i++)
		(void)fprintf(out, bytes[i] > ' ' && bytes[i] < 0x7f && bytes[i] != '\\' ? "%c" : "\\%02x", bytes[i]);
}

int fsck_problem(struct fsck *fsck, struct slice key, const char *what, const char *remedy)
{
	fsck->problems++;
	if (fsck->report == NULL)
		return 0;
	key_print(fsck->report, key);
	(void)fprintf(fsck->report, ": %s%s%s\n", what, fsck->fix ? ": " : "", fsck->fix ? remedy : "");
	return 0;
}

int fsck_drop(struct fsck *fsck, struct slice key, const char *what)
{
	int rc;

	fsck_problem(fsck, key, what, "dropped");
	rc = fsck->fix ? store_del(fsck->op->txn, key) : 0;
	return rc < 0 ? rc : 0;
}

int fsck_decode(struct fsck *fsck, enum record_kind kind, struct slice key, struct slice value, void *record)
{
	int rc = record_decode(kind, value, record);

	if (rc == -EPROTONOSUPPORT && fsck->fix)
		return op_corrupt(fsck->op, key, rc);
	return rc < 0 ? 1 : 0;
}

int fsck_get(struct fsck *fsck, enum record_kind kind, const struct record_key *key, void *record)
{
	struct slice value;
	int rc = store_get(fsck->op->txn, record_key_slice(key), &value);

	return rc == 0 ? fsck_decode(fsck, kind, record_key_slice(key), value, record) : rc;
}

int fsck_expect(struct fsck *fsck, const struct record_key *key, struct slice value, struct slice about,
		const char *what)
{
	struct slice found;
	int rc = store_get(fsck->op->txn, record_key_slice(key), &found);

	if (rc < 0)
		return rc;
	if (rc == 0 && slice_equal(found, value))
		return 0;
	fsck_problem(fsck, about, what, "entered");
	return fsck->fix ? store_put(fsck->op->txn, record_key_slice(key), value) : 0;
}

int fsck_sealed(struct fsck *fsck, struct slice key, struct slice value)
{
	switch (seal_check(fsck->op, key, value)) {
	case 0: return 0;
	case -ENOMEM: return -ENOMEM;
	case -ENOKEY: return fsck_problem(fsck, key, "the text is sealed with another key", "left as it is");
	case -EPROTONOSUPPORT: return fsck_problem(fsck, key, "a newer version sealed the text", "left as it is");
	default: return fsck_drop(fsck, key, "the sealed text is damaged");
	}
}

int fsck_each(struct fsck *fsck, struct slice prefix, fsck_fn *fn)
{
	struct record_key first = { .len = prefix.len };
	struct scan scan;
	int rc;

	memcpy(first.data, prefix.data, prefix.len);
	scan = scan_prefix(&first);
	while ((rc = scan_next(fsck->op, &scan)) == 0) {
		rc = fn(fsck, scan.key, scan.value);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

int fsck_table(struct fsck *fsck, enum record_table table, fsck_fn *fn)
{
	const unsigned char first = (unsigned char)table;

	return fsck_each(fsck, (struct slice){ &first, 1 }, fn);
}

int fsck_count(struct fsck *fsck, const struct record_key *prefix, uint64_t *out)
{
	struct scan scan = scan_prefix(prefix);
	int rc;

	*out = 0;
	while ((rc = scan_next(fsck->op, &scan)) == 0) {
		++*out;
	}
	return rc < 0 ? rc : 0;
}

/* --- Numbers --- */

int fsck_number_add(struct fsck_numbers *numbers, uint64_t number, int64_t value)
{
	size_t room = numbers->room == 0 ? 1024 : 2 * numbers->room;
	struct fsck_number *list;

	if (numbers->count == numbers->room) {
		list = reallocarray(numbers->list, room, sizeof(*list));
		if (list == NULL)
			return -ENOMEM;
		numbers->list = list;
		numbers->room = room;
	}
	numbers->list[numbers->count++] = (struct fsck_number){ number, value };
	return 0;
}

static int number_compare(const void *a, const void *b)
{
	uint64_t first = ((const struct fsck_number *)a)->number;
	uint64_t second = ((const struct fsck_number *)b)->number;

	return first < second ? -1 : first > second;
}

void fsck_numbers_sort(struct fsck_numbers *numbers)
{
	if (numbers->count > 0)
		qsort(numbers->list, numbers->count, sizeof(*numbers->list), number_compare);
}

const struct fsck_number *fsck_number_find(const struct fsck_numbers *numbers, uint64_t number)
{
	struct fsck_number wanted = { .number = number };

	if (numbers->count == 0)
		return NULL;
	return bsearch(&wanted, numbers->list, numbers->count, sizeof(wanted), number_compare);
}

/* --- All of it --- */

typedef int fsck_part(struct fsck *fsck);

/* A part comes after those whose records it is rebuilt from. */
static fsck_part *const parts[] = {
	fsck_format, fsck_events, fsck_counter, fsck_salvage, fsck_locks,  fsck_tickets,
	fsck_dirs,   fsck_shared, fsck_pulls,   fsck_owners,  fsck_counts, fsck_others,
};

static int fsck_run(struct fsck *fsck)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && rc == 0; i++)
		rc = parts[i](fsck);
	free(fsck->tickets.list);
	free(fsck->due.list);
	free(fsck->id_times.list);
	free(fsck->id_randoms.list);
	return rc;
}

static int check_in_txn(struct op *op)
{
	struct fsck *fsck = op->arg;

	*fsck = (struct fsck){ .op = op, .report = fsck->report };
	return fsck_run(fsck);
}

int64_t atlock_check(struct atlock *al, FILE *report)
{
	struct fsck fsck = { .report = report };
	int rc;

	if (al == NULL)
		return -EINVAL;
	rc = op_look(al, check_in_txn, &fsck, NULL);
	return rc < 0 ? rc : fsck.problems;
}

/* The report of a repair, held back until the commit: its function may run more than once. */
struct told {
	char *text;
	size_t len;
	int64_t problems;
};

static int repair_in_txn(struct op *op)
{
	struct told *told = op->arg;
	struct fsck fsck = { .op = op, .fix = true };
	int rc;

	free(told->text);
	*told = (struct told){ .text = NULL };
	fsck.report = open_memstream(&told->text, &told->len);
	if (fsck.report == NULL)
		return -ENOMEM;
	rc = fsck_run(&fsck);
	if (fclose(fsck.report) != 0 && rc == 0)
		rc = -ENOMEM;
	told->problems = fsck.problems;
	return rc < 0 ? rc : event_other(op, ATLOCK_EVENT_REPAIRED, "");
}

int64_t atlock_repair(struct atlock *al, FILE *report, struct atlock_why *why)
{
	struct told told = { .text = NULL };
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	rc = op_call(al, NULL, METRICS_NONE, repair_in_txn, &told, why);
	if (rc >= 0 && report != NULL && told.len > 0)
		(void)fwrite(told.text, 1, told.len, report);
	free(told.text);
	return rc < 0 ? rc : told.problems;
}
