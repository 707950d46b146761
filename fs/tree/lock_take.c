/*
 * CREATE and UNLINK: a lock is taken and given back. Both wait for the store, which may wait for the disk, and neither
 * keeps its thread meanwhile: the thread that makes the commit replies.
 */
#include <errno.h>
#include <fcntl.h>

#include "attr_of.h"
#include "cache.h"
#include "call_user.h"
#include "ending.h"
#include "entry.h"
#include "handle.h"
#include "lock_file.h"
#include "path.h"
#include "permit.h"
#include "reply.h"
#include "rows.h"

/*
 * Fills the request for the manager from call->lock and call->caller. Under a name with "@who", the kernel does not know
 * the result for the plain name, which it may cache: it must be told.
 */
static void ask_begin(struct call *call)
{
	call->own = 0;
	call->ask = (struct atlock_request){
		.name = &call->lock,
		.caller = &call->caller,
		.own = call->lock.who[0] == '\0' ? &call->own : NULL,
	};
	call_later(call);
}

/* --- Take --- */

/* The reply for a lock that was just taken, from the grant: the lock is not read again. */
static int take_show(struct call *call)
{
	struct found *found = &call->found;

	call->handle->token = call->grant.token;
	attr_new_lock(call, &call->caller, call->ask.mode, call->grant.acquired_at, &found->st);
	found->life = cache_life(call, &call->lock, call->caller.who, call->grant.expires_at, call->stamp);
	found->life.attr = 0;
	if (!found->life.stamped)
		found->life.stamp = cache_stamp(call->fs->cache, &call->lock);
	found->counted = !atlock_hides(call->al);
	return handle_remember(call->handle, &call->caller);
}

static void take_answer(struct call *call, int taken)
{
	int err = taken;

	call->again = NULL;
	cache_own(call->fs->cache, &call->lock, call->own);
	call->stamp.changes += call->own;
	if (taken >= 0)
		err = take_show(call);
	if (err == 0 && taken == 1)
		err = lock_stat(call, &call->lock, false, &call->found.st, &call->found.life);
	if (err >= 0) {
		call->found.kind = &kind_lock;
		permit_limit_life(call, call->node, &call->found.life);
	}
	entry_created(call, err < 0 ? err : 0);
}

/* Whether it is worth a thread to find out if the flock that holds the lock is ending. */
static bool take_may_end(struct call *call)
{
	struct atlock_view view = { 0 };
	bool may = !call->waited && (atlock_get(call->al, &call->lock, &view) == 1 || atlock_who_is_flock(view.who));

	atlock_view_clear(&view);
	return may;
}

static void take_end(void *arg, int taken);

static void take_start(struct call *call)
{
	call->waited = call->again != NULL;
	atlock_acquire_start(call->al, &call->ask, &call->grant, &call->why, take_end, call);
}

/* Runs on a thread of the loop: the thread that commits must not wait. */
static void take_look(struct call *call)
{
	int ends;

	call->again = take_start;
	ends = lock_ends(call, &call->lock);
	if (ends == ENDING_OVER)
		take_start(call);
	else if (ends != CALL_LATER)
		take_answer(call, call->refused);
}

static void take_end(void *arg, int taken)
{
	struct call *call = arg;

	if (taken >= 0 || call->why.code != ATLOCK_LOCK_EXISTS || !take_may_end(call)) {
		take_answer(call, taken);
		return;
	}
	call->refused = taken;
	call->again = take_look;
	call->fs->wire->again(call->fs, call);
}

static int take_begin(struct call *call, struct node *dir, mode_t mode, struct handle *handle)
{
	int err = path_lock(call, dir, call->name, &call->lock);

	if (err < 0)
		return err;
	call->stamp = cache_stamp(call->fs->cache, &call->lock);
	err = caller_identify(call, call->lock.who, &call->caller);
	if (err < 0)
		return err;
	ask_begin(call);
	call->ask.exclusive = (handle->flags & O_EXCL) != 0;
	call->ask.mode = S_IFREG | (mode & 0777U);
	take_start(call);
	return CALL_LATER;
}

int lock_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
		struct found *out)
{
	int err;

	if (handle_writes(handle) || (handle->flags & O_EXCL) != 0)
		return take_begin(call, dir, mode, handle);
	err = path_lock(call, dir, name, &call->lock);
	if (err == 0)
		err = lock_stat(call, &call->lock, false, &out->st, &out->life);
	if (err < 0)
		return err;
	out->kind = &kind_lock;
	permit_limit_life(call, dir, &out->life);
	return 0;
}

/* --- Give back --- */

static void give_back_end(void *arg, int err)
{
	struct call *call = arg;

	cache_own(call->fs->cache, &call->lock, call->own);
	call_end(call, err == 1 ? -ENOENT : err);
}

/*
 * The manager compares a name's "@who" with the holder in the same transaction. It also decides who may release a lock:
 * a sticky bit adds nothing to that.
 */
int lock_unlink(struct call *call, struct node *dir, const char *name)
{
	int err = path_lock(call, dir, name, &call->lock);

	if (err == 0)
		err = caller_naming(call, &call->lock, &call->caller);
	if (err != 0)
		return err;
	ask_begin(call);
	call->ask.force = true;
	atlock_release_start(call->al, &call->ask, &call->why, give_back_end, call);
	return CALL_LATER;
}
