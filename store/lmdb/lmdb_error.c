/* What an LMDB code means: as an errno, and for the engine. */
#include "lmdb_error.h"

#include "lmdb_engine.h"

#include <errno.h>

static const struct {
	int code;
	int err;
} errors[] = {
	{ MDB_MAP_FULL, ENOSPC },         { MDB_TXN_FULL, E2BIG },      { MDB_READERS_FULL, EAGAIN },
	{ MDB_BAD_VALSIZE, EINVAL },      { MDB_CORRUPTED, EUCLEAN },   { MDB_PAGE_NOTFOUND, EUCLEAN },
	{ MDB_INVALID, EUCLEAN },         { MDB_CURSOR_FULL, EUCLEAN }, { MDB_PAGE_FULL, EUCLEAN },
	{ MDB_VERSION_MISMATCH, EPROTO }, { MDB_INCOMPATIBLE, EPROTO },
};

int lmdb_errno(int rc)
{
	if (rc >= 0)
		return -rc;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == rc)
			return -errors[i].err;
	}
	return -EIO;
}

bool lmdb_is_dead(const struct engine *engine)
{
	return atomic_load_explicit(&engine->dead, memory_order_relaxed) ||
	       atomic_load_explicit(&engine->lost, memory_order_relaxed);
}

bool lmdb_is_short(const struct engine *engine, int rc)
{
	bool tight = atomic_load_explicit(&engine->space_tight, memory_order_relaxed);

	/* To LMDB, a disk that gets full in the middle of a write looks like one that fails. */
	return rc == MDB_MAP_FULL || rc == ENOSPC || rc == EDQUOT || rc == EFBIG ||
	       (rc == EIO && tight && !lmdb_is_dead(engine) && !engine->log.broken);
}
