/* Records, entries and locks of custom/. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dir_path.h"
#include "fsck.h"
#include "lock_name.h"
#include "scan.h"
#include "table.h"

#define LOST_MODE 0700 /* only for root: owner and mode of the directory are lost */

static int dir_put(struct fsck *fsck, uint64_t id, const struct record_dir *record)
{
	struct record_key key = record_key_number(TABLE_DIR, id);

	return op_put(fsck->op, RECORD_DIR, &key, record);
}

static int entry_put(struct fsck *fsck, uint64_t parent, struct slice name, uint64_t id)
{
	struct record_key entry = record_key_entry(parent, name);
	struct record_key number = record_key_number(TABLE_DIR, id);

	return store_put(fsck->op->txn, record_key_slice(&entry), fsck_rest(record_key_slice(&number)));
}

static struct record_dir dir_unknown(const struct fsck *fsck, uint64_t parent, struct slice name)
{
	int64_t wall = fsck->op->wall;

	return (struct record_dir){
		.parent = parent, .mode = LOST_MODE, .atime = wall, .mtime = wall, .ctime = wall, .name = name
	};
}

/* A directory's record: 0, or 1 if it is missing or damaged. custom/ itself needs none. */
static int record_get(struct fsck *fsck, uint64_t id, struct record_dir *out)
{
	struct record_key key = record_key_number(TABLE_DIR, id);
	int rc = fsck_get(fsck, RECORD_DIR, &key, out);

	return rc == 0 && id != 0 && out->name.len == 0 ? 1 : rc;
}

static int dir_exists(struct fsck *fsck, uint64_t id)
{
	struct record_dir record;

	return id == 0 ? 0 : record_get(fsck, id, &record);
}

static bool is_component(struct slice name)
{
	char text[ATLOCK_COMPONENT_MAX + 1];

	if (name.len == 0 || name.len > ATLOCK_COMPONENT_MAX || memchr(name.data, '\0', name.len) != NULL)
		return false;
	memcpy(text, name.data, name.len);
	text[name.len] = '\0';
	return atlock_component_check(text, NULL) == 0;
}

/* The directory that an entry leads to: 0, or 1 if there is no such entry or it is damaged. */
static int entry_get(struct fsck *fsck, uint64_t parent, struct slice name, uint64_t *id)
{
	struct record_key key = record_key_entry(parent, name);
	struct slice value;
	int rc = store_get(fsck->op->txn, record_key_slice(&key), &value);

	if (rc != 0 || value.len != sizeof(*id))
		return rc < 0 ? rc : 1;
	*id = record_number(value.data);
	return 0;
}

/* --- Directories that lost their place --- */

/* Whether a directory or a lock of custom/ has the name: 1, or 0. */
static int name_taken(struct fsck *fsck, const char *name)
{
	struct atlock_name lock;
	struct record_key key;
	struct slice any;
	uint64_t id;
	int rc = entry_get(fsck, 0, slice_of(name), &id);

	if (rc <= 0)
		return rc < 0 ? rc : 1;
	dir_key(&lock, 0, slice_of(name));
	key = record_key_of(TABLE_LOCK, name_slice(&lock));
	rc = store_get(fsck->op->txn, record_key_slice(&key), &any);
	return rc < 0 ? rc : rc == 0;
}

/* Moves a directory that has lost its place, or blocks another name, to custom/ as "lost-<id>". */
static int dir_lose(struct fsck *fsck, uint64_t id)
{
	struct record_dir record;
	struct record_key entry;
	uint64_t found = 0;
	char name[64];
	int rc;

	(void)snprintf(name, sizeof(name), "lost-%ju", (uintmax_t)id);
	for (unsigned int i = 2; (rc = name_taken(fsck, name)) == 1; i++)
		(void)snprintf(name, sizeof(name), "lost-%ju-%u", (uintmax_t)id, i);
	if (rc == 0)
		rc = record_get(fsck, id, &record);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		record = dir_unknown(fsck, 0, slice_of(name));
	} else {
		entry = record_key_entry(record.parent, record.name);
		rc = entry_get(fsck, record.parent, record.name, &found);
		if (rc == 0 && found == id)
			rc = store_del(fsck->op->txn, record_key_slice(&entry));
		if (rc < 0)
			return rc;
		record.parent = 0;
		record.name = slice_of(name);
	}
	rc = dir_put(fsck, id, &record);
	return rc < 0 ? rc : entry_put(fsck, 0, slice_of(name), id);
}

static int lose(struct fsck *fsck, struct slice key, uint64_t id, const char *what)
{
	fsck_problem(fsck, key, what, "moved to custom/ as lost-<id>");
	return fsck->fix ? dir_lose(fsck, id) : 0;
}

/* --- Entries --- */

/* Rebuilds a directory of which only the entry is left. */
static int entry_mend(struct fsck *fsck, struct slice key, uint64_t parent, struct slice name, uint64_t id)
{
	struct record_dir record = dir_unknown(fsck, parent, name);

	if (id <= parent || !is_component(name))
		return fsck_drop(fsck, key, "the entry leads to no directory of that name");
	fsck_problem(fsck, key, "the entry leads to no directory of that name",
		     "the directory is made anew, for root alone");
	return fsck->fix ? dir_put(fsck, id, &record) : 0;
}

static int entry_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_dir record;
	struct slice name;
	uint64_t parent;
	uint64_t id;
	int rc;

	if (key.len <= 1 + sizeof(parent) || value.len != sizeof(id))
		return fsck_drop(fsck, key, "the entry is damaged");
	parent = record_number((const unsigned char *)key.data + 1);
	name = (struct slice){ (const char *)key.data + 1 + sizeof(parent), key.len - 1 - sizeof(parent) };
	id = record_number(value.data);
	rc = record_get(fsck, id, &record);
	if (rc == 1)
		return entry_mend(fsck, key, parent, name, id);
	if (rc == 0 && (record.parent != parent || !slice_equal(record.name, name)))
		return fsck_drop(fsck, key, "the entry leads to no directory of that name");
	return rc;
}

/* --- Records --- */

/* Checks a directory's place in the tree. A parent must have a smaller id, so a loop cannot go unnoticed. */
static int place_one(struct fsck *fsck, struct slice key, uint64_t id, const struct record_dir *record)
{
	uint64_t found;
	int rc;

	if (record->parent >= id)
		return lose(fsck, key, id, "the directory's parent is not older");
	if (!is_component(record->name))
		return lose(fsck, key, id, "no directory can have this one's name");
	rc = dir_exists(fsck, record->parent);
	if (rc == 1) {
		fsck_problem(fsck, key, "the directory's parent is not there",
			     "the parent is made anew in custom/ as lost-<id>, for root alone");
		rc = fsck->fix ? dir_lose(fsck, record->parent) : 0;
	}
	if (rc == 0)
		rc = entry_get(fsck, record->parent, record->name, &found);
	if (rc == 0 && found != id)
		return lose(fsck, key, id, "another directory has this one's name");
	if (rc != 1)
		return rc;
	fsck_problem(fsck, key, "no entry in its parent leads to the directory", "entered");
	return fsck->fix ? entry_put(fsck, record->parent, record->name, id) : 0;
}

static int record_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_dir record;
	uint64_t id;
	int rc;

	if (key.len != 1 + sizeof(id))
		return fsck_drop(fsck, key, "the directory's key is damaged");
	id = record_number((const unsigned char *)key.data + 1);
	rc = fsck_decode(fsck, RECORD_DIR, key, value, &record);
	if (rc < 0 || (rc == 0 && id == 0))
		return rc;
	if (rc == 0 && record.name.len > 0)
		return place_one(fsck, key, id, &record);
	if (id != 0)
		return lose(fsck, key, id, "the directory's record is damaged");
	fsck_problem(fsck, key, "the record of custom/ is damaged", "custom/ is root's alone now");
	record = dir_unknown(fsck, 0, slice_of(""));
	return fsck->fix ? dir_put(fsck, 0, &record) : 0;
}

/* --- Locks --- */

static int lock_one(struct fsck *fsck, struct slice key, struct slice value)
{
	const unsigned char *bytes = key.data;
	const size_t head = 2 + sizeof(uint64_t);
	struct slice leaf;
	uint64_t dir;
	uint64_t id;
	int rc;

	(void)value;
	if (key.len <= head)
		return 0;
	dir = record_number(bytes + 2);
	leaf = (struct slice){ bytes + head, key.len - head };
	rc = dir_exists(fsck, dir);
	if (rc == 1)
		return lose(fsck, key, dir, "the lock is in no directory");
	if (rc == 0)
		rc = entry_get(fsck, dir, leaf, &id);
	if (rc == 0)
		return lose(fsck, key, id, "the lock has the name of a directory");
	return rc < 0 ? rc : 0;
}

/* --- Counts --- */

struct counts {
	uint64_t dirs; /* without custom/ itself */
	uint64_t last; /* greatest id */
};

static int children_count(struct fsck *fsck, uint64_t id, uint64_t *count)
{
	struct record_key prefix = record_key_number(TABLE_ENTRY, id);

	return fsck_count(fsck, &prefix, count);
}

static int children_one(struct fsck *fsck, struct slice key, struct slice value)
{
	uint64_t id = key.len == 9 ? record_number((const unsigned char *)key.data + 1) : 0;
	struct record_dir record;
	uint64_t children;
	int rc;

	if (key.len != 9 || record_decode(RECORD_DIR, value, &record) < 0)
		return 0;
	rc = children_count(fsck, id, &children);
	if (rc < 0 || children == record.children)
		return rc;
	fsck_problem(fsck, key, "the directory's number of directories is wrong", "counted anew");
	record.children = children;
	return fsck->fix ? dir_put(fsck, id, &record) : 0;
}

/* custom/ has a record if it has entries. */
static int root_check(struct fsck *fsck)
{
	struct record_key key = record_key_number(TABLE_DIR, 0);
	struct record_dir record = dir_unknown(fsck, 0, slice_of(""));
	struct slice any;
	int rc = store_get(fsck->op->txn, record_key_slice(&key), &any);

	if (rc == 1)
		rc = children_count(fsck, 0, &record.children);
	else
		return rc;
	if (rc < 0 || record.children == 0)
		return rc;
	fsck_problem(fsck, record_key_slice(&key), "the record of custom/ is gone", "custom/ is root's alone now");
	return fsck->fix ? dir_put(fsck, 0, &record) : 0;
}

static int dirs_count(struct fsck *fsck, struct counts *out)
{
	struct scan scan = scan_table(TABLE_DIR);
	int rc;

	*out = (struct counts){ .dirs = 0 };
	scan.from = record_key_number(TABLE_DIR, 1); /* custom/ itself does not count */
	while ((rc = scan_next(fsck->op, &scan)) == 0) {
		out->dirs++;
		if (scan.key.len == 9)
			out->last = record_number((const unsigned char *)scan.key.data + 1);
	}
	return rc < 0 ? rc : 0;
}

/* No id may be given out twice: if the counter is lost, it continues far above the known ids. */
static int ids_check(struct fsck *fsck)
{
	struct record_key key = record_key_meta("dirs");
	struct record_dirs found = { .next = 0 };
	struct counts counts;
	int rc = dirs_count(fsck, &counts);

	if (rc == 0)
		rc = fsck_get(fsck, RECORD_DIRS, &key, &found);
	if (rc < 0)
		return rc;
	if (rc == 1) {
		struct slice any;

		rc = store_get(fsck->op->txn, record_key_slice(&key), &any);
		if (rc < 0 || (rc == 1 && counts.dirs == 0))
			return rc < 0 ? rc : 0;
		fsck_problem(fsck, record_key_slice(&key), "the record of directories is damaged or gone", "made anew");
		found.next = counts.last + 1 + UINT32_MAX;
	} else if (found.next <= counts.last || found.count != counts.dirs) {
		fsck_problem(fsck, record_key_slice(&key), "the number of directories is wrong", "counted anew");
		if (found.next <= counts.last)
			found.next = counts.last + 1 + UINT32_MAX;
	} else {
		return 0;
	}
	found.count = counts.dirs;
	return fsck->fix ? op_put(fsck->op, RECORD_DIRS, &key, &found) : 0;
}

int fsck_dirs(struct fsck *fsck)
{
	static const unsigned char locks[] = { TABLE_LOCK, NAME_TREE_CUSTOM };
	int rc = fsck_table(fsck, TABLE_ENTRY, entry_one);

	if (rc == 0)
		rc = fsck_table(fsck, TABLE_DIR, record_one);
	if (rc == 0)
		rc = fsck_each(fsck, (struct slice){ locks, sizeof(locks) }, lock_one);
	if (rc == 0)
		rc = fsck_table(fsck, TABLE_DIR, children_one);
	if (rc == 0)
		rc = root_check(fsck);
	return rc == 0 ? ids_check(fsck) : rc;
}
