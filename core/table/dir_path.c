/* From a key to its path, and the effects of a lock on its directory. */
#include "dir_path.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "dir_paths.h"
#include "lock_name.h"
#include "table.h"
#include "why.h"

#define ROOT_MODE 01777 /* as /tmp: users cannot remove what others made */
#define DEEP 8          /* levels from which on a path is remembered */

static const char root[] = "custom";
static const char elided[] = "/-";

static bool is_custom(struct slice lock)
{
	return lock.len >= 1 + sizeof(uint64_t) && *(const unsigned char *)lock.data == NAME_TREE_CUSTOM;
}

/* Splits a key of custom/ into directory id and name. */
static uint64_t key_split(struct slice lock, struct slice *leaf)
{
	const unsigned char *key = lock.data;
	size_t head = 1 + sizeof(uint64_t);

	*leaf = (struct slice){ key + head, lock.len - head };
	return record_number(key + 1);
}

void dir_key(struct atlock_name *out, uint64_t dir, struct slice name)
{
	size_t room = sizeof(out->key) - 1 - sizeof(dir);
	size_t len = name.len < room ? name.len : room;
	uint64_t big = htobe64(dir);

	out->key[0] = NAME_TREE_CUSTOM;
	memcpy(out->key + 1, &big, sizeof(big));
	memcpy(out->key + 1 + sizeof(big), name.data, len);
	out->len = (uint16_t)(1 + sizeof(big) + len);
	out->who[0] = '\0';
}

/* The record of custom/ until it is first changed: as old as the store. */
static int root_default(struct op *op, struct record_dir *out)
{
	struct record_key key = record_key_meta("format");
	struct record_format format;
	int rc = op_get(op, RECORD_FORMAT_INFO, &key, &format);

	if (rc < 0)
		return rc;
	*out = (struct record_dir){ .mode = ROOT_MODE, .name = slice_of("") };
	out->atime = out->mtime = out->ctime = rc == 0 ? (int64_t)format.created : op->wall;
	return 0;
}

static void dir_remember(struct op *op, uint64_t id, const struct record_dir *record)
{
	op->dir_known = true;
	op->dir_id = id;
	op->dir = *record;
}

int dir_load(struct op *op, uint64_t id, struct record_dir *out)
{
	if (op->dir_known && op->dir_id == id) {
		*out = op->dir;
		return 0;
	}
	struct record_key key = record_key_number(TABLE_DIR, id);
	int rc = op_get(op, RECORD_DIR, &key, out);
	if (rc == 1 && id == 0)
		rc = root_default(op, out);
	else if (rc == 0 && id != 0 && out->name.len == 0)
		return op_corrupt(op, record_key_slice(&key), -EBADMSG);
	if (rc == 0)
		dir_remember(op, id, out);
	return rc;
}

int dir_store(struct op *op, uint64_t id, const struct record_dir *record)
{
	struct record_key key = record_key_number(TABLE_DIR, id);
	int rc = op_put(op, RECORD_DIR, &key, record);

	if (rc == 0)
		dir_remember(op, id, record);
	return rc;
}

int dir_erase(struct op *op, uint64_t id)
{
	struct record_key key = record_key_number(TABLE_DIR, id);

	op->dir_known = false;
	return store_del(op->txn, record_key_slice(&key));
}

int dir_entry(struct op *op, uint64_t parent, struct slice name, uint64_t *id)
{
	struct record_key key = record_key_entry(parent, name);
	struct slice value;
	int rc = store_get(op->txn, record_key_slice(&key), &value);

	if (rc != 0)
		return rc;
	if (value.len != sizeof(*id))
		return op_corrupt(op, record_key_slice(&key), -EBADMSG);
	*id = record_number(value.data);
	return 0;
}

/* A path is written backwards: `at` is its present beginning, which may not go below `floor`. */
struct path {
	char *out;
	size_t at;
	size_t floor;
};

static bool path_prepend(struct path *path, struct slice name)
{
	if (path->at - path->floor < name.len + 1)
		return false;
	path->at -= name.len;
	memcpy(path->out + path->at, name.data, name.len);
	path->out[--path->at] = '/';
	return true;
}

/* Prepends the whole path of a directory that exists, if it is known. On a store shared by hosts it may have become another store. */
static bool path_prepend_known(struct op *op, struct path *path, uint64_t dir)
{
	char known[ATLOCK_PATH_MAX];
	size_t len = op->al->shared ? 0 : dir_paths_get(op->al->dir_paths, dir, known, sizeof(known));

	return len > 0 && path_prepend(path, (struct slice){ known, len });
}

/* Remembers the path of a directory, which ends before `end`. */
static void path_remember(struct op *op, const struct path *path, uint64_t dir, size_t end)
{
	if (dir != 0 && op_is_view(op) && !op->al->shared)
		dir_paths_put(op->al->dir_paths, dir, (struct slice){ path->out + path->at + 1, end - path->at - 1 });
}

/*
 * Prepends every directory from `dir` upwards. Names are not empty, so the buffer fills up and ends even a damaged loop
 * of parents.
 */
static int path_climb(struct op *op, struct path *path, uint64_t dir, bool whole)
{
	const uint64_t lowest = dir;
	const size_t end = path->at;
	size_t parent_end = end;
	uint64_t parent = 0;
	struct record_dir record;
	bool gone = false;
	int levels = 0;
	int rc;

	while (dir != 0) {
		rc = dir_load(op, dir, &record);
		if (rc < 0)
			return rc;
		if (rc == 1 && whole)
			return -ENOENT;
		if (rc == 0 && path_prepend_known(op, path, dir))
			break;
		if (rc == 1)
			record = (struct record_dir){ .name = slice_of("?") };
		gone = gone || rc == 1;
		if (!path_prepend(path, record.name))
			return -ERANGE;
		dir = record.parent;
		if (levels++ == 0) {
			parent = dir;
			parent_end = path->at;
		}
	}
	/* The parent's, too: it serves all directories beside this one. */
	if (!gone && (levels >= DEEP || (dir != 0 && levels > 0))) {
		path_remember(op, path, lowest, end);
		if (dir != parent)
			path_remember(op, path, parent, parent_end);
	}
	return 0;
}

static int path_custom(struct op *op, struct slice lock, bool whole, char *out, size_t len)
{
	size_t head = strlen(root);
	size_t reserve = whole ? 0 : strlen(elided);
	struct path path = { out, len - 1, head + reserve };
	struct slice leaf;
	uint64_t dir = key_split(lock, &leaf);
	int rc;

	if (len <= path.floor)
		return -ERANGE;
	out[path.at] = '\0';
	if (leaf.len > 0 && !path_prepend(&path, leaf))
		return -ERANGE;
	rc = path_climb(op, &path, dir, whole);
	if (rc == -ERANGE && !whole) {
		path.at -= reserve;
		memcpy(out + path.at, elided, reserve);
		rc = 0;
	}
	if (rc < 0)
		return rc;
	memcpy(out, root, head);
	memmove(out + head, out + path.at, len - path.at);
	return (int)(head + len - path.at - 1);
}

static int path_plain(struct slice lock, char *out, size_t len)
{
	struct atlock_name name;
	int rc;

	name_from_key(&name, lock);
	rc = name_print_plain(&name, out, len);
	return rc < 0 ? rc : (int)strlen(out);
}

int dir_path(struct op *op, struct slice lock, char *out, size_t len)
{
	return is_custom(lock) ? path_custom(op, lock, false, out, len) : path_plain(lock, out, len);
}

int dir_path_bound(struct op *op, struct slice lock)
{
	size_t len = sizeof(root) + lock.len; /* in other trees the name is at most as long as the key */
	struct record_dir record;
	struct slice leaf;
	uint64_t dir = is_custom(lock) ? key_split(lock, &leaf) : 0;
	int rc;

	for (; dir != 0 && len < ATLOCK_PATH_MAX; dir = record.parent) {
		rc = dir_load(op, dir, &record);
		if (rc < 0)
			return rc;
		if (rc == 1)
			break;
		len += record.name.len + 1;
	}
	return (int)(len < ATLOCK_PATH_MAX ? len : ATLOCK_PATH_MAX);
}

int dir_path_whole(struct op *op, struct slice lock, char *out, size_t len)
{
	return is_custom(lock) ? path_custom(op, lock, true, out, len) : path_plain(lock, out, len);
}

int dir_check(struct op *op, struct slice lock)
{
	char path[ATLOCK_PATH_MAX];
	struct record_dir record;
	struct slice leaf;
	uint64_t dir;
	uint64_t id;
	int rc;

	if (!is_custom(lock))
		return 0;
	dir = key_split(lock, &leaf);
	rc = dir_load(op, dir, &record);
	if (rc == 1)
		return why_set(op->why, -ENOENT, ATLOCK_LOCK_NOT_FOUND,
			       "the directory of \"%.*s\" is not there: make it first", (int)leaf.len,
			       (const char *)leaf.data);
	if (rc < 0 || record.children == 0)
		return rc;
	rc = dir_entry(op, dir, leaf, &id);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (op->why != NULL && dir_path(op, lock, path, sizeof(path)) >= 0)
		why_set(op->why, -EISDIR, ATLOCK_INVALID_REQUEST, "%s is a directory: a lock needs another name", path);
	return -EISDIR;
}

int dir_touch(struct op *op, struct slice lock)
{
	struct record_dir record;
	struct slice leaf;
	uint64_t dir;
	int rc;

	if (!is_custom(lock))
		return 0;
	dir = key_split(lock, &leaf);
	rc = dir_load(op, dir, &record);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	record.mtime = record.ctime = op->wall;
	return dir_store(op, dir, &record);
}

int dir_counts(struct op *op, struct record_dirs *out)
{
	struct record_key key = record_key_meta("dirs");
	int rc = op_get(op, RECORD_DIRS, &key, out);

	if (rc == 1)
		*out = (struct record_dirs){ .next = 1 };
	return rc < 0 ? rc : 0;
}

void dir_fill(struct atlock_dir *out, uint64_t id, const struct record_dir *record)
{
	*out = (struct atlock_dir){
		.id = id,
		.parent = record->parent,
		.uid = record->uid,
		.gid = record->gid,
		.mode = record->mode,
		.atime = record->atime,
		.mtime = record->mtime,
		.ctime = record->ctime,
		.subdirs = record->children,
	};
	if (record->name.len > 0 && record->name.len < sizeof(out->name))
		memcpy(out->name, record->name.data, record->name.len);
}
