/* The directories of queue/: those that lead to a queue with waiters. */
#include <errno.h>

#include "child_walk.h"
#include "dir_path.h"
#include "lock_name.h"
#include "place.h"

struct list {
	struct atlock_name prefix; /* as of name_prefix() */
	uint64_t dir;
	struct atlock_place *place;
	atlock_group_fn *fn;
	void *arg;
};

static int list_run(struct atlock *al, struct list *list, op_fn *fn)
{
	int rc;

	rc = op_list(al, fn, list);
	return rc < 0 ? rc : 0;
}

/* Whether a lock whose key begins with `begin` has waiters: 0 or 1 (none). */
static int queue_any(struct op *op, struct slice begin)
{
	struct record_key key = record_key_of(TABLE_QUEUE, begin);
	struct slice found;

	return store_next(op->txn, record_key_slice(&key), record_key_slice(&key), &found, NULL);
}

/* --- queue/ --- */

static int trees_in_txn(struct op *op)
{
	static const struct {
		const char *name;
		char key;
	} trees[] = {
		{ "custom", NAME_TREE_CUSTOM },
		{ "global", NAME_TREE_GLOBAL },
		{ "repos", NAME_TREE_REPOS },
		{ "shared", NAME_TREE_SHARED },
	};
	const struct list *list = op->arg;
	unsigned char shown = place_part(list->place);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(trees) / sizeof(trees[0]); i++) {
		if ((unsigned char)trees[i].key <= shown)
			continue;
		rc = queue_any(op, (struct slice){ &trees[i].key, 1 });
		if (rc == 0) {
			place_set(list->place, (unsigned char)trees[i].key, (struct slice){ NULL, 0 });
			rc = list->fn(list->arg, trees[i].name);
		} else if (rc == 1) {
			rc = 0;
		}
	}
	return rc;
}

/* --- Other trees than custom/: keys are paths --- */

/* Shows each child that has a queue, of a name that others begin with. */
static int children_show(struct op *op, const struct list *list, const struct atlock_name *within)
{
	struct record_key prefix = record_key_of(TABLE_QUEUE, name_slice(within));
	struct child_walk child;
	int rc;

	child_walk_start(&child, &prefix, list->place);
	while ((rc = child_walk_next(op, &child)) == 0) {
		rc = list->fn(list->arg, child.component);
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static int paths_in_txn(struct op *op)
{
	const struct list *list = op->arg;

	return children_show(op, list, &list->prefix);
}

int atlock_queue_children(struct atlock *al, const char *dir, struct atlock_place *place, atlock_group_fn *fn,
			  void *arg)
{
	struct list list = { .place = place, .fn = fn, .arg = arg };
	int rc;

	if (al == NULL || dir == NULL || fn == NULL)
		return -EINVAL;
	if (dir[0] == '\0')
		return list_run(al, &list, trees_in_txn);
	rc = name_prefix(dir, &list.prefix, NULL);
	return rc < 0 ? rc : list_run(al, &list, paths_in_txn);
}

/* --- Directories of custom/: keys have ids --- */

#define PART_DIR 'd' /* the directories; CHILD_PART, the locks, comes after it */

/* Finds the first subdirectory after a name: 0 or 1. `name` points into the store. */
static int subdir_next(struct op *op, uint64_t parent, struct slice after, struct slice *name, uint64_t *id)
{
	struct record_key prefix = record_key_number(TABLE_ENTRY, parent);
	struct record_key from = prefix;
	struct slice key;
	struct slice value;
	int rc;

	if (after.data != NULL) {
		from = record_key_entry(parent, after);
		from = record_key_after(record_key_slice(&from));
	}
	rc = store_next(op->txn, record_key_slice(&from), record_key_slice(&prefix), &key, &value);
	if (rc != 0)
		return rc;
	if (value.len != sizeof(*id))
		return op_corrupt(op, key, -EBADMSG);
	*name = (struct slice){ (const char *)key.data + prefix.len, key.len - prefix.len };
	*id = record_number(value.data);
	return 0;
}

static int waits_in(struct op *op, uint64_t dir)
{
	struct atlock_name within;

	dir_key(&within, dir, slice_of(""));
	return queue_any(op, name_slice(&within));
}

/* Finds the directory after `at`, depth first, among those below `top`: 0 or 1. Needs no stack: a record names its parent. */
static int dir_next(struct op *op, uint64_t top, uint64_t *at)
{
	struct record_dir record;
	struct slice name;
	int rc = subdir_next(op, *at, (struct slice){ NULL, 0 }, &name, at);

	while (rc == 1 && *at != top) {
		rc = dir_load(op, *at, &record);
		if (rc != 0)
			return rc;
		*at = record.parent;
		rc = subdir_next(op, record.parent, record.name, &name, at);
	}
	return rc;
}

/* Whether a lock in a directory or below it has waiters: 0 or 1. */
static int waits_below(struct op *op, uint64_t top)
{
	struct record_dirs dirs;
	uint64_t at = top;
	int rc = dir_counts(op, &dirs);

	/* At most as many steps as there are directories, in case damage made a loop of them. */
	for (uint64_t left = rc < 0 ? 0 : dirs.count; rc >= 0 && left > 0; left--) {
		rc = waits_in(op, at);
		if (rc <= 0)
			return rc;
		rc = dir_next(op, top, &at);
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : 1;
}

static int show_dir(const struct list *list, struct slice name)
{
	char component[ATLOCK_COMPONENT_MAX + 1];

	if (name.len == 0 || name.len > ATLOCK_COMPONENT_MAX)
		return 0;
	place_set(list->place, PART_DIR, name);
	memcpy(component, name.data, name.len);
	component[name.len] = '\0';
	return list->fn(list->arg, component);
}

static int show_dirs(struct op *op, const struct list *list)
{
	struct slice name = place_text(list->place, PART_DIR);
	uint64_t id = 0;
	int rc;

	while ((rc = subdir_next(op, list->dir, name, &name, &id)) == 0) {
		rc = waits_below(op, id);
		if (rc == 0)
			rc = show_dir(list, name);
		else if (rc == 1)
			rc = 0;
		if (rc != 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static int show_locks(struct op *op, const struct list *list)
{
	struct atlock_name within;

	dir_key(&within, list->dir, slice_of(""));
	return children_show(op, list, &within);
}

static int dir_in_txn(struct op *op)
{
	const struct list *list = op->arg;
	struct record_dir record;
	int rc = dir_load(op, list->dir, &record);

	if (rc == 1)
		return -ENOENT;
	if (rc == 0 && place_part(list->place) != CHILD_PART)
		rc = show_dirs(op, list);
	return rc != 0 ? rc : show_locks(op, list);
}

int atlock_queue_dir_children(struct atlock *al, uint64_t dir, struct atlock_place *place, atlock_group_fn *fn,
			      void *arg)
{
	struct list list = { .dir = dir, .place = place, .fn = fn, .arg = arg };

	return al == NULL || fn == NULL ? -EINVAL : list_run(al, &list, dir_in_txn);
}
