#include "kept.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "scan.h"
#include "table.h"

#define BUCKETS 256
#define STEP_PART 8                      /* growth by this part of the limit makes a count old */
#define AGAIN_AFTER (10 * ATLOCK_SECOND) /* a user who is over may have removed something since */
#define LOCK_BYTES 1024                  /* a lock or wait with its indexes, without its text */
#define RECORD_BYTES 64                  /* what a record takes beside key and value */

/* Never freed before the manager closes: there are no more than users. */
struct kept_user {
	struct kept_user *next;
	uid_t uid;
	struct {
		bool known;
		uint64_t count;
		uint64_t at;  /* what all users had when it was counted */
		int64_t when; /* lease time of that */
	} of[KEPT_KINDS];
};

struct kept {
	pthread_mutex_t mutex;
	struct kept_user *buckets[BUCKETS]; /* mutex, and all of their fields */
};

int kept_new(struct kept **out)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return -ENOMEM;
	pthread_mutex_init(&(*out)->mutex, NULL);
	return 0;
}

void kept_free(struct kept *kept)
{
	if (kept == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (kept->buckets[i] != NULL) {
			struct kept_user *user = kept->buckets[i];

			kept->buckets[i] = user->next;
			free(user);
		}
	pthread_mutex_destroy(&kept->mutex);
	free(kept);
}

/* Caller holds the mutex. NULL: no memory. */
static struct kept_user *user_get(struct kept *kept, uid_t uid)
{
	struct kept_user **bucket = &kept->buckets[uid % BUCKETS];
	struct kept_user *user = *bucket;

	while (user != NULL && user->uid != uid)
		user = user->next;
	if (user != NULL)
		return user;
	user = calloc(1, sizeof(*user));
	if (user == NULL)
		return NULL;
	user->uid = uid;
	user->next = *bucket;
	*bucket = user;
	return user;
}

/* --- Counting; a damaged record is passed over: a request that needs it reports it --- */

/* Adds the length of the value at `key`, if there is one. */
static int add_text(struct op *op, const struct record_key *key, uint64_t *count)
{
	struct slice text = { NULL, 0 };
	int rc = store_get(op->txn, record_key_slice(key), &text);

	*count += rc == 0 ? text.len : 0;
	return rc < 0 ? rc : 0;
}

static int count_held(struct op *op, struct slice owner, enum record_table table, uint64_t *count)
{
	struct record_key prefix = record_key_holder(table, owner, (struct slice){ NULL, 0 });
	struct scan scan;
	int rc;

	prefix.len--; /* without the NUL that ends a who */
	scan = scan_prefix(&prefix);
	while ((rc = scan_next(op, &scan)) == 0) {
		struct record_key text = record_key_of(TABLE_TEXT, scan.value);

		if (table == TABLE_WAITS)
			text = record_key_number(TABLE_TICKET_TEXT, record_number((const unsigned char *)scan.key.data +
										  scan.key.len - 8));
		*count += LOCK_BYTES;
		rc = add_text(op, &text, count);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

/* The owner that a record names; each of these kinds does. */
union owned {
	struct record_pull pull;
	struct record_project project;
	struct record_reference reference;
	struct record_app app;
};

static int count_owned(struct op *op, struct slice owner, enum record_table table, enum record_kind kind,
		       uint64_t *count)
{
	struct scan scan = scan_table(table);
	union owned record;
	int rc;

	while ((rc = scan_next(op, &scan)) == 0) {
		struct slice its;

		if (record_decode(kind, scan.value, &record) < 0)
			continue;
		its = kind == RECORD_PULL      ? record.pull.owner
		      : kind == RECORD_PROJECT ? record.project.owner
		      : kind == RECORD_APP     ? record.app.owner
					       : record.reference.owner;

		if (!slice_equal(its, owner))
			continue;
		*count += RECORD_BYTES + scan.key.len + scan.value.len;
		if (kind == RECORD_PULL) {
			struct record_key meta = record_key_of(TABLE_PULL_TEXT, scan_name(&scan));

			rc = add_text(op, &meta, count);
			if (rc < 0)
				return rc;
		}
	}
	return rc < 0 ? rc : 0;
}

static int count_bytes(struct op *op, uint64_t *count)
{
	static const struct {
		enum record_table table;
		enum record_kind kind;
	} owned[] = {
		{ TABLE_PULL, RECORD_PULL },
		{ TABLE_PROJECT, RECORD_PROJECT },
		{ TABLE_REFERENCE, RECORD_REFERENCE },
		{ TABLE_APP, RECORD_APP },
	};
	struct slice owner = slice_of(op->caller->owner);
	int rc = count_held(op, owner, TABLE_HELD, count);

	if (rc == 0)
		rc = count_held(op, owner, TABLE_WAITS, count);
	for (size_t i = 0; rc == 0 && i < sizeof(owned) / sizeof(owned[0]); i++)
		rc = count_owned(op, owner, owned[i].table, owned[i].kind, count);
	return rc;
}

static int count_dirs(struct op *op, uint64_t *count)
{
	struct scan scan = scan_table(TABLE_DIR);
	struct record_dir dir;
	int rc;

	while ((rc = scan_next(op, &scan)) == 0)
		*count += record_decode(RECORD_DIR, scan.value, &dir) == 0 && dir.uid == op->caller->uid;
	return rc < 0 ? rc : 0;
}

/* Caller holds the mutex. */
static int user_is_over(struct op *op, enum kept_kind kind, uint64_t all, uint64_t limit)
{
	struct kept_user *user = user_get(op->al->kept, op->caller->uid);
	uint64_t count = 0;
	uint64_t grown;
	int rc;

	if (user == NULL)
		return -ENOMEM;
	grown = all > user->of[kind].at ? all - user->of[kind].at : 0;
	if (user->of[kind].known && grown <= limit / STEP_PART) {
		bool over = user->of[kind].count + grown > limit;

		if (!over || op->now - user->of[kind].when < AGAIN_AFTER)
			return over;
	}
	rc = kind == KEPT_BYTES ? count_bytes(op, &count) : count_dirs(op, &count);
	if (rc < 0)
		return rc;
	user->of[kind].known = true;
	user->of[kind].count = count;
	user->of[kind].at = all;
	user->of[kind].when = op->now;
	return count > limit;
}

int kept_is_over(struct op *op, enum kept_kind kind, uint64_t all, uint64_t limit)
{
	int rc;

	if (op->caller == NULL || op->caller->admin || all < limit)
		return 0;
	pthread_mutex_lock(&op->al->kept->mutex);
	rc = user_is_over(op, kind, all, limit);
	pthread_mutex_unlock(&op->al->kept->mutex);
	return rc;
}
