/* A lock as a file: look up, open, read, check permissions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attr_of.h"
#include "cache.h"
#include "call_user.h"
#include "ending.h"
#include "flocked.h"
#include "handle.h"
#include "lock_file.h"
#include "open_files.h"
#include "path.h"
#include "permit.h"
#include "rows.h"

/*
 * A lock granted to a ticket must be taken up, by any access under its own "@" name; a session, which has no such name,
 * takes it up by opening it. An access by any other caller changes nothing, so a refusal is no error here.
 */
static bool lock_take_up(struct call *call, const struct atlock_name *name)
{
	struct atlock_caller caller;
	struct atlock_why why;

	if (atlock_identify(call->al, call->ctx->pid, call->ctx->uid, call->ctx->gid, name->who, &caller, &why) < 0)
		return false;
	atlock_caller_look(call->al, &caller);
	return atlock_claim(call->al, &(struct atlock_request){ .name = name, .caller = &caller }, &why) == 0;
}

int lock_ends(struct call *call, const struct atlock_name *name)
{
	struct atlock_view view = { 0 };
	int err = atlock_get(call->al, name, &view);
	int ends = err == 1 ? ENDING_OVER : 0;

	if (err == 0 && atlock_who_is_flock(view.who))
		ends = ending_then(call, view.token);
	atlock_view_clear(&view);
	return ends;
}

/* Reads a lock for its attributes: 0, 1 if it is free, or CALL_LATER. The caller clears the view in any case. */
static int lock_view(struct call *call, const struct atlock_name *name, struct atlock_view *view)
{
	int err = atlock_get(call->al, name, view);
	int ends = err == 0 && atlock_who_is_flock(view->who) ? ending_then(call, view->token) : 0;

	if (ends == CALL_LATER)
		return CALL_LATER;
	if (ends == ENDING_OVER) {
		atlock_view_clear(view);
		err = atlock_get(call->al, name, view);
	}
	if (err == 0 && name->who[0] != '\0' && view->state == ATLOCK_PENDING)
		(void)lock_take_up(call, name);
	/* A host that has fetched the realm again does not know since when it is held: the holder is told once it has renewed it. */
	if (err == 1 && view->unsure && lock_take_up(call, name))
		err = atlock_get(call->al, name, view);
	return err;
}

int lock_stat(struct call *call, const struct atlock_name *name, bool sized, struct stat *st, struct life *life)
{
	struct cache_stamp stamp = cache_stamp(call->fs->cache, name);
	struct atlock_view view = { 0 };
	int err = lock_view(call, name, &view);

	*life = (struct life){ 0 };
	if (err == 0) {
		*life = cache_life(call, name, view.who, view.expires_at, stamp);
		err = attr_lock(call, &view, sized, st);
	} else if (err == 1) {
		attr_free_lock(call, st);
	}
	atlock_view_clear(&view);
	return err;
}

/*
 * The kernel may cache the name only if it means the same to all users, and will for a while: then the size is
 * reported, too.
 */
int lock_found(struct call *call, struct node *dir, const struct atlock_name *lock, struct found *out)
{
	struct cache_stamp stamp = cache_stamp(call->fs->cache, lock);
	struct atlock_view view = { 0 };
	int err = lock_view(call, lock, &view);

	/*
	 * "@who" names a holder, which is owner and who: another user's lock of the same who is a different one, except
	 * for callers who may override it, and pull_users.
	 */
	if (err == 0 && lock->who[0] != '\0' && view.uid != call->ctx->uid && call->ctx->uid != 0 &&
	    !caller_continues(call, lock) && !caller_overrides(call, lock))
		err = 1;
	if (err == 0) {
		out->kind = &kind_lock;
		if (!atlock_hides(call->al) && cache_quiet(call->fs->cache, lock))
			out->life = cache_life(call, lock, view.who, view.expires_at, stamp);
		out->life.stamp = stamp;
		out->counted = !atlock_hides(call->al);
		permit_limit_life(call, dir, &out->life);
		out->sized = out->life.entry > 0;
		err = attr_lock(call, &view, out->sized, &out->st);
	}
	atlock_view_clear(&view);
	return err != 1 ? err : flocked_failed(call) ? -EIO : -ENOENT;
}

int lock_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	struct atlock_name lock;
	int err = path_lock(call, dir, name, &lock);

	return err < 0 ? err : lock_found(call, dir, &lock, out);
}

/* A user of pull_users who is the holder has the holder's rights. */
static bool continues_and_may(struct call *call, const struct node *node, const struct atlock_view *view, int want)
{
	struct atlock_why why = call->why;
	struct atlock_name name;

	if (path_node_lock(call, node, &name) < 0 || name.who[0] == '\0' || !caller_continues(call, &name) ||
	    permit_mode(call, view->mode, call->ctx->uid, view->gid, want) < 0) {
		call->why = why;
		return false;
	}
	call->why.text[0] = '\0';
	return true;
}

/* The kernel may have found the name in its cache, so the directory is checked here as well. */
int lock_may(struct call *call, const struct node *node, const struct atlock_view *view, int want)
{
	char path[ATLOCK_PATH_MAX];
	int err = permit_see(call, node);

	if (err < 0 || permit_mode(call, view->mode, view->uid, view->gid, want) == 0 ||
	    continues_and_may(call, node, view, want))
		return err;
	if (atlock_name_show(call->al, &view->name, path, sizeof(path)) < 0)
		(void)snprintf(path, sizeof(path), "%s", node->component);
	return call_refuse(
		call, -EACCES, ATLOCK_PERMISSION_DENIED,
		"%.200s is held by %s@%s, and its mode %03o does not let you: ask them to chmod it, or to do it", path,
		view->owner, view->who, view->mode & 07777U);
}

/*
 * Whether a held lock may be opened; 1: only for flock(2). A user who may not read another's lock may still wait for
 * it, and open(2) does not say what the file is for: then the file is treated as one made while the lock was free, and
 * each read checks again.
 */
static int lock_may_open(struct call *call, const struct node *node, const struct handle *handle,
			 const struct atlock_view *view)
{
	int err = lock_may(call, node, view, permit_want(handle->flags));

	if (err != -EACCES || permit_want(handle->flags) != R_OK || view->uid == call->ctx->uid ||
	    lock_may(call, node, view, 0) < 0)
		return err;
	call->why.text[0] = '\0';
	return 1;
}

/*
 * The caller that opens the lock for writing, and the lock if that caller holds it; 1 if it is free. A process that the holder
 * "@pid:" has started, as a command of `atlock run` is, may append notes by the plain name: it does so as that holder. By that
 * name it can neither renew nor release: two such processes, each as a session of its own, must not both believe that they hold
 * the lock.
 */
static int lock_writer(struct call *call, const struct atlock_name *name, const struct handle *handle,
		       struct atlock_caller *caller, struct atlock_view *view)
{
	struct atlock_why refusal;
	struct atlock_view held = { 0 };
	int err = caller_identify(call, name->who, caller);

	if (err == 0)
		err = atlock_holds(call->al, name, caller, view, &call->why);
	if (err >= 0 || name->who[0] != '\0' || (handle->flags & (O_APPEND | O_TRUNC)) != O_APPEND)
		return err;
	refusal = call->why;
	if (atlock_get(call->al, name, &held) == 0 && atlock_who_is_process(held.who) && held.uid == call->ctx->uid &&
	    caller_identify(call, held.who, caller) == 0) {
		atlock_view_clear(view);
		err = atlock_holds(call->al, name, caller, view, &call->why);
	}
	atlock_view_clear(&held);
	call->why = refusal;
	if (err == 0)
		call->why.text[0] = '\0';
	return err;
}

/*
 * The kernel has just looked the name up. If the lock went away since, ESTALE makes it look again, and O_CREAT, which
 * OPEN does not show us, then does what the caller meant.
 */
static int lock_open(struct call *call, struct node *node, struct handle *handle)
{
	struct atlock_caller caller;
	struct atlock_view view = { 0 };
	struct atlock_name name;
	int may = 0;
	int err = path_node_lock(call, node, &name);

	if (err < 0)
		return err;
	if (handle_writes(handle))
		err = lock_writer(call, &name, handle, &caller, &view);
	else
		err = atlock_get(call->al, &name, &view);
	if (err == 0)
		may = lock_may_open(call, node, handle, &view);
	if (err == 0 && may == 0 && handle_writes(handle))
		may = handle_remember(handle, &caller);
	if (err == 0 && may == 0) {
		handle->token = view.token;
		if (view.state == ATLOCK_PENDING)
			(void)lock_take_up(call, &name);
	}
	atlock_view_clear(&view);
	return err == 1 ? -ESTALE : err < 0 ? err : may < 0 ? may : 0;
}

/* The kernel may have found the name in its cache, so the directory is checked as well. */
static int lock_access(struct call *call, struct node *node, int err)
{
	if (err == 0)
		err = permit_dir(call, node->parent, X_OK);
	return flocked_failed(call) ? -EIO : err;
}

static int lock_node_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	struct atlock_name name;
	int err = path_node_lock(call, node, &name);

	if (err == 0)
		err = lock_stat(call, &name, true, st, life);
	if (err != 1)
		return err;
	/*
	 * The lock is gone: only an open file still refers to it. Or the kernel has the name in its cache (which it has
	 * of no node of one process's own), because the lock was released under another name, and has not heard of it
	 * yet: ESTALE makes it look the name up again.
	 */
	if (!node->own && !files_opened(call->fs, call->ctx->pid, node->ino))
		return -ESTALE;
	st->st_nlink = 0;
	return 0;
}

int lock_refuse_stale(struct call *call, const struct node *node)
{
	return call_refuse(call, -ESTALE, ATLOCK_LOCK_EXPIRED,
			   "%s: this open file belongs to a lock that has ended; open it again", node->component);
}

/*
 * Whether an open file may show the current lock: 0; 1 if it shows nothing; a negative errno. A file of a lock that is
 * gone is stale. What open(2) checked was about another holder if the lock was free then or has been given away since, so
 * the present holder's mode and the directory decide anew.
 */
static int lock_may_show(struct call *call, struct node *node, const struct handle *handle,
			 const struct atlock_view *view, int found)
{
	uint64_t token = handle->token;

	if (token != 0 && (found == 1 || view->token != token))
		return lock_refuse_stale(call, node);
	return found == 1 ? found : lock_may(call, node, view, R_OK);
}

static int lock_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	struct atlock_view view = { 0 };
	struct atlock_name name;
	int err = path_node_lock(call, node, &name);

	*len = 0;
	if (err == 0)
		err = atlock_get(call->al, &name, &view);
	if (err >= 0)
		err = lock_may_show(call, node, handle, &view, err);
	if (err == 0)
		err = atlock_view_check(&view, &call->why);
	if (err == 0)
		*text = caller_text(call, &view, len);
	else if (err == 1)
		*text = strdup("");
	atlock_view_clear(&view);
	return err < 0 ? err : *text == NULL ? -ENOMEM : 0;
}

const struct kind kind_lock = {
	.type = S_IFREG,
	.hint = "what can be done to a lock is in README",
	.permits = true,
	.ends = true,
	.stat = lock_node_stat,
	.set = lock_set,
	.access = lock_access,
	.open = lock_open,
	.text = lock_text,
	.write = lock_write,
	.flush = lock_flush,
	.flock = lock_flock,
	.release = lock_flock_end,
	.xattr_list = lock_xattr_list,
	.xattr_get = lock_xattr_get,
	.xattr_set = lock_xattr_set,
	.xattr_remove = lock_xattr_remove,
};
