/* Directories of custom/ for readers: one by its id or name, and the entries of one. */
#include <errno.h>
#include <string.h>

#include "dir_path.h"
#include "place.h"
#include "scan.h"
#include "table.h"
#include "view.h"
#include "why.h"

/* Parts of places, in this order; the rest is the name. */
#define PART_DIR 'd'
#define PART_LOCK 'l'

struct dir_read {
	uint64_t id; /* of the directory, or of the parent of `name` */
	struct slice name;
	struct atlock_dir *out;
	struct atlock_place *place;
	atlock_dir_fn *fn;
	void *arg;
};

static int dir_read(struct op *op, uint64_t id, struct atlock_dir *out)
{
	struct record_dir record;
	int rc = dir_load(op, id, &record);

	if (rc == 0)
		dir_fill(out, id, &record);
	return rc;
}

/* A missing directory is not a failure of the store, so no `why` is set. */
static int get_in_txn(struct op *op)
{
	const struct dir_read *read = op->arg;

	return dir_read(op, read->id, read->out);
}

int atlock_dir_get(struct atlock *al, uint64_t id, struct atlock_dir *out)
{
	struct dir_read read = { .id = id, .out = out };
	int rc;

	if (al == NULL || out == NULL)
		return -EINVAL;
	rc = op_look(al, get_in_txn, &read, NULL);
	return rc == 1 ? -ENOENT : rc;
}

int atlock_dir_recent(struct atlock *al, uint64_t id, struct atlock_dir *out)
{
	struct dir_read read = { .id = id, .out = out };
	int rc;

	if (al == NULL || out == NULL)
		return -EINVAL;
	rc = op_list(al, get_in_txn, &read);
	return rc == 1 ? atlock_dir_get(al, id, out) : rc;
}

static int find_in_txn(struct op *op)
{
	const struct dir_read *read = op->arg;
	uint64_t id;
	int rc = dir_entry(op, read->id, read->name, &id);

	return rc != 0 ? rc : dir_read(op, id, read->out);
}

static int dir_find(struct atlock *al, uint64_t parent, const char *name, bool recent, struct atlock_dir *out)
{
	struct dir_read read = { .id = parent, .out = out };
	int rc;

	if (al == NULL || out == NULL)
		return -EINVAL;
	rc = atlock_component_check(name, NULL);
	if (rc < 0)
		return rc;
	read.name = slice_of(name);
	rc = recent ? op_list(al, find_in_txn, &read) : op_look(al, find_in_txn, &read, NULL);
	return rc == 1 ? -ENOENT : rc;
}

int atlock_dir_find(struct atlock *al, uint64_t parent, const char *name, struct atlock_dir *out)
{
	return dir_find(al, parent, name, false, out);
}

int atlock_dir_find_recent(struct atlock *al, uint64_t parent, const char *name, struct atlock_dir *out)
{
	return dir_find(al, parent, name, true, out);
}

/* Both return 0, 1 if the callback stopped the listing, or a negative errno. */
static int list_dirs(struct op *op, const struct dir_read *read)
{
	struct record_key prefix = record_key_number(TABLE_ENTRY, read->id);
	struct slice after = place_text(read->place, PART_DIR);
	struct scan scan = scan_prefix(&prefix);
	struct atlock_dir dir;
	int rc;

	if (after.data != NULL) {
		prefix = record_key_entry(read->id, after);
		scan_after(&scan, &prefix);
	}
	while ((rc = scan_next(op, &scan)) == 0) {
		rc = scan.value.len == sizeof(dir.id) ? dir_read(op, record_number(scan.value.data), &dir) : 1;
		if (rc == 1)
			rc = op_corrupt(op, scan.key, -EBADMSG);
		if (rc < 0)
			return rc;
		place_set(read->place, PART_DIR, scan_rest(&scan));
		if (read->fn(read->arg, &dir, NULL) != 0)
			return 1;
	}
	return rc < 0 ? rc : 0;
}

static int list_lock(struct op *op, const struct dir_read *read, struct slice lock, const struct record_lock *record)
{
	struct atlock_view view;
	int rc = view_make(op, lock, record, &view);

	if (rc < 0)
		return rc;
	rc = read->fn(read->arg, NULL, &view) != 0;
	atlock_view_clear(&view);
	return rc;
}

static int list_locks(struct op *op, const struct dir_read *read)
{
	struct atlock_name within;
	struct record_key prefix;
	struct scan scan;
	struct record_lock record;
	int rc;

	dir_key(&within, read->id, slice_of(""));
	prefix = record_key_of(TABLE_LOCK, name_slice(&within));
	scan = scan_prefix(&prefix);
	if (place_part(read->place) == PART_LOCK) {
		dir_key(&within, read->id, place_text(read->place, PART_LOCK));
		prefix = record_key_of(TABLE_LOCK, name_slice(&within));
		scan_after(&scan, &prefix);
	}
	while ((rc = scan_record(op, &scan, RECORD_LOCK, &record)) == 0) {
		place_set(read->place, PART_LOCK, scan_rest(&scan));
		if (table_grant_is_held(op, &record.grant))
			rc = list_lock(op, read, scan_name(&scan), &record);
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static int list_in_txn(struct op *op)
{
	const struct dir_read *read = op->arg;
	struct record_dir record;
	int rc = dir_load(op, read->id, &record);

	if (rc == 1)
		return -ENOENT;
	if (rc == 0 && place_part(read->place) != PART_LOCK)
		rc = list_dirs(op, read);
	if (rc == 0)
		rc = list_locks(op, read);
	return rc < 0 ? rc : 0;
}

int atlock_dir_list(struct atlock *al, uint64_t dir, struct atlock_place *place, atlock_dir_fn *fn, void *arg)
{
	struct dir_read read = { .id = dir, .place = place, .fn = fn, .arg = arg };

	if (al == NULL || fn == NULL)
		return -EINVAL;
	return op_list(al, list_in_txn, &read);
}
