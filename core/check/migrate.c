/*
 * Moves a store: see atlock/migrate.h. What is moved are the records; what follows from them (indexes, counts) is made anew: in a realm by each
 * host, in a directory by a repair. The numbers of a directory come from one counter and those of a realm from many: each goes on above
 * what the other can have given out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "arrival.h"
#include "atlock.h"
#include "atlock/check.h"
#include "atlock/migrate.h"
#include "format.h"
#include "record.h"
#include "sha256.h"
#include "store.h"
#include "store_realm.h"
#include "why.h"

#define BATCH 1000    /* keys written at a time */
#define SHARD_BITS 16 /* of a realm's numbers: docs/REMOTE.md */

/* Keys of a realm that are not records. */
#define REALM_COUNTER 'n'
#define REALM_FLOOR 'N'
#define REALM_HOST 'b'

struct migrate {
	const char *from;
	const char *to;
	atlock_migrate_fn *tell;
	void *arg;
	struct atlock_why *why;
	struct store_realm_keys *keys; /* the records, as the realm has them */
	uint64_t count;
	uint64_t highest; /* of the numbers that were given out */
	unsigned char
		sum[2 *
		    SHA256_BYTES]; /* of the source: what an interrupted call left is continued only from the same */
	unsigned char name[STORE_REALM_NAME];
	unsigned char tail[RECORD_MAX]; /* the end of chain 0, if a realm has one: of a directory that it once was */
	size_t tail_len;
	unsigned char buf[STORE_SHARE_BUF];
};

static int fail(const struct migrate *m, int err, const char *text)
{
	return why_set(m->why, err, err == -EINVAL ? ATLOCK_INVALID_REQUEST : ATLOCK_BACKEND_ERROR, "%s", text);
}

static void tell(const struct migrate *m, const char *what)
{
	if (m->tell != NULL)
		m->tell(m->arg, what, m->count);
}

static bool is_meta(struct slice key, const char *name)
{
	struct record_key meta = record_key_meta(name);

	return slice_equal(key, record_key_slice(&meta));
}

/* The first half of `sum` is the hash of itself before and of the part, which is the second half. */
static void sum_add(struct migrate *m, struct slice part)
{
	unsigned char hash[SHA256_BYTES];

	sha256(part.data, part.len, m->sum + SHA256_BYTES);
	sha256(m->sum, sizeof(m->sum), hash);
	memcpy(m->sum, hash, sizeof(hash));
}

/* --- From a directory --- */

static int record_read(struct migrate *m, struct slice key, struct slice value)
{
	struct record_counter counter;
	int rc;

	sum_add(m, key);
	sum_add(m, value);
	if (is_meta(key, "seal"))
		return fail(m, -EINVAL,
			    "the texts of this store are encrypted, which a realm cannot have yet: mount it once "
			    "without key_file, as docs/RECIPES.md says, then migrate");
	if (slice_equal(key, record_key_slice(&record_key_counter))) {
		rc = record_decode(RECORD_COUNTER, value, &counter);
		if (rc == 0)
			m->highest = counter.next > counter.ceiling ? counter.next : counter.ceiling;
		return rc < 0 ? fail(m, -EIO, "the counter of tokens is damaged: atlock fsck --repair the store first")
			      : 0;
	}
	if (arrival_is_local(key))
		return 0;
	rc = arrival_unbind(key, &value, m->buf);
	if (rc == 0)
		rc = store_realm_keys_add(m->keys, key, value);
	m->count += rc == 0;
	return rc;
}

static int dir_read_txn(struct store_txn *txn, void *arg)
{
	struct migrate *m = arg;
	struct record_key from = { .len = 1, .data = { 0 } };
	struct slice value;
	struct slice key;
	int rc;

	while ((rc = store_next(txn, record_key_slice(&from), (struct slice){ NULL, 0 }, &key, &value)) == 0) {
		rc = record_read(m, key, value);
		if (rc < 0)
			return rc;
		from = record_key_after(key);
	}
	return rc < 0 ? rc : 0;
}

/* For writing, though it writes nothing: then no other process has it. */
static int dir_open(const struct migrate *m, const char *dir, struct store **out)
{
	char text[512] = "";
	int rc = store_open(out, dir, NULL, text, sizeof(text));

	return rc < 0 ? fail(m, rc, text) : 0;
}

static bool dir_is_store(const char *dir)
{
	char path[4096];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/data.mdb", dir);
	return stat(path, &st) == 0;
}

/* The floor of a realm's numbers: those that come are above all that the directory has given out. */
static int floor_add(struct migrate *m)
{
	const unsigned char key[] = { REALM_FLOOR };
	uint64_t floor = (m->highest >> SHARD_BITS) + 1;
	unsigned char value[8];

	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (unsigned char)(floor >> (8 * i));
	return store_realm_keys_add(m->keys, (struct slice){ key, 1 }, (struct slice){ value, sizeof(value) });
}

static int realm_fill(struct migrate *m, struct atlock_migration *out)
{
	char text[512] = "";
	int rc;

	tell(m, "read");
	rc = store_realm_fill(m->to, m->keys, m->name, text, sizeof(text));
	if (rc < 0)
		return fail(m, rc, text);
	out->was_done = rc == 1;
	tell(m, "written and compared");
	return 0;
}

static int dir_to_realm(struct migrate *m, struct atlock_migration *out)
{
	struct store *store = NULL;
	int rc = dir_is_store(m->from) ? dir_open(m, m->from, &store) : fail(m, -ENOENT, "there is no store in --from");

	if (rc < 0)
		return rc;
	rc = store_view(store, dir_read_txn, m);
	memcpy(m->name, m->sum, sizeof(m->name));
	if (rc == 0)
		rc = floor_add(m);
	if (rc == 0)
		rc = realm_fill(m, out);
	store_close(store);
	return rc;
}

/* --- From a realm --- */

static bool host_is_there(const struct store_realm_host *host)
{
	return !host->gone && host->heard >= 0 && host->heard * 1000 <= host->timeout;
}

/* No host has it mounted; `*revision` is where its history ends. */
static int realm_is_idle(const struct migrate *m, uint64_t *revision)
{
	struct store_realm realm;
	char text[512] = "";
	int rc = store_realm_read(m->from, &realm, text, sizeof(text));

	if (rc < 0)
		return fail(m, rc, text);
	*revision = realm.revision;
	for (size_t i = 0; rc == 0 && i < realm.count; i++)
		if (host_is_there(&realm.hosts[i]))
			rc = why_set(m->why, -EBUSY, ATLOCK_BACKEND_ERROR,
				     "host %s has the realm mounted, or had it %" PRId64
				     " s ago: unmount it everywhere, and wait until its host_timeout (%u s) is over",
				     realm.hosts[i].name, realm.hosts[i].heard, realm.hosts[i].timeout / 1000);
	store_realm_clear(&realm);
	return rc;
}

static uint64_t number_of(struct slice value)
{
	const unsigned char *bytes = value.data;
	uint64_t number = 0;

	for (size_t i = 0; i < 8 && i < value.len; i++)
		number |= (uint64_t)bytes[i] << (8 * i);
	return number;
}

struct realm_keys {
	struct migrate *m;
	bool all; /* also numbers and the end of chain 0, which a directory has in its own way */
};

static bool tail_take(struct migrate *m, struct slice key, struct slice value)
{
	struct record_key tail = record_key_tail(0);

	if (!slice_equal(key, record_key_slice(&tail)) || value.len > sizeof(m->tail))
		return false;
	memcpy(m->tail, value.data, value.len);
	m->tail_len = value.len;
	return true;
}

static int realm_key(void *arg, struct slice key, struct slice value)
{
	const struct realm_keys *walk = arg;
	struct migrate *m = walk->m;
	char letter = *(const char *)key.data;
	bool number = letter == REALM_COUNTER || letter == REALM_FLOOR;
	bool other;
	int rc = 0;

	if (letter == REALM_HOST)
		return 0;
	sum_add(m, key);
	sum_add(m, value);
	if (number && number_of(value) > m->highest)
		m->highest = number_of(value);
	other = tail_take(m, key, value) || number;
	if (!other)
		rc = arrival_unbind(key, &value, m->buf);
	if (rc == 0 && (!other || walk->all))
		rc = store_realm_keys_add(m->keys, key, value);
	m->count += rc == 0 && !number;
	return rc;
}

/* Reads the realm into m->keys. */
static int realm_read(struct migrate *m, bool whole, uint64_t *revision)
{
	struct realm_keys walk = { m, whole };
	struct store_realm_keys *all = NULL;
	char text[512] = "";
	int rc = realm_is_idle(m, revision);

	if (rc == 0)
		rc = store_realm_keys_new(&all);
	if (rc == 0) {
		rc = store_realm_take(m->from, all, text, sizeof(text));
		if (rc < 0)
			(void)fail(m, rc, text);
	}
	if (rc == 0)
		rc = store_realm_keys_each(all, 0, realm_key, &walk);
	store_realm_keys_free(all);
	memcpy(m->name, m->sum, sizeof(m->name));
	return rc;
}

static int realm_unchanged(const struct migrate *m, uint64_t before)
{
	uint64_t after = 0;
	int rc = realm_is_idle(m, &after);

	if (rc < 0 || after == before)
		return rc;
	return fail(m, -EAGAIN,
		    "the realm was changed meanwhile: unmount it everywhere, remove what is in --to, and try again");
}

static int realm_to_realm(struct migrate *m, struct atlock_migration *out)
{
	uint64_t revision = 0;
	int rc = realm_read(m, true, &revision);

	if (rc == 0)
		rc = realm_fill(m, out);
	return rc == 0 ? realm_unchanged(m, revision) : rc;
}

/* --- To a directory --- */

struct filling {
	struct migrate *m;
	struct store_txn *txn;
	size_t from; /* the first key of this batch */
	size_t done; /* of it */
	int64_t now; /* lease time in the new store, at which its leases begin */
	bool compare;
};

static int key_fill(void *arg, struct slice key, struct slice value)
{
	struct filling *f = arg;
	struct slice is;
	int rc;

	if (f->done == BATCH)
		return 1;
	f->done++;
	/* The record of the format comes last. */
	if (is_meta(key, "format"))
		return 0;
	rc = arrival_settle(key, &value, f->now, f->m->buf);
	if (rc == 0 && !f->compare)
		return store_put(f->txn, key, value);
	if (rc == 0)
		rc = store_get(f->txn, key, &is);
	return rc < 0 ? rc : rc == 0 && slice_equal(is, value) ? 0 : -EBADMSG;
}

static int fill_txn(struct store_txn *txn, void *arg)
{
	struct filling *f = arg;

	f->txn = txn;
	f->done = 0;
	return store_realm_keys_each(f->m->keys, f->from, key_fill, f);
}

/* The end of the directory's own chain, which says what its lease time is now. */
static int tail_txn(struct store_txn *txn, void *arg)
{
	struct filling *f = arg;
	struct record_key key = record_key_tail(0);
	static const unsigned char none[32] = { 0 };
	struct record_tail tail = { .hash = { none, sizeof(none) } };
	unsigned char buf[RECORD_MAX];
	struct timespec now;
	int rc = 0;

	if (f->m->tail_len > 0)
		rc = record_decode(RECORD_TAIL, (struct slice){ f->m->tail, f->m->tail_len }, &tail);
	clock_gettime(CLOCK_REALTIME, &now);
	f->now = (int64_t)now.tv_sec * ATLOCK_SECOND + now.tv_nsec - tail.offset;
	tail.time = f->now;
	if (rc == 0)
		rc = record_encode(RECORD_TAIL, &tail, buf);
	return rc < 0 ? rc : store_put(txn, record_key_slice(&key), (struct slice){ buf, (size_t)rc });
}

/* The counter and the format, with which it is a store; it is not to be mounted before the mark is gone. */
static int finish_txn(struct store_txn *txn, void *arg)
{
	const struct filling *f = arg;
	struct record_counter counter = { .next = (f->m->highest + 1) << SHARD_BITS };
	struct record_format format = { .version = RECORD_FORMAT, .created = (uint64_t)f->now };
	struct record_key key = record_key_meta("format");
	unsigned char buf[RECORD_MAX];
	int rc = record_encode(RECORD_COUNTER, &counter, buf);

	if (rc >= 0)
		rc = store_put(txn, record_key_slice(&record_key_counter), (struct slice){ buf, (size_t)rc });
	if (rc == 0)
		rc = record_encode(RECORD_FORMAT_INFO, &format, buf);
	return rc < 0 ? rc : store_put(txn, record_key_slice(&key), (struct slice){ buf, (size_t)rc });
}

/* 0: it is empty, or has what an earlier call from the same source has left. 1: an earlier call has done it all. */
static int begin_txn(struct store_txn *txn, void *arg)
{
	const struct migrate *m = arg;
	struct record_key mark = record_key_meta(FORMAT_MIGRATING);
	struct slice name = { m->name, sizeof(m->name) };
	struct slice value;
	struct slice key;
	int rc = store_get(txn, record_key_slice(&mark), &value);

	if (rc == 0)
		return slice_equal(value, name) ? 0 : -EEXIST;
	if (rc == 1)
		rc = store_next(txn, (struct slice){ "\0", 1 }, (struct slice){ NULL, 0 }, &key, NULL);
	if (rc != 1)
		return rc < 0 ? rc : -EEXIST;
	return store_put(txn, record_key_slice(&mark), name);
}

/* Writes all records, or compares them. */
static int fill_all(struct filling *f, struct store *store, bool compare)
{
	int rc = 1;

	f->compare = compare;
	for (f->from = 0; rc == 1; f->from += BATCH)
		rc = compare ? store_view(store, fill_txn, f) : store_update(store, fill_txn, f);
	if (rc == 0)
		tell(f->m, compare ? "compared" : "written");
	return rc;
}

static int dir_fill(struct migrate *m, struct store *store)
{
	struct filling f = { .m = m };
	int rc = store_update(store, begin_txn, m);

	if (rc == -EEXIST)
		return fail(m, rc, "--to has other data in it: name a new or empty directory");
	if (rc == 0)
		rc = store_update(store, tail_txn, &f);
	if (rc == 0)
		rc = fill_all(&f, store, false);
	if (rc == 0)
		rc = fill_all(&f, store, true);
	if (rc == -EBADMSG)
		return fail(m, -EIO, "what was written to --to does not read as it was written");
	return rc == 0 ? store_update(store, finish_txn, &f) : rc;
}

/* Makes the indexes and counts, and checks the whole. */
static int dir_repair(const struct migrate *m)
{
	static const struct atlock_setup setup = { .repair = true };
	struct atlock *al;
	int64_t bad;
	int rc = atlock_open(&al, m->to, &setup, m->why);

	if (rc < 0)
		return rc;
	bad = atlock_repair(al, NULL, m->why);
	if (bad >= 0)
		bad = atlock_check(al, NULL);
	atlock_close(al);
	if (bad > 0)
		return fail(m, -EIO, "what was written to --to is not sound: keep --from, and report this");
	return bad < 0 ? (int)bad : 0;
}

static int unmark_txn(struct store_txn *txn, void *arg)
{
	struct record_key mark = record_key_meta(FORMAT_MIGRATING);

	(void)arg;
	return store_drop(txn, record_key_slice(&mark));
}

static int dir_unmark(const struct migrate *m)
{
	struct store *store = NULL;
	int rc = dir_open(m, m->to, &store);

	if (rc < 0)
		return rc;
	rc = store_update(store, unmark_txn, NULL);
	store_close(store);
	return rc;
}

static int realm_to_dir(struct migrate *m)
{
	struct store *store = NULL;
	uint64_t revision = 0;
	int rc = realm_read(m, false, &revision);

	if (rc < 0)
		return rc;
	tell(m, "read");
	rc = dir_open(m, m->to, &store);
	if (rc < 0)
		return rc;
	rc = dir_fill(m, store);
	store_close(store);
	if (rc == 0)
		rc = dir_repair(m);
	if (rc == 0)
		rc = realm_unchanged(m, revision);
	return rc == 0 ? dir_unmark(m) : rc;
}

int atlock_migrate(const char *from, const char *to, atlock_migrate_fn *fn, void *arg, struct atlock_migration *out,
		   struct atlock_why *why)
{
	struct migrate *m = calloc(1, sizeof(*m));
	int rc;

	why_clear(why);
	*out = (struct atlock_migration){ .records = 0 };
	if (m == NULL)
		return why_set(why, -ENOMEM, ATLOCK_BACKEND_ERROR, "out of memory");
	*m = (struct migrate){ .from = from, .to = to, .tell = fn, .arg = arg, .why = why };
	rc = store_realm_keys_new(&m->keys);
	if (rc == 0 && !store_realm_is(from) && !store_realm_is(to))
		rc = fail(m, -EINVAL,
			  "neither is a realm: a store in a directory is moved by atlock backup and atlock restore");
	else if (rc == 0 && !store_realm_is(from))
		rc = dir_to_realm(m, out);
	else if (rc == 0)
		rc = store_realm_is(to) ? realm_to_realm(m, out) : realm_to_dir(m);
	out->records = m->count;
	store_realm_keys_free(m->keys);
	free(m);
	if (rc < 0 && why->code == ATLOCK_OK)
		(void)why_set(why, rc, ATLOCK_BACKEND_ERROR, "%s", strerror(-rc));
	return rc;
}
