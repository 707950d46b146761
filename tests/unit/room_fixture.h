/*
 * A small store for the tests of room: keys that come in no order, put and removed as locks are taken and released. Each
 * has a line of its own, like an event; while room is low a new line makes the two oldest go.
 */
#ifndef TESTS_UNIT_ROOM_FIXTURE_H
#define TESTS_UNIT_ROOM_FIXTURE_H

#include "store.h"

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)
#define ROOM_KEY 16

struct room_fixture {
	char *scratch;
	char dir[128];
	char junk[128];
	struct store *store;
	bool mounted;
};

int room_setup(void **state);
int room_teardown(void **state);

/* Opens the store, again if it is open. */
void room_open(struct room_fixture *f, uint64_t max_bytes);

bool room_is_low(struct room_fixture *f);

void room_key(unsigned int i, char key[ROOM_KEY]);

/* Puts keys from `from` on until room is low; returns the first that is not there. */
unsigned int room_fill(struct room_fixture *f, unsigned int from);

/* Removes one; and all from `from` to before `to`. */
int room_remove(struct room_fixture *f, unsigned int i);
void room_drain(struct room_fixture *f, unsigned int from, unsigned int to);

/* Whether a key is there, with its value. */
bool room_has(struct room_fixture *f, unsigned int i);

/* Puts the store on a disk of its own, before it is opened; and fills that with something else. */
void room_disk(struct room_fixture *f, const char *size);
void room_disk_fill(struct room_fixture *f);

#endif
