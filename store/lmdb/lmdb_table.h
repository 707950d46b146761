/* LMDB's environment, with its table of readers in memory. */
#ifndef STORE_LMDB_TABLE_H
#define STORE_LMDB_TABLE_H

#define LMDB_READERS 512

struct engine;

/* Opens the environment, over the data file that is open. 0 or an LMDB code. */
int lmdb_table_open(struct engine *engine);

#endif
