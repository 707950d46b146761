#include "tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256

enum { TALLY_HELD, TALLY_WAITS, TALLIES };

/* Never freed before the manager closes: there are no more than users. */
struct tally {
	struct tally *next;
	struct slice owner; /* stored behind this struct */
	struct {
		uint64_t age; /* valid if equal to tallies.age */
		uint64_t count;
	} of[TALLIES];
};

struct tallies {
	pthread_mutex_t mutex;
	struct tally *buckets[BUCKETS]; /* mutex, as all below */
	uint64_t age;                   /* starts at 1; 0 marks what was never counted */
	_Atomic bool used;              /* read without the mutex: there is at least one tally */
};

int tallies_new(struct tallies **out)
{
	struct tallies *tallies = calloc(1, sizeof(*tallies));

	if (tallies == NULL)
		return -ENOMEM;
	pthread_mutex_init(&tallies->mutex, NULL);
	tallies->age = 1;
	*out = tallies;
	return 0;
}

void tallies_free(struct tallies *tallies)
{
	if (tallies == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (tallies->buckets[i] != NULL) {
			struct tally *tally = tallies->buckets[i];

			tallies->buckets[i] = tally->next;
			free(tally);
		}
	}
	pthread_mutex_destroy(&tallies->mutex);
	free(tallies);
}

static int table_index(enum record_table table)
{
	return table == TABLE_HELD ? TALLY_HELD : TALLY_WAITS;
}

static struct tally **bucket_of(struct tallies *tallies, struct slice owner)
{
	return &tallies->buckets[slice_hash(SLICE_HASH, owner) % BUCKETS];
}

static struct tally *tally_find(struct tallies *tallies, struct slice owner)
{
	struct tally *tally = *bucket_of(tallies, owner);

	while (tally != NULL &&
	       (tally->owner.len != owner.len || memcmp(tally->owner.data, owner.data, owner.len) != 0))
		tally = tally->next;
	return tally;
}

/* NULL: no memory. */
static struct tally *tally_make(struct tallies *tallies, struct slice owner)
{
	struct tally **bucket = bucket_of(tallies, owner);
	struct tally *tally = calloc(1, sizeof(*tally) + owner.len);

	if (tally == NULL)
		return NULL;
	memcpy(tally + 1, owner.data, owner.len);
	tally->owner = (struct slice){ tally + 1, owner.len };
	tally->next = *bucket;
	*bucket = tally;
	atomic_store_explicit(&tallies->used, true, memory_order_relaxed);
	return tally;
}

static int index_count(struct op *op, enum record_table table, struct slice owner, uint64_t *count)
{
	struct record_key prefix = record_key_holder(table, owner, (struct slice){ NULL, 0 });
	struct record_key from;
	struct slice key;
	int rc;

	prefix.len--; /* without the NUL that ends a who */
	from = prefix;
	*count = 0;
	while ((rc = store_next(op->txn, record_key_slice(&from), record_key_slice(&prefix), &key, NULL)) == 0) {
		++*count;
		from = record_key_after(key);
	}
	return rc < 0 ? rc : 0;
}

int tally_get(struct op *op, enum record_table table, struct slice owner, uint64_t *out)
{
	struct tallies *tallies = op->al->tallies;
	int of = table_index(table);
	struct tally *tally;
	uint64_t age;
	bool known;
	int rc;

	/* Other hosts change the index, too. */
	if (op->al->shared)
		return index_count(op, table, owner, out);
	pthread_mutex_lock(&tallies->mutex);
	tally = tally_find(tallies, owner);
	if (tally == NULL)
		tally = tally_make(tallies, owner);
	age = tallies->age;
	known = tally != NULL && tally->of[of].age == age;
	*out = known ? tally->of[of].count : 0;
	pthread_mutex_unlock(&tallies->mutex);
	if (known)
		return 0;
	rc = index_count(op, table, owner, out);
	if (rc < 0 || tally == NULL)
		return rc;
	pthread_mutex_lock(&tallies->mutex);
	tally->of[of].age = age;
	tally->of[of].count = *out;
	pthread_mutex_unlock(&tallies->mutex);
	return 0;
}

static void count_change(struct tally *tally, int of, int by)
{
	if (by > 0)
		tally->of[of].count++;
	else
		tally->of[of].count -= tally->of[of].count > 0;
}

void tally_add(struct op *op, enum record_table table, struct slice owner, int by)
{
	struct tallies *tallies = op->al->tallies;
	struct tally_changes *changes = &op->tallied;
	struct tally *tally;

	if (!atomic_load_explicit(&tallies->used, memory_order_relaxed))
		return;
	pthread_mutex_lock(&tallies->mutex);
	tally = tally_find(tallies, owner);
	if (tally != NULL) {
		count_change(tally, table_index(table), by);
		if (changes->count < TALLY_CHANGES)
			changes->list[changes->count] = (struct tally_change){ tally, (short)table_index(table),
									       (short)by };
		changes->count++;
	}
	pthread_mutex_unlock(&tallies->mutex);
}

void tally_undo(struct op *op)
{
	struct tally_changes *changes = &op->tallied;
	struct tallies *tallies = op->al->tallies;

	if (changes->count == 0)
		return;
	pthread_mutex_lock(&tallies->mutex);
	/* The list is too short for an operation on many locks: discard all counts. */
	tallies->age += changes->count > TALLY_CHANGES;
	for (size_t i = 0; i < changes->count && i < TALLY_CHANGES; i++)
		count_change(changes->list[i].tally, changes->list[i].of, -changes->list[i].by);
	pthread_mutex_unlock(&tallies->mutex);
	changes->count = 0;
}

void tally_forget(struct op *op)
{
	struct tallies *tallies = op->al->tallies;

	pthread_mutex_lock(&tallies->mutex);
	tallies->age++;
	pthread_mutex_unlock(&tallies->mutex);
	op->tallied.count = 0;
}
