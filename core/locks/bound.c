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
#include "watch.h"
#include "why.h"

/* Locks and waits that end in one transaction, and entries read for it: bounds how long it blocks other writers. */
#define LEAVE_BATCH 256
#define LEAVE_LOOKS 4096

/* Selects the locks and tickets to end. */
struct leaving {
	const char *owner; /* NULL: any */
	const char *who;
	const char *repo; /* NULL: any; else exactly this one */
	bool closing; /* refuse if one belongs to another owner than the caller, unless the caller is an administrator */
	bool by_start; /* only those bound to the process with this start */
	uint64_t start;
	size_t most;               /* ended in one transaction; 0: no limit */
	size_t looks;              /* entries read in one transaction; 0: no limit */
	size_t ended;              /* in this one */
	size_t looked;             /* at in this one */
	bool more;                 /* there may be more */
	bool check_only;           /* count them, and refuse if one may not be ended; writes nothing */
	struct bound_place *place; /* where to begin, and where to go on; NULL: at the beginning */
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

/* Whether the transaction has done enough; `number` is the entry that was read last. */
static bool leaving_pauses(const struct op *op, struct leaving *leaving, struct slice owner, uint64_t number)
{
	leaving->more = (leaving->most != 0 && (leaving->ended >= leaving->most || op_is_full(op))) ||
			(leaving->looks != 0 && leaving->looked >= leaving->looks);
	if (leaving->more && leaving->place != NULL && owner.len < sizeof(leaving->place->owner)) {
		memcpy(leaving->place->owner, owner.data, owner.len);
		leaving->place->owner[owner.len] = '\0';
		leaving->place->number = number;
	}
	return leaving->more;
}

/* The number after which the entries of an owner are to be read. */
static uint64_t leaving_after(const struct leaving *leaving, struct slice owner)
{
	const struct bound_place *place = leaving->place;

	return place != NULL && slice_equal(slice_of(place->owner), owner) ? place->number : 0;
}

static bool may_leave(const struct op *op, const struct leaving *leaving, struct slice owner)
{
	return !leaving->closing || op->caller->admin || op->caller->pull_user ||
	       slice_equal(owner, slice_of(op->caller->owner));
}

/* Ends a held lock: 1, or 0 if it is not one of those to be ended. */
static int leave_lock(struct op *op, struct leaving *leaving, struct slice lock, uint64_t token)
{
	struct record_queue queue;
	struct record_lock record;
	int rc = leaving->check_only ? table_lock_get(op, lock, &record) : expire_lock_queue(op, lock, &record, &queue);

	if (rc == -EIO && leaving->by_start) {
		leaving->damage = rc;
		return 0;
	}
	if (rc < 0)
		return rc;
	/* expire_lock_queue() may have ended the grant and handed the lock to another holder. */
	if (rc == 1 || record.grant.token != token || record.grant.state == RECORD_DELAYED)
		return 0;
	if ((leaving->by_start && record.grant.holder.start != leaving->start) ||
	    table_holder_is_elsewhere(op, &record.grant.holder, op->al->boot))
		return 0;
	if (leaving->check_only && !table_grant_is_held(op, &record.grant))
		return 0;
	if (!may_leave(op, leaving, record.grant.holder.owner))
		return rules_refuse_held(op, lock, &record, -EPERM, ATLOCK_PERMISSION_DENIED,
					 "only its owner or an administrator may close the pull request; rm -r of its "
					 "directory removes what is yours");
	rc = leaving->closing ? allow_action(op, lock, POLICY_RELEASE) : 0;
	if (rc == 0 && !leaving->check_only)
		rc = lock_release(op, lock, &record, &queue, ATLOCK_EVENT_RELEASED);
	return rc < 0 ? rc : 1;
}

static int leave_locks(struct op *op, struct leaving *leaving, struct slice owner, struct slice who)
{
	struct slice lock;
	uint64_t token = leaving_after(leaving, owner);
	int rc;

	while ((rc = table_held_next(op, owner, who, token, &token, &lock)) == 0) {
		rc = in_repo(lock, leaving->repo) ? leave_lock(op, leaving, lock, token) : 0;
		if (rc < 0)
			return rc;
		leaving->released += rc == 1;
		leaving->ended += rc == 1;
		leaving->looked++;
		if (leaving_pauses(op, leaving, owner, token))
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

/* Ends a wait: 1, or 0 if it is not one of those to be ended. */
static int leave_wait(struct op *op, struct leaving *leaving, struct slice lock, uint8_t rank, uint64_t number)
{
	struct ticket ticket;
	int rc = table_ticket_get(op, lock, rank, number, &ticket);

	if (rc != 0 && leaving->by_start) {
		leaving->damage = -EIO;
		return 0;
	}
	if (rc != 0)
		return rc < 0 ? rc : op_corrupt(op, lock, -EBADMSG);
	if ((leaving->by_start && ticket.record.holder.start != leaving->start) ||
	    table_holder_is_elsewhere(op, &ticket.record.holder, op->al->boot))
		return 0;
	if (!may_leave(op, leaving, ticket.record.holder.owner))
		return why_set(op->why, -EPERM, ATLOCK_PERMISSION_DENIED,
			       "%.*s@%.*s waits for a lock: only that owner or an administrator may close the pull "
			       "request; rm -r of its directory removes what is yours",
			       (int)ticket.record.holder.owner.len, (const char *)ticket.record.holder.owner.data,
			       (int)ticket.record.holder.who.len, (const char *)ticket.record.holder.who.data);
	if (!leaving->check_only)
		rc = table_ticket_is_over(op, &ticket.record) ? grant_time_out(op, lock, &ticket)
							      : leave_queue(op, lock, &ticket);
	return rc < 0 ? rc : 1;
}

static int leave_queues(struct op *op, struct leaving *leaving, struct slice owner, struct slice who)
{
	struct slice lock;
	uint64_t number = leaving_after(leaving, owner);
	uint8_t rank;
	int rc;

	while ((rc = table_wait_next(op, owner, who, number, &number, &rank, &lock)) == 0) {
		rc = in_repo(lock, leaving->repo) ? leave_wait(op, leaving, lock, rank, number) : 0;
		if (rc < 0)
			return rc;
		leaving->ended += rc == 1;
		leaving->looked++;
		if (leaving_pauses(op, leaving, owner, number))
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
	leaving->looked = 0;
	leaving->more = false;
	for (i = leaving->place != NULL ? leaving->place->table : 0; i < 2 && !leaving->more; i++) {
		struct slice begin = slice_of(leaving->place != NULL ? leaving->place->owner : "");
		struct record_key from = record_key_of(tables[i], begin);
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
		if (leaving->place != NULL && !leaving->more)
			*leaving->place = (struct bound_place){ .table = i + 1 };
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
	rc = watch_add(al->watch, pid, caller->bound_start, caller->admin ? WATCH_ANY : caller->uid);
	if (rc == -ESRCH)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "@%s: that process is gone", caller->who);
	if (rc == -EDQUOT)
		return why_set(
			why, -EDQUOT, ATLOCK_QUOTA,
			"@%s: as many processes of %s have locks as the daemon watches for one user (a quarter of "
			"its limit of open files): use another name, or let one end",
			caller->who, caller->owner);
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
	size_t count = 0;
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
	/* At once, unless the store has a limit. */
	leaving.most = al->shared ? LEAVE_BATCH : 0;
	rc = op_catch_up(al, why);
	if (rc < 0)
		return rc;
	do {
		rc = leave(al, holder, &leaving, why);
		count += rc == 0 ? leaving.released : 0;
	} while (rc == 0 && leaving.more);
	if (rc == 0 && released != NULL)
		*released = count;
	return rc;
}

int bound_may_close_pull(struct op *op, const char *repo, uint64_t num)
{
	struct leaving leaving = { .repo = repo, .closing = true, .check_only = true };
	char who[32];
	int rc;

	(void)snprintf(who, sizeof(who), "pr:%" PRIu64, num);
	leaving.who = who;
	rc = leave_all(op, &leaving);
	size_t most = op->al->shared ? BOUND_AT_ONCE_SHARED : BOUND_AT_ONCE;
	return rc < 0 ? rc : leaving.ended > most || leaving.looked > LEAVE_LOOKS;
}

int bound_close_pull(struct op *op, const char *repo, uint64_t num, struct bound_place *place, size_t *released)
{
	struct leaving leaving = { .repo = repo, .closing = true, .place = place };
	char who[32];
	int rc;

	(void)snprintf(who, sizeof(who), "pr:%" PRIu64, num);
	leaving.who = who;
	if (place != NULL) {
		leaving.most = LEAVE_BATCH;
		leaving.looks = LEAVE_LOOKS;
	}
	rc = leave_all(op, &leaving);
	*released = leaving.released;
	return rc < 0 ? rc : leaving.more;
}
