/*
 * A stage with two callers for the tests of custom/, whose locks are named by directory and leaf.
 */
#ifndef TESTS_UNIT_DIR_FIXTURE_H
#define TESTS_UNIT_DIR_FIXTURE_H

#include "stage.h"

struct fixture {
	struct stage *stage;
	struct atlock *al; /* the stage's */
	struct atlock_caller alice;
	struct atlock_caller bob;
	struct atlock_why why;
	unsigned int changes; /* of directories that were announced */
	struct atlock_name changed;
};

int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Opens the manager; closes it without checking. */
void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);

void fixture_advance(struct fixture *f, int64_t seconds);

/* Alice makes a directory, takes a lock for `ttl` seconds, gives it back. Making must succeed and returns the id. */
uint64_t fixture_make(struct fixture *f, uint64_t parent, const char *name);
int fixture_acquire(struct fixture *f, uint64_t dir, const char *leaf, int64_t ttl, struct atlock_grant *out);
int fixture_release(struct fixture *f, uint64_t dir, const char *leaf);

/* Writes "name/ " for each directory and "name " for each lock, and stops after `most`. */
int fixture_list(struct fixture *f, uint64_t dir, unsigned int most, char *out, size_t len);

/* Asserts what the last event was. */
void fixture_event_is(struct fixture *f, enum atlock_event_type type, const char *path);

#endif
