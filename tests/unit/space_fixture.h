/*
 * A small store for the tests of space: keys that come in no order, put and removed as locks are taken and released. Each
 * has a line of its own, like an event; while space is low a new line makes the two oldest go.
 */
#ifndef TESTS_UNIT_SPACE_FIXTURE_H
#define TESTS_UNIT_SPACE_FIXTURE_H

#include "store.h"

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)
#define SPACE_KEY 16

struct space_fixture {
	char *scratch;
	char dir[128];
	char junk[128];
	struct store *store;
	bool mounted;
};

int space_setup(void **state);
int space_teardown(void **state);

/* Opens the store, again if it is open. */
void space_open(struct space_fixture *f, uint64_t max_bytes);

bool space_is_low(struct space_fixture *f);

void space_key(unsigned int i, char key[SPACE_KEY]);

/* Puts keys from `from` on until space is low; returns the first that is not there. */
unsigned int space_fill(struct space_fixture *f, unsigned int from);

/* Removes one; and all from `from` to before `to`. */
int space_remove(struct space_fixture *f, unsigned int i);
void space_drain(struct space_fixture *f, unsigned int from, unsigned int to);

/* Whether a key is there, with its value. */
bool space_has(struct space_fixture *f, unsigned int i);

/* Puts the store on a disk of its own, before it is opened; and fills that with something else. */
void space_disk(struct space_fixture *f, const char *size);
void space_disk_fill(struct space_fixture *f);

#endif
