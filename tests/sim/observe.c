#include "observe.h"

#include <stdlib.h>
#include <string.h>

void observe_init(struct observation *observation, struct atlock *al)
{
	observation->al = al;
	for (int i = 0; i < CAST_LOCKS; i++)
		observation->locks[i].read = false;
}

/* Reads "key=v12" lines; anything else than the step's keys and values makes all of it alien. */
static void meta_read(const char *text, int meta[STEP_KEYS])
{
	memset(meta, 0, STEP_KEYS * sizeof meta[0]);
	while (*text) {
		size_t name = strcspn(text, "=\n");
		int key = 0;
		while (key < STEP_KEYS && (strlen(step_keys[key]) != name || memcmp(text, step_keys[key], name) != 0))
			key++;
		char *end = NULL;
		long value = strncmp(text + name, "=v", 2) == 0 ? strtol(text + name + 2, &end, 10) : 0;
		if (key == STEP_KEYS || !end || *end != '\n' || meta[key]) {
			meta[0] = OBSERVE_ALIEN;
			return;
		}
		meta[key] = (int)value;
		text = end + 1;
	}
}

static int ticket_note(void *arg, const struct atlock_ticket *ticket)
{
	struct seen_lock *lock = arg;
	int at = lock->tickets_len++;
	if (at >= MODEL_TICKETS)
		return 0;
	lock->tickets[at] = (struct seen_ticket){
		.number = ticket->ticket,
		.actor = cast_find_actor(ticket->owner, ticket->who),
		.priority = (int)ticket->priority,
		.parked = ticket->parked,
		.since = ticket->since,
		.deadline = ticket->deadline,
		.ttl = ticket->ttl,
		.position = ticket->position,
	};
	return 0;
}

static void view_note(struct seen_lock *lock, const struct atlock_view *view)
{
	lock->state = view->state;
	lock->actor = cast_find_actor(view->owner, view->who);
	lock->uid = view->uid;
	lock->mode = view->mode & 0777;
	lock->token = view->token;
	lock->version = view->version;
	lock->waiters = view->waiters;
	lock->acquired_at = view->acquired_at;
	lock->renewed_at = view->renewed_at;
	lock->expires_at = view->expires_at;
	lock->ttl = view->ttl;
	lock->claim_by = view->claim_by;
	meta_read(view->meta ? view->meta : "", lock->meta);
}

const struct seen_lock *observe_lock(struct observation *observation, int index)
{
	struct seen_lock *lock = &observation->locks[index];
	if (lock->read)
		return lock;
	struct atlock_view view = { 0 };
	lock->read = true;
	lock->tickets_len = 0;
	lock->ret = atlock_get(observation->al, &cast_locks[index].name, &view);
	if (lock->ret == 0) {
		view_note(lock, &view);
		atlock_view_clear(&view);
	}
	int err = atlock_queue_list(observation->al, &cast_locks[index].name, NULL, ticket_note, lock);
	if (err < 0)
		lock->ret = err;
	return lock;
}
