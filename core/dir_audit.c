/* Whether records, entries and locks of custom/ agree. */
#include <errno.h>
#include <stdarg.h>

#include "dir.h"
#include "name.h"
#include "table.h"

struct audit {
	struct op *op;
	FILE *report;
	int64_t problems;
	struct record_dirs counts;
	uint64_t dirs; /* custom/ itself not counted */
};

/* Gets a key and its value: 0, or a negative errno. */
typedef int audit_fn(struct audit *audit, struct slice key, struct slice value);

__attribute__((format(printf, 2, 3))) static int problem(struct audit *audit, const char *fmt, ...)
{
	va_list args;

	audit->problems++;
	if (audit->report == NULL)
		return 0;
	va_start(args, fmt);
	vfprintf(audit->report, fmt, args);
	va_end(args);
	fputc('\n', audit->report);
	return 0;
}

static int audit_each(struct audit *audit, struct slice prefix, audit_fn *fn)
{
	struct record_key from = { .len = 0 };
	struct slice key;
	struct slice value;
	int rc;

	while ((rc = store_next(audit->op->txn, record_key_slice(&from), prefix, &key, &value)) == 0) {
		rc = fn(audit, key, value);
		if (rc < 0)
			return rc;
		from = record_key_after(key);
	}
	return rc < 0 ? rc : 0;
}

/* Whether a directory has a record that can be read: 0 or 1 (none). A damaged one is a problem found elsewhere. */
static int audit_load(struct audit *audit, uint64_t id, struct record_dir *out)
{
	int rc = dir_load(audit->op, id, out);

	return rc == -EIO ? 1 : rc;
}

static int count_entries(struct audit *audit, uint64_t id, uint64_t *count)
{
	struct record_key prefix = record_key_number(TABLE_ENTRY, id);
	struct record_key from = prefix;
	struct slice key;
	int rc;

	*count = 0;
	while ((rc = store_next(audit->op->txn, record_key_slice(&from), record_key_slice(&prefix), &key, NULL)) == 0) {
		++*count;
		from = record_key_after(key);
	}
	return rc < 0 ? rc : 0;
}

/* What holds a directory in the tree. Parents are older than what is in them, so no loop can hide. */
static int audit_place(struct audit *audit, uint64_t id, const struct record_dir *record)
{
	struct record_dir parent;
	uint64_t entry = 0;
	int rc;

	if (id >= audit->counts.next)
		problem(audit, "directory %ju: its id was not given out yet", (uintmax_t)id);
	if (record->parent >= id)
		problem(audit, "directory %ju: its parent %ju is not older", (uintmax_t)id, (uintmax_t)record->parent);
	rc = audit_load(audit, record->parent, &parent);
	if (rc == 1)
		problem(audit, "directory %ju: its parent %ju is not there", (uintmax_t)id, (uintmax_t)record->parent);
	if (rc >= 0)
		rc = dir_entry(audit->op, record->parent, record->name, &entry);
	if (rc == 1 || rc == -EIO || (rc == 0 && entry != id))
		return problem(audit, "directory %ju: no entry in its parent leads to it", (uintmax_t)id);
	return rc;
}

static int audit_record(struct audit *audit, struct slice key, struct slice value)
{
	struct record_dir record;
	uint64_t count;
	uint64_t id;
	int rc;

	if (key.len != 1 + sizeof(id))
		return problem(audit, "a directory's key has %zu bytes", key.len);
	id = record_number((const unsigned char *)key.data + 1);
	audit->dirs += id != 0;
	rc = record_decode(RECORD_DIR, value, &record);
	if (rc < 0)
		return problem(audit, "directory %ju: its record is damaged", (uintmax_t)id);
	rc = id == 0 ? 0 : audit_place(audit, id, &record);
	if (rc == 0)
		rc = count_entries(audit, id, &count);
	if (rc == 0 && count != record.children)
		problem(audit, "directory %ju: counts %ju directories and has %ju", (uintmax_t)id,
			(uintmax_t)record.children, (uintmax_t)count);
	return rc;
}

static int audit_entry(struct audit *audit, struct slice key, struct slice value)
{
	struct record_dir record;
	struct slice name;
	uint64_t parent;
	int rc;

	if (key.len <= 1 + sizeof(parent) || value.len != sizeof(uint64_t))
		return problem(audit, "an entry of %zu bytes leads to a directory's id of %zu", key.len, value.len);
	parent = record_number((const unsigned char *)key.data + 1);
	name = (struct slice){ (const char *)key.data + 1 + sizeof(parent), key.len - 1 - sizeof(parent) };
	rc = audit_load(audit, record_number(value.data), &record);
	if (rc < 0)
		return rc;
	if (rc == 1 || record.parent != parent || !slice_equal(record.name, name))
		problem(audit, "entry %.*s in directory %ju: leads to no directory of that name", (int)name.len,
			(const char *)name.data, (uintmax_t)parent);
	return 0;
}

static int audit_lock(struct audit *audit, struct slice key, struct slice value)
{
	struct slice lock = { (const char *)key.data + 1, key.len - 1 };
	int rc = lock.len > 1 + sizeof(uint64_t) ? dir_check(audit->op, lock) : -ENOENT;

	(void)value;
	if (rc == -ENOENT)
		return problem(audit, "a lock of custom/ is in no directory");
	if (rc == -EISDIR)
		return problem(audit, "a lock of custom/ has the name of a directory");
	return rc == -EIO ? 0 : rc;
}

int64_t dir_check_all(struct op *op, FILE *report)
{
	struct audit audit = { .op = op, .report = report };
	static const unsigned char custom_locks[] = { TABLE_LOCK, NAME_TREE_CUSTOM };
	static const unsigned char records[] = { TABLE_DIR };
	static const unsigned char entries[] = { TABLE_ENTRY };
	int rc;

	rc = dir_counts(op, &audit.counts);
	if (rc == -EIO) {
		problem(&audit, "custom/: the record of its next id is damaged");
		audit.counts.next = UINT64_MAX;
		rc = 0;
	}
	if (rc == 0)
		rc = audit_each(&audit, (struct slice){ records, sizeof(records) }, audit_record);
	if (rc == 0 && audit.dirs != audit.counts.count && audit.counts.next != UINT64_MAX)
		rc = problem(&audit, "custom/ has %ju directories, not %ju as counted", (uintmax_t)audit.dirs,
			     (uintmax_t)audit.counts.count);
	if (rc == 0)
		rc = audit_each(&audit, (struct slice){ entries, sizeof(entries) }, audit_entry);
	if (rc == 0)
		rc = audit_each(&audit, (struct slice){ custom_locks, sizeof(custom_locks) }, audit_lock);
	return rc < 0 ? rc : audit.problems;
}
