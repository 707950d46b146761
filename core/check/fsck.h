/*
 * Checks a store and repairs it. Each tree has a part, which goes through the tree's tables and reports inconsistencies by key;
 * with `fix` it also repairs them at once. Records that can be derived from others are rebuilt; records that hold a lock or keep
 * something back are kept, so that a repair never frees a lock; the rest is dropped. Private to core/; all of it runs inside an
 * operation's transaction.
 */
#ifndef CORE_FSCK_H
#define CORE_FSCK_H

#include <stdio.h>

#include "op.h"

/* Numbers to look up after they have been sorted. */
struct fsck_numbers {
	struct fsck_number {
		uint64_t number;
		int64_t value;
	} * list;
	size_t count;
	size_t room;
};

struct fsck {
	struct op *op;
	FILE *report; /* NULL: no report */
	bool fix;
	int64_t problems;
	bool events_lost; /* the chain's end or a key cannot be read and was not repaired: events are not checked */
	uint64_t held;    /* locks and tickets, as counted */
	uint64_t waiting;
	uint64_t events;              /* bytes of all events */
	struct fsck_numbers tickets;  /* the existing ones */
	struct fsck_numbers due;      /* deadlines by token, read on first use */
	struct fsck_numbers id_times; /* parts of ids by token, the same */
	struct fsck_numbers id_randoms;
};

/* Called for one entry of a table, which it may change or remove: < 0 ends the walk. */
typedef int fsck_fn(struct fsck *fsck, struct slice key, struct slice value);
int fsck_each(struct fsck *fsck, struct slice prefix, fsck_fn *fn);
int fsck_table(struct fsck *fsck, enum record_table table, fsck_fn *fn);

/* Counts the entries that begin with `prefix`. */
int fsck_count(struct fsck *fsck, const struct record_key *prefix, uint64_t *out);

/* Reports a problem and, with `fix`, its remedy. Returns 0. */
int fsck_problem(struct fsck *fsck, struct slice key, const char *what, const char *remedy);

/* Reports an entry that cannot be used: with `fix` it is removed. */
int fsck_drop(struct fsck *fsck, struct slice key, const char *what);

/*
 * As record_decode(): 0, or 1 if it is damaged. A record of a newer version must not be touched: with `fix` it is an error, which
 * ends the repair.
 */
int fsck_decode(struct fsck *fsck, enum record_kind kind, struct slice key, struct slice value, void *record);

/* The same for the record at `key`: 1 if it is missing or damaged. */
int fsck_get(struct fsck *fsck, enum record_kind kind, const struct record_key *key, void *record);

/* `key` should have exactly `value`; if not, reports a problem of `about`, and with `fix` writes it. */
int fsck_expect(struct fsck *fsck, const struct record_key *key, struct slice value, struct slice about,
		const char *what);

/* Checks that a text can be read. */
int fsck_sealed(struct fsck *fsck, struct slice key, struct slice value);

/* The key without the table's letter. */
struct slice fsck_rest(struct slice key);

int fsck_number_add(struct fsck_numbers *numbers, uint64_t number, int64_t value);
void fsck_numbers_sort(struct fsck_numbers *numbers);
const struct fsck_number *fsck_number_find(const struct fsck_numbers *numbers, uint64_t number);

/* The parts, in this order. */
int fsck_format(struct fsck *fsck);
int fsck_events(struct fsck *fsck);
int fsck_counter(struct fsck *fsck);
int fsck_salvage(struct fsck *fsck);
int fsck_locks(struct fsck *fsck);
int fsck_tickets(struct fsck *fsck);
int fsck_dirs(struct fsck *fsck);
int fsck_shared(struct fsck *fsck);
int fsck_pulls(struct fsck *fsck);
int fsck_owners(struct fsck *fsck);
int fsck_counts(struct fsck *fsck);
int fsck_others(struct fsck *fsck);

#endif
