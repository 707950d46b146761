#include "hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dir_path.h"
#include "event_chains.h"
#include "grant.h"
#include "holder_index.h"
#include "lock_hold.h"
#include "scan.h"
#include "waits.h"

#define SWEEP_BATCH 64  /* found at a time */
#define EVENTS_BACK 256 /* of each host's newest ones that are looked through */

/* --- Hosts that are gone --- */

/* Whether the host has begun another life since: 1 or 0, or a negative errno. A commit compares what this reads of another host. */
static int is_over(struct op *op, uint32_t boot)
{
	struct store_host then = state_life_of(boot);
	uint64_t now;
	int rc;

	if (then.chain == op->al->chain)
		return boot != op->al->boot;
	rc = store_incarnation(op->al->store, op->txn, then.chain, &now);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return state_life(&(struct store_host){ .chain = then.chain, .incarnation = now }) != boot;
}

static bool is_bound_ticket(const struct record_ticket *ticket)
{
	return ticket->wait != 0 || table_holder_is_bound(&ticket->holder);
}

/* What is over with a life of the holder's host: also a grant for a call that was blocked there, and has not been told of it. */
static bool is_bound_grant(const struct record_grant *grant)
{
	return (grant->state == RECORD_PENDING && grant->wait != 0) || table_holder_is_bound(&grant->holder);
}

/* Something of a life that is over. */
struct remains {
	bool is_ticket;
	uint8_t rank;
	uint64_t number; /* of the ticket, or the grant's token */
	struct atlock_name lock;
};

struct search {
	struct remains found[SWEEP_BATCH];
	size_t count;
};

static void search_add(struct search *search, struct slice lock, bool is_ticket, uint8_t rank, uint64_t number)
{
	struct remains *remains = &search->found[search->count++];

	*remains = (struct remains){ .is_ticket = is_ticket, .rank = rank, .number = number };
	name_from_key(&remains->lock, lock);
}

static int search_tickets(struct op *op, struct search *search)
{
	struct scan scan = scan_table(TABLE_WAITS);
	struct ticket ticket;
	int rc = 0;

	while (search->count < SWEEP_BATCH && (rc = scan_next(op, &scan)) == 0) {
		const unsigned char *place = scan.value.data;
		const unsigned char *number = (const unsigned char *)scan.key.data + scan.key.len - 8;
		struct slice lock = { place + 1, scan.value.len - 1 };

		if (scan.key.len < 11 || scan.value.len < 2)
			continue;
		rc = table_ticket_get(op, lock, place[0], record_number(number), &ticket);
		if (rc != 0 || !is_bound_ticket(&ticket.record))
			continue;
		rc = is_over(op, ticket.record.holder.boot);
		if (rc < 0)
			return rc;
		if (rc == 1)
			search_add(search, lock, true, place[0], ticket.number);
	}
	return rc < 0 ? rc : 0;
}

static int search_lock(struct op *op, void *arg, struct slice lock, const struct record_lock *record)
{
	struct search *search = arg;
	int rc = is_bound_grant(&record->grant) ? is_over(op, record->grant.holder.boot) : 0;

	if (rc == 1)
		search_add(search, lock, false, 0, record->grant.token);
	return rc < 0 ? rc : search->count == SWEEP_BATCH;
}

/* Tickets before locks, so that no lock is handed to a call that is gone. */
static int search_in_txn(struct op *op)
{
	struct search *search = op->arg;
	const struct holder_index_filter all = { .repo = { NULL, 0 } };
	int rc;

	search->count = 0;
	rc = search_tickets(op, search);
	if (rc == 0 && search->count < SWEEP_BATCH)
		rc = holder_index_walk(op, &all, search_lock, search);
	return rc < 0 ? rc : 0;
}

static int ticket_end(struct op *op, const struct remains *remains, struct slice lock)
{
	struct ticket ticket;
	int rc = table_ticket_get(op, lock, remains->rank, remains->number, &ticket);

	if (rc == 0)
		rc = is_bound_ticket(&ticket.record) ? is_over(op, ticket.record.holder.boot) : 0;
	else
		return rc < 0 ? rc : 0;
	if (rc != 1)
		return rc;
	rc = table_ticket_del(op, lock, &ticket);
	return rc == 0 ? event_ticket(op, ATLOCK_EVENT_CANCELLED, ATLOCK_CANCELLED, lock, &ticket) : rc;
}

static int lock_end(struct op *op, const struct remains *remains, struct slice lock)
{
	struct record_queue queue;
	struct record_lock record;
	int rc = expire_lock_queue(op, lock, &record, &queue);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (record.grant.token != remains->number || record.grant.state == RECORD_DELAYED ||
	    !is_bound_grant(&record.grant))
		return 0;
	rc = is_over(op, record.grant.holder.boot);
	if (rc == 1)
		rc = lock_release(op, lock, &record, &queue,
				  record.grant.state == RECORD_PENDING ? ATLOCK_EVENT_UNCLAIMED
								       : ATLOCK_EVENT_RELEASED);
	return rc < 0 ? rc : 0;
}

static int end_in_txn(struct op *op)
{
	const struct remains *remains = op->arg;
	struct slice lock = name_slice(&remains->lock);

	return remains->is_ticket ? ticket_end(op, remains, lock) : lock_end(op, remains, lock);
}

int hosts_sweep(struct atlock *al)
{
	struct search *search = malloc(sizeof(*search));
	int total = 0;
	int rc = search == NULL ? -ENOMEM : 0;

	while (rc == 0) {
		rc = op_look(al, search_in_txn, search, NULL);
		for (size_t i = 0; i < search->count && rc == 0; i++)
			rc = op_call(al, NULL, METRICS_NONE, end_in_txn, &search->found[i], NULL);
		if (rc < 0 || search->count == 0)
			break;
		total += (int)search->count;
	}
	free(search);
	return rc < 0 ? rc : total;
}

/* --- Calls blocked here --- */

enum call_state { CALL_WAITS, CALL_ANSWERED, CALL_GRANTED, CALL_ENDED };

struct blocked {
	uint64_t number;
	enum call_state state;
	struct atlock_grant grant;
	enum atlock_code code; /* CALL_ENDED: why */
};

/* The lock is the call's, and this life's of this host. */
static bool is_granted(const struct op *op, const struct record_grant *grant, const struct atlock_caller *caller)
{
	return grant->state != RECORD_DELAYED && grant->holder.boot == op->al->boot &&
	       slice_equal(grant->holder.owner, slice_of(caller->owner)) &&
	       slice_equal(grant->holder.who, slice_of(caller->who));
}

static int grant_claim(struct op *op, struct slice lock, struct record_lock *record)
{
	struct record_lock old = *record;
	int rc;

	if (record->grant.state != RECORD_PENDING)
		return 0;
	grant_begin_lease(op, &record->grant);
	record->grant.version++;
	rc = table_lock_put(op, lock, &old, record);
	if (rc == 0)
		op_bound(op, record->grant.holder.who, record->grant.holder.start);
	return rc == 0 ? event_lock(op, ATLOCK_EVENT_CLAIMED, lock, &record->grant) : rc;
}

/* What an event says of how a wait ended: a code, or ATLOCK_OK if it says nothing of that. */
static enum atlock_code ending_code(const struct record_event *event)
{
	switch (event->type) {
	case ATLOCK_EVENT_TIMED_OUT: return ATLOCK_TIMEOUT;
	case ATLOCK_EVENT_DEADLOCK: return ATLOCK_DEADLOCK;
	case ATLOCK_EVENT_CANCELLED: return ATLOCK_CANCELLED;
	default: return ATLOCK_OK;
	}
}

/* Looks in the newest events of a chain for the end of the caller's wait, later than `*wall`. 0 or a negative errno. */
static int chain_ending(struct op *op, struct event_number last, struct slice path, const struct atlock_caller *caller,
			int64_t *wall, enum atlock_code *code)
{
	struct record_event event;

	for (uint64_t seq = last.seq; seq > 0 && seq + EVENTS_BACK > last.seq; seq--) {
		struct record_key key = record_key_event(last.chain, seq);
		int rc = op_get(op, RECORD_EVENT, &key, &event);

		if (rc < 0)
			return rc;
		if (rc == 0 && ending_code(&event) != ATLOCK_OK && event.wall > *wall &&
		    slice_equal(event.lock, path) && slice_equal(event.owner, slice_of(caller->owner)) &&
		    slice_equal(event.who, slice_of(caller->who))) {
			*wall = event.wall;
			*code = ending_code(&event);
		}
	}
	return 0;
}

/*
 * How another host ended the call: its event is of the same commit as the ticket's end. Clocks of hosts differ, so among several ends of one holder's
 * waits for one lock, on several hosts, the wrong one may be found.
 */
static int find_ending(struct op *op, const struct atlock_name *name, const struct atlock_caller *caller,
		       enum atlock_code *code)
{
	char path[ATLOCK_PATH_MAX];
	struct record_tail tail;
	int64_t wall = INT64_MIN;
	uint16_t chain = 0;
	int rc = dir_path(op, name_slice(name), path, sizeof(path));
	struct slice text = { path, rc > 0 ? (size_t)rc : 0 };

	*code = ATLOCK_CANCELLED;
	while (rc >= 0 && (rc = event_chain_next(op, &chain, &tail)) == 0) {
		rc = chain_ending(op, (struct event_number){ chain, tail.seq }, text, caller, &wall, code);
		if (chain++ == UINT16_MAX)
			break;
	}
	return rc < 0 ? rc : 0;
}

static int answer_in_txn(struct op *op)
{
	struct blocked *blocked = op->arg;
	struct atlock_caller caller;
	struct atlock_name name;
	struct record_lock record;
	struct ticket ticket;
	struct slice lock;
	int rc = waits_ticket(op, blocked->number, &lock, &ticket);

	blocked->state = rc == 0 ? CALL_WAITS : CALL_ANSWERED;
	if (rc <= 0 || waits_find(op->al->waits, blocked->number, &name, &caller) == 1)
		return rc < 0 ? rc : 0;
	rc = expire_lock(op, name_slice(&name), &record);
	blocked->state = CALL_ENDED;
	if (rc != 0 || !is_granted(op, &record.grant, &caller))
		return rc < 0 ? rc : find_ending(op, &name, &caller, &blocked->code);
	rc = grant_claim(op, name_slice(&name), &record);
	blocked->state = CALL_GRANTED;
	table_grant_fill(&blocked->grant, &record.grant);
	return rc < 0 ? rc : 0;
}

static int answer(struct atlock *al, uint64_t number)
{
	struct blocked blocked = { .number = number };
	struct notice notice = { .wait = number };
	int rc = op_call(al, NULL, METRICS_NONE, answer_in_txn, &blocked, NULL);

	if (rc < 0 || blocked.state == CALL_WAITS || blocked.state == CALL_ANSWERED)
		return rc < 0 ? rc : 0;
	if (blocked.state == CALL_GRANTED) {
		notice.grant = blocked.grant;
	} else {
		notice.err = blocked.code == ATLOCK_TIMEOUT    ? -ETIMEDOUT
			     : blocked.code == ATLOCK_DEADLOCK ? -EDEADLK
							       : -ECANCELED;
		notice.code = blocked.code;
	}
	waits_finish(al, &notice);
	return 0;
}

int hosts_answer(struct atlock *al, struct slice lock)
{
	uint64_t *numbers = NULL;
	int count = waits_about(al->waits, lock, &numbers);
	int failed = count < 0 ? count : 0;

	for (int i = 0; i < count; i++) {
		int rc = answer(al, numbers[i]);

		if (rc < 0)
			failed = rc;
	}
	free(numbers);
	return failed;
}
