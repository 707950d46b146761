#include "disable.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "event_log.h"
#include "grant.h"
#include "holder.h"
#include "lock_hold.h"
#include "rules.h"
#include "seal.h"

#define DISABLE_LOCK "gapply" /* the key of global/apply */
#define DISABLE_TEXT "reason=applies are disabled by the option disable_apply\n"

/* The holder loses the lock, as when an administrator removes it; waiters go on waiting. */
static int disable_take(struct op *op, struct slice lock, const struct record_lock *old)
{
	struct record_key text = record_key_of(TABLE_TEXT, lock);
	struct record_lock record = {
		.mode = 0644,
		.grant = {
			.state = RECORD_ACQUIRED,
			.priority = ATLOCK_NORMAL,
			.ttl = ATLOCK_NEVER,
			.holder = {
				.pid = (uint32_t)getpid(),
				.boot = op->al->boot,
				.owner = slice_of(HOLDER_DISABLE_OWNER),
				.who = slice_of(HOLDER_DISABLE),
				.host = slice_of(op->al->host),
			},
		},
	};
	int rc = 0;

	if (old != NULL && old->grant.state != RECORD_DELAYED)
		rc = event_lock(op, ATLOCK_EVENT_FORCED, lock, &old->grant);
	if (rc == 0)
		rc = grant_write(op, lock, old, &record);
	if (rc == 0)
		rc = seal_put(op, &text, slice_of(DISABLE_TEXT));
	return rc == 0 ? event_lock(op, ATLOCK_EVENT_ACQUIRED, lock, &record.grant) : rc;
}

/* Releases only a lock that this host holds: another host of a shared store has its own option. */
static int disable_release(struct op *op, struct slice lock, const struct record_lock *record)
{
	int rc;

	if (store_shared(op->al->store) && !slice_equal(record->grant.holder.host, slice_of(op->al->host)))
		return 0;
	rc = lock_release(op, lock, record, NULL, ATLOCK_EVENT_RELEASED);
	return rc < 0 ? rc : 0;
}

int disable_apply_set(struct op *op, bool on)
{
	struct slice lock = slice_of(DISABLE_LOCK);
	struct record_lock record;
	int rc = table_lock_get(op, lock, &record);
	bool held = rc == 0 && rules_is_disabled(&record.grant.holder);

	if (rc < 0 || held == on)
		return rc < 0 ? rc : 0;
	if (!on)
		return disable_release(op, lock, &record);
	rc = expire_lock(op, lock, &record);
	return rc < 0 ? rc : disable_take(op, lock, rc == 0 ? &record : NULL);
}

/*
 * Without the option, a damaged record is skipped: it must not keep the store from opening, and the next request for that lock
 * reports it.
 */
static int open_in_txn(struct op *op)
{
	bool on = op->options->disable_apply != 0;
	int rc = disable_apply_set(op, on);

	return rc == -EIO && !on ? 0 : rc;
}

int disable_apply_open(struct atlock *al)
{
	return op_call(al, NULL, METRICS_NONE, open_in_txn, NULL, NULL);
}
