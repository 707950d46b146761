/*
 * Three threads may meet at one parked request: the worker that parks it, the one that brings the interrupt, and whichever
 * the manager tells its end on, in any order. Therefore the interrupt knows a park by number only, looked up under the
 * mutex, and whoever takes it out of the table answers it. The mutex is never held across a call of the manager or libfuse.
 */
#include "park.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "tree.h"

#define PARK_BUCKETS 1024
#define PARK_ANSWERED 256

struct park {
	LIST_ENTRY(park) link;
	uint64_t id;
	fuse_req_t req; /* NULL: answered, but the manager's wait goes on */
	struct fs *fs;
	struct node *node;
	struct handle *handle;
	park_answer_fn *answer;
	uint64_t wait; /* parks' mutex; the manager's number, 0 until it is known */
	uint64_t bound_start;
	size_t size;
	uid_t uid;
	bool interrupted; /* parks' mutex; before `wait` was known */
	char holder[];    /* owner, NUL, who: the process may be dead when the lock must be given back */
};

LIST_HEAD(park_bucket, park);

struct parks {
	pthread_mutex_t mutex;
	struct park_bucket buckets[PARK_BUCKETS]; /* mutex, as all below */
	uint64_t last_id;
	bool closed;
	uint64_t answered[PARK_ANSWERED]; /* tokens given out lately; see park_give_back() */
	size_t answered_next;
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

static struct park *park_find(struct parks *parks, uint64_t id)
{
	struct park *park;

	LIST_FOREACH(park, &parks->buckets[id % PARK_BUCKETS], link)
		if (park->id == id)
			return park;
	return NULL;
}

static struct park *park_new(struct call *call, const struct atlock_caller *holder, struct node *node,
			     struct handle *handle, size_t size, park_answer_fn *answer)
{
	size_t owner = strlen(holder->owner) + 1;
	size_t who = strlen(holder->who) + 1;
	struct park *park = calloc(1, sizeof(*park) + owner + who);

	if (park == NULL)
		return NULL;
	park->req = call->req;
	park->fs = call->fs;
	park->node = node_hold(call->fs->inodes, node);
	park->handle = handle_hold(handle);
	park->answer = answer;
	park->size = size;
	park->uid = holder->uid;
	park->bound_start = holder->bound_start;
	memcpy(park->holder, holder->owner, owner);
	memcpy(park->holder + owner, holder->who, who);
	return park;
}

static void park_free(struct park *park)
{
	if (park == NULL)
		return;
	node_forget(park->fs->inodes, park->node, 1);
	handle_drop(park->handle);
	free(park);
}

static int park_insert(struct parks *parks, struct park *park)
{
	bool closed;

	pthread_mutex_lock(&parks->mutex);
	closed = parks->closed;
	park->id = ++parks->last_id;
	if (!closed)
		LIST_INSERT_HEAD(&parks->buckets[park->id % PARK_BUCKETS], park, link);
	pthread_mutex_unlock(&parks->mutex);
	return closed ? -ECANCELED : 0;
}

static void park_remove(struct parks *parks, struct park *park)
{
	pthread_mutex_lock(&parks->mutex);
	LIST_REMOVE(park, link);
	pthread_mutex_unlock(&parks->mutex);
}

/* Remembers a grant that somebody took. */
static void park_taken(struct parks *parks, uint64_t token)
{
	pthread_mutex_lock(&parks->mutex);
	parks->answered[parks->answered_next++ % PARK_ANSWERED] = token;
	pthread_mutex_unlock(&parks->mutex);
}

static bool park_was_taken(struct parks *parks, uint64_t token)
{
	bool taken = false;

	pthread_mutex_lock(&parks->mutex);
	for (size_t i = 0; i < PARK_ANSWERED; i++)
		taken = taken || parks->answered[i] == token;
	pthread_mutex_unlock(&parks->mutex);
	return taken;
}

/*
 * Nobody is there for the lock any more. Two calls of one holder may have waited for it and both are told of the same grant:
 * what one of them has taken, the other does not give back.
 */
static void park_give_back(struct call *call, struct park *park, const struct atlock_grant *grant)
{
	struct atlock_caller caller;
	struct atlock_name name;

	if (park_was_taken(call->fs->parks, grant->token))
		return;
	if (atlock_caller_init(&caller, park->holder, park->holder + strlen(park->holder) + 1, park->uid) < 0 ||
	    tree_lock(call, park->node->parent, park->node->component, &name) < 0)
		return;
	caller.bound_start = park->bound_start;
	name.who[0] = '\0';
	atlock_release(call->al, &(struct atlock_request){ .name = &name, .caller = &caller, .token = grant->token },
		       NULL, &call->why);
}

/* The manager's word. The park is out of the table before anything else, so that an interrupt finds nothing. */
static void park_done(void *arg, int err, const struct atlock_grant *grant, const struct atlock_why *why)
{
	struct park *park = arg;
	struct call call = { .fs = park->fs, .al = park->fs->al };

	park_remove(park->fs->parks, park);
	if (park->req != NULL)
		call_begin(&call, park->req, park->node, NULL, ACT_LOOK);
	if (err < 0 && park->req != NULL) {
		if (why != NULL)
			call.why = *why;
		call_fail(&call, err);
	} else if (err == 0 && park->req == NULL) {
		park_give_back(&call, park, grant);
	} else if (err == 0 && fuse_req_interrupted(park->req)) {
		park_give_back(&call, park, grant);
		call_fail(&call, -EINTR);
	} else if (err == 0) {
		if (park->answer(&call, park->node, park->handle, park->size, grant) == 0)
			park_taken(park->fs->parks, grant->token);
		else
			park_give_back(&call, park, grant);
	}
	park_free(park);
}

/*
 * Leaves the queue and answers. If the manager cannot take the wait back (its store failed), the caller is let go all the
 * same and the lock is given back when it comes.
 */
static void park_cancel(struct fs *fs, uint64_t id, uint64_t wait, int err)
{
	int left = atlock_wait_cancel(fs->al, wait);
	fuse_req_t req = NULL;
	struct park *park;

	if (left > 0)
		return;
	pthread_mutex_lock(&fs->parks->mutex);
	park = park_find(fs->parks, id);
	if (park != NULL) {
		req = park->req;
		park->req = NULL;
		if (left == 0)
			LIST_REMOVE(park, link);
	}
	pthread_mutex_unlock(&fs->parks->mutex);
	if (req != NULL)
		fuse_reply_err(req, err);
	if (left == 0)
		park_free(park);
}

static void park_interrupt(fuse_req_t req, void *data)
{
	struct fs *fs = fuse_req_userdata(req);
	uint64_t id = (uint64_t)(uintptr_t)data;
	uint64_t wait = 0;
	struct park *park;

	pthread_mutex_lock(&fs->parks->mutex);
	park = park_find(fs->parks, id);
	if (park != NULL) {
		park->interrupted = true;
		wait = park->wait;
	}
	pthread_mutex_unlock(&fs->parks->mutex);
	if (wait != 0)
		park_cancel(fs, id, wait, EINTR);
}

/* The wait has begun and may have ended: only the number is safe to use. */
static void park_begun(struct fs *fs, uint64_t id, uint64_t wait)
{
	struct park *park;
	int err = 0;

	pthread_mutex_lock(&fs->parks->mutex);
	park = park_find(fs->parks, id);
	if (park != NULL) {
		park->wait = wait;
		err = fs->parks->closed ? ECANCELED : park->interrupted ? EINTR : 0;
	}
	pthread_mutex_unlock(&fs->parks->mutex);
	if (err != 0)
		park_cancel(fs, id, wait, err);
}

int park_granted(struct call *call, const struct atlock_request *req, const struct atlock_grant *grant,
		 struct node *node, struct handle *handle, size_t size, park_answer_fn *answer)
{
	struct atlock_request back = { .name = req->name, .caller = req->caller, .token = grant->token };
	bool gone = fuse_req_interrupted(call->req);

	if (!gone && answer(call, node, handle, size, grant) == 0) {
		park_taken(call->fs->parks, grant->token);
		return CALL_PARKED;
	}
	if (!grant->again && !park_was_taken(call->fs->parks, grant->token))
		atlock_release(call->al, &back, NULL, &call->why);
	return gone ? -EINTR : CALL_PARKED;
}

int park_wait(struct call *call, const struct atlock_request *req, struct node *node, struct handle *handle,
	      size_t size, park_answer_fn *answer)
{
	struct park *park = park_new(call, req->caller, node, handle, size, answer);
	struct atlock_grant grant = { 0 };
	uint64_t wait = 0;
	uint64_t id;
	int err;

	if (park == NULL)
		return -ENOMEM;
	err = park_insert(call->fs->parks, park);
	if (err < 0) {
		park_free(park);
		return err;
	}
	id = park->id;
	fuse_req_interrupt_func(call->req, park_interrupt, (void *)(uintptr_t)id);
	err = fuse_req_interrupted(call->req) ? -EINTR
					      : atlock_wait(call->al, req, park_done, park, &wait, &grant, &call->why);
	if (err == 1) {
		park_begun(call->fs, id, wait);
		return CALL_PARKED;
	}
	park_remove(call->fs->parks, park);
	park_free(park);
	if (err < 0)
		return err;
	return park_granted(call, req, &grant, node, handle, size, answer);
}

/* Takes the request of a park that has not been answered; the wait itself goes on. NULL if there is none left. */
static fuse_req_t parks_take(struct parks *parks, size_t *bucket)
{
	fuse_req_t req = NULL;
	struct park *park;

	pthread_mutex_lock(&parks->mutex);
	parks->closed = true;
	for (; req == NULL && *bucket < PARK_BUCKETS; *bucket += req == NULL)
		LIST_FOREACH(park, &parks->buckets[*bucket], link) {
			if (park->wait == 0 || park->req == NULL)
				continue;
			req = park->req;
			park->req = NULL;
			break;
		}
	pthread_mutex_unlock(&parks->mutex);
	return req;
}

/*
 * Callers are answered at once; leaving the queues costs a commit each and nobody waits for it. What is still queued when
 * the manager is closed ends there, and a lock that comes before is given back. A request that is just being parked is
 * cancelled by whoever parks it, who sees that all is closed.
 */
void parks_close(struct fs *fs)
{
	size_t bucket = 0;
	fuse_req_t req;

	while ((req = parks_take(fs->parks, &bucket)) != NULL)
		fuse_reply_err(req, ECANCELED);
}
