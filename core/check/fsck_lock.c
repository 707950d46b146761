/* Locks, their texts, and the indexes of holders and deadlines. */
#include <errno.h>
#include <string.h>

#include "fsck.h"
#include "lock_name.h"
#include "table.h"

static bool is_name(struct slice lock)
{
	struct atlock_name name;

	if (lock.len == 0 || lock.len > sizeof(name.key))
		return false;
	name_from_key(&name, lock);
	return name_check(&name) == 0;
}

/* Keeps a lock held whose holder is lost, until an administrator removes it. */
static int lock_keep(struct fsck *fsck, struct slice key)
{
	struct op *op = fsck->op;
	struct record_lock record = {
		.mode = 0644,
		.grant = {
			.state = RECORD_ACQUIRED,
			.priority = ATLOCK_NORMAL,
			.version = 1,
			.id_time = (uint64_t)op->wall,
			.id_random = (uint32_t)op->random,
			.acquired = op->now,
			.renewed = op->now,
			.expires = ATLOCK_NEVER,
			.ttl = ATLOCK_NEVER,
			.holder = {
				.owner = slice_of("root"),
				.who = slice_of("fsck"),
				.host = slice_of(op->al->host),
			},
		},
	};
	int rc;

	fsck_problem(fsck, key, "the lock's record is damaged",
		     "its holder is unknown, so root@fsck holds it until an administrator removes it");
	if (!fsck->fix)
		return 0;
	fsck->held++;
	rc = op_number(op, fsck_rest(key), &record.grant.token);
	return rc < 0 ? rc : table_lock_put(op, fsck_rest(key), NULL, &record);
}

/* The lock's record: 0, or 1 if it is missing or damaged. */
static int lock_get(struct fsck *fsck, struct slice lock, struct record_lock *out)
{
	struct record_key key = record_key_of(TABLE_LOCK, lock);

	return lock.len == 0 || lock.len > ATLOCK_KEY_MAX ? 1 : fsck_get(fsck, RECORD_LOCK, &key, out);
}

/* Whether the index of holders names another lock at this key, and that lock's record agrees: 0, or 1 if not. */
static int lock_is_second(struct fsck *fsck, const struct record_key *index, struct slice lock)
{
	struct record_lock other;
	struct record_key place;
	struct slice named;
	int rc = store_get(fsck->op->txn, record_key_slice(index), &named);

	if (rc != 0 || slice_equal(named, lock) || !is_name(named))
		return rc < 0 ? rc : 1;
	rc = lock_get(fsck, named, &other);
	if (rc != 0 || !table_grant_index(&other.grant, TABLE_HELD, &place))
		return rc < 0 ? rc : 1;
	return !slice_equal(record_key_slice(&place), record_key_slice(index));
}

/* Keys have no checksum: one of the two locks has a damaged name, and it is unknown which. Both stay held. */
static int lock_renumber(struct fsck *fsck, struct slice key, struct record_lock *record)
{
	int rc;

	fsck_problem(fsck, key, "another lock has the same token", "it gets a new one");
	fsck->held++;
	rc = fsck->fix ? op_number(fsck->op, fsck_rest(key), &record->grant.token) : 0;
	return rc < 0 || !fsck->fix ? rc : table_lock_put(fsck->op, fsck_rest(key), NULL, record);
}

/* The indexes of locks, and what is said of them. */
static const struct index {
	enum record_table table;
	const char *missing; /* the lock has no entry */
	const char *free;    /* the entry's lock has none in this index */
	const char *other;   /* the entry's lock has another one */
} indexes[] = {
	{ TABLE_HELD, "the lock is not in the index of holders", "the index of holders names a lock that is not held",
	  "the index of holders names another holder than the lock" },
	{ TABLE_ID, "the lock is not in the index of ids", "the index of ids names a lock that is not held",
	  "the index of ids names another lock" },
	{ TABLE_DUE, "the lock is not in the index of deadlines", "the index of deadlines names a lock that has none",
	  "the index of deadlines does not agree with the lock" },
};
#define INDEXES (sizeof(indexes) / sizeof(indexes[0]))

static int lock_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct slice lock = fsck_rest(key);
	struct record_lock record;
	struct record_key index;
	int rc;

	if (!is_name(lock))
		return fsck_drop(fsck, key, "no lock can have this name");
	rc = fsck_decode(fsck, RECORD_LOCK, key, value, &record);
	if (rc != 0)
		return rc < 0 ? rc : lock_keep(fsck, key);
	if (table_grant_index(&record.grant, TABLE_HELD, &index)) {
		rc = lock_is_second(fsck, &index, lock);
		if (rc <= 0)
			return rc < 0 ? rc : lock_renumber(fsck, key, &record);
		fsck->held++;
	}
	rc = 0;
	for (size_t i = 0; i < INDEXES && rc == 0; i++)
		if (table_grant_index(&record.grant, indexes[i].table, &index))
			rc = fsck_expect(fsck, &index, lock, key, indexes[i].missing);
	return rc;
}

static int text_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_key lock = record_key_of(TABLE_LOCK, fsck_rest(key));
	struct record_lock record = { .grant.state = RECORD_ACQUIRED };
	struct slice any;
	int rc = store_get(fsck->op->txn, record_key_slice(&lock), &any);

	/* A damaged record is reported with the lock itself. */
	if (rc == 0 && fsck_decode(fsck, RECORD_LOCK, record_key_slice(&lock), any, &record) < 0)
		return -EIO;
	if (rc < 0)
		return rc;
	if (rc == 1 || record.grant.state == RECORD_DELAYED)
		return fsck_drop(fsck, key, "text of a lock that is free");
	return fsck_sealed(fsck, key, value);
}

/* The lock that an index entry names must have this entry. Deadlines of tickets are checked with the tickets. */
static int entry_one(struct fsck *fsck, struct slice key, struct slice value)
{
	const unsigned char *bytes = key.data;
	const struct index *index = indexes;
	struct record_lock record;
	struct record_key expected;
	int rc;

	while (index->table != bytes[0])
		index++;
	if (index->table == TABLE_DUE && key.len != 18)
		return fsck_drop(fsck, key, "the index entry is damaged");
	if (index->table == TABLE_DUE && bytes[9] == DUE_TICKET)
		return 0;
	rc = lock_get(fsck, value, &record);
	if (rc < 0)
		return rc;
	if (rc == 1 || !table_grant_index(&record.grant, index->table, &expected))
		return fsck_drop(fsck, key, index->free);
	return slice_equal(record_key_slice(&expected), key) ? 0 : fsck_drop(fsck, key, index->other);
}

int fsck_locks(struct fsck *fsck)
{
	int rc = fsck_table(fsck, TABLE_LOCK, lock_one);

	if (rc == 0)
		rc = fsck_table(fsck, TABLE_TEXT, text_one);
	for (size_t i = 0; i < INDEXES && rc == 0; i++)
		rc = fsck_table(fsck, indexes[i].table, entry_one);
	return rc;
}
