/* Directories of custom/: created, removed and changed, each in one transaction. */
#include <errno.h>
#include <string.h>

#include "dir_path.h"
#include "event_log.h"
#include "grant.h"
#include "limit.h"
#include "rules.h"
#include "scan.h"
#include "space.h"
#include "table.h"
#include "why.h"

#define DIR_MODE 07777

/* The target of a call. `key` is parent and name, as in the key of a lock. */
struct dir_call {
	uint64_t parent;
	struct slice name;
	struct atlock_name key;
	mode_t mode;
	gid_t gid;
	const struct atlock_dir_change *change;
	uint64_t id;
	struct atlock_dir out;
};

/* Writes the event and announces the change; `key` as in struct dir_call. */
static int dir_tell(struct op *op, enum atlock_event_type type, struct slice key)
{
	char path[ATLOCK_PATH_MAX];
	int len = dir_path(op, key, path, sizeof(path));

	if (len < 0)
		return len;
	op_changed(op, ATLOCK_CHANGE_DIR, key);
	return event_other(op, type, path);
}

/* Sets up `call` for a name in a directory. A name with '@' would be a lock's name with its holder: it is refused. */
static int call_init(struct dir_call *call, uint64_t parent, const char *name, struct atlock_why *why)
{
	int rc = atlock_component_check(name, why);

	if (rc < 0)
		return rc;
	call->parent = parent;
	call->name = slice_of(name);
	dir_key(&call->key, parent, call->name);
	return 0;
}

static int refuse_gone(struct op *op, const char *what)
{
	return why_set(op->why, -ENOENT, ATLOCK_LOCK_NOT_FOUND, "%s is not there", what);
}

/* 0 if no directory and no lock has the name. A lock that rests or is about to be handed over still has its name. */
static int make_check(struct op *op, const struct dir_call *call)
{
	struct slice key = name_slice(&call->key);
	struct record_lock lock;
	uint64_t id;
	int rc;

	rc = dir_entry(op, call->parent, call->name, &id);
	if (rc == 0)
		return why_set(op->why, -EEXIST, ATLOCK_LOCK_EXISTS, "there is a directory of that name");
	if (rc < 0)
		return rc;
	rc = expire_lock(op, key, &lock);
	if (rc == 0)
		return rules_refuse_held(op, key, &lock, -EEXIST, ATLOCK_LOCK_EXISTS, "choose another name");
	return rc < 0 ? rc : space_check(op);
}

/* Updates `parent` after a directory was added to it or removed from it. */
static int parent_update(struct op *op, uint64_t id, struct record_dir *parent, bool added)
{
	if (added)
		parent->children++;
	else if (parent->children > 0)
		parent->children--;
	parent->mtime = parent->ctime = op->wall;
	return dir_store(op, id, parent);
}

/* Ids are never reused: a remembered id never leads to another directory. */
static int id_take(struct op *op, uint64_t *out)
{
	struct record_key key = record_key_meta("dirs");
	struct record_dirs dirs;
	int rc = dir_counts(op, &dirs);

	if (rc < 0)
		return rc;
	*out = dirs.next++;
	dirs.count++;
	return op_put(op, RECORD_DIRS, &key, &dirs);
}

/* Counts one directory less. A damaged count does not keep a directory from being removed. */
static int id_drop(struct op *op)
{
	struct record_key key = record_key_meta("dirs");
	struct record_dirs dirs;
	int rc = dir_counts(op, &dirs);

	if (rc < 0 || dirs.count == 0) {
		why_clear(op->why);
		return rc == -EIO ? 0 : rc;
	}
	dirs.count--;
	return op_put(op, RECORD_DIRS, &key, &dirs);
}

static int make_write(struct op *op, struct dir_call *call)
{
	struct record_dir record = {
		.parent = call->parent,
		.uid = op->caller->uid,
		.gid = call->gid,
		.mode = call->mode & DIR_MODE,
		.atime = op->wall,
		.mtime = op->wall,
		.ctime = op->wall,
		.name = call->name,
		.made = op->wall,
	};
	struct record_key entry = record_key_entry(call->parent, call->name);
	struct record_key key;
	int rc;

	rc = id_take(op, &call->id);
	if (rc < 0)
		return rc;
	key = record_key_number(TABLE_DIR, call->id);
	rc = dir_store(op, call->id, &record);
	if (rc == 0) /* the id as encoded in a key */
		rc = store_put(op->txn, record_key_slice(&entry), (struct slice){ key.data + 1, key.len - 1 });
	if (rc == 0)
		dir_fill(&call->out, call->id, &record);
	return rc;
}

static int make_in_txn(struct op *op)
{
	struct dir_call *call = op->arg;
	struct record_dir parent;
	int rc;

	rc = dir_load(op, call->parent, &parent);
	if (rc != 0)
		return rc < 0 ? rc : refuse_gone(op, "the directory to make it in");
	rc = make_check(op, call);
	if (rc == 0)
		rc = limit_dirs(op);
	if (rc == 0)
		rc = make_write(op, call);
	if (rc == 0)
		rc = parent_update(op, call->parent, &parent, true);
	return rc == 0 ? dir_tell(op, ATLOCK_EVENT_DIR_MADE, name_slice(&call->key)) : rc;
}

int atlock_dir_make(struct atlock *al, uint64_t parent, const char *name, const struct atlock_caller *caller,
		    mode_t mode, gid_t gid, struct atlock_dir *out, struct atlock_why *why)
{
	struct dir_call call = { .mode = mode, .gid = gid };
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	rc = rules_caller(caller, why);
	if (rc == 0)
		rc = call_init(&call, parent, name, why);
	if (rc == 0)
		rc = limit_rate(al, caller, why);
	if (rc < 0)
		return metrics_refused(al, METRICS_DIRECTORY, rc, why);
	rc = op_call(al, caller, METRICS_DIRECTORY, make_in_txn, &call, why);
	if (rc == 0 && out != NULL)
		*out = call.out;
	return rc;
}

static int refuse_lock_inside(struct op *op, struct slice lock, const struct record_lock *record)
{
	char path[ATLOCK_PATH_MAX];
	int rc = dir_path(op, lock, path, sizeof(path));

	if (rc < 0)
		return rc;
	return why_set(op->why, -ENOTEMPTY, ATLOCK_LOCK_EXISTS, "not empty: %s is %s", path,
		       record->grant.state == RECORD_DELAYED ? "resting after its lease ended" : "held");
}

/* Expires the locks of a directory: 0 if none is left. */
static int remove_locks(struct op *op, uint64_t id)
{
	struct atlock_name within;
	struct record_key prefix;
	struct scan scan;
	struct record_lock record;
	struct slice lock;
	int rc;

	dir_key(&within, id, slice_of(""));
	prefix = record_key_of(TABLE_LOCK, name_slice(&within));
	scan = scan_prefix(&prefix);
	while ((rc = scan_next(op, &scan)) == 0) {
		lock = scan_name(&scan);
		rc = expire_lock(op, lock, &record);
		if (rc <= 0)
			return rc < 0 ? rc : refuse_lock_inside(op, lock, &record);
	}
	return rc < 0 ? rc : 0;
}

/* There is no directory to remove: says so, or that a lock has the name. */
static int refuse_no_dir(struct op *op, struct slice key)
{
	struct record_lock record;
	int rc = table_lock_get(op, key, &record);

	if (rc < 0)
		return rc;
	if (rc == 0 && table_grant_is_held(op, &record.grant))
		return rules_refuse_held(op, key, &record, -ENOTDIR, ATLOCK_INVALID_REQUEST, "release it with rm");
	return refuse_gone(op, "the directory");
}

static int remove_check(struct op *op, struct dir_call *call)
{
	struct record_dir record;
	int rc;

	rc = dir_entry(op, call->parent, call->name, &call->id);
	if (rc != 0)
		return rc < 0 ? rc : refuse_no_dir(op, name_slice(&call->key));
	rc = dir_load(op, call->id, &record);
	if (rc != 0)
		return rc < 0 ? rc : op_corrupt(op, name_slice(&call->key), -EBADMSG);
	if (record.children > 0)
		return why_set(op->why, -ENOTEMPTY, ATLOCK_LOCK_EXISTS, "not empty: there are %ju directories in it",
			       (uintmax_t)record.children);
	return remove_locks(op, call->id);
}

static int remove_in_txn(struct op *op)
{
	struct dir_call *call = op->arg;
	struct record_key entry = record_key_entry(call->parent, call->name);
	struct record_dir parent;
	int rc;

	rc = dir_load(op, call->parent, &parent);
	if (rc != 0)
		return rc < 0 ? rc : refuse_gone(op, "the directory it would be in");
	rc = remove_check(op, call);
	if (rc < 0)
		return rc;
	rc = id_drop(op);
	if (rc < 0)
		return rc;
	rc = dir_erase(op, call->id);
	if (rc == 0)
		rc = store_del(op->txn, record_key_slice(&entry));
	if (rc == 0)
		rc = parent_update(op, call->parent, &parent, false);
	return rc == 0 ? dir_tell(op, ATLOCK_EVENT_DIR_REMOVED, name_slice(&call->key)) : rc;
}

int atlock_dir_remove(struct atlock *al, uint64_t parent, const char *name, const struct atlock_caller *caller,
		      struct atlock_why *why)
{
	struct dir_call call = { .id = 0 };
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	rc = call_init(&call, parent, name, why);
	if (rc < 0)
		return metrics_refused(al, METRICS_DIRECTORY, rc, why);
	return op_call(al, caller, METRICS_DIRECTORY, remove_in_txn, &call, why);
}

static int set_in_txn(struct op *op)
{
	const struct dir_call *call = op->arg;
	const struct atlock_dir_change *change = call->change;
	struct record_dir record;
	struct atlock_name key;
	int rc;

	rc = dir_load(op, call->id, &record);
	if (rc != 0)
		return rc < 0 ? rc : refuse_gone(op, "the directory");
	if (change->mode != (mode_t)-1)
		record.mode = change->mode & DIR_MODE;
	if (change->uid != (uid_t)-1)
		record.uid = change->uid;
	if (change->gid != (gid_t)-1)
		record.gid = change->gid;
	if (change->atime != INT64_MIN)
		record.atime = change->atime;
	if (change->mtime != INT64_MIN)
		record.mtime = change->mtime;
	record.ctime = op->wall;
	rc = dir_store(op, call->id, &record);
	if (rc < 0)
		return rc;
	dir_key(&key, record.parent, record.name);
	return dir_tell(op, ATLOCK_EVENT_DIR_CHANGED, name_slice(&key));
}

int atlock_dir_set(struct atlock *al, uint64_t id, const struct atlock_dir_change *change,
		   const struct atlock_caller *caller, struct atlock_why *why)
{
	struct dir_call call = { .id = id, .change = change };
	int rc;

	if (al == NULL || change == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no change given");
	rc = caller == NULL ? 0 : limit_rate(al, caller, why);
	if (rc < 0)
		return metrics_refused(al, METRICS_DIRECTORY, rc, why);
	return op_call(al, caller, METRICS_DIRECTORY, set_in_txn, &call, why);
}
