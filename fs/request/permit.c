#include "permit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "attr.h"
#include "cache.h"
#include "dir_access_cache.h"
#include "handle.h"
#include "refuse.h"

#define SET_TIMES (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)
#define SET_NOW (FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)

bool permit_group(struct call *call, gid_t gid)
{
	gid_t *list;
	bool found = false;
	int n;

	if (call->ctx->uid == 0 || call->ctx->gid == gid)
		return true;
	/*
	 * The supplementary groups of the opener are unknown, and those of the process that uses the file are not his.
	 */
	if (call->ctx != fuse_req_ctx(call->req))
		return false;
	for (size_t i = 0; call->groups != NULL && i < call->group_count; i++)
		found = found || call->groups[i] == gid;
	if (call->groups != NULL)
		return found;
	n = fuse_req_getgroups(call->req, 0, NULL);
	if (n <= 0)
		return false;
	list = calloc((size_t)n, sizeof(*list));
	if (list == NULL)
		return false;
	if (fuse_req_getgroups(call->req, n, list) == n)
		for (int i = 0; i < n; i++)
			found = found || list[i] == gid;
	free(list);
	return found;
}

int permit_mode(struct call *call, mode_t mode, uid_t uid, gid_t gid, int want)
{
	mode_t bits = mode;

	if (call->ctx->uid == 0)
		return 0;
	if (call->ctx->uid == uid)
		bits >>= 6;
	else if ((bits >> 3 & 7) != (bits & 7) && permit_group(call, gid))
		bits >>= 3;
	if ((bits & (mode_t)want) == (mode_t)want)
		return 0;
	return call_refuse(call, -EACCES, ATLOCK_PERMISSION_DENIED, "its mode %03o, uid %u and gid %u do not let you",
			   mode & 07777U, uid, gid);
}

/* permit_mode() for a directory of custom/; the reason names it. */
static int dir_permit(struct call *call, const struct atlock_dir *dir, int want)
{
	if (permit_mode(call, dir->mode, dir->uid, dir->gid, want) == 0)
		return 0;
	return call_refuse(call, -EACCES, ATLOCK_PERMISSION_DENIED,
			   "the directory \"%s\" of custom/ does not let you: mode %03o, uid %u, gid %u", dir->name,
			   dir->mode & 07777U, dir->uid, dir->gid);
}

static int dir_may(struct call *call, const struct node *dir, int want)
{
	struct atlock_dir found;
	struct dir_access access;
	int err = dir_access_get(call, dir->dir, &access);

	if (err < 0 || permit_mode(call, access.mode, access.uid, access.gid, want) == 0)
		return err;
	/* Read the name, for the reason. */
	err = atlock_dir_get(call->al, dir->dir, &found);
	return err < 0 ? err : dir_permit(call, &found, want);
}

/* Whether the caller may search all directories above `dir`. */
static int dir_reach(struct call *call, const struct node *dir)
{
	int err = 0;

	for (dir = dir->parent; err == 0 && dir != NULL && dir->dir != NODE_NO_DIR; dir = dir->parent)
		err = dir_may(call, dir, X_OK);
	/* A process whose working directory was removed may still use it, whatever the directories above say. */
	return err == -ENOENT ? 0 : err;
}

int permit_reach(struct call *call, const struct node *dir)
{
	if (dir->dir == NODE_NO_DIR || call->ctx->uid == 0 || !cache_closed_lately(call->fs->cache))
		return 0;
	return dir_reach(call, dir);
}

int permit_dir(struct call *call, const struct node *dir, int want)
{
	int err;

	if (dir->dir == NODE_NO_DIR || call->ctx->uid == 0)
		return 0;
	err = dir_may(call, dir, want);
	return err == 0 ? permit_reach(call, dir) : err;
}

int permit_see(struct call *call, const struct node *node)
{
	const struct node *dir = node->parent;
	int err;

	/* A queue has the permissions of its lock's directory. */
	if (dir != NULL && dir->kind->mirror && dir->dir == NODE_NO_DIR)
		dir = dir->parent;
	if (dir == NULL || dir->dir == NODE_NO_DIR || call->ctx->uid == 0)
		return 0;
	err = dir_may(call, dir, X_OK);
	if (err == 0)
		err = dir_reach(call, dir);
	return err == -ENOENT ? 0 : err;
}

int permit_change(struct call *call, const struct node *dir)
{
	return permit_dir(call, dir, W_OK | X_OK);
}

int permit_remove(struct call *call, const struct node *dir, uid_t uid)
{
	struct dir_access access;
	int err = permit_change(call, dir);

	if (err != 0 || dir->dir == NODE_NO_DIR || call->ctx->uid == 0 || call->ctx->uid == uid)
		return err;
	err = dir_access_get(call, dir->dir, &access);
	if (err < 0 || (access.mode & S_ISVTX) == 0 || access.uid == call->ctx->uid)
		return err;
	return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
			   "the directory is sticky: only its owner or the owner of what is in it may remove that");
}

void permit_limit_life(struct call *call, const struct node *dir, struct life *life)
{
	struct dir_access access;

	if (dir->dir == NODE_NO_DIR || life->entry <= 0)
		return;
	if (dir_access_get(call, dir->dir, &access) < 0 || (access.mode & 0111U) != 0111U)
		life->entry = 0;
}

/* permit_mode() for a node with these attributes; the reason names it. */
static int permit_stat(struct call *call, const struct node *node, const struct stat *st, int want)
{
	int err = permit_mode(call, st->st_mode, st->st_uid, st->st_gid, want);

	return err < 0 ? refuse_mode(call, node, st) : 0;
}

int permit_attr(struct call *call, struct node *node, struct stat *st)
{
	struct life life;

	if (!node->kind->passing)
		return node->kind->stat(call, node, st, &life);
	attr_passing(call->fs, 0444, 0, st);
	return 0;
}

int permit(struct call *call, struct node *node, int want)
{
	struct stat st;
	struct dir_access access;
	int err;

	if (call->ctx->uid == 0 || node->kind->permits)
		return 0;
	if (node->dir != NODE_NO_DIR && dir_access_get(call, node->dir, &access) == 0 &&
	    permit_mode(call, access.mode, access.uid, access.gid, want) == 0)
		return permit_reach(call, node);
	err = permit_attr(call, node, &st);
	if (err == 0)
		err = permit_stat(call, node, &st, want);
	return err < 0 ? err : permit_reach(call, node);
}

int permit_want(int flags)
{
	int access = flags & O_ACCMODE;
	int want = access == O_RDONLY ? R_OK : access == O_WRONLY ? W_OK : R_OK | W_OK;

	return (flags & O_TRUNC) != 0 ? want | W_OK : want;
}

/*
 * touch(1) of a directory sets its times to now, also where it cannot open it. A user who meant a lock would believe to
 * hold it. So only the owner, who made the directory, may do that; not even root on another's.
 */
static int permit_touch(struct call *call, struct node *node)
{
	struct life life;
	struct stat st;
	int err = node->kind->set == NULL ? 0 : node->kind->stat(call, node, &st, &life);

	if (err < 0)
		return err;
	return node->kind->set != NULL && st.st_uid == call->ctx->uid ? 0 : refuse_touch(call, node);
}

int permit_set(struct call *call, struct node *node, const struct handle *handle, struct stat *want, int which)
{
	struct life life;
	struct stat st;
	bool own;
	int err = 0;

	if (S_ISDIR(node->kind->type) && (which & SET_NOW) != 0)
		err = permit_touch(call, node);
	if (err < 0 || call->ctx->uid == 0 || node->kind->permits)
		return err;
	err = node->kind->stat(call, node, &st, &life);
	if (err == 0)
		err = permit_reach(call, node);
	if (err < 0)
		return err;
	own = st.st_uid == call->ctx->uid;
	if ((which & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0 && !own)
		return refuse_owner(call, node, &st);
	if ((which & FUSE_SET_ATTR_UID) != 0 && want->st_uid != st.st_uid)
		return refuse_owner(call, node, &st);
	if ((which & FUSE_SET_ATTR_GID) != 0 && want->st_gid != st.st_gid && !permit_group(call, want->st_gid))
		return refuse_owner(call, node, &st);
	if ((which & FUSE_SET_ATTR_MODE) != 0 && !permit_group(call, st.st_gid))
		want->st_mode &= ~(mode_t)S_ISGID;
	if ((which & SET_TIMES) != 0 && (which & SET_NOW) == 0 && !own)
		return refuse_owner(call, node, &st);
	if ((which & SET_NOW) != 0 && !own)
		return permit_stat(call, node, &st, W_OK);
	if ((which & FUSE_SET_ATTR_SIZE) != 0 && (handle == NULL || !handle_writes(handle)))
		return permit_stat(call, node, &st, W_OK);
	return 0;
}
