/*
 * When this host asked how far the history is, and what it was told: of a change that an answer does not have, it is known that it was
 * not committed before the request was sent. Any thread may call.
 */
#ifndef STORE_REMOTE_ASKED_H
#define STORE_REMOTE_ASKED_H

#include <pthread.h>
#include <stdint.h>

#define ASKED 32 /* answers that are remembered */

struct asked {
	pthread_mutex_t lock; /* of the rest; a leaf */
	struct asked_one {
		uint64_t epoch; /* 0: none. Only the server process of one epoch can say what it did not have */
		uint64_t revision;
		int64_t sent;
	} list[ASKED];
	unsigned int next;
};

void asked_init(struct asked *asked);
void asked_destroy(struct asked *asked);

/* A request sent at `sent` was answered: the history ends with `revision`. */
void asked_note(struct asked *asked, uint64_t epoch, uint64_t revision, int64_t sent);

/* The latest instant at which the entry `revision` is known not to have been there; STORE_UNKNOWN if none is known. */
int64_t asked_before(struct asked *asked, uint64_t epoch, uint64_t revision);

#endif
