#include "cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attr.h"
#include "hash.h"
#include "notice.h"
#include "path.h"

#define CACHE_SLOTS 1024
#define CACHE_QUEUE 65536             /* pending changes; beyond that, only the lifetimes bound what is stale */
#define CACHE_BATCH (NOTICE_MANY / 2) /* a change is two notifications at most */
#define QUIET 250                     /* milliseconds */
#define LIFE_LOCK ATLOCK_SECOND
#define LIFE_MARGIN (ATLOCK_SECOND / 10) /* between our read of the lease and the start of the kernel's count */

struct stale {
	STAILQ_ENTRY(stale) link;
	fuse_ino_t parent;
	fuse_ino_t node;
	enum node_kept what;
	char component[];
};

STAILQ_HEAD(stale_list, stale);

struct cache {
	struct fs *fs;
	const struct kind *locks;
	pthread_t thread;
	struct notice notice; /* the thread's */
	atomic_bool running;
	pthread_mutex_t mutex;
	pthread_cond_t work;
	struct stale_list queue; /* protected by mutex, as all below */
	size_t queued;
	bool stop;
	_Atomic int64_t closed_until;         /* monotonic seconds; 0: none closed lately */
	atomic_uint changes[CACHE_SLOTS];     /* number of changes of the locks that share a slot */
	_Atomic int64_t changed[CACHE_SLOTS]; /* time of the last change, in milliseconds */
};

struct cache *cache_new(struct fs *fs, const struct kind *locks)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return NULL;
	cache->fs = fs;
	cache->locks = locks;
	pthread_mutex_init(&cache->mutex, NULL);
	pthread_cond_init(&cache->work, NULL);
	STAILQ_INIT(&cache->queue);
	return cache;
}

void cache_free(struct cache *cache)
{
	struct stale *next;

	if (cache == NULL)
		return;
	for (struct stale *stale = STAILQ_FIRST(&cache->queue); stale != NULL; stale = next) {
		next = STAILQ_NEXT(stale, link);
		free(stale);
	}
	pthread_cond_destroy(&cache->work);
	pthread_mutex_destroy(&cache->mutex);
	free(cache);
}

/* Waits for changes and moves as many of them to `batch` as a notice may have; false if the thread is to end. */
static bool cache_next(struct cache *cache, struct stale_list *batch)
{
	struct stale *stale;
	bool more;

	pthread_mutex_lock(&cache->mutex);
	while (STAILQ_EMPTY(&cache->queue) && !cache->stop)
		pthread_cond_wait(&cache->work, &cache->mutex);
	more = !cache->stop;
	for (size_t n = 0; more && n < CACHE_BATCH && (stale = STAILQ_FIRST(&cache->queue)) != NULL; n++) {
		STAILQ_REMOVE_HEAD(&cache->queue, link);
		STAILQ_INSERT_TAIL(batch, stale, link);
		cache->queued--;
	}
	pthread_mutex_unlock(&cache->mutex);
	return more;
}

static void *cache_run(void *arg)
{
	struct cache *cache = arg;
	struct stale_list batch = STAILQ_HEAD_INITIALIZER(batch);
	struct stale *stale;

	while (cache_next(cache, &batch)) {
		struct notice *notice = &cache->notice;

		notice->len = 0;
		STAILQ_FOREACH(stale, &batch, link) {
			if (stale->what == NODE_KNOWN)
				notice_delete(notice, stale->parent, stale->node, stale->component);
			else if (stale->what == NODE_KEPT)
				notice_expire(notice, stale->parent, stale->component);
			/* Last, so that the kernel asks again for a link count that it has set to 0. */
			notice_attr(notice, stale->node);
		}
		notice_send(cache->fs, notice);
		while ((stale = STAILQ_FIRST(&batch)) != NULL) {
			STAILQ_REMOVE_HEAD(&batch, link);
			node_forget(cache->fs->inodes, node_of(cache->fs, stale->node), 1);
			free(stale);
		}
	}
	return NULL;
}

int cache_start(struct cache *cache)
{
	int err = pthread_create(&cache->thread, NULL, cache_run, cache);

	atomic_store(&cache->running, err == 0);
	return -err;
}

void cache_stop(struct cache *cache)
{
	pthread_mutex_lock(&cache->mutex);
	cache->stop = true;
	pthread_cond_signal(&cache->work);
	pthread_mutex_unlock(&cache->mutex);
	if (atomic_exchange(&cache->running, false))
		pthread_join(cache->thread, NULL);
}

static unsigned int cache_slot(const struct atlock_name *name)
{
	return (unsigned int)(hash_bytes(HASH_START, name->key, name->len) >> 32) % CACHE_SLOTS;
}

struct cache_stamp cache_stamp(struct cache *cache, const struct atlock_name *name)
{
	unsigned int slot = cache_slot(name);

	return (struct cache_stamp){ slot, atomic_load(&cache->changes[slot]) };
}

static int64_t milliseconds_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void slot_count(struct cache *cache, unsigned int slot, unsigned int changes)
{
	atomic_store(&cache->changed[slot], milliseconds_now());
	atomic_fetch_add(&cache->changes[slot], changes);
}

bool cache_quiet(struct cache *cache, const struct atlock_name *name)
{
	return milliseconds_now() - atomic_load(&cache->changed[cache_slot(name)]) >= QUIET;
}

void cache_own(struct cache *cache, const struct atlock_name *name, unsigned int changes)
{
	if (changes > 0)
		slot_count(cache, cache_slot(name), changes);
}

/*
 * cache_keep() sets the mark, then compares the count; a change counts, then looks for the mark. So one of them sees
 * the other.
 */
bool cache_keep(struct cache *cache, struct node *node, struct cache_stamp stamp)
{
	atomic_store(&node->kept, NODE_HAS_NAME | NODE_HAS_ATTR);
	return atomic_load(&cache->changes[stamp.slot]) == stamp.changes;
}

struct life cache_life(struct call *call, const struct atlock_name *name, const char *who, int64_t expires_at,
		       struct cache_stamp stamp)
{
	int64_t left = LIFE_LOCK;
	double seconds;

	/* Another host may release a lock without a word to this one's kernel. */
	if (name->who[0] != '\0' || !atlock_who_is_implied(who) || atlock_is_shared(call->al))
		return (struct life){ 0 };
	if (expires_at != ATLOCK_NEVER && expires_at - atlock_now(call->al) - LIFE_MARGIN < left)
		left = expires_at - atlock_now(call->al) - LIFE_MARGIN;
	seconds = left <= 0 ? 0 : (double)left / (double)ATLOCK_SECOND;
	return (struct life){
		.entry = seconds,
		/* Where texts differ by reader, so do sizes. */
		.attr = atlock_hides(call->al) ? 0 : seconds,
		.stamped = seconds > 0,
		.stamp = stamp,
	};
}

static int64_t seconds_now(void)
{
	return milliseconds_now() / 1000;
}

/* One second beyond the lifetime covers a reply under way, and another the rounding to seconds. */
void cache_closed(struct cache *cache)
{
	atomic_store(&cache->closed_until, seconds_now() + (int64_t)CACHE_DIR_LIFE + 2);
}

bool cache_closed_lately(struct cache *cache)
{
	int64_t until = atomic_load(&cache->closed_until);

	if (until == 0)
		return false;
	if (seconds_now() < until)
		return true;
	atomic_compare_exchange_strong(&cache->closed_until, &until, 0);
	return false;
}

static bool stale_queue(struct cache *cache, struct stale *stale)
{
	bool queued;

	pthread_mutex_lock(&cache->mutex);
	queued = cache->queued < CACHE_QUEUE && !cache->stop;
	if (queued) {
		STAILQ_INSERT_TAIL(&cache->queue, stale, link);
		cache->queued++;
		pthread_cond_signal(&cache->work);
	}
	pthread_mutex_unlock(&cache->mutex);
	return queued;
}

/*
 * Queues the change for the thread, which tells the kernel and drops the node. Without memory, lifetimes bound what is
 * stale.
 */
static void stale_send(struct cache *cache, const struct stale *found, const char *component)
{
	size_t len = strlen(component) + 1;
	struct stale *stale = malloc(sizeof(*stale) + len);

	if (stale != NULL) {
		*stale = *found;
		memcpy(stale->component, component, len);
		if (stale_queue(cache, stale))
			return;
	}
	free(stale);
	node_forget(cache->fs->inodes, node_of(cache->fs, found->node), 1);
}

/*
 * ESTALE makes the kernel look the name up itself; but if the caller is killed first, only this removes the name from
 * its cache.
 */
void cache_renew(struct call *call, struct node *node)
{
	struct cache *cache = call->fs->cache;
	struct atlock_name name;

	if (path_lock(call, node->parent, node->component, &name) == 0)
		atomic_store(&cache->changed[cache_slot(&name)], milliseconds_now());
	node_unfind(call->fs->inodes, node_hold(call->fs->inodes, node));
	stale_send(cache,
		   &(struct stale){ .parent = node_id(call->fs->inodes, node->parent),
				    .node = node_id(call->fs->inodes, node) },
		   node->component);
}

static const enum node_kept kept_of[] = {
	[ATLOCK_CHANGE_LOCK] = NODE_KEPT,
	/* inotify watchers must see the lock go, whatever the kernel keeps. */
	[ATLOCK_CHANGE_END] = NODE_KNOWN,
	/* A waiter that comes or goes changes the length of the text, but the lock stays. */
	[ATLOCK_CHANGE_QUEUE] = NODE_KEPT_ATTR,
};

void cache_change(void *arg, enum atlock_change what, const struct atlock_name *name)
{
	struct fs *fs = arg;
	struct cache *cache = fs->cache;
	char path[ATLOCK_PATH_MAX];
	struct stale found = { 0 };

	attr_touch(fs);
	/* While the manager is opened or closed, the kernel sends no requests. */
	if (what == ATLOCK_CHANGE_DIR || !atomic_load(&cache->running))
		return;
	slot_count(cache, cache_slot(name), 1);
	found.what = kept_of[what];
	if (atlock_name_print(fs->al, name, path, sizeof(path)) != 0 ||
	    node_find_kept(fs->inodes, path, cache->locks, found.what, &found.parent, &found.node) != 0)
		return;
	/* Invalidating attributes takes no lock in the kernel, so it is done before the change is answered. */
	if (found.what != NODE_KEPT_ATTR)
		fuse_lowlevel_notify_inval_inode(fs->session, found.node, -1, 0);
	stale_send(cache, &found, strrchr(path, '/') + 1);
}
