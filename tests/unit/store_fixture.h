/* A store in a scratch directory of its own, for tests of the LMDB engine. */
#ifndef UNIT_STORE_FIXTURE_H
#define UNIT_STORE_FIXTURE_H

#include "store.h"

enum { STORE_DATA, STORE_LOG, STORE_READERS, STORE_FILES };

struct store_fixture {
	char *dir;
	char path[STORE_FILES][128]; /* data.mdb, commit.log, lock.mdb */
	char why[512];
	enum store_sync sync;
	struct store *store; /* NULL: not open */
};

/* Makes the directory, and removes it with all that is in it. The store is not opened, and closed if it is open. */
void store_fixture_init(struct store_fixture *f);
void store_fixture_fini(struct store_fixture *f);

/* The same for cmocka, with the fixture as the state. */
int store_fixture_setup(void **state);
int store_fixture_teardown(void **state);

/* As store_open(), with the fixture's `sync`; and store_close(). */
int store_fixture_open(struct store_fixture *f, bool readonly);
void store_fixture_close(struct store_fixture *f);

#endif
