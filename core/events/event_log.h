/* Appends events to the chain, in the transaction of the change. Private to core/. */
#ifndef CORE_EVENT_LOG_H
#define CORE_EVENT_LOG_H

#include "event_line.h"
#include "table.h"

/*
 * About a lock and its holder; about a ticket; about something else (`lock` may be empty, then `text` is the subject).
 * An event that ends a grant contains the lock as it was.
 */
int event_lock(struct op *op, enum atlock_event_type type, struct slice lock, const struct record_grant *grant);
int event_ticket(struct op *op, enum atlock_event_type type, enum atlock_code code, struct slice lock,
		 const struct ticket *ticket);
int event_other(struct op *op, enum atlock_event_type type, const char *text);

/* About something that has an owner but is no lock. */
int event_owned(struct op *op, enum atlock_event_type type, struct slice owner, const char *text);

/* A lock changed its holder; a ticket its priority; an option its value. */
int event_transferred(struct op *op, struct slice lock, const struct record_grant *from, const struct record_grant *to);
int event_reprioritised(struct op *op, struct slice lock, const struct ticket *from, const struct ticket *to);
int event_configured(struct op *op, const char *name, const char *old, const char *new);

/* Events up to this one, "NUMBER:HASH", were archived. */
int event_archived(struct op *op, const char *anchor);

/*
 * A call was refused, about a lock or about `subject`, which may both be empty; `skipped` refusals before it were not
 * written.
 */
int event_refused(struct op *op, enum atlock_code code, enum metrics_call call, uint64_t skipped, struct slice lock,
		  const char *subject);

/* Bytes in the store of an event of this length, with its key and the engine's overhead. */
static inline uint64_t event_bytes(size_t len)
{
	return len + 11 + 8;
}

/* An event in the store. Slices point into the transaction's memory; `line` is its whole text. */
struct event {
	uint16_t chain;
	uint64_t seq;
	struct record_event record;
	unsigned char hash[EVENT_HASH];
	size_t len; /* of the line, with its newline */
	char line[EVENT_LINE_MAX];
};

/* The event `seq`: 0, 1 (not there), or an error that has been explained. And one of another host's chain. */
int event_get(struct op *op, uint64_t seq, struct event *out);
int event_get_of(struct op *op, struct event_number number, struct event *out);

/* The first event with a number >= `seq`. */
int event_next(struct op *op, uint64_t seq, struct event *out);

/* Removes the first event from `seq` on if it is before `end`: 0, or 1 if there is none. */
int event_remove(struct op *op, uint64_t seq, uint64_t end);

/* Bytes of all events in the store. */
int event_count_bytes(struct op *op, uint64_t *out);

/* The number of the first event from `seq` on; does not read its record. */
int event_first(struct op *op, uint64_t seq, uint64_t *out);

#endif
