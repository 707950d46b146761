/*
 * What chmod, chown, utimensat and truncate mean on a lock: set its mode; transfer it; renew or set its lease; and make
 * the next write replace the user's keys. Truncating alone changes nothing: `> f` on a lock that the caller already
 * holds must not lose its keys.
 */
#include <bsd/string.h>
#include <errno.h>
#include <unistd.h>

#include "cache.h"
#include "call_user.h"
#include "handle.h"
#include "lock_file.h"
#include "path.h"
#include "permit.h"
#include "why_lines.h"

#define SET_TIMES (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)

/* The contract (errno table) has EPERM for all of these, whatever the other holder is. */
static int set_error(int err)
{
	return err == -EACCES || err == -EBUSY ? -EPERM : err == 1 ? -ENOENT : err;
}

/* truncate(2) by name needs the same access as open(2) for writing. */
static int set_may_write(struct call *call, const struct node *node, const struct atlock_name *name)
{
	struct atlock_view view = { 0 };
	int err = atlock_get(call->al, name, &view);

	if (err == 0)
		err = lock_may(call, node, &view, W_OK);
	atlock_view_clear(&view);
	return err < 0 ? err : 0;
}

static int set_size(struct call *call, const struct node *node, struct handle *handle, const struct atlock_request *req,
		    off_t size)
{
	struct atlock_view view = { 0 };
	bool ended;
	int err = handle == NULL ? set_may_write(call, node, req->name) : 0;

	if (err < 0)
		return err;
	err = atlock_holds(call->al, req->name, req->caller, &view, &call->why);
	ended = req->token != 0 && (err == 1 || (err == 0 && view.token != req->token));

	atlock_view_clear(&view);
	if (ended)
		return lock_refuse_stale(call, node);
	err = set_error(err);
	if (err < 0)
		return err;
	if (size != 0)
		return call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST,
				   "a lock's text can only be truncated to 0 bytes, for the next write to replace it");
	return handle_replace(handle);
}

/* `chown bob f`: the lock becomes bob's, under the same who. */
static int set_owner(struct call *call, const struct atlock_request *req, const struct stat *want, int which)
{
	struct atlock_caller to;
	struct atlock_request forced = *req;
	struct atlock_view view = { 0 };
	gid_t gid = (which & FUSE_SET_ATTR_GID) != 0 ? want->st_gid : (gid_t)-1;
	int err = atlock_get(call->al, req->name, &view);

	if (err != 0)
		return set_error(err);
	forced.force = req->caller->admin || atlock_lends(call->al, req->caller, "transfer", req->name);
	if ((which & FUSE_SET_ATTR_UID) && want->st_uid != view.uid) {
		if (!forced.force)
			err = call_refuse(
				call, -EPERM, ATLOCK_PERMISSION_DENIED,
				"only an administrator may chown a lock; its holder may write owner= and who= to it");
		else if (atlock_who_is_flock(view.who))
			err = call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
					  "an open file holds this lock and ends it: it cannot be given away");
		if (err == 0)
			err = atlock_identify(call->al, call->ctx->pid, want->st_uid, gid == (gid_t)-1 ? view.gid : gid,
					      "x", &to, &call->why);
		if (err == 0 && strlcpy(to.who, view.who, sizeof(to.who)) >= sizeof(to.who))
			err = -EINVAL;
		if (err == 0)
			err = atlock_transfer(call->al, &forced, &to, &call->why);
	} else if (gid != (gid_t)-1 && gid != view.gid) {
		if (!permit_group(call, gid))
			err = call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
					  "you may give a lock only to groups that you are in");
		else
			err = atlock_chgrp(call->al, req, gid, &call->why);
	}
	atlock_view_clear(&view);
	return set_error(err);
}

#define TENTH (ATLOCK_SECOND / 10)

/*
 * The lease from now until then. `touch -d '+1 hour'` reaches us some microseconds later, and means an hour: a long
 * lease is rounded to a tenth of a second.
 */
static int64_t lease_until(struct call *call, const struct timespec *at)
{
	int64_t wall = atlock_wall(call->al, atlock_now(call->al));
	int64_t ttl;

	if (at->tv_sec < 0)
		return -1;
	if ((int64_t)at->tv_sec > INT64_MAX / ATLOCK_SECOND - 1)
		return ATLOCK_NEVER;
	ttl = (int64_t)at->tv_sec * ATLOCK_SECOND + at->tv_nsec - wall;
	return ttl < 100 * TENTH ? ttl : (ttl + TENTH / 2) / TENTH * TENTH;
}

/*
 * The second step of touch(1): the thread that took the lock a moment ago sets its times to now, through the open file,
 * which FUSE does not tell us. Its lease has just begun. Renewing it would cost another commit, which the caller waits
 * for, and an event, for nothing: a moment is less than a second, and less than a hundredth of the lease. Another
 * process does mean to renew, and so does a caller after a change of the lock: both leases count from now.
 */
static bool set_is_new(struct call *call, const struct atlock_request *req)
{
	struct atlock_view view = { 0 };
	bool is_new;

	/* A caller that does not hold the lock is refused by the next step. */
	if (atlock_holds(call->al, req->name, req->caller, &view, NULL) != 0)
		return false;
	is_new = view.state == ATLOCK_ACQUIRED && view.version == 1 && view.pid > 0 && view.pid == req->caller->pid &&
		 (req->token == 0 || view.token == req->token);
	if (is_new) {
		int64_t moment = view.ttl / 100 < ATLOCK_SECOND ? view.ttl / 100 : ATLOCK_SECOND;

		is_new = atlock_now(call->al) - view.acquired_at < moment;
	}
	atlock_view_clear(&view);
	return is_new;
}

/*
 * `touch -d` of a free lock takes it and then sets its time. If that is refused, touch(1) fails, and must not leave behind a
 * lock that its user does not know of: what its first step took is released.
 */
static void set_give_up(struct call *call, const struct atlock_request *req)
{
	struct atlock_why ignored;

	if (set_is_new(call, req))
		(void)atlock_release(call->al, req, NULL, &ignored);
}

/*
 * Now renews the lease; a future time is its end. Any other time would be a lie about the past. touch(1) also comes
 * here when its open was refused, and prints the error of the open: so `why` must keep the reason for that.
 */
static int set_times(struct call *call, struct atlock_request req, const struct stat *want, int which)
{
	const struct timespec *at = (which & FUSE_SET_ATTR_MTIME) != 0 ? &want->st_mtim : &want->st_atim;
	unsigned int own = 0;
	int err;

	req.force = false;
	if ((which & (FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)) == 0) {
		req.ttl = lease_until(call, at);
		if (req.ttl <= 0) {
			err = set_error(atlock_holds(call->al, req.name, req.caller, NULL, &call->why));
			if (err == 0)
				set_give_up(call, &req);
			return err < 0 ? err
				       : call_refuse(
						 call, -EINVAL, ATLOCK_INVALID_REQUEST,
						 "a lock's time is set to now (renew) or to the end of its lease, not to the past");
		}
	} else if (set_is_new(call, &req)) {
		return 0;
	}
	/* A lease that gets longer leaves all that the kernel caches true. */
	req.own = req.ttl == 0 && req.name->who[0] == '\0' ? &own : NULL;
	err = atlock_renew(call->al, &req, NULL, &call->why);
	if (err == -EINVAL)
		set_give_up(call, &req);
	cache_own(call->fs->cache, req.name, own);
	/* The caller holds it, but the lock's use is no longer allowed. */
	if (err == -EBUSY && call->why.code == ATLOCK_IN_USE)
		return err;
	err = set_error(err);
	if (err == -EPERM && why_told_held(call->fs->whys, call->ctx, &call->why))
		call_told(call);
	return err;
}

int lock_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	const struct atlock_caller *opener = handle_caller(handle);
	struct atlock_caller caller;
	struct atlock_name name;
	struct atlock_request req = { .name = &name, .caller = &caller };
	int err = path_node_lock(call, node, &name);

	if (err < 0)
		return err;
	if (opener != NULL) {
		caller = *opener;
		req.token = handle->token;
	} else {
		err = permit_dir(call, node->parent, X_OK);
		if (err == 0)
			err = caller_naming(call, &name, &caller);
	}
	if (err != 0)
		return err;
	req.force = caller.admin;
	if ((which & FUSE_SET_ATTR_SIZE) != 0)
		err = set_size(call, node, handle, &req, want->st_size);
	if (err == 0 && (which & FUSE_SET_ATTR_MODE))
		err = set_error(atlock_chmod(call->al, &req, want->st_mode & 0777U, &call->why));
	if (err == 0 && (which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)))
		err = set_owner(call, &req, want, which);
	if (err == 0 && (which & SET_TIMES))
		err = set_times(call, req, want, which);
	return err;
}
