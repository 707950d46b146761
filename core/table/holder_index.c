#include "holder_index.h"

#include <errno.h>
#include <string.h>

#include "lock_name.h"

/*
 * Finds the first key from `from` on, returns its text between `skip` and the next NUL, and moves `from` past all keys
 * with that text.
 */
static int part_next(struct op *op, struct slice prefix, struct record_key *from, size_t skip, struct slice *part)
{
	struct slice key;
	const char *bytes;
	const char *nul;
	int rc = store_next(op->txn, record_key_slice(from), prefix, &key, NULL);

	if (rc != 0)
		return rc;
	bytes = key.data;
	nul = memchr(bytes + skip, 0, key.len - skip);
	if (nul == NULL)
		return op_corrupt(op, key, -EBADMSG);
	*part = (struct slice){ bytes + skip, (size_t)(nul - bytes) - skip };
	*from = record_key_after_prefix((struct slice){ bytes, skip + part->len + 1 });
	return 0;
}

int holder_index_owner_next(struct op *op, enum record_table table, struct record_key *from, struct slice *owner)
{
	const unsigned char first = (unsigned char)table;

	return part_next(op, (struct slice){ &first, 1 }, from, 1, owner);
}

struct record_key holder_index_owner_key(struct slice owner)
{
	struct record_key key = record_key_holder(TABLE_HELD, owner, (struct slice){ NULL, 0 });

	key.len--; /* without the NUL that ends a who */
	return key;
}

int holder_index_who_next(struct op *op, struct slice owner, struct record_key *from, struct slice *who)
{
	struct record_key prefix = holder_index_owner_key(owner);

	return part_next(op, record_key_slice(&prefix), from, prefix.len, who);
}

static bool matches(struct slice want, struct slice is)
{
	return want.data == NULL || slice_equal(want, is);
}

bool holder_index_matches(const struct op *op, const struct holder_index_filter *filter, struct slice lock,
			  const struct record_grant *grant)
{
	return table_grant_is_held(op, grant) && matches(filter->owner, grant->holder.owner) &&
	       matches(filter->who, grant->holder.who) && matches(filter->host, grant->holder.host) &&
	       (filter->repo.data == NULL || name_in_repo(lock, filter->repo));
}

/* The index may still name a lock that has expired and is no longer held. */
static int walk_entry(struct op *op, const struct holder_index_filter *filter, holder_index_fn *fn, void *arg,
		      struct slice lock)
{
	struct record_lock record;
	int rc;

	if (filter->repo.data != NULL && !name_in_repo(lock, filter->repo))
		return 0;
	rc = table_lock_get(op, lock, &record);
	if (rc != 0)
		return rc < 0 ? rc : op_corrupt(op, lock, -EBADMSG);
	return holder_index_matches(op, filter, lock, &record.grant) ? fn(op, arg, lock, &record) : 0;
}

struct record_key holder_index_place(const struct record_grant *grant)
{
	struct record_key key = { .len = 0 };

	(void)table_grant_index(grant, TABLE_HELD, &key);
	return key;
}

static bool is_behind(struct slice key, struct slice other)
{
	int order = memcmp(key.data, other.data, key.len < other.len ? key.len : other.len);

	return order > 0 || (order == 0 && key.len > other.len);
}

static int walk_owner(struct op *op, const struct holder_index_filter *filter, struct slice owner, holder_index_fn *fn,
		      void *arg)
{
	struct record_key prefix = filter->who.data != NULL ? record_key_holder(TABLE_HELD, owner, filter->who)
							    : holder_index_owner_key(owner);
	struct record_key from = prefix;
	struct slice key;
	struct slice lock;
	int rc;

	if (filter->after.len > 0 && is_behind(filter->after, record_key_slice(&prefix)))
		from = record_key_after(filter->after);
	while ((rc = store_next(op->txn, record_key_slice(&from), record_key_slice(&prefix), &key, &lock)) == 0) {
		from = record_key_after(key);
		rc = walk_entry(op, filter, fn, arg, lock);
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

int holder_index_walk(struct op *op, const struct holder_index_filter *filter, holder_index_fn *fn, void *arg)
{
	struct record_key from = record_key_of(TABLE_HELD, (struct slice){ NULL, 0 });
	const char *last = filter->after.data;
	struct slice owner = { NULL, 0 };
	int rc;

	if (filter->owner.data != NULL)
		return walk_owner(op, filter, filter->owner, fn, arg);
	if (filter->after.len > 1)
		from = record_key_of(TABLE_HELD, (struct slice){ last + 1, strnlen(last + 1, filter->after.len - 1) });
	while ((rc = holder_index_owner_next(op, TABLE_HELD, &from, &owner)) == 0) {
		rc = walk_owner(op, filter, owner, fn, arg);
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}
