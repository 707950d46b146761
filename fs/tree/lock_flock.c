/*
 * flock(2): the open file description is the holder, so the lock ends with its last descriptor, through dup, fork and
 * exec, and when its processes are killed. It waits in the lock's queue like any other holder.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/file.h>

#include "call_user.h"
#include "ending.h"
#include "flocked.h"
#include "handle.h"
#include "lock_file.h"
#include "parked.h"
#include "path.h"
#include "permit.h"

static int flock_granted(struct call *call, struct node *node, struct handle *handle, size_t size,
			 const struct atlock_grant *grant)
{
	struct flocked *flocked = handle->flocked;
	struct atlock_end *end = NULL;
	struct atlock_caller holder;
	struct atlock_name name;
	int err = path_node_lock(call, node, &name);

	(void)size;
	if (err == 0) {
		flocked_holder(call->fs, flocked, &holder);
		end = atlock_end_new(&name, &holder, grant);
		err = end == NULL ? -ENOMEM : 0;
	}
	if (err < 0)
		return err;
	flocked_set(flocked, grant->token, end);
	endings_add(call->fs->endings, &flocked->ending, grant->token);
	if (fuse_reply_err(call->req, 0) == 0)
		return CALL_ANSWERED;
	/* A lock that it held before this call stays held. */
	if (!grant->again) {
		flocked_set(flocked, 0, NULL);
		endings_end(call->fs->endings, &flocked->ending);
	}
	return PARK_GONE;
}

static int flock_try(struct call *call, const struct atlock_request *req, const struct atlock_caller *self,
		     struct node *node, struct handle *handle)
{
	struct atlock_grant grant;
	int err = atlock_acquire(call->al, req, &grant, &call->why);
	int ends = err < 0 && call->why.code == ATLOCK_LOCK_EXISTS ? lock_ends(call, req->name) : 0;

	if (ends == CALL_LATER)
		return CALL_LATER;
	if (ends == ENDING_OVER)
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
	struct atlock_caller holder;
	struct atlock_caller self;
	struct atlock_name name;
	bool known;
	int err = caller_opened(call, handle);

	if (err == 0)
		err = path_node_lock(call, node, &name);
	if (err == 0)
		err = permit_change(call, node->parent);
	if (err == 0)
		err = flocked_become(call, node, handle, &holder);
	if (err < 0)
		return err;
	known = caller_identify(call, name.who, &self) == 0;
	call->why.text[0] = '\0';
	name.who[0] = '\0';
	struct atlock_request req = {
		.name = &name,
		.caller = &holder,
		.priority = ATLOCK_NORMAL,
		.self = known ? &self : NULL,
	};
	if (!wait)
		return flock_try(call, &req, known ? &self : NULL, node, handle);
	return park_wait(call, &req, node, handle, 0, flock_granted);
}

/* If the store fails, the lock stays held and the caller gets the error: he may try again, or close the file. */
static int flock_unlock(struct call *call, struct node *node, struct handle *handle)
{
	struct flocked *flocked = handle->flocked;
	uint64_t token = flocked != NULL ? flocked->token : 0;
	struct atlock_caller holder;
	struct atlock_name name;
	int err;

	if (token == 0)
		return 0;
	err = path_node_lock(call, node, &name);
	if (err < 0)
		return err;
	flocked_holder(call->fs, flocked, &holder);
	name.who[0] = '\0';
	err = atlock_release(call->al, &(struct atlock_request){ .name = &name, .caller = &holder }, NULL, &call->why);
	if (err < 0 && err != -EPERM && err != -EACCES)
		return err;
	(void)atomic_compare_exchange_strong(&flocked->token, &token, 0);
	endings_end(call->fs->endings, &flocked->ending);
	return 0;
}

int lock_flock(struct call *call, struct node *node, struct handle *handle, int op)
{
	switch (op & ~LOCK_NB) {
	case LOCK_EX: return flocked_note(call, flock_lock(call, node, handle, (op & LOCK_NB) == 0));
	case LOCK_UN: return flock_unlock(call, node, handle);
	default:
		return call_refuse(call, -EOPNOTSUPP, ATLOCK_INVALID_REQUEST,
				   "locks are exclusive: LOCK_SH (flock -s) is not supported, use LOCK_EX");
	}
}

void lock_flock_flush(struct call *call, struct handle *handle)
{
	struct flocked *flocked = handle->flocked;

	if (flocked != NULL && flocked->token != 0)
		endings_expect(call->fs->endings, &flocked->ending);
}

/* The last descriptor is closed, so no other call uses the handle. */
void lock_flock_end(struct call *call, struct node *node, struct handle *handle)
{
	struct flocked *flocked = handle->flocked;

	(void)node;
	if (flocked == NULL)
		return;
	if (flocked->token != 0)
		(void)atlock_end_write(call->al, atomic_exchange(&flocked->end, NULL));
	endings_end(call->fs->endings, &flocked->ending);
}
