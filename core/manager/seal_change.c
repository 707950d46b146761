/*
 * The key that a store's texts are sealed with, and the change to another key (or to the first, or to none). First the store
 * records that a change is under way and between which keys; then the texts are rewritten, some in each transaction; then it
 * records that the change is done. If the change is interrupted at any point, the store names every key that may be needed to
 * read it.
 */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "event_log.h"
#include "log.h"
#include "seal.h"
#include "why.h"

/* Limits of one transaction, because it blocks all other writers. */
#define RENEW_KEYS 1024
#define RENEW_BYTES (256 * 1024)

static const enum record_table tables[] = { TABLE_TEXT, TABLE_TICKET_TEXT, TABLE_PULL_TEXT };

#define TABLES (sizeof(tables) / sizeof(tables[0]))

/* --- The given keys --- */

int seal_load(struct atlock *al, struct atlock_why *why)
{
	const struct atlock_options *options = state_options(al);
	const char *const paths[] = { options->key_file, options->old_key_file };
	struct seal *seal;
	int rc = 0;

	if (paths[0][0] == '\0' && paths[1][0] == '\0')
		return 0;
	seal = sodium_init() < 0 ? NULL : sodium_malloc(sizeof(*seal));
	if (seal == NULL)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "no memory for the keys");
	memset(seal, 0, sizeof(*seal));
	al->seal = seal;
	seal->writes = paths[0][0] != '\0';
	for (size_t i = 0; i < 2 && rc == 0; i++) {
		if (paths[i][0] == '\0')
			continue;
		/* The daemon's working directory is the root directory. */
		rc = paths[i][0] != '/' ? why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
						  "key file %.200s: give the whole path, from / on", paths[i])
					: seal_key_read(paths[i], &seal->keys[seal->count], why);
		seal->count += rc == 0;
	}
	(void)sodium_mprotect_readonly(seal);
	return rc;
}

void seal_free(struct atlock *al)
{
	sodium_free(al->seal);
	al->seal = NULL;
}

static bool id_given(const struct seal *seal, struct slice id)
{
	for (size_t i = 0; seal != NULL && i < seal->count; i++)
		if (slice_equal((struct slice){ seal->keys[i].id, SEAL_ID }, id))
			return true;
	return false;
}

/* The id of the key to seal texts with; empty: none. */
static struct slice id_wanted(const struct seal *seal)
{
	return seal != NULL && seal->writes ? (struct slice){ seal->keys[0].id, SEAL_ID } : (struct slice){ NULL, 0 };
}

/* --- The store's record --- */

/* 0, or 1 and an empty record: nothing is sealed. */
static int record_load(struct op *op, struct record_seal *out)
{
	struct record_key key = record_key_meta("seal");
	int rc = op_get(op, RECORD_SEAL, &key, out);

	if (rc == 1)
		*out = (struct record_seal){ .changing = 0 };
	if (rc == 0 &&
	    ((out->key.len != 0 && out->key.len != SEAL_ID) || (out->old.len != 0 && out->old.len != SEAL_ID)))
		return op_corrupt(op, record_key_slice(&key), -EBADMSG);
	return rc;
}

static int record_store(struct op *op, const struct record_seal *record)
{
	struct record_key key = record_key_meta("seal");
	int rc;

	if (record->key.len > 0 || record->changing)
		return op_put(op, RECORD_SEAL, &key, record);
	rc = store_del(op->txn, record_key_slice(&key));
	return rc < 0 ? rc : 0;
}

static int refuse_keys(struct op *op, const struct record_seal *record)
{
	const struct seal *seal = op->al->seal;
	char key[ATLOCK_KEY_ID_MAX];
	char old[ATLOCK_KEY_ID_MAX];
	char given[ATLOCK_KEY_ID_MAX] = "";

	seal_id_print(record->key, key);
	seal_id_print(record->old, old);
	if (record->changing)
		return why_set(op->why, seal == NULL ? -ENOKEY : -EKEYREJECTED, ATLOCK_PERMISSION_DENIED,
			       "the change of this store's key from %s to %s was interrupted: give both again, as "
			       "key_file= and old_key_file=",
			       old, key);
	if (seal == NULL)
		return why_set(
			op->why, -ENOKEY, ATLOCK_PERMISSION_DENIED,
			"the users' texts in this store are sealed with key %s: name its file with key_file=", key);
	seal_id_print((struct slice){ seal->keys[0].id, SEAL_ID }, given);
	return why_set(
		op->why, -EKEYREJECTED, ATLOCK_PERMISSION_DENIED,
		"wrong key: %s was given, the users' texts in this store are sealed with key %s; to change the key, "
		"give the new one as key_file= and that one as old_key_file=",
		given, key);
}

static int start_in_txn(struct op *op)
{
	struct record_seal record;
	int rc = record_load(op, &record);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if ((record.key.len > 0 && !id_given(op->al->seal, record.key)) ||
	    (record.old.len > 0 && !id_given(op->al->seal, record.old)))
		return refuse_keys(op, &record);
	return 0;
}

int seal_start(struct atlock *al, struct atlock_why *why)
{
	return op_look(al, start_in_txn, NULL, why);
}

/* --- From one key to another --- */

struct renewed {
	size_t table;           /* where to continue: a table */
	struct record_key from; /* and a key in it; empty: from its start */
	uint64_t texts;         /* rewritten */
	uint64_t damaged;       /* left as they are */
};

/* State before and after a transaction, whose function may run again. */
struct renew {
	struct renewed before;
	struct renewed after;
};

/* Records that a change of keys begins. 1: all texts have the wanted key already. */
static int begin_in_txn(struct op *op)
{
	struct slice wanted = id_wanted(op->al->seal);
	struct record_seal record;
	int rc = record_load(op, &record);

	if (rc < 0)
		return rc;
	if (slice_equal(record.key, wanted) && !record.changing)
		return 1;
	/* If a change was interrupted, the old key is the one that is not wanted now, whichever direction the change had. */
	if (!slice_equal(record.key, wanted))
		record.old = record.key;
	record.key = wanted;
	record.changing = 1;
	return record_store(op, &record);
}

/* Rewrites a text with the wanted key unless it has that key: returns its size in bytes. */
static int renew_one(struct op *op, struct renewed *renewed, struct slice at, struct slice value)
{
	struct slice wanted = id_wanted(op->al->seal);
	struct record_key key = { .len = at.len };
	struct seal_text text;
	int rc;

	if (slice_equal(seal_value_id(value), wanted) && seal_is(value) == (wanted.len > 0))
		return 0;
	memcpy(key.data, at.data, at.len);
	rc = seal_get(op, &key, &text);
	if (rc == 0) {
		rc = seal_put(op, &key, text.text);
		renewed->texts += rc == 0;
	} else if (rc == -EIO) {
		/* The text is unreadable with the old key too: it must not keep the others from being rewritten. */
		why_clear(op->why);
		renewed->damaged++;
		rc = 0;
	}
	seal_text_free(&text);
	return rc < 0 ? rc : (int)value.len;
}

/* Rewrites some texts: 1 if there are more. */
static int some_in_txn(struct op *op)
{
	struct renew *renew = op->arg;
	struct renewed at = renew->before;
	struct slice key;
	struct slice value;
	int bytes = 0;
	int rc;

	for (int looked = 0; at.table < TABLES && looked < RENEW_KEYS && bytes < RENEW_BYTES; looked++) {
		const unsigned char first = (unsigned char)tables[at.table];

		if (at.from.len == 0)
			at.from = record_key_of(tables[at.table], (struct slice){ NULL, 0 });
		rc = store_next(op->txn, record_key_slice(&at.from), (struct slice){ &first, 1 }, &key, &value);
		if (rc == 1) {
			at.table++;
			at.from.len = 0;
			continue;
		}
		if (rc == 0)
			rc = renew_one(op, &at, key, value);
		if (rc < 0)
			return rc;
		bytes += rc;
		at.from = record_key_after(key);
	}
	renew->after = at;
	return at.table < TABLES;
}

static int end_in_txn(struct op *op)
{
	const struct renewed *renewed = &((const struct renew *)op->arg)->after;
	struct record_seal record = { .key = id_wanted(op->al->seal) };
	char key[ATLOCK_KEY_ID_MAX];
	char text[128];
	int rc = record_store(op, &record);

	seal_id_print(record.key, key);
	(void)snprintf(text, sizeof(text), "key=%s texts=%" PRIu64 " damaged=%" PRIu64, key, renewed->texts,
		       renewed->damaged);
	return rc < 0 ? rc : event_other(op, ATLOCK_EVENT_SEALED, text);
}

static int run(struct atlock *al, op_fn *fn, void *arg, struct atlock_why *why)
{
	return op_call(al, NULL, METRICS_NONE, fn, arg, why);
}

static void renew_tell(struct atlock *al, const struct renewed *renewed)
{
	char key[ATLOCK_KEY_ID_MAX];

	seal_id_print(id_wanted(al->seal), key);
	log_write(al, renewed->damaged > 0 ? ATLOCK_LOG_WARNING : ATLOCK_LOG_INFO,
		  "the key of the users' texts is %s now: %" PRIu64 " rewritten, %" PRIu64 " damaged and left alone",
		  key, renewed->texts, renewed->damaged);
}

int seal_renew(struct atlock *al, struct atlock_why *why)
{
	struct renew renew = { .before = { .table = 0 } };
	int rc;

	if (al->seal == NULL)
		return 0;
	rc = run(al, begin_in_txn, NULL, why);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	do {
		rc = run(al, some_in_txn, &renew, why);
		renew.before = renew.after;
	} while (rc == 1);
	if (rc == 0)
		rc = run(al, end_in_txn, &renew, why);
	if (rc == 0)
		renew_tell(al, &renew.after);
	return rc;
}
