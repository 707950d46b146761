/*
 * Three threads may meet at one parked request, in any order: the worker that parks it, the one that delivers the
 * interrupt, and the one on which the manager reports the end of the wait. Each counts as a user while it has the park,
 * and the manager until it has reported. The interrupt knows only the request, which libfuse keeps while the interrupt
 * callback runs: no other request can have its address meanwhile. The thread that marks a park as answered, under the
 * mutex, replies. The mutex is never held across a call of the manager or libfuse.
 */
#include "parked.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "open_files.h"
#include "reply.h"

#define PARK_BUCKETS 1024
#define PARK_ANSWERED 256

/* Keep it small: there may be many thousands. */
struct park {
	SLIST_ENTRY(park) link;
	fuse_req_t req; /* invalid once it is answered */
	struct node *node;
	struct handle *handle;
	park_answer_fn *answer;
	uint64_t wait; /* parks' mutex, as all below; the manager's number, 0: not known yet */
	uint32_t size;
	uint8_t users;
	bool answered;
	bool interrupted; /* before `wait` was known */
};

SLIST_HEAD(park_bucket, park);

struct parks {
	pthread_mutex_t mutex;
	struct park_bucket buckets[PARK_BUCKETS]; /* by request; protected by mutex, as all below */
	bool closed;
	uint64_t taken[PARK_ANSWERED]; /* tokens of recent grants; see park_was_taken() */
	size_t taken_next;
};

struct parks *parks_new(void)
{
	struct parks *parks = calloc(1, sizeof(*parks));

	if (parks != NULL)
		pthread_mutex_init(&parks->mutex, NULL);
	return parks;
}

void parks_free(struct parks *parks)
{
	if (parks == NULL)
		return;
	pthread_mutex_destroy(&parks->mutex);
	free(parks);
}

static struct park_bucket *parks_bucket(struct parks *parks, fuse_req_t req)
{
	return &parks->buckets[((uintptr_t)req >> 4) % PARK_BUCKETS];
}

/* Has two users: the manager, and the thread that makes it. */
static struct park *park_new(struct call *call, struct node *node, struct handle *handle, size_t size,
			     park_answer_fn *answer)
{
	struct park *park = calloc(1, sizeof(*park));
	struct parks *parks = call->fs->parks;

	if (park == NULL)
		return NULL;
	park->req = call->req;
	park->node = node_hold(call->fs->inodes, node);
	park->handle = handle_hold(handle);
	park->answer = answer;
	park->size = (uint32_t)size;
	park->users = 2;
	pthread_mutex_lock(&parks->mutex);
	SLIST_INSERT_HEAD(parks_bucket(parks, park->req), park, link);
	pthread_mutex_unlock(&parks->mutex);
	return park;
}

/* Drops `count` users. */
static void park_drop(struct park *park, uint8_t count)
{
	struct fs *fs = park->handle->fs;
	bool last;

	pthread_mutex_lock(&fs->parks->mutex);
	park->users = (uint8_t)(park->users - count);
	last = park->users == 0;
	pthread_mutex_unlock(&fs->parks->mutex);
	if (!last)
		return;
	node_forget(fs->inodes, park->node, 1);
	handle_drop(park->handle);
	free(park);
}

/* Takes a park out of the table, which has only those that are not answered. Call with the mutex held. */
static fuse_req_t park_remove(struct parks *parks, struct park *park)
{
	park->answered = true;
	SLIST_REMOVE(parks_bucket(parks, park->req), park, park, link);
	return park->req;
}

/* Claims the reply: the request, or NULL if it is already answered. */
static fuse_req_t park_claim(struct park *park)
{
	struct parks *parks = park->handle->fs->parks;
	fuse_req_t req;

	pthread_mutex_lock(&parks->mutex);
	req = park->answered ? NULL : park_remove(parks, park);
	pthread_mutex_unlock(&parks->mutex);
	return req;
}

/* Records a grant that a caller received. */
static void park_taken(struct parks *parks, uint64_t token)
{
	pthread_mutex_lock(&parks->mutex);
	parks->taken[parks->taken_next++ % PARK_ANSWERED] = token;
	pthread_mutex_unlock(&parks->mutex);
}

/*
 * Two calls of one holder may have waited for a lock, and both get the same grant: if one of them has received it, the
 * other must not give it back.
 */
static bool park_was_taken(struct parks *parks, uint64_t token)
{
	bool taken = false;

	pthread_mutex_lock(&parks->mutex);
	for (size_t i = 0; i < PARK_ANSWERED; i++)
		taken = taken || parks->taken[i] == token;
	pthread_mutex_unlock(&parks->mutex);
	return taken;
}

/* Replies with a grant, if the caller is still there. Returns as park_answer_fn. */
static int park_grant(struct call *call, struct node *node, struct handle *handle, size_t size, park_answer_fn *answer,
		      const struct atlock_grant *grant)
{
	int err = fuse_req_interrupted(call->req) ? -EINTR : answer(call, node, handle, size, grant);

	if (err == CALL_ANSWERED)
		park_taken(call->fs->parks, grant->token);
	return err;
}

/* The manager reports the end of the wait. */
static bool park_done(void *arg, int err, const struct atlock_grant *grant, const struct atlock_why *why)
{
	struct park *park = arg;
	struct fs *fs = park->handle->fs;
	fuse_req_t req = park_claim(park);
	struct call *call = req == NULL ? NULL : call_begin(req, park->node, NULL, ACT_LOOK);
	bool taken;

	if (call != NULL && err == 0)
		err = park_grant(call, park->node, park->handle, park->size, park->answer, grant);
	else if (call != NULL)
		call->why = *why;
	taken = err == CALL_ANSWERED || (grant != NULL && park_was_taken(fs->parks, grant->token));
	if (call != NULL)
		call_end(call, err == PARK_GONE ? CALL_ANSWERED : err);
	park_drop(park, 1);
	return taken;
}

/*
 * Leaves the queue and replies. If the manager cannot cancel the wait (its store failed), the caller is answered all
 * the same; the manager reports later that the wait has ended, or grants the lock, which is then given back. Returns
 * how many users the park has lost: 1, the manager, or 0.
 */
static uint8_t park_cancel(struct park *park, uint64_t wait, int err)
{
	struct fs *fs = park->handle->fs;
	int left = atlock_wait_cancel(fs->al, wait);
	fuse_req_t req = left > 0 ? NULL : park_claim(park);
	struct call *call = req == NULL ? NULL : call_begin(req, park->node, NULL, ACT_LOOK);

	if (call != NULL)
		call_end(call, err);
	return left == 0;
}

static void park_interrupt(fuse_req_t req, void *data)
{
	struct parks *parks = ((struct fs *)fuse_req_userdata(req))->parks;
	uint64_t wait = 0;
	struct park *park;
	uint8_t lost;

	(void)data;
	pthread_mutex_lock(&parks->mutex);
	SLIST_FOREACH(park, parks_bucket(parks, req), link)
		if (park->req == req)
			break;
	if (park != NULL) {
		park->users++;
		park->interrupted = true;
		wait = park->wait;
	}
	pthread_mutex_unlock(&parks->mutex);
	if (park == NULL)
		return;
	lost = wait != 0 ? park_cancel(park, wait, -EINTR) : 0;
	park_drop(park, (uint8_t)(1 + lost));
}

/* Records that the wait has begun; it may have ended already. Returns as park_cancel(). */
static uint8_t park_begun(struct parks *parks, struct park *park, uint64_t wait)
{
	int err;

	pthread_mutex_lock(&parks->mutex);
	park->wait = wait;
	err = park->answered ? 0 : parks->closed ? -ECANCELED : park->interrupted ? -EINTR : 0;
	pthread_mutex_unlock(&parks->mutex);
	return err < 0 ? park_cancel(park, wait, err) : 0;
}

/*
 * Tells the manager which holders the waiting process keeps from ending. The request may be answered meanwhile, and its
 * process go on.
 */
static void park_behind(struct park *park, uint64_t wait, const struct fuse_ctx *caller)
{
	struct fs *fs = park->handle->fs;
	struct atlock_caller *files;
	size_t count = behind_files(fs, caller->pid, &files);
	bool waits;

	pthread_mutex_lock(&fs->parks->mutex);
	waits = !park->answered && !park->interrupted;
	pthread_mutex_unlock(&fs->parks->mutex);
	if (waits)
		(void)atlock_wait_behind(fs->al, wait, caller->pid, caller->uid, caller->gid, files, count);
	free(files);
}

int park_granted(struct call *call, const struct atlock_request *req, const struct atlock_grant *grant,
		 struct node *node, struct handle *handle, size_t size, park_answer_fn *answer)
{
	int err = park_grant(call, node, handle, size, answer, grant);

	if (err != CALL_ANSWERED && !grant->again && !park_was_taken(call->fs->parks, grant->token))
		(void)atlock_disown(call->al, req, grant);
	return err == PARK_GONE ? CALL_ANSWERED : err;
}

int park_wait(struct call *call, const struct atlock_request *req, struct node *node, struct handle *handle,
	      size_t size, park_answer_fn *answer)
{
	struct parks *parks = call->fs->parks;
	struct park *park = park_new(call, node, handle, size, answer);
	const struct fuse_ctx caller = *call->ctx;
	struct atlock_grant grant = { 0 };
	uint64_t wait = 0;
	int err;

	if (park == NULL)
		return -ENOMEM;
	fuse_req_interrupt_func(call->req, park_interrupt, NULL);
	err = fuse_req_interrupted(call->req) ? -EINTR
					      : atlock_wait(call->al, req, park_done, park, &wait, &grant, &call->why);
	if (err == 1) {
		uint8_t lost = park_begun(parks, park, wait);

		park_behind(park, wait, &caller);
		park_drop(park, (uint8_t)(1 + lost));
		call_free(call);
		return CALL_LATER;
	}
	(void)park_claim(park);
	park_drop(park, 2);
	return err < 0 ? err : park_granted(call, req, &grant, node, handle, size, answer);
}

/* Claims the reply of one whose wait has begun; the wait itself goes on. NULL if there is none in the bucket. */
static fuse_req_t bucket_claim(struct parks *parks, struct park_bucket *bucket)
{
	struct park *park;
	fuse_req_t req;

	pthread_mutex_lock(&parks->mutex);
	parks->closed = true;
	SLIST_FOREACH(park, bucket, link)
		if (park->wait != 0)
			break;
	req = park == NULL ? NULL : park_remove(parks, park);
	pthread_mutex_unlock(&parks->mutex);
	return req;
}

/*
 * Callers are answered at once. Leaving the queues would cost a commit each, and no caller waits for that: the waits
 * end when the manager is closed, and a lock granted before is given back. A request that is just being parked is
 * cancelled by the thread that parks it, which sees that the parks are closed.
 */
void parks_close(struct fs *fs)
{
	fuse_req_t req;

	for (size_t i = 0; i < PARK_BUCKETS; i++)
		while ((req = bucket_claim(fs->parks, &fs->parks->buckets[i])) != NULL)
			fuse_reply_err(req, ECANCELED);
}
