#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "name.h"
#include "refusal.h"
#include "rules.h"
#include "seal.h"
#include "why.h"

static char *copy(struct slice text)
{
	return strndup(text.len > 0 ? text.data : "", text.len);
}

void atlock_view_clear(struct atlock_view *view)
{
	if (view == NULL)
		return;
	free(view->owner);
	free(view->who);
	free(view->host);
	free(view->meta);
	view->owner = view->who = view->host = view->meta = NULL;
	view->meta_len = 0;
}

void atlock_ticket_clear(struct atlock_ticket *ticket)
{
	if (ticket == NULL)
		return;
	free(ticket->owner);
	free(ticket->who);
	free(ticket->host);
	ticket->owner = ticket->who = ticket->host = NULL;
}

int view_make(struct op *op, struct slice lock, const struct record_lock *record, struct atlock_view *out)
{
	struct record_key key = record_key_of(TABLE_TEXT, lock);
	struct record_queue queue;
	struct seal_text meta;
	bool damaged;
	int rc;

	rc = table_queue_get(op, lock, &queue);
	if (rc < 0)
		return rc;
	rc = seal_get(op, &key, &meta);
	damaged = rc == -EIO;
	/* Everything else about the lock is known, and it must be possible to let it go. */
	if (damaged)
		why_clear(op->why);
	else if (rc < 0)
		return rc;
	*out = (struct atlock_view){
		.state = record->state == RECORD_PENDING ? ATLOCK_PENDING : ATLOCK_ACQUIRED,
		.priority = (enum atlock_priority)(record->priority % ATLOCK_PRIORITIES),
		.owner = copy(record->owner),
		.who = copy(record->who),
		.host = copy(record->host),
		.meta = copy(meta.text),
		.meta_len = meta.text.len,
		.meta_damaged = damaged,
		.uid = record->uid,
		.gid = record->gid,
		.mode = record->mode,
		.pid = (pid_t)record->pid,
		.token = record->token,
		.version = record->version,
		.id_time = record->id_time,
		.id_random = record->id_random,
		.acquired_at = record->acquired,
		.renewed_at = record->renewed,
		.expires_at = record->expires,
		.ttl = record->ttl,
		.claim_by = record->claim_by,
		.waiters = queue.count,
	};
	seal_text_free(&meta);
	name_from_key(&out->name, lock);
	if (out->owner == NULL || out->who == NULL || out->host == NULL || out->meta == NULL) {
		atlock_view_clear(out);
		return -ENOMEM;
	}
	return 0;
}

int atlock_view_check(const struct atlock_view *view, struct atlock_why *why)
{
	struct record_key key;

	if (view == NULL || !view->meta_damaged)
		return 0;
	key = record_key_of(TABLE_TEXT, name_slice(&view->name));
	return key_corrupt(why, record_key_slice(&key), -EBADMSG);
}

int view_ticket(const struct ticket *ticket, uint64_t position, int64_t expected, struct atlock_ticket *out)
{
	const struct record_ticket *record = &ticket->record;

	*out = (struct atlock_ticket){
		.ticket = ticket->number,
		.priority = (enum atlock_priority)(record->priority % ATLOCK_PRIORITIES),
		.owner = copy(record->owner),
		.who = copy(record->who),
		.host = copy(record->host),
		.uid = record->uid,
		.gid = record->gid,
		.pid = (pid_t)record->pid,
		.parked = record->park != 0,
		.since = record->since,
		.deadline = record->deadline,
		.ttl = record->ttl,
		.position = position,
		.expected = expected,
	};
	if (out->owner == NULL || out->who == NULL || out->host == NULL) {
		atlock_ticket_clear(out);
		return -ENOMEM;
	}
	return 0;
}

struct get {
	const struct atlock_name *name;
	struct atlock_view *out;
};

/* The lock's record if somebody holds it: 0 or 1. What is over is gone, whether or not anybody has settled it. */
static int held_get(struct op *op, struct slice lock, struct record_lock *record)
{
	int rc = table_lock_get(op, lock, record);

	if (rc != 0)
		return rc;
	return record->state == RECORD_DELAYED || table_lock_due(record) < op->now;
}

/* A caller must be its holder; else the name may say who is meant. */
static int get_in_txn(struct op *op)
{
	struct get *get = op->arg;
	struct slice lock = name_slice(get->name);
	struct record_lock record;
	int rc;

	rc = held_get(op, lock, &record);
	if (rc != 0)
		return rc;
	if (op->caller != NULL && !rules_is_holder(op, &record, op->caller))
		return lock_refuse_other(op, lock, &record, false);
	if (op->caller == NULL && get->name->who[0] != '\0' && !slice_equal(record.who, slice_of(get->name->who)))
		return 1;
	return get->out != NULL ? view_make(op, lock, &record, get->out) : 0;
}

int atlock_get(struct atlock *al, const struct atlock_name *name, struct atlock_view *out)
{
	struct get get = { .name = name, .out = out };
	struct op op;

	if (al == NULL || name_check(name) < 0)
		return -EINVAL;
	op_init(&op, al, NULL, NULL);
	op.arg = &get;
	return op_view(&op, get_in_txn);
}

int atlock_holds(struct atlock *al, const struct atlock_name *name, const struct atlock_caller *caller,
		 struct atlock_view *out, struct atlock_why *why)
{
	struct atlock_request req = { .name = name, .caller = caller };
	struct get get = { .name = name, .out = out };
	struct op op;
	int rc;

	rc = rules_begin(&op, al, &req, METRICS_NONE, &get, why);
	if (rc < 0)
		return rc;
	rc = op_view(&op, get_in_txn);
	refusal_note(&op, rc);
	return rc;
}
