/* Following the history: entries become part of the mirror, whichever thread fetched them. */
#ifndef STORE_REMOTE_FEED_H
#define STORE_REMOTE_FEED_H

#include "remote_adapter.h"

struct engine;

/* Tells the core that another host has written a key; an empty one: anything may have changed. */
void feed_tell(struct engine *engine, struct slice key);

/* As mirror_apply(), with the instants that this host knows of the entry; tells of another host's. */
int feed_apply(struct engine *engine, struct slice entry);

/* Fetches entries until the mirror has `revision`: 0, REMOTE_HELLO (it cannot be continued), a negative errno. */
int feed_catch_up(struct engine *engine, enum remote_line line, uint64_t revision);

/* A remote_entry_fn: takes an entry into the mirror of the engine that is its argument. 0, REMOTE_HELLO or a negative errno. */
int feed_entry(void *arg, struct slice entry);

/* Waits up to `wait` ms for entries. As above. */
int remote_follow(struct engine *engine, int wait);

/* remote_follow() for ever, until the engine is closed; for pthread_create(). */
void *feed_thread(void *engine);

#endif
