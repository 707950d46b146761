/* Writes what happened into the event chain, in the transaction in which it happens. Private to core/. */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include "event_line.h"
#include "table.h"

/*
 * About a lock and its holder; about a ticket; about something else (`lock` may be empty, then `text` is its subject). An event
 * that ends a grant carries the lock as it was.
 */
int event_lock(struct op *op, enum atlock_event_type type, struct slice lock, const struct record_lock *record);
int event_ticket(struct op *op, enum atlock_event_type type, enum atlock_code code, struct slice lock,
		 const struct ticket *ticket);
int event_other(struct op *op, enum atlock_event_type type, const char *text);

/* About something that has an owner but is no lock. */
int event_owned(struct op *op, enum atlock_event_type type, struct slice owner, const char *text);

/* The lock went from one holder to another; a ticket from one priority to another; an option from one value to another. */
int event_transferred(struct op *op, struct slice lock, const struct record_lock *from, const struct record_lock *to);
int event_reprioritised(struct op *op, struct slice lock, const struct ticket *from, const struct ticket *to);
int event_configured(struct op *op, const char *name, const char *old, const char *new);

/* Events up to this one, "NUMBER:HASH", were archived. */
int event_archived(struct op *op, const char *anchor);

/* A call was refused, about a lock or about `subject`, both of which may be empty; `skipped` others were before it. */
int event_refused(struct op *op, enum atlock_code code, enum metrics_call call, uint64_t skipped, struct slice lock,
		  const char *subject);

/* What an event takes in the store that is so long: its key, and the engine's own bytes beside it. */
static inline uint64_t event_bytes(size_t len)
{
	return len + 11 + 8;
}

/* An event as it stands in the store. Slices point into the transaction's memory, `line` has its whole text. */
struct event {
	uint64_t seq;
	struct record_event record;
	unsigned char hash[EVENT_HASH];
	size_t len; /* of the line, with its newline */
	char line[EVENT_LINE_MAX];
};

/* The event `seq`: 0, 1 (not there), or an error that has been explained. */
int event_get(struct op *op, uint64_t seq, struct event *out);

/* The first event whose number is not smaller. */
int event_next(struct op *op, uint64_t seq, struct event *out);

/* Removes the first one from `seq` on if it comes before `end`: 0, or 1 if there is none. */
int event_remove(struct op *op, uint64_t seq, uint64_t end);

/* What all of them take in the store. */
int event_count_bytes(struct op *op, uint64_t *out);

/* The number of the first one that is there, from `seq` on; its record is not looked at. */
int event_first(struct op *op, uint64_t seq, uint64_t *out);

#endif
