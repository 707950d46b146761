/*
 * Virtual directories: repos/ and everything above its locks, and global/. Every valid one exists; it lists what exists
 * below it. They are 0777 and not sticky: the manager decides who may release a lock.
 */
#include <errno.h>

#include "listing.h"
#include "lock_file.h"
#include "path.h"
#include "rows.h"
#include "steady.h"

static int virtual_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	struct atlock_name lock;
	uint64_t id;
	int kind = path_kind(call, dir, name, &id, &lock);

	if (kind == ATLOCK_PATH_LOCK)
		return lock_found(call, dir, &lock, out);
	if (kind < 0)
		return kind;
	return steady_found(call, &kind_virtual, out);
}

static int list_child(void *arg, const char *component, const struct atlock_view *view)
{
	return listing_add(arg, component, view == NULL ? S_IFDIR : S_IFREG);
}

static int virtual_list(struct call *call, struct node *dir, struct listing *out)
{
	char path[ATLOCK_PATH_MAX];
	int err = path_print(dir, "", path);

	return err < 0 ? err : atlock_children(call->al, path, listing_place(out), list_child, out);
}

/* A lookup has found no directory of this name, so it is the name of a free lock. */
static int virtual_mkdir(struct call *call, struct node *dir, const char *name, mode_t mode, struct found *out)
{
	(void)dir, (void)mode, (void)out;
	return call_refuse(call, -EPERM, ATLOCK_INVALID_REQUEST,
			   "\"%s\" is the name of a lock here, not of a directory: touch it to take it", name);
}

static int count_child(void *arg, const char *component, const struct atlock_view *view)
{
	(void)component, (void)view;
	*(bool *)arg = true;
	return 1;
}

/* Removing a virtual directory changes nothing, but `rm -r` and tidy scripts expect it to work. */
static int virtual_rmdir(struct call *call, struct node *dir, const char *name)
{
	char path[ATLOCK_PATH_MAX];
	bool any = false;
	uint64_t id;
	int err = path_kind(call, dir, name, &id, NULL);

	if (err != ATLOCK_PATH_DIR)
		return err < 0 ? err : -ENOTDIR;
	err = path_print(dir, name, path);
	if (err == 0)
		err = atlock_children(call->al, path, NULL, count_child, &any);
	if (err < 0)
		return err;
	return any ? -ENOTEMPTY : 0;
}

const struct kind kind_virtual = {
	.type = S_IFDIR,
	.mode = 0777,
	.hint = "locks are repos/<repository>/-/<directory>/-/<workspace>, global/<command> "
		"and files below custom/",
	.missing =
		"a free lock is not there until it is touched, and nothing is below a lock; a slash inside a name is spelled %2F",
	.plus = true,
	.permits = true,
	.unmade = true,
	.stat = steady_stat,
	.lookup = virtual_lookup,
	.list = virtual_list,
	.mkdir = virtual_mkdir,
	.rmdir = virtual_rmdir,
	.create = lock_create,
	.unlink = lock_unlink,
};
