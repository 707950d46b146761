/* Directories of custom/: ordinary ones, with owner, mode and times kept in the store. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "attr_of.h"
#include "cache.h"
#include "dir_access_cache.h"
#include "listing.h"
#include "lock_file.h"
#include "permit.h"
#include "rows.h"

static int custom_fill(struct call *call, const struct node *parent, const struct atlock_dir *dir, struct found *out)
{
	out->kind = &kind_custom;
	out->dir = dir->id;
	attr_custom(dir, &out->st);
	out->life = (struct life){ .entry = atlock_is_shared(call->al) ? 0 : CACHE_DIR_LIFE };
	permit_limit_life(call, parent, &out->life);
	return 0;
}

static int custom_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	struct atlock_dir dir;
	int err = call->act == ACT_LOOK ? atlock_dir_recent(call->al, node->dir, &dir)
					: atlock_dir_get(call->al, node->dir, &dir);

	if (err != 0)
		return err < 0 ? err : -ENOENT;
	attr_custom(&dir, st);
	*life = (struct life){ 0 };
	return 0;
}

static int custom_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	struct atlock_dir found;
	int err = atlock_dir_find_recent(call->al, dir->dir, name, &found);

	if (err == 0)
		return custom_fill(call, dir, &found, out);
	/* No directory can have such a name, but a lock may: "a@b" is the lock "a". */
	if (err != -ENOENT && err != -EINVAL)
		return err;
	err = lock_lookup(call, dir, name, out);
	/* Looking for the lock has asked the engine of a shared store what other hosts have done: a directory may be there by now. */
	if (err == -ENOENT && atlock_is_shared(call->al) &&
	    atlock_dir_find_recent(call->al, dir->dir, name, &found) == 0)
		return custom_fill(call, dir, &found, out);
	return err;
}

struct custom_listing {
	struct listing *out;
	struct atlock *al;
	int err;
};

/* A lock's own name is the last component of its path. */
static int list_entry(void *arg, const struct atlock_dir *dir, const struct atlock_view *lock)
{
	struct custom_listing *list = arg;
	char path[ATLOCK_PATH_MAX];

	if (dir != NULL) {
		list->err = listing_add(list->out, dir->name, S_IFDIR);
		return list->err;
	}
	list->err = atlock_name_show(list->al, &lock->name, path, sizeof(path));
	if (list->err == 0) {
		const char *slash = strrchr(path, '/');

		list->err = listing_add(list->out, slash == NULL ? path : slash + 1, S_IFREG);
	}
	return list->err;
}

static int custom_list(struct call *call, struct node *dir, struct listing *out)
{
	struct custom_listing list = { .out = out, .al = call->al };
	int err = atlock_dir_list(call->al, dir->dir, listing_place(out), list_entry, &list);

	return list.err < 0 ? list.err : err < 0 ? err : 0;
}

/* As on any file system: a set-group-ID directory passes its group, and the bit itself, on to what is made in it. */
static int custom_mkdir(struct call *call, struct node *dir, const char *name, mode_t mode, struct found *out)
{
	struct atlock_caller caller;
	struct atlock_dir parent;
	struct atlock_dir made;
	bool inherit;
	int err = permit_change(call, dir);

	if (err == 0)
		err = caller_user(call, &caller);
	if (err == 0)
		err = atlock_dir_get(call->al, dir->dir, &parent);
	if (err != 0)
		return err < 0 ? err : -ENOENT;
	inherit = (parent.mode & S_ISGID) != 0;
	err = atlock_dir_make(call->al, dir->dir, name, &caller, (mode & 01777U) | (inherit ? S_ISGID : 0U),
			      inherit ? parent.gid : call->ctx->gid, &made, &call->why);
	return err < 0 ? err : custom_fill(call, dir, &made, out);
}

static int custom_rmdir(struct call *call, struct node *dir, const char *name)
{
	struct atlock_caller caller;
	struct atlock_dir victim;
	int err = atlock_dir_find(call->al, dir->dir, name, &victim);

	if (err != 0)
		return err < 0 ? err : -ENOENT;
	err = permit_remove(call, dir, victim.uid);
	if (err == 0)
		err = caller_user(call, &caller);
	if (err < 0)
		return err;
	err = atlock_dir_remove(call->al, dir->dir, name, &caller, &call->why);
	dir_access_changed(call->fs->dir_access);
	return err > 0 ? -ENOENT : err;
}

/* A time as the manager takes it; INT64_MIN: unchanged. Later times than 2262 do not fit and are cut there. */
static int64_t custom_time(const struct timespec *at, bool set)
{
	const int64_t most = INT64_MAX / ATLOCK_SECOND - 1;

	if (!set)
		return INT64_MIN;
	if (at->tv_sec > most || at->tv_sec < -most)
		return (at->tv_sec < 0 ? -most : most) * ATLOCK_SECOND;
	return (int64_t)at->tv_sec * ATLOCK_SECOND + at->tv_nsec;
}

/* permit_set() has checked the caller already. The owner is checked again here, against what the store says now. */
static int custom_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	struct atlock_dir_change change = {
		.mode = (which & FUSE_SET_ATTR_MODE) != 0 ? want->st_mode & 07777U : (mode_t)-1,
		.uid = (which & FUSE_SET_ATTR_UID) != 0 ? want->st_uid : (uid_t)-1,
		.gid = (which & FUSE_SET_ATTR_GID) != 0 ? want->st_gid : (gid_t)-1,
	};
	struct atlock_caller caller;
	struct timespec now;
	struct atlock_dir dir;
	int err = atlock_dir_get(call->al, node->dir, &dir);

	clock_gettime(CLOCK_REALTIME, &now);
	change.atime = custom_time((which & FUSE_SET_ATTR_ATIME_NOW) != 0 ? &now : &want->st_atim,
				   (which & FUSE_SET_ATTR_ATIME) != 0);
	change.mtime = custom_time((which & FUSE_SET_ATTR_MTIME_NOW) != 0 ? &now : &want->st_mtim,
				   (which & FUSE_SET_ATTR_MTIME) != 0);
	(void)handle;
	if (err != 0)
		return err < 0 ? err : -ENOENT;
	if (call->ctx->uid != 0 && (which & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0 &&
	    call->ctx->uid != dir.uid)
		return -EPERM;
	if (call->ctx->uid != 0 && (which & FUSE_SET_ATTR_UID) && change.uid != dir.uid)
		return -EPERM;
	err = caller_user(call, &caller);
	if (err < 0)
		return err;
	err = atlock_dir_set(call->al, node->dir, &change, &caller, &call->why);
	dir_access_changed(call->fs->dir_access);
	if (err == 0 && (which & FUSE_SET_ATTR_MODE) != 0 && (want->st_mode & 0111U) != 0111U)
		cache_closed(call->fs->cache);
	return err > 0 ? -ENOENT : err;
}

const struct kind kind_custom = {
	.type = S_IFDIR,
	.hint = "only its owner may chmod or touch it, and only an administrator may chown it",
	.missing =
		"mkdir it if it is to be a directory; a free lock is not there until it is touched, and nothing is below a lock",
	.plus = true,
	.stat = custom_stat,
	.set = custom_set,
	.lookup = custom_lookup,
	.list = custom_list,
	.mkdir = custom_mkdir,
	.rmdir = custom_rmdir,
	.create = lock_create,
	.unlink = lock_unlink,
};
