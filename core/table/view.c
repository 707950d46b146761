#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lock_name.h"
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
	const struct record_grant *grant = &record->grant;
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
	/* An unreadable text must not prevent a release: all other fields are known. */
	if (damaged)
		why_clear(op->why);
	else if (rc < 0)
		return rc;
	*out = (struct atlock_view){
		.state = grant->state == RECORD_PENDING ? ATLOCK_PENDING : ATLOCK_ACQUIRED,
		.priority = (enum atlock_priority)(grant->priority % ATLOCK_PRIORITIES),
		.owner = copy(grant->holder.owner),
		.who = copy(grant->holder.who),
		.host = copy(grant->holder.host),
		.meta = copy(meta.text),
		.meta_len = meta.text.len,
		.meta_damaged = damaged,
		.uid = grant->holder.uid,
		.gid = grant->holder.gid,
		.mode = record->mode,
		.pid = (pid_t)grant->holder.pid,
		.token = grant->token,
		.version = grant->version,
		.id_time = grant->id_time,
		.id_random = grant->id_random,
		.acquired_at = grant->acquired,
		.renewed_at = grant->renewed,
		.expires_at = grant->expires,
		.ttl = grant->ttl,
		.claim_by = grant->claim_by,
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
		.owner = copy(record->holder.owner),
		.who = copy(record->holder.who),
		.host = copy(record->holder.host),
		.uid = record->holder.uid,
		.gid = record->holder.gid,
		.pid = (pid_t)record->holder.pid,
		.parked = record->wait != 0,
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
