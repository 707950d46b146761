/*
 * flock(2): the open file description is the holder, so the lock ends with its last descriptor, through dup, fork and exec,
 * and when its processes are killed. It waits in the lock's queue like everybody else.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "caller.h"
#include "ending.h"
#include "handle.h"
#include "lock.h"
#include "park.h"
#include "tree.h"

/* The holder that this handle is. Made once; nobody can name it with '@'. */
static int flock_holder(struct call *call, struct handle *handle)
{
	static atomic_uint_fast64_t last;
	struct atlock_caller *holder;
	int err = 0;

	pthread_mutex_lock(&handle->mutex);
	if (handle->flock != NULL)
		goto done;
	holder = malloc(sizeof(*holder));
	err = holder == NULL ? -ENOMEM : caller_user(call, holder);
	if (err < 0) {
		free(holder);
		goto done;
	}
	atlock_who_flock((uint32_t)call->fs->nonce, atomic_fetch_add(&last, 1) + 1, holder->who);
	handle->flock = holder;
done:
	pthread_mutex_unlock(&handle->mutex);
	return err;
}

static int flock_granted(struct call *call, struct node *node, struct handle *handle, size_t size,
			 const struct atlock_grant *grant)
{
	int err;

	(void)node, (void)size;
	pthread_mutex_lock(&handle->mutex);
	handle->flock_token = grant->token;
	pthread_mutex_unlock(&handle->mutex);
	err = fuse_reply_err(call->req, 0);
	if (err != 0) {
		pthread_mutex_lock(&handle->mutex);
		handle->flock_token = 0;
		pthread_mutex_unlock(&handle->mutex);
	}
	return err;
}

static int flock_try(struct call *call, const struct atlock_request *req, const struct atlock_caller *self,
		     struct node *node, struct handle *handle)
{
	struct atlock_grant grant;
	int err = atlock_acquire(call->al, req, &grant, &call->why);

	if (err < 0 && call->why.code == ATLOCK_LOCK_EXISTS && lock_is_ending(call, req->name))
		err = atlock_acquire(call->al, req, &grant, &call->why);
	if (err >= 0)
		return park_granted(call, req, &grant, node, handle, 0, flock_granted);
	if (call->why.code != ATLOCK_LOCK_EXISTS)
		return err;
	if (self == NULL || atlock_holds(call->al, req->name, self, NULL, NULL) != 0)
		return -EWOULDBLOCK;
	return call_refuse(call, -EDEADLK, ATLOCK_DEADLOCK,
			   "your session holds this lock already: rm it first, or run the command without flock");
}

static int flock_lock(struct call *call, struct node *node, struct handle *handle, bool wait)
{
	struct atlock_caller self;
	struct atlock_name name;
	bool known;
	int err = lock_name(call, node, &name);

	if (err == 0)
		err = tree_may_change(call, node->parent);
	if (err == 0)
		err = flock_holder(call, handle);
	if (err < 0)
		return err;
	known = caller_identify(call, name.who, &self) == 0;
	call->why.text[0] = '\0';
	name.who[0] = '\0';
	struct atlock_request req = {
		.name = &name,
		.caller = handle->flock,
		.priority = ATLOCK_NORMAL,
		.self = known ? &self : NULL,
	};
	if (!wait)
		return flock_try(call, &req, known ? &self : NULL, node, handle);
	return park_wait(call, &req, node, handle, 0, flock_granted);
}

static int flock_unlock(struct call *call, struct node *node, struct handle *handle)
{
	struct atlock_name name;
	uint64_t token;
	int err;

	pthread_mutex_lock(&handle->mutex);
	token = handle->flock_token;
	handle->flock_token = 0;
	pthread_mutex_unlock(&handle->mutex);
	if (token == 0)
		return 0;
	err = lock_name(call, node, &name);
	if (err < 0)
		return err;
	name.who[0] = '\0';
	err = atlock_release(call->al, &(struct atlock_request){ .name = &name, .caller = handle->flock }, NULL,
			     &call->why);
	return err == -EPERM || err == -EACCES || err == 1 ? 0 : err;
}

int lock_flock(struct call *call, struct node *node, struct handle *handle, int op)
{
	switch (op & ~LOCK_NB) {
	case LOCK_EX: return flock_lock(call, node, handle, (op & LOCK_NB) == 0);
	case LOCK_UN: return flock_unlock(call, node, handle);
	default:
		return call_refuse(call, -EOPNOTSUPP, ATLOCK_INVALID_REQUEST,
				   "locks are exclusive: LOCK_SH (flock -s) is not supported, use LOCK_EX");
	}
}

/* A child that closes what it inherited says nothing of the holder. */
void lock_flock_flush(struct call *call, struct handle *handle)
{
	uint64_t token;

	pthread_mutex_lock(&handle->mutex);
	token = handle->flock != NULL && handle->flock->pid == call->ctx->pid ? handle->flock_token : 0;
	pthread_mutex_unlock(&handle->mutex);
	if (token != 0)
		endings_expect(call->fs->endings, token);
}

void lock_flock_end(struct call *call, struct node *node, struct handle *handle)
{
	/* Nothing else happens to the handle any more: no need for its mutex. */
	uint64_t token = handle->flock_token;

	if (token == 0)
		return;
	endings_begin(call->fs->endings, token);
	flock_unlock(call, node, handle);
	endings_end(call->fs->endings, token);
}
