#include "event_log.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dir_path.h"
#include "event_day.h"
#include "space.h"

/*
 * What happens to a change when space is scarce. Space for events that end a grant or a wait is reserved when those
 * begin (owed.h), and the few events of the daemon and of administrators fit the general reserve. All other events
 * could use that up.
 */
enum need {
	NEED_ALWAYS,  /* without the event there is no change */
	NEED_SPACE,   /* refuse the change, unless it has also ended something */
	NEED_NOTHING, /* omit the event: the lock's record has the fact, and so will the event that ends it */
};

static const unsigned char needs[ATLOCK_EVENTS] = {
	[ATLOCK_EVENT_RENEWED] = NEED_NOTHING,         [ATLOCK_EVENT_CHANGED] = NEED_SPACE,
	[ATLOCK_EVENT_TRANSFERRED] = NEED_SPACE,       [ATLOCK_EVENT_REPRIORITISED] = NEED_SPACE,
	[ATLOCK_EVENT_DIR_MADE] = NEED_SPACE,          [ATLOCK_EVENT_DIR_REMOVED] = NEED_SPACE,
	[ATLOCK_EVENT_DIR_CHANGED] = NEED_SPACE,       [ATLOCK_EVENT_URL_CLAIMED] = NEED_SPACE,
	[ATLOCK_EVENT_URL_FREED] = NEED_SPACE,         [ATLOCK_EVENT_REFERENCE_MADE] = NEED_SPACE,
	[ATLOCK_EVENT_REFERENCE_REMOVED] = NEED_SPACE, [ATLOCK_EVENT_SHARED_MADE] = NEED_SPACE,
	[ATLOCK_EVENT_SHARED_REMOVED] = NEED_SPACE,    [ATLOCK_EVENT_APP_ADDED] = NEED_SPACE,
	[ATLOCK_EVENT_APP_UNKNOWN] = NEED_SPACE,       [ATLOCK_EVENT_APP_UP] = NEED_SPACE,
	[ATLOCK_EVENT_APP_DOWN] = NEED_SPACE,          [ATLOCK_EVENT_APP_GIVEN] = NEED_SPACE,
	[ATLOCK_EVENT_APP_REMOVED] = NEED_SPACE,       [ATLOCK_EVENT_PULL_STATUS] = NEED_SPACE,
	[ATLOCK_EVENT_PULL_CHANGED] = NEED_SPACE,      [ATLOCK_EVENT_PULL_CLOSED] = NEED_SPACE,
	[ATLOCK_EVENT_REFUSED] = NEED_SPACE,
};

/* 0: write the event; 1: omit it; < 0: refuse the change. */
static int event_admit(struct op *op, uint8_t type)
{
	enum need need = needs[type];

	if (need == NEED_ALWAYS || op->ended)
		return 0;
	return need == NEED_SPACE ? space_check_scarce(op) : space_is_scarce(op);
}

static void event_sign(const struct op *op, struct record_event *event)
{
	const struct atlock_caller *caller = op->caller;

	event->wall = op->wall;
	event->host = slice_of(op->al->host);
	if (caller == NULL)
		return;
	event->actor = slice_of(caller->owner);
	event->actor_uid = caller->uid;
	event->actor_pid = (uint64_t)caller->pid;
	event->session = (uint64_t)caller->session;
	event->comm = slice_of(caller->comm);
}

/*
 * Appends to the chain: the line has the hash of the one before it, the tail the hash of this one. `released` is the
 * decoded `event->released`, or NULL.
 */
static int event_append(struct op *op, struct record_event *event, const struct record_released *released)
{
	unsigned char buf[RECORD_MAX];
	char line[EVENT_LINE_MAX];
	size_t line_len;
	int len;
	int rc;

	rc = op_tail(op);
	if (rc == 0)
		rc = event_admit(op, event->type);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	event_sign(op, event);
	rc = event_day_begin(op, event->wall);
	if (rc < 0)
		return rc;
	event->prev = op->tail.hash;
	event->offset = op->tail.size;
	len = record_encode(RECORD_EVENT, event, buf);
	if (len < 0)
		return len;
	struct record_key key = record_key_event(op->al->chain, op->tail.seq + 1);
	rc = store_put(op->txn, record_key_slice(&key), (struct slice){ buf, (size_t)len });
	if (rc < 0)
		return rc;
	line_len = event_line(event, released, (struct event_number){ op->al->chain, op->tail.seq + 1 }, line);
	sha256(line, line_len, op->tail_hash);
	op->tail.seq++;
	op->tail.events += event_bytes((size_t)len);
	op->tail.size += line_len + EVENT_LINE_END;
	op->tail_dirty = true;
	op_mark(op, MARK_EVENT, event->type, 0);
	return 0;
}

static int event_about(struct op *op, struct record_event *event, struct slice lock,
		       const struct record_released *released)
{
	char path[ATLOCK_PATH_MAX];
	int rc = dir_path(op, lock, path, sizeof(path));

	if (rc < 0)
		return rc;
	event->lock = (struct slice){ path, (size_t)rc };
	rc = event_append(op, event, released);
	event->lock = (struct slice){ NULL, 0 };
	return rc;
}

static bool type_ends_grant(enum atlock_event_type type)
{
	return type == ATLOCK_EVENT_RELEASED || type == ATLOCK_EVENT_FORCED || type == ATLOCK_EVENT_EXPIRED ||
	       type == ATLOCK_EVENT_UNCLAIMED;
}

/* Converts times to wall time as they were shown while the lock was held. */
static struct record_released released_of(struct op *op, const struct record_grant *grant)
{
	return (struct record_released){
		.priority = grant->priority,
		.id_random = grant->id_random,
		.id_time = grant->id_time,
		.acquired = grant->acquired + clock_shown(&op->al->clock, op->now, op->wall),
		.renewed = grant->renewed - grant->acquired,
		.expires = grant->expires == ATLOCK_NEVER ? ATLOCK_NEVER : grant->expires - grant->acquired,
		.ttl = grant->ttl,
		.version = grant->version,
		.uid = grant->holder.uid,
		.pid = grant->holder.pid,
		.host = grant->holder.host,
	};
}

int event_lock(struct op *op, enum atlock_event_type type, struct slice lock, const struct record_grant *grant)
{
	struct record_event event = {
		.type = (uint8_t)type,
		.token = grant->token,
		.ticket = grant->ticket,
		.owner = grant->holder.owner,
		.who = grant->holder.who,
	};

	if (!type_ends_grant(type))
		return event_about(op, &event, lock, NULL);
	struct record_released released = released_of(op, grant);
	unsigned char encoded[RECORD_MAX];
	int len = record_encode(RECORD_RELEASED, &released, encoded);
	if (len < 0)
		return len;
	event.released = (struct slice){ encoded, (size_t)len };
	/* No space was reserved for a reason: owed.h. */
	if ((type == ATLOCK_EVENT_RELEASED || type == ATLOCK_EVENT_FORCED) && op->request != NULL &&
	    op->request->reason != NULL && !space_is_scarce(op))
		event.new = slice_of(op->request->reason);
	return event_about(op, &event, lock, &released);
}

static struct record_event ticket_event(enum atlock_event_type type, const struct ticket *ticket)
{
	return (struct record_event){
		.type = (uint8_t)type,
		.ticket = ticket->number,
		.owner = ticket->record.holder.owner,
		.who = ticket->record.holder.who,
	};
}

static struct slice priority_name(uint8_t priority)
{
	return slice_of(atlock_priority_name((enum atlock_priority)priority));
}

int event_ticket(struct op *op, enum atlock_event_type type, enum atlock_code code, struct slice lock,
		 const struct ticket *ticket)
{
	struct record_event event = ticket_event(type, ticket);

	event.code = (uint8_t)code;
	if (type == ATLOCK_EVENT_QUEUED)
		event.new = priority_name(ticket->record.priority);
	return event_about(op, &event, lock, NULL);
}

int event_reprioritised(struct op *op, struct slice lock, const struct ticket *from, const struct ticket *to)
{
	struct record_event event = ticket_event(ATLOCK_EVENT_REPRIORITISED, to);

	event.old = priority_name(from->record.priority);
	event.new = priority_name(to->record.priority);
	return event_about(op, &event, lock, NULL);
}

/* "owner@who", truncated to the size of a field. */
static struct slice holder_text(const struct record_holder *holder, char *out, size_t size)
{
	int len = snprintf(out, size, "%.*s@%.*s", (int)holder->owner.len, (const char *)holder->owner.data,
			   (int)holder->who.len, (const char *)holder->who.data);

	return (struct slice){ out, len < 0 ? 0 : (size_t)len < size ? (size_t)len : size - 1 };
}

int event_transferred(struct op *op, struct slice lock, const struct record_grant *from, const struct record_grant *to)
{
	char holder[UINT8_MAX + 1];
	struct record_event event = {
		.type = ATLOCK_EVENT_TRANSFERRED,
		.token = to->token,
		.ticket = to->ticket,
		.owner = to->holder.owner,
		.who = to->holder.who,
		.old = holder_text(&from->holder, holder, sizeof(holder)),
	};

	return event_about(op, &event, lock, NULL);
}

int event_other(struct op *op, enum atlock_event_type type, const char *text)
{
	struct record_event event = { .type = (uint8_t)type, .lock = slice_of(text) };

	return event_append(op, &event, NULL);
}

int event_owned(struct op *op, enum atlock_event_type type, struct slice owner, const char *text)
{
	struct record_event event = { .type = (uint8_t)type, .owner = owner, .lock = slice_of(text) };

	return event_append(op, &event, NULL);
}

int event_configured(struct op *op, const char *name, const char *old, const char *new)
{
	char subject[64] = "config/";
	struct record_event event = {
		.type = ATLOCK_EVENT_CONFIGURED,
		.lock = { subject, strlcat(subject, name, sizeof(subject)) },
		.old = slice_of(old),
		.new = slice_of(new),
	};

	return event.lock.len >= sizeof(subject) ? -ENAMETOOLONG : event_append(op, &event, NULL);
}

int event_archived(struct op *op, const char *anchor)
{
	struct record_event event = {
		.type = ATLOCK_EVENT_ARCHIVED,
		.lock = slice_of("events/anchor"),
		.new = slice_of(anchor),
	};

	return event_append(op, &event, NULL);
}

int event_refused(struct op *op, enum atlock_code code, enum metrics_call call, uint64_t skipped, struct slice lock,
		  const char *subject)
{
	struct record_event event = {
		.type = ATLOCK_EVENT_REFUSED,
		.code = (uint8_t)code,
		.skipped = skipped,
		.owner = slice_of(op->caller->owner),
		.who = slice_of(op->caller->who),
		.old = slice_of(subject),
		.new = slice_of(call == METRICS_NONE ? "" : metrics_call_name(call)),
	};

	return lock.len > 0 ? event_about(op, &event, lock, NULL) : event_append(op, &event, NULL);
}
