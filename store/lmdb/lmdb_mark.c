/*
 * The mark: a random number that each transaction of LMDB brings along, as the value of a key that no user of the store can write. The
 * log's entries name the mark of the transaction that they continue.
 */
#include "lmdb_mark.h"

#include "lmdb_engine.h"

#include <bsd/stdlib.h>
#include <endian.h>
#include <string.h>

/* The last key there can be, and longer than store_put() allows: no user of the store can read or write it. */
static MDB_val mark_key(unsigned char bytes[STORE_KEY_MAX + 1])
{
	return (MDB_val){ .mv_size = STORE_KEY_MAX + 1, .mv_data = memset(bytes, 0xff, STORE_KEY_MAX + 1) };
}

uint64_t lmdb_mark(const struct engine *engine, MDB_txn *txn)
{
	unsigned char bytes[STORE_KEY_MAX + 1];
	MDB_val key = mark_key(bytes);
	MDB_val value;
	uint64_t mark = 0;

	if (mdb_get(txn, engine->dbi, &key, &value) == 0 && value.mv_size == sizeof(mark))
		memcpy(&mark, value.mv_data, sizeof(mark));
	return le64toh(mark);
}

int lmdb_mark_write(const struct engine *engine, MDB_txn *txn, uint64_t mark)
{
	unsigned char bytes[STORE_KEY_MAX + 1];
	MDB_val key = mark_key(bytes);
	uint64_t value = htole64(mark);

	return mdb_put(txn, engine->dbi, &key, &(MDB_val){ .mv_size = sizeof(value), .mv_data = &value }, 0);
}

uint64_t lmdb_mark_new(void)
{
	uint64_t mark;

	arc4random_buf(&mark, sizeof(mark));
	return mark == 0 ? 1 : mark;
}
