/* Copies of the whole store, and the preparation of a copy that replaces it. */
#include <errno.h>
#include <string.h>

#include "atlock/check.h"
#include "event_log.h"
#include "op.h"
#include "state.h"
#include "why.h"

/*
 * A copy does not know the numbers that were given out after it was made. None of them may be given out again, so a restored
 * store skips more numbers than can have been used meanwhile.
 */
#define LEAP (UINT64_C(1) << 32)

int atlock_backup(struct atlock *al, const char *dir, struct atlock_why *why)
{
	int rc;

	if (al == NULL || dir == NULL || dir[0] == '\0')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "name a directory for the copy");
	rc = store_copy(al->store, dir);
	if (rc == -ENOTEMPTY)
		return why_set(why, rc, ATLOCK_INVALID_REQUEST, "%s is not empty: name one that is, or a new one", dir);
	if (rc < 0)
		return why_set(why, rc, ATLOCK_BACKEND_ERROR, "%s: %s", dir, strerror(-rc));
	return 0;
}

static int restored_in_txn(struct op *op)
{
	int rc = op_skip(op, LEAP);

	return rc < 0 ? rc : event_other(op, ATLOCK_EVENT_RESTORED, "");
}

int atlock_restored(struct atlock *al, struct atlock_why *why)
{
	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	return op_call(al, NULL, METRICS_NONE, restored_in_txn, NULL, why);
}
