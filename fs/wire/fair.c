#include "fair.h"

#include <bsd/sys/queue.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>

#define FAIR_BUCKETS 256
#define FAIR_IDLE 256 /* users without requests whose share is kept, so that their next request needs no allocation */
#define FAIR_FEW 1    /* requests of one user in progress while other users are active */
#define FAIR_RECENT (20 * (ATLOCK_SECOND / 1000)) /* a user is active for so long after a request */

/* A request that was read, and waits for its turn. */
struct request {
	STAILQ_ENTRY(request) link;
	struct fuse_buf buf;
};

struct share {
	uid_t uid;
	unsigned int under_way;
	STAILQ_HEAD(, request)
	queues[2]; /* requests that wait; [0]: those that hold a directory; see holds_directory() */
	LIST_ENTRY(share) bucket;
	TAILQ_ENTRY(share) turn; /* while requests of it wait */
	TAILQ_ENTRY(share) idle; /* while none of it waits or is in progress */
};

LIST_HEAD(bucket, share);

struct fair {
	struct bucket buckets[FAIR_BUCKETS]; /* by uid */
	TAILQ_HEAD(, share) turns;           /* shares with requests that wait; the first is next */
	TAILQ_HEAD(, share) idle;            /* least recently active first */
	unsigned int idle_count;
	unsigned int most;   /* requests of one user in progress */
	struct share urgent; /* of no user; see is_urgent() */
	struct share spare;  /* for new users when memory is short */
	/* The two users that were active last, and when: enough to tell for each user whether another one is active. */
	uid_t newest;
	int64_t newest_at;
	int64_t other_at;
};

static void share_init(struct share *share)
{
	STAILQ_INIT(&share->queues[0]);
	STAILQ_INIT(&share->queues[1]);
}

static bool share_waits(const struct share *share)
{
	return !STAILQ_EMPTY(&share->queues[0]) || !STAILQ_EMPTY(&share->queues[1]);
}

/* Removes the next request that waits; NULL: none. */
static struct request *share_take(struct share *share)
{
	size_t queue = STAILQ_EMPTY(&share->queues[0]);
	struct request *request = STAILQ_FIRST(&share->queues[queue]);

	if (request != NULL)
		STAILQ_REMOVE_HEAD(&share->queues[queue], link);
	return request;
}

struct fair *fair_new(unsigned int threads)
{
	struct fair *fair = calloc(1, sizeof(*fair));

	if (fair == NULL)
		return NULL;
	TAILQ_INIT(&fair->turns);
	TAILQ_INIT(&fair->idle);
	share_init(&fair->urgent);
	share_init(&fair->spare);
	fair->most = threads / 2 > FAIR_FEW ? threads / 2 : FAIR_FEW;
	return fair;
}

static void request_free(struct request *request)
{
	free(request->buf.mem);
	free(request);
}

static void share_clear(struct share *share)
{
	struct request *request;

	while ((request = share_take(share)) != NULL)
		request_free(request);
}

void fair_free(struct fair *fair)
{
	struct share *share;

	if (fair == NULL)
		return;
	for (size_t i = 0; i < FAIR_BUCKETS; i++)
		while ((share = LIST_FIRST(&fair->buckets[i])) != NULL) {
			LIST_REMOVE(share, bucket);
			share_clear(share);
			free(share);
		}
	share_clear(&fair->spare);
	free(fair);
}

/* The user's share. The caller adds a request to it, in progress or waiting, so it is no longer idle. */
static struct share *share_of(struct fair *fair, uid_t uid)
{
	struct bucket *bucket = &fair->buckets[uid % FAIR_BUCKETS];
	struct share *share;

	LIST_FOREACH(share, bucket, bucket)
		if (share->uid == uid)
			break;
	if (share == NULL) {
		share = calloc(1, sizeof(*share));
		if (share == NULL)
			return &fair->spare;
		share->uid = uid;
		share_init(share);
		LIST_INSERT_HEAD(bucket, share, bucket);
	} else if (share->under_way == 0 && !share_waits(share)) {
		TAILQ_REMOVE(&fair->idle, share, idle);
		fair->idle_count--;
	}
	return share;
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return time.tv_sec * ATLOCK_SECOND + time.tv_nsec;
}

static void fair_note(struct fair *fair, const struct share *share, int64_t at)
{
	if (fair->newest != share->uid) {
		fair->newest = share->uid;
		fair->other_at = fair->newest_at;
	}
	fair->newest_at = at;
}

/* Whether the share may have one more request in progress. */
static bool share_may(const struct fair *fair, const struct share *share, int64_t at)
{
	int64_t others = fair->newest == share->uid ? fair->other_at : fair->newest_at;

	if (share->under_way >= fair->most)
		return false;
	return share->under_way < FAIR_FEW || others == 0 || at - others > FAIR_RECENT;
}

/*
 * Requests that end something, or that no caller waits for, run at once; the kernel often does not say whose they are.
 */
static bool is_urgent(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_INIT:
	case FUSE_DESTROY:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR: return true;
	default: return false;
	}
}

/*
 * The kernel holds the lock of such a request's directory until the reply, and other users of the directory wait with
 * it. So it must not queue behind slower requests of its own user.
 */
static bool holds_directory(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_LOOKUP:
	case FUSE_CREATE:
	case FUSE_MKNOD:
	case FUSE_MKDIR:
	case FUSE_SYMLINK:
	case FUSE_LINK:
	case FUSE_UNLINK:
	case FUSE_RMDIR:
	case FUSE_RENAME:
	case FUSE_RENAME2:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS: return true;
	default: return false;
	}
}

static bool share_add(struct fair *fair, struct share *share, const struct fuse_buf *buf)
{
	const struct fuse_in_header *header = buf->mem;
	struct request *request = calloc(1, sizeof(*request));

	if (request == NULL)
		return false;
	request->buf = *buf;
	request->buf.mem = malloc(buf->size);
	if (request->buf.mem == NULL) {
		free(request);
		return false;
	}
	memcpy(request->buf.mem, buf->mem, buf->size);
	if (!share_waits(share))
		TAILQ_INSERT_TAIL(&fair->turns, share, turn);
	STAILQ_INSERT_TAIL(&share->queues[!holds_directory(header->opcode)], request, link);
	return true;
}

struct share *fair_enter(struct fair *fair, const struct fuse_buf *buf)
{
	const struct fuse_in_header *header = buf->mem;
	struct share *share = &fair->urgent;
	int64_t at;

	if (!is_urgent(header->opcode)) {
		at = now();
		share = share_of(fair, header->uid);
		fair_note(fair, share, at);
		if (!share_may(fair, share, at) && share_add(fair, share, buf))
			return NULL;
	}
	share->under_way++;
	return share;
}

struct share *fair_hold(struct fair *fair, uid_t uid)
{
	struct share *share = share_of(fair, uid);

	share->under_way++;
	return share;
}

void fair_leave(struct fair *fair, struct share *share)
{
	share->under_way--;
	if (share->under_way > 0 || share_waits(share) || share == &fair->urgent || share == &fair->spare)
		return;
	TAILQ_INSERT_TAIL(&fair->idle, share, idle);
	if (fair->idle_count < FAIR_IDLE) {
		fair->idle_count++;
		return;
	}
	share = TAILQ_FIRST(&fair->idle);
	TAILQ_REMOVE(&fair->idle, share, idle);
	LIST_REMOVE(share, bucket);
	free(share);
}

/* Call only if a request waits. */
static struct share *fair_turn(const struct fair *fair)
{
	struct share *share;
	int64_t at = now();

	TAILQ_FOREACH(share, &fair->turns, turn)
		if (share_may(fair, share, at))
			break;
	return share;
}

bool fair_waits(const struct fair *fair)
{
	return !TAILQ_EMPTY(&fair->turns) && fair_turn(fair) != NULL;
}

struct share *fair_next(struct fair *fair, struct fuse_buf *buf)
{
	struct share *share = TAILQ_EMPTY(&fair->turns) ? NULL : fair_turn(fair);
	struct request *request;

	if (share == NULL)
		return NULL;
	request = share_take(share);
	TAILQ_REMOVE(&fair->turns, share, turn);
	if (share_waits(share))
		TAILQ_INSERT_TAIL(&fair->turns, share, turn);
	share->under_way++;
	*buf = request->buf;
	free(request);
	return share;
}
