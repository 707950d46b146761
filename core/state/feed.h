/*
 * Keys that other hosts have written to a shared store, for the manager's thread to act on: a waiter may have been given its lock, the
 * kernel may have to forget something. Private to core/.
 */
#ifndef CORE_FEED_H
#define CORE_FEED_H

#include "state.h"

#define FEED_HOST 'b' /* what the key of a host begins with: it is gone, or has come again */

struct feed;

int feed_new(struct feed **out);
void feed_free(struct feed *feed);

/* For struct store_share: `arg` is the manager. Sets ALARM_FEED. */
void feed_changed(void *arg, struct slice key);

/* The oldest one, for the caller to free: a key, an empty one if anything may have changed; NULL if there is none. */
struct feed_key {
	struct feed_key *next;
	size_t len;
	unsigned char data[];
};

struct feed_key *feed_take(struct feed *feed);

#endif
