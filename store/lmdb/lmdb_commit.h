/* How a layer is committed: in the log, or as a transaction of LMDB. */
#ifndef STORE_LMDB_COMMIT_H
#define STORE_LMDB_COMMIT_H

#include <stdbool.h>

struct layer;
struct engine;

/* Reads the log, once the environment is open; and begins to add to it, once it is known how much space there is. */
int lmdb_commit_init(struct engine *engine);
int lmdb_commit_start(struct engine *engine);

/* Leaves nothing in the log. Before the environment is closed. */
void lmdb_commit_end(struct engine *engine);

/* What a commit asks for. */
enum commit_how {
	COMMIT_ANY,
	COMMIT_DURABLE, /* on disk, whatever `sync` says */
	COMMIT_FLUSHED, /* in LMDB */
};

/*
 * Makes `layer` the committed one: by the log, or by LMDB if the log has no space or that is asked for. By the leader. 0, or an
 * LMDB code: then nothing has changed.
 */
int lmdb_commit(struct engine *engine, struct layer *layer, enum commit_how how);

/*
 * After lmdb_commit() found no pages: waits until no thread of this process reads, and flushes. By the
 * leader. True if a commit may find pages now.
 */
bool lmdb_commit_make_space(struct engine *engine);

#endif
