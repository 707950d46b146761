#include "dir_access_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define DOOR_SLOTS 64

struct slot {
	pthread_mutex_t mutex;
	uint64_t dir; /* mutex, as all below */
	uint64_t changes;
	struct door door;
};

struct doors {
	_Atomic uint64_t changes; /* from 1, so that an empty slot is of no time */
	struct slot slots[DOOR_SLOTS];
};

struct doors *doors_new(void)
{
	struct doors *doors = calloc(1, sizeof(*doors));

	if (doors == NULL)
		return NULL;
	atomic_init(&doors->changes, 1);
	for (size_t i = 0; i < DOOR_SLOTS; i++)
		pthread_mutex_init(&doors->slots[i].mutex, NULL);
	return doors;
}

void doors_free(struct doors *doors)
{
	if (doors == NULL)
		return;
	for (size_t i = 0; i < DOOR_SLOTS; i++)
		pthread_mutex_destroy(&doors->slots[i].mutex);
	free(doors);
}

void doors_changed(struct doors *doors)
{
	atomic_fetch_add(&doors->changes, 1);
}

static bool slot_get(struct slot *slot, uint64_t dir, uint64_t changes, struct door *out)
{
	bool known;

	pthread_mutex_lock(&slot->mutex);
	known = slot->dir == dir && slot->changes == changes;
	if (known)
		*out = slot->door;
	pthread_mutex_unlock(&slot->mutex);
	return known;
}

/* Counted before it is read: a change in between makes it one of the past. */
int door_get(struct call *call, uint64_t dir, struct door *out)
{
	struct doors *doors = call->fs->doors;
	struct slot *slot = &doors->slots[dir % DOOR_SLOTS];
	uint64_t changes = atomic_load(&doors->changes);
	struct atlock_dir found;
	int err;

	if (slot_get(slot, dir, changes, out))
		return 0;
	err = atlock_dir_get(call->al, dir, &found);
	if (err < 0)
		return err;
	*out = (struct door){ found.parent, found.mode, found.uid, found.gid };
	pthread_mutex_lock(&slot->mutex);
	slot->dir = dir;
	slot->changes = changes;
	slot->door = *out;
	pthread_mutex_unlock(&slot->mutex);
	return 0;
}
