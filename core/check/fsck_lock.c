/* Locks, their texts, and the indexes of holders and deadlines. */
#include <errno.h>
#include <string.h>

#include "fsck.h"
#include "name.h"
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
		.state = RECORD_ACQUIRED,
		.priority = ATLOCK_NORMAL,
		.mode = 0644,
		.version = 1,
		.id_time = (uint64_t)op->wall,
		.id_random = (uint32_t)op->random,
		.acquired = op->now,
		.renewed = op->now,
		.expires = ATLOCK_NEVER,
		.ttl = ATLOCK_NEVER,
		.owner = slice_of("root"),
		.who = slice_of("fsck"),
		.host = slice_of(op->al->host),
	};
	int rc;

	fsck_problem(fsck, key, "the lock's record is damaged",
		     "its holder is unknown, so root@fsck holds it until an administrator removes it");
	if (!fsck->fix)
		return 0;
	fsck->held++;
	rc = op_number(op, fsck_rest(key), &record.token);
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
	if (rc != 0 || other.state == RECORD_DELAYED)
		return rc < 0 ? rc : 1;
	place = record_key_held(TABLE_HELD, other.owner, other.who, other.token);
	return !slice_equal(record_key_slice(&place), record_key_slice(index));
}

/* Keys have no checksum: one of the two locks has a damaged name, and it is unknown which. Both stay held. */
static int lock_renumber(struct fsck *fsck, struct slice key, struct record_lock *record)
{
	int rc;

	fsck_problem(fsck, key, "another lock has the same token", "it gets a new one");
	fsck->held++;
	rc = fsck->fix ? op_number(fsck->op, fsck_rest(key), &record->token) : 0;
	return rc < 0 || !fsck->fix ? rc : table_lock_put(fsck->op, fsck_rest(key), NULL, record);
}

static int lock_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct slice lock = fsck_rest(key);
	struct record_lock record;
	struct record_key index;
	int64_t due;
	int rc;

	if (!is_name(lock))
		return fsck_drop(fsck, key, "no lock can have this name");
	rc = fsck_decode(fsck, RECORD_LOCK, key, value, &record);
	if (rc != 0)
		return rc < 0 ? rc : lock_keep(fsck, key);
	if (record.state != RECORD_DELAYED) {
		index = record_key_held(TABLE_HELD, record.owner, record.who, record.token);
		rc = lock_is_second(fsck, &index, lock);
		if (rc <= 0)
			return rc < 0 ? rc : lock_renumber(fsck, key, &record);
		fsck->held++;
		rc = fsck_expect(fsck, &index, lock, key, "the lock is not in the index of holders");
		index = record_key_id(record.id_time, record.id_random, record.token);
		if (rc == 0)
			rc = fsck_expect(fsck, &index, lock, key, "the lock is not in the index of ids");
	}
	due = table_lock_due(&record);
	if (rc == 0 && due != ATLOCK_NEVER) {
		index = record_key_due(due, DUE_LOCK, record.token);
		rc = fsck_expect(fsck, &index, lock, key, "the lock is not in the index of deadlines");
	}
	return rc;
}

static int text_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_key lock = record_key_of(TABLE_LOCK, fsck_rest(key));
	struct record_lock record = { .state = RECORD_ACQUIRED };
	struct slice any;
	int rc = store_get(fsck->op->txn, record_key_slice(&lock), &any);

	/* A damaged record is reported with the lock itself. */
	if (rc == 0 && fsck_decode(fsck, RECORD_LOCK, record_key_slice(&lock), any, &record) < 0)
		return -EIO;
	if (rc < 0)
		return rc;
	if (rc == 1 || record.state == RECORD_DELAYED)
		return fsck_drop(fsck, key, "text of a lock that is free");
	return fsck_sealed(fsck, key, value);
}

static int held_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_lock record;
	struct record_key index;
	int rc = lock_get(fsck, value, &record);

	if (rc < 0)
		return rc;
	if (rc == 1 || record.state == RECORD_DELAYED)
		return fsck_drop(fsck, key, "the index of holders names a lock that is not held");
	index = record_key_held(TABLE_HELD, record.owner, record.who, record.token);
	if (!slice_equal(record_key_slice(&index), key))
		return fsck_drop(fsck, key, "the index of holders names another holder than the lock");
	return 0;
}

static int id_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_lock record;
	struct record_key index;
	int rc = lock_get(fsck, value, &record);

	if (rc < 0)
		return rc;
	if (rc == 1 || record.state == RECORD_DELAYED)
		return fsck_drop(fsck, key, "the index of ids names a lock that is not held");
	index = record_key_id(record.id_time, record.id_random, record.token);
	if (!slice_equal(record_key_slice(&index), key))
		return fsck_drop(fsck, key, "the index of ids names another lock");
	return 0;
}

/* Deadlines of tickets are checked with the tickets. */
static int due_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_lock record;
	struct record_key index;
	int rc;

	if (key.len != 18)
		return fsck_drop(fsck, key, "the index entry is damaged");
	if (((const unsigned char *)key.data)[9] == DUE_TICKET)
		return 0;
	rc = lock_get(fsck, value, &record);
	if (rc < 0)
		return rc;
	if (rc == 1)
		return fsck_drop(fsck, key, "the index of deadlines names a lock that is not there");
	index = record_key_due(table_lock_due(&record), DUE_LOCK, record.token);
	if (!slice_equal(record_key_slice(&index), key))
		return fsck_drop(fsck, key, "the index of deadlines does not agree with the lock");
	return 0;
}

int fsck_locks(struct fsck *fsck)
{
	int rc = fsck_table(fsck, TABLE_LOCK, lock_one);

	if (rc == 0)
		rc = fsck_table(fsck, TABLE_TEXT, text_one);
	if (rc == 0)
		rc = fsck_table(fsck, TABLE_HELD, held_one);
	if (rc == 0)
		rc = fsck_table(fsck, TABLE_ID, id_one);
	return rc == 0 ? fsck_table(fsck, TABLE_DUE, due_one) : rc;
}
