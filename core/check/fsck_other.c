/* Records outside the trees: options, hold times, the store's own records, and unknown keys. */
#include <errno.h>
#include <string.h>

#include "config.h"
#include "format.h"
#include "fsck.h"
#include "seal.h"
#include "table.h"
#include "why.h"

/* An option that the daemon cannot apply would keep it from starting. */
static int setting_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct atlock_options options;
	struct record_setting record;
	char name[64] = "";
	char text[RECORD_MAX] = "";
	int rc = fsck_decode(fsck, RECORD_SETTING, key, value, &record);

	if (rc < 0)
		return rc;
	if (rc == 1 || key.len < 2 || key.len > sizeof(name) || record.value.len >= sizeof(text))
		return fsck_drop(fsck, key, "the record of an option is damaged");
	memcpy(name, (const char *)key.data + 1, key.len - 1);
	memcpy(text, record.value.data, record.value.len);
	atlock_options_init(&options);
	rc = option_is_fixed(name) ? 0 : atlock_option_set(&options, name, text, NULL);
	return rc < 0 && rc != -ENOENT ? fsck_drop(fsck, key, "the option cannot have this value") : 0;
}

static int hold_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_hold record;
	int rc = key.len == 3 ? fsck_decode(fsck, RECORD_HOLD_TIME, key, value, &record) : 1;

	return rc == 1 ? fsck_drop(fsck, key, "the record of past hold times is damaged") : rc;
}

/* --- The format --- */

/* Comes first: the format gives all else its meaning, and the tables of another format must not be dropped as unknown. */
int fsck_format(struct fsck *fsck)
{
	struct record_key key = record_key_meta("format");
	struct record_format record;
	int rc = fsck_get(fsck, RECORD_FORMAT_INFO, &key, &record);

	if (rc != 1)
		return rc;
	fsck_problem(fsck, record_key_slice(&key), "the record of the format is damaged or gone", "");
	if (!fsck->fix)
		return 0;
	return why_set(fsck->op->why, -EIO, ATLOCK_BACKEND_ERROR,
		       "the record of the format is damaged or gone, and nothing else tells it: restore a copy");
}

/* --- The key that texts are sealed with --- */

static int sealed_one(struct fsck *fsck, struct slice key, struct slice value)
{
	(void)key;
	if (!seal_is(value))
		return 0;
	return why_set(fsck->op->why, -ENOKEY, ATLOCK_PERMISSION_DENIED,
		       "the record of this store's key is damaged, and there are texts sealed with it: give the key");
}

/* Records an interrupted change to the given key: the next mount with that key then checks every text. */
static int seal_mend(struct fsck *fsck, const struct record_key *key)
{
	const struct seal *seal = fsck->op->al->seal;
	struct record_seal record = { .changing = 1 };
	int rc;

	if (seal == NULL) {
		rc = fsck_table(fsck, TABLE_TEXT, sealed_one);
		if (rc == 0)
			rc = fsck_table(fsck, TABLE_TICKET_TEXT, sealed_one);
		if (rc == 0)
			rc = fsck_table(fsck, TABLE_PULL_TEXT, sealed_one);
		return rc < 0 ? rc : store_del(fsck->op->txn, record_key_slice(key));
	}
	if (seal->writes)
		record.key = (struct slice){ seal->keys[0].id, SEAL_ID };
	if (seal->count > (seal->writes ? 1 : 0))
		record.old = (struct slice){ seal->keys[seal->count - 1].id, SEAL_ID };
	return op_put(fsck->op, RECORD_SEAL, key, &record);
}

static int seal_one(struct fsck *fsck)
{
	struct record_key key = record_key_meta("seal");
	struct record_seal record;
	struct slice value;
	int rc = store_get(fsck->op->txn, record_key_slice(&key), &value);

	if (rc == 0)
		rc = fsck_decode(fsck, RECORD_SEAL, record_key_slice(&key), value, &record);
	else
		return rc < 0 ? rc : 0;
	if (rc == 0 && (record.key.len == 0 || record.key.len == SEAL_ID) &&
	    (record.old.len == 0 || record.old.len == SEAL_ID))
		return 0;
	if (rc < 0)
		return rc;
	fsck_problem(fsck, record_key_slice(&key), "the record of the key that texts are sealed with is damaged",
		     "it is the one that was given");
	return fsck->fix ? seal_mend(fsck, &key) : 0;
}

/* --- Unknown keys --- */

static int meta_one(struct fsck *fsck, struct slice key, struct slice value)
{
	static const char *const names[] = { "format", "counter", "dirs", "seal", FORMAT_MIGRATING };
	struct slice name = fsck_rest(key);

	struct record_anchor anchor;
	int rc;

	if (name.len == 6 && memcmp(name.data, "tail", 4) == 0)
		return 0;
	if (name.len == 8 && memcmp(name.data, "anchor", 6) == 0) {
		rc = fsck_decode(fsck, RECORD_ANCHOR, key, value, &anchor);
		return rc <= 0 ? rc : fsck_drop(fsck, key, "the record of where the event log begins is damaged");
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (slice_equal(name, slice_of(names[i])))
			return 0;
	return fsck_drop(fsck, key, "no record has this key");
}

static int stray_one(struct fsck *fsck, struct slice key, struct slice value)
{
	(void)value;
	return fsck_drop(fsck, key, "no table has this key");
}

/* Drops keys that are in no table, for each possible first byte. */
static int strays(struct fsck *fsck)
{
	static const unsigned char known[] = {
		TABLE_META, TABLE_LOCK,      TABLE_TEXT,    TABLE_QUEUE,     TABLE_TICKET, TABLE_TICKET_TEXT,
		TABLE_HELD, TABLE_WAITS,     TABLE_DUE,     TABLE_EVENT,     TABLE_DAY,    TABLE_HOLD,
		TABLE_DIR,  TABLE_ENTRY,     TABLE_CLAIM,   TABLE_REFERENCE, TABLE_SHARED, TABLE_APP,
		TABLE_PULL, TABLE_PULL_TEXT, TABLE_PROJECT, TABLE_SETTING,   TABLE_ID,
	};
	int rc = 0;

	for (unsigned int i = 0; i <= UINT8_MAX && rc == 0; i++) {
		const unsigned char first = (unsigned char)i;

		if (memchr(known, first, sizeof(known)) == NULL)
			rc = fsck_each(fsck, (struct slice){ &first, 1 }, stray_one);
	}
	return rc;
}

int fsck_others(struct fsck *fsck)
{
	int rc = fsck_table(fsck, TABLE_SETTING, setting_one);

	if (rc == 0)
		rc = fsck_table(fsck, TABLE_HOLD, hold_one);
	if (rc == 0)
		rc = fsck_table(fsck, TABLE_META, meta_one);
	if (rc == 0)
		rc = seal_one(fsck);
	return rc == 0 ? strays(fsck) : rc;
}
