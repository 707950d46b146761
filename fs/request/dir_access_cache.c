#include "dir_access_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SLOTS 2048 /* a path of custom/ as deep as paths can be: one of each of its directories */

struct slot {
	pthread_mutex_t mutex;
	uint64_t dir; /* protected by mutex, as all below */
	uint64_t changes;
	struct dir_access access;
	bool open; /* to all users, with all directories above */
};

struct dir_access_cache {
	_Atomic uint64_t changes; /* starts at 1; 0 marks an empty slot */
	struct slot slots[SLOTS];
};

struct dir_access_cache *dir_access_cache_new(void)
{
	struct dir_access_cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return NULL;
	atomic_init(&cache->changes, 1);
	for (size_t i = 0; i < SLOTS; i++)
		pthread_mutex_init(&cache->slots[i].mutex, NULL);
	return cache;
}

void dir_access_cache_free(struct dir_access_cache *cache)
{
	if (cache == NULL)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		pthread_mutex_destroy(&cache->slots[i].mutex);
	free(cache);
}

void dir_access_changed(struct dir_access_cache *cache)
{
	atomic_fetch_add(&cache->changes, 1);
}

static struct slot *slot_of(const struct call *call, uint64_t dir)
{
	return &call->fs->dir_access->slots[dir % SLOTS];
}

uint64_t dir_access_changes(const struct call *call)
{
	return atomic_load(&call->fs->dir_access->changes);
}

static bool slot_get(struct slot *slot, uint64_t dir, uint64_t changes, struct dir_access *out)
{
	bool known;

	pthread_mutex_lock(&slot->mutex);
	known = slot->dir == dir && slot->changes == changes;
	if (known)
		*out = slot->access;
	pthread_mutex_unlock(&slot->mutex);
	return known;
}

/* The count is read before the store: a change in between makes this entry outdated. */
int dir_access_get(struct call *call, uint64_t dir, struct dir_access *out)
{
	struct slot *slot = slot_of(call, dir);
	uint64_t changes = dir_access_changes(call);
	struct atlock_dir found;
	int err;

	/* Another host's change counts at once; for a look, as soon as this host has heard of it. permit.c looks again before it refuses. */
	if (!atlock_is_shared(call->al) && slot_get(slot, dir, changes, out))
		return 0;
	err = call->act == ACT_LOOK ? atlock_dir_recent(call->al, dir, &found) : atlock_dir_get(call->al, dir, &found);
	if (err < 0)
		return err;
	*out = (struct dir_access){ found.parent, found.mode, found.uid, found.gid };
	pthread_mutex_lock(&slot->mutex);
	slot->dir = dir;
	slot->changes = changes;
	slot->access = *out;
	slot->open = false;
	pthread_mutex_unlock(&slot->mutex);
	return 0;
}

bool dir_access_is_open(struct call *call, uint64_t dir)
{
	struct slot *slot = slot_of(call, dir);
	uint64_t changes = dir_access_changes(call);
	bool open;

	pthread_mutex_lock(&slot->mutex);
	open = slot->open && slot->dir == dir && slot->changes == changes;
	pthread_mutex_unlock(&slot->mutex);
	return open && !atlock_is_shared(call->al);
}

void dir_access_open(struct call *call, uint64_t dir, uint64_t changes)
{
	struct slot *slot = slot_of(call, dir);

	pthread_mutex_lock(&slot->mutex);
	slot->open = slot->dir == dir && slot->changes == changes;
	pthread_mutex_unlock(&slot->mutex);
}
