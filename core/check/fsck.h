/*
 * Checking a store and setting it right. Each tree has a part here, which goes through its tables and tells what does not fit, by
 * key; with `fix` it also sets that right at once. What can be had from other records is made anew from them; what would
 * hold or keep something back is kept, so that no lock comes free by it; the rest is dropped. Private to core/; all of it runs inside
 * an operation's transaction.
 */
#ifndef CORE_FSCK_H
#define CORE_FSCK_H

#include <stdio.h>

#include "op.h"

/* Numbers to look up once they are sorted. */
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
	FILE *report; /* NULL: nobody is told */
	bool fix;
	int64_t problems;
	bool events_lost; /* the chain's end or a key cannot be read, and stays so: events are left out */
	uint64_t held;    /* locks and tickets, as counted */
	uint64_t waiting;
	uint64_t events;              /* bytes that they take */
	struct fsck_numbers tickets;  /* those that are there */
	struct fsck_numbers due;      /* deadlines by token, once they were asked for */
	struct fsck_numbers id_times; /* the same of what ids are made of */
	struct fsck_numbers id_randoms;
};

/* One entry of a table, which may be changed and removed: < 0 ends the walk. */
typedef int fsck_fn(struct fsck *fsck, struct slice key, struct slice value);
int fsck_each(struct fsck *fsck, struct slice prefix, fsck_fn *fn);
int fsck_table(struct fsck *fsck, enum record_table table, fsck_fn *fn);

/* How many entries begin with `prefix`. */
int fsck_count(struct fsck *fsck, const struct record_key *prefix, uint64_t *out);

/* Tells of a problem and, with `fix`, of what is done about it. Returns 0. */
int fsck_problem(struct fsck *fsck, struct slice key, const char *what, const char *remedy);

/* A problem with an entry that nothing can be made of: with `fix` it is removed. */
int fsck_drop(struct fsck *fsck, struct slice key, const char *what);

/*
 * As record_decode(): 0, or 1 if it is damaged. What a newer version wrote must not be touched: with `fix` that is an error, which
 * ends the repair.
 */
int fsck_decode(struct fsck *fsck, enum record_kind kind, struct slice key, struct slice value, void *record);

/* The same for the record at `key`, whether it is gone or damaged: 1. */
int fsck_get(struct fsck *fsck, enum record_kind kind, const struct record_key *key, void *record);

/* `key` should be there with exactly `value`; if not, that is a problem of `about`, and with `fix` it is put there. */
int fsck_expect(struct fsck *fsck, const struct record_key *key, struct slice value, struct slice about,
		const char *what);

/* A text that should be readable. */
int fsck_sealed(struct fsck *fsck, struct slice key, struct slice value);

/* What comes after the table's letter. */
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

/* A directory that is in the way where it is, or has lost its place: it goes to custom/ as "lost-<id>". */
int fsck_dir_lose(struct fsck *fsck, uint64_t id);

#endif
