/*
 * CREATE and UNLINK: a lock is taken and given back. Both wait for the store, which may wait for the disk, and neither
 * keeps its thread meanwhile: a job holds what the reply needs, and the thread that makes the commit replies.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "attr_of.h"
#include "cache.h"
#include "caller.h"
#include "entry.h"
#include "handle.h"
#include "lock_file.h"
#include "path.h"
#include "permit.h"
#include "rows.h"
#include "turn.h"

struct job {
	struct errand errand; /* must be first: cast back to `struct job` */
	struct turn turn;
	bool kept; /* `turn` must be ended */
	struct call call;
	struct atlock_name name;
	struct atlock_caller caller;
	struct atlock_request req;
	unsigned int own;      /* changes that the request itself has made */
	struct handle *handle; /* of a CREATE, as all below */
	struct found found;
	struct cache_stamp stamp;
	struct atlock_grant grant;
	int refused; /* error of the first try; 0 before that */
	char component[ATLOCK_COMPONENT_MAX + 1];
};

/*
 * The directory stays until the reply, because the kernel holds it. The name must be copied: it lies in the buffer for
 * the next request.
 */
static struct job *job_new(const struct call *call)
{
	struct job *job = malloc(sizeof(*job));

	if (job == NULL)
		return NULL;
	job->kept = false;
	job->call = *call;
	memcpy(job->component, call->name, strlen(call->name) + 1);
	job->call.name = job->component;
	job->own = 0;
	job->refused = 0;
	return job;
}

/* For a job that was not started: copies its reason to the call. Returns `err`. */
static int job_refuse(struct job *job, struct call *call, int err)
{
	call->why = job->call.why;
	free(job);
	return err;
}

static void job_begin(struct job *job)
{
	job->req = (struct atlock_request){ .name = &job->name, .caller = &job->caller };
	/*
	 * Under a name with "@who", the kernel does not know the result for the plain name, which it may cache: it must
	 * be told.
	 */
	if (job->name.who[0] == '\0')
		job->req.own = &job->own;
	job->kept = job->call.fs->turns->keep(&job->turn);
}

/* Call after the reply. */
static void job_end(struct job *job)
{
	if (job->kept)
		job->call.fs->turns->answered(&job->turn);
	free(job);
}

/* --- Take --- */

/* The reply for a lock that was just taken, from the grant: the lock is not read again. */
static int take_show(struct job *job)
{
	struct call *call = &job->call;
	struct found *found = &job->found;

	job->handle->token = job->grant.token;
	attr_new_lock(call, &job->caller, job->req.mode, job->grant.acquired_at, &found->st);
	found->life = cache_life(call, &job->name, job->caller.who, job->grant.expires_at, job->stamp);
	found->life.attr = 0;
	if (!found->life.stamped)
		found->life.stamp = cache_stamp(call->fs->cache, &job->name);
	found->counted = !atlock_hides(call->al);
	return handle_remember(job->handle, &job->caller);
}

static void take_answer(struct job *job, int taken)
{
	struct call *call = &job->call;
	int err = taken;

	cache_own(call->fs->cache, &job->name, job->own);
	job->stamp.changes += job->own;
	if (taken >= 0)
		err = take_show(job);
	if (err == 0 && taken == 1)
		err = lock_stat(call, &job->name, &job->found.st, &job->found.life);
	if (err >= 0) {
		job->found.kind = &kind_lock;
		permit_limit_life(call, call->node, &job->found.life);
	}
	entry_created(call, job->handle, &job->found, err < 0 ? err : 0);
	job_end(job);
}

/* Runs on a thread that may wait for another holder's lock to end. */
static void take_again(struct errand *errand)
{
	struct job *job = (struct job *)errand;
	int taken = job->refused;

	if (lock_is_ending(&job->call, &job->name))
		taken = atlock_acquire(job->call.al, &job->req, &job->grant, &job->call.why);
	take_answer(job, taken);
}

/* Whether it is worth a thread to wait in lock_is_ending(). */
static bool take_may_end(struct job *job)
{
	struct atlock_view view = { 0 };
	bool may = atlock_get(job->call.al, &job->name, &view) == 1 || atlock_who_is_flock(view.who);

	atlock_view_clear(&view);
	return may;
}

static void take_end(void *arg, int taken)
{
	struct job *job = arg;

	if (taken >= 0 || job->call.why.code != ATLOCK_LOCK_EXISTS || !take_may_end(job)) {
		take_answer(job, taken);
		return;
	}
	job->refused = taken;
	job->errand.run = take_again;
	if (job->kept)
		job->call.fs->turns->send(&job->turn, &job->errand);
	else
		take_again(&job->errand);
}

static int take_start(struct call *call, struct node *dir, mode_t mode, struct handle *handle)
{
	struct job *job = job_new(call);
	int err;

	if (job == NULL)
		return -ENOMEM;
	err = path_lock(&job->call, dir, job->component, &job->name);
	if (err == 0)
		err = permit_change(&job->call, dir);
	if (err == 0) {
		job->stamp = cache_stamp(call->fs->cache, &job->name);
		err = caller_identify(&job->call, job->name.who, &job->caller);
	}
	if (err != 0)
		return job_refuse(job, call, err);
	job->handle = handle;
	job->found = (struct found){ .dir = NODE_NO_DIR };
	job_begin(job);
	job->req.exclusive = (handle->flags & O_EXCL) != 0;
	job->req.mode = S_IFREG | (mode & 0777U);
	if (job->kept)
		atlock_acquire_start(call->al, &job->req, &job->grant, &job->call.why, take_end, job);
	else
		take_end(job, atlock_acquire(call->al, &job->req, &job->grant, &job->call.why));
	return CALL_PARKED;
}

int lock_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
		struct found *out)
{
	struct atlock_name lock;
	int err;

	if (handle_writes(handle) || (handle->flags & O_EXCL) != 0)
		return take_start(call, dir, mode, handle);
	err = path_lock(call, dir, name, &lock);
	if (err == 0)
		err = permit_change(call, dir);
	if (err == 0)
		err = lock_stat(call, &lock, &out->st, &out->life);
	if (err < 0)
		return err;
	out->kind = &kind_lock;
	permit_limit_life(call, dir, &out->life);
	return 0;
}

/* --- Give back --- */

static void give_back_end(void *arg, int err)
{
	struct job *job = arg;

	cache_own(job->call.fs->cache, &job->name, job->own);
	call_done(&job->call, err == 1 ? -ENOENT : err);
	job_end(job);
}

/*
 * The manager compares a name's "@who" with the holder in the same transaction. It also decides who may release a lock:
 * a sticky bit adds nothing to that.
 */
int lock_unlink(struct call *call, struct node *dir, const char *name)
{
	struct job *job = job_new(call);
	int err;

	if (job == NULL)
		return -ENOMEM;
	err = path_lock(&job->call, dir, name, &job->name);
	if (err == 0)
		err = permit_change(&job->call, dir);
	if (err == 0)
		err = caller_naming(&job->call, &job->name, &job->caller);
	if (err != 0)
		return job_refuse(job, call, err);
	job_begin(job);
	job->req.force = true;
	if (job->kept)
		atlock_release_start(call->al, &job->req, &job->call.why, give_back_end, job);
	else
		give_back_end(job, atlock_release(call->al, &job->req, NULL, &job->call.why));
	return CALL_PARKED;
}
