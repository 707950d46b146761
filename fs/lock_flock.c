/*
 * flock(2): the open file description is the holder, so the lock ends with its last descriptor, through dup, fork and exec,
 * and when its processes are killed. It waits in the lock's queue like everybody else.
 */
#include <bsd/string.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "caller.h"
#include "ending.h"
#include "handle.h"
#include "lock.h"
#include "park.h"
#include "tree.h"

/* The holder that a handle is: whoever first called flock(2) on it, under a number instead of a who. Thousands may wait. */
struct flocked {
	struct ending ending;
	_Atomic uint64_t token;           /* of its grant while it holds the lock; else 0 */
	_Atomic(struct atlock_end *) end; /* of that grant, so that closing needs no memory */
	uint64_t number;
	uint64_t ino;
	uid_t uid;
	gid_t gid;
	pid_t pid;
	pid_t session;
	bool admin;
	char comm[ATLOCK_COMM_MAX + 1];
	char owner[];
};

static struct flocked *flocked_new(const struct atlock_caller *caller, uint64_t ino)
{
	static _Atomic uint64_t last;
	size_t len = strlen(caller->owner) + 1;
	struct flocked *flocked = calloc(1, sizeof(*flocked) + len);

	if (flocked == NULL)
		return NULL;
	flocked->number = atomic_fetch_add(&last, 1) + 1;
	flocked->ino = ino;
	flocked->uid = caller->uid;
	flocked->gid = caller->gid;
	flocked->pid = caller->pid;
	flocked->session = caller->session;
	flocked->admin = caller->admin;
	memcpy(flocked->comm, caller->comm, sizeof(flocked->comm));
	memcpy(flocked->owner, caller->owner, len);
	return flocked;
}

/* As the manager knows it. Nobody can name it with '@'. */
static void flocked_holder(const struct fs *fs, const struct flocked *flocked, struct atlock_caller *out)
{
	*out = (struct atlock_caller){
		.uid = flocked->uid,
		.gid = flocked->gid,
		.pid = flocked->pid,
		.session = flocked->session,
		.admin = flocked->admin,
	};
	memcpy(out->comm, flocked->comm, sizeof(out->comm));
	strlcpy(out->owner, flocked->owner, sizeof(out->owner));
	atlock_who_flock((uint32_t)fs->nonce, flocked->number, out->who);
}

/* The same for a handle that may be none yet. Made once, and lives as long as the handle. */
static int flock_holder(struct call *call, const struct node *node, struct handle *handle, struct atlock_caller *out)
{
	struct flocked *flocked = handle->flocked;
	int err = flocked != NULL ? 0 : caller_user(call, out);

	if (err < 0)
		return err;
	if (flocked == NULL) {
		struct flocked *made = flocked_new(out, node->ino);

		if (made == NULL)
			return -ENOMEM;
		if (atomic_compare_exchange_strong(&handle->flocked, &flocked, made)) {
			flocked = made;
			handle_flocks(handle);
		} else {
			free(made);
		}
	}
	flocked_holder(call->fs, flocked, out);
	return 0;
}

bool lock_flock_holder(struct handle *handle, uint64_t ino, struct atlock_caller *out)
{
	const struct flocked *flocked = handle->flocked;

	if (flocked == NULL || flocked->token == 0 || flocked->ino != ino)
		return false;
	flocked_holder(handle->fs, flocked, out);
	return true;
}

void lock_flock_free(struct flocked *flocked)
{
	if (flocked != NULL)
		atlock_end_free(flocked->end);
	free(flocked);
}

static void flocked_set(struct flocked *flocked, uint64_t token, struct atlock_end *end)
{
	flocked->token = token;
	atlock_end_free(atomic_exchange(&flocked->end, end));
}

static int flock_granted(struct call *call, struct node *node, struct handle *handle, size_t size,
			 const struct atlock_grant *grant)
{
	struct flocked *flocked = handle->flocked;
	struct atlock_end *end = NULL;
	struct atlock_caller holder;
	struct atlock_name name;
	int err = lock_name(call, node, &name);

	(void)size;
	if (err == 0) {
		flocked_holder(call->fs, flocked, &holder);
		end = atlock_end_new(&name, &holder, grant);
		err = end == NULL ? -ENOMEM : 0;
	}
	if (err < 0) {
		call_fail(call, err);
		return err;
	}
	flocked_set(flocked, grant->token, end);
	endings_add(call->fs->endings, &flocked->ending, grant->token);
	err = fuse_reply_err(call->req, 0);
	/* What it had before it keeps. */
	if (err != 0 && !grant->again) {
		flocked_set(flocked, 0, NULL);
		endings_end(call->fs->endings, &flocked->ending);
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
	struct atlock_caller holder;
	struct atlock_caller self;
	struct atlock_name name;
	bool known;
	int err = caller_opened(call, handle);

	if (err == 0)
		err = lock_name(call, node, &name);
	if (err == 0)
		err = tree_may_change(call, node->parent);
	if (err == 0)
		err = flock_holder(call, node, handle, &holder);
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

/* If the store fails the lock stays held, and the caller is told: he may try again, or close the file. */
static int flock_unlock(struct call *call, struct node *node, struct handle *handle)
{
	struct flocked *flocked = handle->flocked;
	uint64_t token = flocked != NULL ? flocked->token : 0;
	struct atlock_caller holder;
	struct atlock_name name;
	int err;

	if (token == 0)
		return 0;
	err = lock_name(call, node, &name);
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

#define FAILED 64    /* processes whose last failure is known */
#define FAILED_FOR 2 /* seconds */

/* Process and second, in one word; of two that share a place the later is known. */
static _Atomic uint64_t failed[FAILED];

static uint32_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec;
}

static int flock_note(const struct call *call, int err)
{
	uint32_t pid = (uint32_t)call->ctx->pid;

	if (err == -EIO)
		atomic_store(&failed[pid % FAILED], (uint64_t)pid << 32 | seconds());
	return err;
}

bool lock_flock_failed(const struct call *call)
{
	uint32_t pid = (uint32_t)call->ctx->pid;
	uint64_t last = atomic_load(&failed[pid % FAILED]);

	return pid != 0 && last >> 32 == pid && seconds() - (uint32_t)last < FAILED_FOR;
}

int lock_flock(struct call *call, struct node *node, struct handle *handle, int op)
{
	switch (op & ~LOCK_NB) {
	case LOCK_EX: return flock_note(call, flock_lock(call, node, handle, (op & LOCK_NB) == 0));
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

bool lock_flock_closed(struct handle *handle)
{
	struct flocked *flocked = handle->flocked;

	if (flocked != NULL)
		endings_begin(handle->fs->endings, &flocked->ending);
	return flocked != NULL && flocked->token != 0;
}

/* The last descriptor is closed, so no other call has the handle. */
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
