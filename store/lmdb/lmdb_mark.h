/* The number by which log and transaction know each other. */
#ifndef STORE_LMDB_MARK_H
#define STORE_LMDB_MARK_H

#include <lmdb.h>
#include <stdint.h>

struct engine;

/*
 * What tells a transaction from every other, in this store and elsewhere: a random number that it brings along. 0 in a store
 * that is new.
 */
uint64_t lmdb_mark(const struct engine *engine, MDB_txn *txn);
uint64_t lmdb_mark_new(void);
int lmdb_mark_write(const struct engine *engine, MDB_txn *txn, uint64_t mark); /* 0 or an LMDB code */

#endif
