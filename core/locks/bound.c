#include "bound.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allow.h"
#include "event_log.h"
#include "grant.h"
#include "holder.h"
#include "holder_index.h"
#include "lock_hold.h"
#include "lock_name.h"
#include "rules.h"
#include "scan.h"
#include "watch.h"
#include "why.h"

/* Locks and waits of a dead process ended in one transaction: bounds how long it blocks other writers. */
#define LEAVE_BATCH 256

/* Selects the locks and tickets to end. */
struct leaving {
	const char *owner; /* NULL: any */
	const char *who;
	const char *repo; /* NULL: any; else exactly this one */
	bool closing; /* refuse if one belongs to another owner than the caller, unless the caller is an administrator */
	bool by_start; /* only those bound to the process with this start */
	uint64_t start;
	size_t most;  /* ended in one transaction; 0: no limit */
	size_t ended; /* in this one */
	bool more;    /* there may be more */
	size_t released;
	int damage; /* error of a damaged lock or ticket that was skipped; 0: none */
};

static bool in_repo(struct slice lock, const char *repo)
{
	struct atlock_parts parts;
	struct atlock_name name;

	if (repo == NULL)
		return true;
	name_from_key(&name, lock);
	return atlock_name_split(&name, &parts) == 0 && strcmp(parts.repo, repo) == 0;
}

/* Counts one; true if the transaction has done enough. */
static bool leaving_count(struct leaving *leaving)
{
	leaving->ended++;
	leaving->more = leaving->ended == leaving->most;
	return leaving->more;
}

static bool may_leave(const struct op *op, const struct leaving *leaving, struct slice owner)
{
	return !leaving->closing || op->caller->admin || slice_equal(owner, slice_of(op->caller->owner));
}

static int leave_locks(struct op *op, struct leaving *leaving, struct slice owner, struct slice who)
{
	struct record_queue queue;
	struct record_lock record;
	struct slice lock;
	uint64_t token = 0;
	int rc;

	while ((rc = table_held_next(op, owner, who, token, &token, &lock)) == 0) {
		if (!in_repo(lock, leaving->repo))
			continue;
		rc = expire_lock_queue(op, lock, &record, &queue);
		if (rc == -EIO && leaving->by_start) {
			leaving->damage = rc;
			continue;
		}
		if (rc < 0)
			return rc;
		/* expire_lock_queue() may have ended the grant and handed the lock to another holder. */
		if (rc == 1 || record.grant.token != token || record.grant.state == RECORD_DELAYED)
			continue;
		if (leaving->by_start && record.grant.holder.start != leaving->start)
			continue;
		if (!may_leave(op, leaving, record.grant.holder.owner))
			return rules_refuse_held(
				op, lock, &record, -EPERM, ATLOCK_PERMISSION_DENIED,
				"only its owner or an administrator may close the pull request; rm -r of "
				"its directory removes what is yours");
		rc = leaving->closing ? allow_action(op, lock, POLICY_RELEASE) : 0;
		if (rc == 0)
			rc = lock_release(op, lock, &record, &queue, ATLOCK_EVENT_RELEASED);
		if (rc < 0)
			return rc;
		leaving->released++;
		if (leaving_count(leaving))
			break;
	}
	return rc < 0 ? rc : 0;
}

static int leave_queue(struct op *op, struct slice lock, const struct ticket *ticket)
{
	int rc;

	op_tell(op, &ticket->record, -ECANCELED, ATLOCK_CANCELLED, NULL);
	rc = table_ticket_del(op, lock, ticket);
	return rc == 0 ? event_ticket(op, ATLOCK_EVENT_CANCELLED, ATLOCK_CANCELLED, lock, ticket) : rc;
}

static int leave_queues(struct op *op, struct leaving *leaving, struct slice owner, struct slice who)
{
	struct ticket ticket;
	struct slice lock;
	uint64_t number = 0;
	uint8_t rank;
	int rc;

	while ((rc = table_wait_next(op, owner, who, number, &number, &rank, &lock)) == 0) {
		if (!in_repo(lock, leaving->repo))
			continue;
		rc = table_ticket_get(op, lock, rank, number, &ticket);
		if (rc != 0 && leaving->by_start) {
			leaving->damage = -EIO;
			continue;
		}
		if (rc != 0)
			return rc < 0 ? rc : op_corrupt(op, lock, -EBADMSG);
		if (leaving->by_start && ticket.record.holder.start != leaving->start)
			continue;
		if (!may_leave(op, leaving, ticket.record.holder.owner))
			return why_set(op->why, -EPERM, ATLOCK_PERMISSION_DENIED,
				       "%.*s@%.*s waits for a lock: only that owner or an administrator may close the "
				       "pull request",
				       (int)ticket.record.holder.owner.len,
				       (const char *)ticket.record.holder.owner.data, (int)ticket.record.holder.who.len,
				       (const char *)ticket.record.holder.who.data);
		rc = ticket.record.deadline < op->now ? grant_time_out(op, lock, &ticket)
						      : leave_queue(op, lock, &ticket);
		if (rc < 0)
			return rc;
		if (leaving_count(leaving))
			break;
	}
	return rc < 0 ? rc : 0;
}

/* Tickets before locks: else a leaving holder could be handed one of the locks it leaves. */
static int leave_all(struct op *op, struct leaving *leaving)
{
	struct slice who = slice_of(leaving->who);
	static const enum record_table tables[] = { TABLE_WAITS, TABLE_HELD };
	size_t i;
	int rc;

	leaving->released = 0;
	leaving->damage = 0;
	leaving->ended = 0;
	leaving->more = false;
	for (i = 0; i < 2 && !leaving->more; i++) {
		struct record_key from = record_key_of(tables[i], (struct slice){ NULL, 0 });
		struct slice owner = slice_of(leaving->owner != NULL ? leaving->owner : "");

		rc = leaving->owner != NULL ? 0 : holder_index_owner_next(op, tables[i], &from, &owner);
		while (rc == 0) {
			rc = tables[i] == TABLE_WAITS ? leave_queues(op, leaving, owner, who)
						      : leave_locks(op, leaving, owner, who);
			if (rc == 0)
				rc = leaving->owner != NULL || leaving->more
					     ? 1
					     : holder_index_owner_next(op, tables[i], &from, &owner);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int leave_in_txn(struct op *op)
{
	return leave_all(op, op->arg);
}

static int leave(struct atlock *al, const struct atlock_caller *caller, struct leaving *leaving, struct atlock_why *why)
{
	return op_call(al, caller, METRICS_RELEASE, leave_in_txn, leaving, why);
}

int bound_watch(struct atlock *al, const struct atlock_caller *caller, struct atlock_why *why)
{
	pid_t pid;
	int rc;

	if (al->watch == NULL || caller->bound_start == 0 || !holder_pid(caller->who, &pid))
		return 0;
	rc = watch_add(al->watch, pid, caller->bound_start);
	if (rc == -ESRCH)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "@%s: that process is gone", caller->who);
	if (rc < 0)
		return why_set(
			why, -EDQUOT, ATLOCK_QUOTA,
			"@%s cannot be watched (%s): use another name, or raise the daemon's limit of open files",
			caller->who, strerror(-rc));
	return 0;
}

int bound_release(struct atlock *al, pid_t pid, uint64_t start)
{
	struct leaving leaving = { .by_start = true, .start = start, .most = LEAVE_BATCH };
	char who[32];
	int rc;

	(void)snprintf(who, sizeof(who), "pid:%jd", (intmax_t)pid);
	leaving.who = who;
	do
		rc = leave(al, NULL, &leaving, NULL);
	while (rc == 0 && leaving.more);
	/* A damaged record does not keep other locks held, but it has not been ended either: report it. */
	return rc == 0 ? leaving.damage : rc;
}

int atlock_release_holder(struct atlock *al, const struct atlock_caller *holder, size_t *released,
			  struct atlock_why *why)
{
	struct leaving leaving = { .who = "" };
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	rc = rules_caller(holder, why);
	if (rc < 0)
		return rc;
	leaving.owner = holder->owner;
	leaving.who = holder->who;
	leaving.by_start = holder_kind(holder->who) == HOLDER_PROCESS;
	leaving.start = holder->bound_start;
	rc = leave(al, holder, &leaving, why);
	if (rc == 0 && released != NULL)
		*released = leaving.released;
	return rc;
}

int bound_close_pull(struct op *op, const char *repo, uint64_t num, size_t *released)
{
	struct leaving leaving = { .repo = repo, .closing = true };
	char who[32];
	int rc;

	(void)snprintf(who, sizeof(who), "pr:%" PRIu64, num);
	leaving.who = who;
	rc = leave_all(op, &leaving);
	*released = leaving.released;
	return rc;
}

/* --- After a restart --- */

static bool slice_starts(struct slice text, const char *prefix)
{
	return text.len >= strlen(prefix) && memcmp(text.data, prefix, strlen(prefix)) == 0;
}

/* Tickets and locks of another host are skipped: its manager can still answer its calls. */
static bool is_elsewhere(const struct op *op, struct slice host)
{
	return store_shared(op->al->store) && !slice_equal(host, slice_of(op->al->host));
}

/*
 * Releases a lock of an open file, which died with its manager, or of a process of an earlier boot. A process of this boot is
 * watched from now on, which also notices that it has gone meanwhile. A damaged record is skipped: it must not keep the store
 * from opening, and the next request for that lock reports it.
 */
static int recover_lock(struct op *op, struct slice lock)
{
	struct record_lock record;
	int rc = table_lock_get(op, lock, &record);

	if (rc != 0 || record.grant.state == RECORD_DELAYED || is_elsewhere(op, record.grant.holder.host))
		return rc < 0 && rc != -EIO ? rc : 0;
	if (record.grant.holder.start != 0 && record.grant.holder.boot == op->al->boot) {
		op_bound(op, record.grant.holder.who, record.grant.holder.start);
		return 0;
	}
	rc = lock_release(op, lock, &record, NULL, ATLOCK_EVENT_RELEASED);
	return rc < 0 ? rc : 0;
}

static int recover_ticket(struct op *op, struct slice lock, const struct ticket *ticket)
{
	const struct record_ticket *record = &ticket->record;
	bool gone = record->wait != 0 || slice_starts(record->holder.who, "flock:") ||
		    (slice_starts(record->holder.who, "pid:") && record->holder.boot != op->al->boot);
	int rc;

	if (is_elsewhere(op, record->holder.host))
		return 0;
	if (!gone) {
		op_bound(op, record->holder.who, record->holder.start);
		return 0;
	}
	rc = table_ticket_del(op, lock, ticket);
	return rc == 0 ? event_ticket(op, ATLOCK_EVENT_CANCELLED, ATLOCK_CANCELLED, lock, ticket) : rc;
}

static int recover_tickets(struct op *op)
{
	struct scan scan = scan_table(TABLE_WAITS);
	struct ticket ticket;
	struct slice lock;
	int rc;

	while ((rc = scan_next(op, &scan)) == 0) {
		const unsigned char *place = scan.value.data;

		if (scan.key.len < 11 || scan.value.len < 2)
			continue;
		lock = (struct slice){ place + 1, scan.value.len - 1 };
		rc = table_ticket_get(op, lock, place[0],
				      record_number((const unsigned char *)scan.key.data + scan.key.len - 8), &ticket);
		if (rc == 1 || rc == -EIO)
			continue;
		if (rc == 0)
			rc = recover_ticket(op, lock, &ticket);
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

/*
 * Recovers all locks of one kind of holder. Goes owner by owner to skip other kinds: there may be a million of them in between.
 */
static int recover_kind(struct op *op, const char *kind)
{
	struct record_key owners = record_key_of(TABLE_HELD, (struct slice){ NULL, 0 });
	struct slice owner = { NULL, 0 };
	int rc;

	while ((rc = holder_index_owner_next(op, TABLE_HELD, &owners, &owner)) == 0) {
		struct record_key prefix = record_key_holder(TABLE_HELD, owner, slice_of(kind));
		struct scan scan;

		prefix.len--; /* without the NUL that ends a who */
		scan = scan_prefix(&prefix);
		while ((rc = scan_next(op, &scan)) == 0) {
			rc = recover_lock(op, scan.value);
			if (rc < 0)
				return rc;
		}
		if (rc < 0)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

/* Tickets before locks, so that no lock is handed to a call that is gone. */
static int recover_in_txn(struct op *op)
{
	int rc = recover_tickets(op);

	if (rc == 0)
		rc = recover_kind(op, "flock:");
	return rc == 0 ? recover_kind(op, "pid:") : rc;
}

int bound_recover(struct atlock *al)
{
	return op_call(al, NULL, METRICS_NONE, recover_in_txn, NULL, NULL);
}
