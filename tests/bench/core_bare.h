/*
 * The other side of the comparison: LMDB without anything around it, and the very writes the core makes.
 */
#ifndef BENCH_CORE_BARE_H
#define BENCH_CORE_BARE_H

#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "lmdb_store.h"
#include "store.h"

struct bare {
	MDB_env *env;
	MDB_dbi dbi;
};

/* Opens an environment in a directory that exists. Exits if it cannot. */
void bare_open(struct bare *bare, const char *dir, bool sync);
void bare_close(struct bare *bare);

/* A load_fn over a struct bare: a value of a lock record's size put in one commit and deleted in another. */
void bare_pair(void *arg, unsigned int thread, uint64_t turn);

/* Writes as they were recorded: commit after commit, two of which are one pair of acquire and release. */
struct tape {
	unsigned char *data;
	size_t len;
	size_t cap;
	uint64_t commits;
	uint64_t bytes; /* of the keys and values in it */
};

/* LMDB's engine, which keeps what each update writes on the tape that is set. On one thread only. */
const struct store_engine *tape_engine(void);

/* Sets the tape; NULL: none. */
void tape_record(struct tape *tape);
void tape_free(struct tape *tape);

struct replay {
	struct bare *bare;
	const struct tape *tape;
	size_t at; /* where the tape goes on; begins again at its end */
};

/* A load_fn over a struct replay: the next two commits of the tape. */
void replay_pair(void *arg, unsigned int thread, uint64_t turn);

#endif
