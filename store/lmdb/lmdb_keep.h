/* How a commit is kept: in the log, or as a transaction of LMDB. */
#ifndef STORE_LMDB_KEEP_H
#define STORE_LMDB_KEEP_H

#include <stdbool.h>

struct layer;
struct engine;

/* Reads the log, once the environment is open; and begins to add to it, once it is known how much room there is. */
int lmdb_keep_init(struct engine *engine);
int lmdb_keep_start(struct engine *engine);

/* Leaves nothing in the log. Before the environment is closed. */
void lmdb_keep_end(struct engine *engine);

/* What a commit asks for beside being kept. */
enum keep {
	KEEP_ANY,
	KEEP_DURABLE, /* on disk, whatever `sync` says */
	KEEP_SETTLED, /* LMDB's */
};

/*
 * Makes `layer` the committed one: by the log, or by LMDB if the log has no room or that is asked for. By the leader. 0, or an
 * LMDB code: then nothing has changed.
 */
int lmdb_keep(struct engine *engine, struct layer *layer, enum keep how);

/*
 * After lmdb_keep() found no pages: waits until nobody in this process reads, and gives LMDB what the log has. By the
 * leader. True if a commit may find pages now.
 */
bool lmdb_keep_room(struct engine *engine);

#endif
