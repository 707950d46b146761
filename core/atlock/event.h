/*
 * The event log: what happened to which lock, by whose call, in a chain of hashes; and its files, one for each day.
 *
 * The transaction that makes a change also appends its event, so the log has every change and no other. Each event has the
 * hash of the one before it: a line that was changed or removed later shows. The log begins at its first event, or after an
 * anchor once events were archived or were older than events_keep. check.h verifies copies of its files.
 */
#ifndef ATLOCK_EVENT_H
#define ATLOCK_EVENT_H

#include "atlock/base.h"
#include "atlock/caller.h"
#include "atlock/list.h"
#include "atlock/name.h"

/* --- Events --- */

enum atlock_event_type {
	ATLOCK_EVENT_ACQUIRED,
	ATLOCK_EVENT_GRANTED, /* to a waiter */
	ATLOCK_EVENT_CLAIMED,
	ATLOCK_EVENT_RENEWED,
	ATLOCK_EVENT_CHANGED, /* metadata, mode */
	ATLOCK_EVENT_TRANSFERRED,
	ATLOCK_EVENT_RELEASED,
	ATLOCK_EVENT_FORCED,
	ATLOCK_EVENT_EXPIRED,
	ATLOCK_EVENT_UNCLAIMED, /* not taken up within claim_timeout */
	ATLOCK_EVENT_QUEUED,
	ATLOCK_EVENT_CANCELLED,
	ATLOCK_EVENT_TIMED_OUT,
	ATLOCK_EVENT_REPRIORITISED,
	ATLOCK_EVENT_DEADLOCK, /* this ticket was the victim */
	ATLOCK_EVENT_DIR_MADE,
	ATLOCK_EVENT_DIR_REMOVED,
	ATLOCK_EVENT_DIR_CHANGED,
	ATLOCK_EVENT_CONFIGURED,
	ATLOCK_EVENT_OPENED,
	ATLOCK_EVENT_CLOSED,
	ATLOCK_EVENT_URL_CLAIMED,
	ATLOCK_EVENT_URL_FREED,
	ATLOCK_EVENT_REFERENCE_MADE,
	ATLOCK_EVENT_REFERENCE_REMOVED,
	ATLOCK_EVENT_OWNERS_SWEPT, /* what was left over of a claim was repaired */
	ATLOCK_EVENT_SHARED_MADE,
	ATLOCK_EVENT_SHARED_REMOVED,
	ATLOCK_EVENT_APP_ADDED,
	ATLOCK_EVENT_APP_UNKNOWN, /* what the app wrote; in the order of enum atlock_app_status */
	ATLOCK_EVENT_APP_UP,
	ATLOCK_EVENT_APP_DOWN,
	ATLOCK_EVENT_APP_GIVEN,
	ATLOCK_EVENT_APP_REMOVED,
	ATLOCK_EVENT_PULL_STATUS,  /* of one project: "<path>=<status>" */
	ATLOCK_EVENT_PULL_CHANGED, /* its head commit or its metadata */
	ATLOCK_EVENT_PULL_CLOSED,
	ATLOCK_EVENT_SEALED, /* every text is encrypted with the key in use, or none is any more */
	ATLOCK_EVENT_REFUSED,
	ATLOCK_EVENT_RESTORED,
	ATLOCK_EVENT_REPAIRED,
	ATLOCK_EVENT_ARCHIVED, /* the events up to the one in `new` were removed */
	ATLOCK_EVENT_ENGINE_DOWN, /* of a shared store, since the instant in `lock`; written when it is back, as the next */
	ATLOCK_EVENT_ENGINE_UP,
	ATLOCK_EVENTS
};

/* The name of a type as lines print it: "acquired". Never NULL. */
const char *atlock_event_name(enum atlock_event_type type);

/* Strings are "" where an event has no such thing; they are valid during the callback only. */
struct atlock_event {
	uint64_t seq; /* number in this host's chain; the first is 1 */
	enum atlock_event_type type;
	enum atlock_code code; /* of a refusal */
	int64_t wall;          /* wall time, ns */
	uint64_t token;
	uint64_t ticket;
	uint64_t skipped;  /* refusals before this one that were counted only (option events_refused) */
	const char *lock;  /* path of the lock, or of what else it is about */
	const char *owner; /* the holder or waiter that it is about */
	const char *who;
	const char *old;   /* what was changed; of a refusal: what it was about if that is no lock */
	const char *new;   /* what it was changed to */
	const char *actor; /* user whose call it was; "": the manager itself */
	const char *comm;  /* name of the calling process */
	const char *host;
	uid_t actor_uid;
	pid_t actor_pid;
	pid_t session;          /* of the calling process */
	unsigned char prev[32]; /* hash of the event before it */
	unsigned char hash[32]; /* of this one */
	const char *line;       /* as events/ shows it, without the newline */
	size_t line_len;        /* bytes */
};

/* Calls `fn` for events from number `from` on, in order, until it returns non-zero. A listing: see list.h. */
typedef int atlock_event_fn(void *arg, const struct atlock_event *event);
int atlock_events(struct atlock *al, uint64_t from, atlock_event_fn *fn, void *arg);

/*
 * Checks the chain of hashes. 0: whole. -EBADMSG: `*bad` is the first event that is wrong. 1: every event is as it was written,
 * but events before the first, `*bad`, are gone and no anchor says which: `why` says so.
 */
int atlock_events_verify(struct atlock *al, uint64_t *bad, struct atlock_why *why);

/* --- Chains: in a store that several hosts write to, each host has one --- */

struct atlock_chain {
	uint16_t chain;  /* the host's number in the store, for ever */
	bool own;        /* of this host */
	char host[65];   /* the host's name; "" if its last event is gone */
	uint64_t last;   /* number of its last event */
	char hash[65];   /* of that event, hex */
	uint64_t anchor; /* after which event the chain begins; 0: with its first */
	char anchor_hash[65];
};

/* Calls `fn` for each until it returns non-zero; after the read. 1: one host only writes to the store. */
typedef int atlock_chain_fn(void *arg, const struct atlock_chain *chain);
int atlock_chains(struct atlock *al, atlock_chain_fn *fn, void *arg);

/*
 * --- Files: the lines of one day in UTC; lines are appended and never move ---
 *
 * In a store that several hosts write to, a file has the lines of all hosts: those that were there when it was first asked for in the order
 * of their times, then as they come.
 */

#define ATLOCK_DAY_NAME 24 /* bytes of a file's name, with its NUL */

struct atlock_day {
	char name[ATLOCK_DAY_NAME]; /* "2026-11-16.jsonl" */
	uint64_t size;              /* bytes */
	int64_t changed;            /* wall time, ns */
};

/*
 * A listing (list.h) of all files in order, with today's even if it is empty. `fn` runs after the read: it may change. In a store that
 * several hosts write to, `size` and `changed` are not filled in.
 */
typedef int atlock_day_fn(void *arg, const struct atlock_day *day);
int atlock_days(struct atlock *al, struct atlock_place *place, atlock_day_fn *fn, void *arg);

/* One file by its name: 0 or 1 (none). And the name of today's. */
int atlock_day_get(struct atlock *al, const char *name, struct atlock_day *out);
void atlock_day_live(struct atlock *al, char out[ATLOCK_DAY_NAME]);

/*
 * Reads up to `len` bytes at `offset`; costs a search among the day's events, not a walk over them. Returns how many, 0 at the
 * end, or a negative errno. Events that are gone read as one line, {"gone":...} and spaces, as long as theirs were. A line about a
 * lock that `reader` may not know of, or about what another user did there, shows number, hashes, length and the type "hidden".
 */
ssize_t atlock_day_read(struct atlock *al, const struct atlock_reader *reader, const char *name, uint64_t offset,
			char *out, size_t len);

/* --- Archiving --- */

/* The event after which the log begins, once events were archived or were older than events_keep. */
struct atlock_anchor {
	uint64_t seq;
	char hash[65];                 /* hex */
	bool archived;                 /* false: the events were older than events_keep */
	char time[32];                 /* when, as events print it; "": an older version did not write it down */
	char by[ATLOCK_OWNER_MAX + 1]; /* user who archived; "": the manager itself */
};

/* 0, or 1 if the log begins with event 1, or nothing says what was before its first. */
int atlock_anchor(struct atlock *al, struct atlock_anchor *out);

/*
 * Removes all events up to `anchor`, "NUMBER:HASH": the caller has them elsewhere. By an administrator (-EPERM); NULL is the
 * program itself. -EINVAL: the log has no such event. -EEXIST: it is removed already.
 */
int atlock_archived(struct atlock *al, const struct atlock_caller *caller, const char *anchor, struct atlock_why *why);

/* --- Refusals that a front end decides --- */

/*
 * Adds a refusal to the log, unless `why->noted`: about a lock, or about `subject`, a path of which the last 255 bytes are kept.
 * Both may be NULL. The manager adds those that it decides about a lock by itself. Cannot fail; written soon after.
 */
void atlock_refused(struct atlock *al, const struct atlock_caller *caller, const struct atlock_name *name,
		    const char *subject, struct atlock_why *why);

/* Counts a refusal that is no event: of what is so frequent and harmless that the log should not have it. */
void atlock_refused_count(struct atlock *al, struct atlock_why *why);

#endif
