#include "format.h"

#include <errno.h>
#include <string.h>

#include "scan.h"
#include "table.h"
#include "why.h"

struct format {
	uint32_t version; /* target version */
	format_step *const *steps;
};

/* Version 1 had no index of ids. */
static int ids_enter(struct op *op)
{
	struct scan scan = scan_table(TABLE_LOCK);
	struct record_lock record;
	int rc;

	while ((rc = scan_next(op, &scan)) == 0) {
		struct slice lock = scan_name(&scan);
		struct record_key index;

		/* Skips an unreadable record: fsck adds its index entry. */
		if (record_decode(RECORD_LOCK, scan.value, &record) < 0 ||
		    !table_grant_index(&record.grant, TABLE_ID, &index))
			continue;
		rc = store_put(op->txn, record_key_slice(&index), lock);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static format_step *const steps_known[RECORD_FORMAT] = { [1] = ids_enter };

/* The store has data but no version. It is ours if it has the tail of an event chain, which all our changes write. */
static int refuse_unversioned(struct op *op)
{
	struct record_key key = record_key_tail(op->al->chain);
	struct record_tail tail;
	struct slice value;

	if (store_get(op->txn, record_key_slice(&key), &value) == 0 && record_decode(RECORD_TAIL, value, &tail) == 0)
		return why_set(op->why, -EIO, ATLOCK_BACKEND_ERROR,
			       "the store is damaged, its record of the format is gone: restore it from a copy");
	return why_set(op->why, -EINVAL, ATLOCK_BACKEND_ERROR,
		       "this LMDB store has other data in it: use another directory");
}

static int refuse_migrating(struct op *op)
{
	struct record_key key = record_key_meta(FORMAT_MIGRATING);
	struct slice value;
	int rc = op->al->shared || op->al->repair ? 1 : store_get(op->txn, record_key_slice(&key), &value);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	return why_set(op->why, -EBUSY, ATLOCK_BACKEND_ERROR,
		       "a migration to this store was not finished: run the same atlock migrate again");
}

/* The store's version, 0 if it is empty. */
static int format_read(struct op *op, uint32_t *version)
{
	struct record_key key = record_key_meta("format");
	struct record_format record = { .version = 0 };
	struct slice any;
	int rc;

	rc = op_get(op, RECORD_FORMAT_INFO, &key, &record);
	*version = record.version;
	if (rc != 1)
		return rc;
	*version = 0;
	/* A realm was made for us. */
	if (op->al->shared)
		return 0;
	rc = refuse_migrating(op);
	if (rc == 0)
		rc = store_next(op->txn, (struct slice){ "\0", 1 }, (struct slice){ NULL, 0 }, &any, NULL);
	if (rc == 0)
		return refuse_unversioned(op);
	return rc < 0 ? rc : 0;
}

static int format_write(struct op *op, uint32_t version)
{
	struct record_key key = record_key_meta("format");
	struct record_format record = { .version = version, .created = (uint64_t)op->wall };

	return op_put(op, RECORD_FORMAT_INFO, &key, &record);
}

static int format_in_txn(struct op *op)
{
	const struct format *format = op->arg;
	uint32_t version;
	int rc;

	rc = format_read(op, &version);
	if (rc < 0)
		return rc;
	rc = refuse_migrating(op);
	if (rc < 0)
		return rc;
	if (version > format->version)
		return why_set(op->why, -EPROTONOSUPPORT, ATLOCK_BACKEND_ERROR,
			       "the store has format %u, this program knows up to %u: use a newer version", version,
			       format->version);
	if (op->al->readonly) {
		if (version != format->version)
			return why_set(op->why, -EROFS, ATLOCK_BACKEND_ERROR,
				       "the store is new or of an older format: mount it once for writing");
		return 0;
	}
	if (version == format->version)
		return 0;
	for (; version != 0 && version < format->version; version++) {
		rc = format->steps[version] != NULL ? format->steps[version](op) : -ENOSYS;
		if (rc < 0)
			return why_set(op->why, rc, ATLOCK_BACKEND_ERROR,
				       "the store could not be upgraded from format %u: %s", version, strerror(-rc));
	}
	return format_write(op, format->version);
}

int format_open_as(struct atlock *al, uint32_t version, format_step *const *steps, struct atlock_why *why)
{
	struct format format = { version, steps };
	struct op op;

	op_init(&op, al, NULL, why);
	op.arg = &format;
	return al->readonly ? op_view(&op, format_in_txn) : op_run(&op, format_in_txn);
}

int format_open(struct atlock *al, struct atlock_why *why)
{
	return format_open_as(al, RECORD_FORMAT, steps_known, why);
}
