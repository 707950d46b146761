/*
 * What a transaction function may do with its handle: read and write ordered byte keys. A key is read as the function left it, or
 * else as it is committed. Errors are negative errnos; 0 is done; 1 is "not there".
 */
#ifndef STORE_TXN_H
#define STORE_TXN_H

#include "slice.h"

struct store_txn;

typedef int store_fn(struct store_txn *txn, void *arg);

/* Value of `key`: 0 or 1 (absent). The bytes stay valid until the transaction function returns. */
int store_get(struct store_txn *txn, struct slice key, struct slice *value);

/*
 * First key >= `from` that begins with `prefix`: 0 or 1 (none). `value` may be NULL. The bytes stay valid until the
 * transaction function returns.
 */
int store_next(struct store_txn *txn, struct slice from, struct slice prefix, struct slice *key, struct slice *value);

/* Sets `key`; both are copied. -EINVAL for a key of a length that is not allowed, -E2BIG for such a value. */
int store_put(struct store_txn *txn, struct slice key, struct slice value);

/* Removes `key`: 0 or 1 (it was not there). */
int store_del(struct store_txn *txn, struct slice key);

/* Removes `key` without checking whether it exists: 0, also if it does not. */
int store_drop(struct store_txn *txn, struct slice key);

/* How many keys the function has read and written so far, as an engine with store_limits counts them, or more. */
size_t store_txn_keys(const struct store_txn *txn);

/* This transaction is to be on disk before store_update() returns, whatever store_options.sync says. */
void store_txn_sync(struct store_txn *txn);

#endif
