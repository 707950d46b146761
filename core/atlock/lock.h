/*
 * One lock: taking it, giving it back, renewing, handing over, writing to it, reading it.
 *
 * Calling sequence
 *
 *	struct atlock_request req = { .name = &name, .caller = &caller, .ttl = 15 * 60 * ATLOCK_SECOND };
 *	struct atlock_grant grant;
 *	rc = atlock_acquire(al, &req, &grant, &why);	0: taken, 1: the caller has it already
 *	req.token = grant.token;
 *	rc = atlock_renew(al, &req, &grant, &why);	before grant.expires_at
 *	rc = atlock_release(al, &req, NULL, &why);
 *
 * Each call is one transaction and returns when it is durable (option `sync`). To wait for a held lock see wait.h.
 *
 * Errors
 *
 * -EPERM: another who of the caller's own uid has the lock. -EACCES: another uid has it. -ESTALE: `token` of the request is not
 * the lock's. -EAGAIN: `version` is not (VERSION_CONFLICT), or the caller is over rate_limit (RATE_LIMIT). -ENOENT: the lock is
 * free or its lease is over. -EDQUOT: a limit is reached, or the store has no space. -EIO, -EHOSTDOWN: the store fails. A
 * refused call has changed nothing.
 *
 * Ownership
 *
 * A request's pointers stay the caller's and are read during the call only. A view owns its strings: atlock_view_clear().
 */
#ifndef ATLOCK_LOCK_H
#define ATLOCK_LOCK_H

#include "atlock/base.h"
#include "atlock/caller.h"
#include "atlock/name.h"

enum atlock_priority { ATLOCK_LOW, ATLOCK_NORMAL, ATLOCK_HIGH, ATLOCK_CRITICAL, ATLOCK_PRIORITIES };

/* "low", "normal", "high", "critical". Never NULL. */
const char *atlock_priority_name(enum atlock_priority priority);

/* Reads such a word: 0 or -EINVAL. */
int atlock_priority_parse(const char *text, enum atlock_priority *out);

enum atlock_state {
	ATLOCK_ACQUIRED,
	ATLOCK_PENDING, /* granted to a ticket, or given by another user, and not taken up by its holder yet */
	ATLOCK_EXPIRED,
	ATLOCK_RELEASED,
};

#define ATLOCK_REASON_MAX 255

/* What a caller asks for. Zero is the default of every field but `name` and `caller`. */
struct atlock_request {
	const struct atlock_name *name;
	const struct atlock_caller *caller;
	int64_t ttl;      /* lease, ns; 0: default_ttl, or none if the end of a process or file ends it; ATLOCK_NEVER */
	uint64_t version; /* refuse with VERSION_CONFLICT unless the lock has this version; 0: any */
	uint64_t token;   /* refuse with -ESTALE unless the lock has this token; 0: any */
	mode_t mode;      /* acquire: permission bits with S_IFREG set; 0: 0644 */
	bool exclusive;   /* acquire: -EEXIST also if the caller has the lock already */
	bool add;         /* renew: add ttl to lease and expiry instead of counting from now */
	bool force;       /* act for the holder that the name says: for administrators, or lent by the policy */
	bool replace;     /* write: the lines replace the user's keys instead of merging with them */
	enum atlock_priority priority;    /* wait, enqueue; 0 is ATLOCK_LOW, so set it */
	int64_t timeout;                  /* wait, enqueue: longest wait, ns; 0: queue_timeout */
	const struct atlock_caller *self; /* wait: -EDEADLK if this one, who waits as `caller`, has it; or NULL */
	const char *text;                 /* acquire, wait, enqueue, write: key=value lines, `text_len` bytes */
	size_t text_len;
	const char *reason; /* atlock_release(): one line for its event, of at most ATLOCK_REASON_MAX bytes; or NULL */
	unsigned int *own; /* counts the changes of this lock by this call, which on_change is not told then; or NULL */
};

/* What a call that took a lock gives back. */
struct atlock_grant {
	uint64_t token;      /* fencing token: higher than those of all grants before it */
	uint64_t version;    /* grows by 1 with every change of the lock */
	int64_t acquired_at; /* instant */
	int64_t expires_at;  /* instant, or ATLOCK_NEVER */
	uint64_t ticket;     /* the queue ticket that it came from; 0: none */
	uint32_t id_random;  /* random part of the lock's id */
	bool again;          /* the caller had the lock before this call */
};

/* A held lock as one transaction saw it. Zero it before first use. */
struct atlock_view {
	struct atlock_name name;
	enum atlock_state state;
	enum atlock_priority priority;
	char *owner;
	char *who;
	char *host;        /* machine that it was taken on */
	char *meta;        /* the user's own keys: "key=value\n" lines, values escaped; "": none */
	size_t meta_len;   /* bytes */
	bool meta_damaged; /* the keys cannot be read, and `meta` is "": see atlock_view_check() */
	uid_t uid;
	gid_t gid;
	mode_t mode;
	pid_t pid; /* of the process that took it; 0: unknown */
	uint64_t token;
	uint64_t version;
	uint64_t id_time; /* wall time part of the id, ns */
	uint32_t id_random;
	int64_t acquired_at; /* instants */
	int64_t renewed_at;
	int64_t expires_at; /* or ATLOCK_NEVER */
	int64_t ttl;        /* ns, or ATLOCK_NEVER */
	int64_t claim_by;   /* ATLOCK_PENDING: instant at which it passes to the next waiter */
	uint64_t waiters;
	bool unsure; /* atlock_get() of a who said 1: that who has it, but this host does not know for how long: atlock_claim() */
};

/* --- Taking and giving back --- */

/*
 * Takes the lock if it is free or its lease is over: 0. If the same holder has it: 1, and a ttl in the request replaces the
 * lease by one from now. Held by another: -EBUSY (same uid) or -EACCES. With `exclusive` all of these are -EEXIST. -ENOENT if
 * the directory of custom/ is gone. An administrator's text may say owner=: then the lock is taken for that user, known to the
 * system or not.
 */
int atlock_acquire(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out,
		   struct atlock_why *why);

/*
 * Takes `n` locks in one transaction, or none of them. `failed` (may be NULL) gets the index of the first that was refused.
 * Each request has a ttl and text of its own. `out` has `n` grants, or is NULL. For users of the library: a mount has no call
 * for several locks.
 */
int atlock_acquire_all(struct atlock *al, const struct atlock_request *reqs, size_t n, struct atlock_grant *out,
		       size_t *failed, struct atlock_why *why);

/*
 * Gives the lock back; the same transaction hands it to the next waiter. 1: it was free or its lease was over. -EPERM, -EACCES
 * if another has it; an administrator who names the holder may `force` it. `out` (may be NULL) gets what was released.
 */
int atlock_release(struct atlock *al, const struct atlock_request *req, struct atlock_view *out,
		   struct atlock_why *why);

/*
 * Gives back everything that a holder has, and cancels its tickets, as the end of its process does. `released`: how many. For
 * users of the library, which have holders that no process ends.
 */
int atlock_release_holder(struct atlock *al, const struct atlock_caller *holder, size_t *released,
			  struct atlock_why *why);

/*
 * atlock_acquire() and atlock_release() that do not block on the store: `end` is called exactly once with what those would
 * have returned. It may run before this returns, on this thread or on any other thread that is in a call of the manager, and
 * must not block. All that the pointers lead to must stay valid until then. atlock_close() waits for them.
 */
typedef void atlock_end_fn(void *arg, int rc);
void atlock_acquire_start(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out,
			  struct atlock_why *why, atlock_end_fn *end, void *arg);
void atlock_release_start(struct atlock *al, const struct atlock_request *req, struct atlock_why *why,
			  atlock_end_fn *end, void *arg);

/* --- Changing a held lock --- */

/*
 * Renews the caller's lease: to now + ttl (0: the ttl it has), or with `add` by ttl from its old expiry. `out` may be NULL.
 * -ENOENT, -EPERM, -EACCES; -EINVAL above max_ttl.
 */
int atlock_renew(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out, struct atlock_why *why);

/*
 * Makes `to` the holder; token and queue stay. By the holder, or with `force` by an administrator. -EDEADLK if `to` waits,
 * perhaps through others, for a holder who waits for this lock.
 */
int atlock_transfer(struct atlock *al, const struct atlock_request *req, const struct atlock_caller *to,
		    struct atlock_why *why);

/*
 * Applies the request's key=value lines to the caller's lock, all or none; atlockfs(5) lists the keys. -EINVAL with the line's
 * number in `why`; -EDQUOT above ATLOCK_META_KEYS or ATLOCK_META_BYTES; -ENOENT, -EPERM, -EACCES as atlock_renew().
 */
int atlock_write(struct atlock *al, const struct atlock_request *req, struct atlock_why *why);

/* Sets the permission bits (0777 of `mode`), or the group. By the holder, or with `force` by an administrator. */
int atlock_chmod(struct atlock *al, const struct atlock_request *req, mode_t mode, struct atlock_why *why);
int atlock_chgrp(struct atlock *al, const struct atlock_request *req, gid_t gid, struct atlock_why *why);

/*
 * Takes up a lock that was granted to the caller's ticket or given to the caller (ATLOCK_PENDING). In a store of several hosts it also begins
 * the lease anew of a lock of the caller's whose lease this host does not know. 0, or 1 if there is nothing to take up.
 */
int atlock_claim(struct atlock *al, const struct atlock_request *req, struct atlock_why *why);

/* --- Reading one --- */

/* Frees the strings and zeroes the view. */
void atlock_view_clear(struct atlock_view *view);

/* 0, or -EIO if the user's own keys are damaged: `why` names the record. */
int atlock_view_check(const struct atlock_view *view, struct atlock_why *why);

/* Reads a lock: 0, or 1 if it is free or its lease is over. With a who in the name: 1 too if another who has it. */
int atlock_get(struct atlock *al, const struct atlock_name *name, struct atlock_view *out);

/* 0: the caller holds the lock (`out`, may be NULL, gets it). 1: it is free. Else the error and `why` of atlock_acquire(). */
int atlock_holds(struct atlock *al, const struct atlock_name *name, const struct atlock_caller *caller,
		 struct atlock_view *out, struct atlock_why *why);

/* --- A lock as text --- */

/* What `cat` prints, and one JSON object without newline as in locks.jsonl. malloc'ed, `*len` bytes and a NUL; or NULL. */
char *atlock_view_text(struct atlock *al, const struct atlock_view *view, size_t *len);
char *atlock_view_json(struct atlock *al, const struct atlock_view *view, size_t *len);

/* One field of that text by its key ("token"), the user's own included. 1: no such key. -ERANGE; -EIO: damaged. */
int atlock_view_field(struct atlock *al, const struct atlock_view *view, const char *key, char *out, size_t len);

/* The printed id: lock_<wall time, ns>_<owner>_<8 hex digits>. */
void atlock_view_id(const struct atlock_view *view, char out[ATLOCK_ID_MAX]);

/* --- Ends that must not get lost --- */

/*
 * When the process behind a grant is gone, no call can try its release again. These write such an end; where the store fails,
 * the manager keeps it and writes it as soon as the store works. `health` (admin.h) says how many it keeps. Each returns 0, 1
 * if the grant was over already, or a negative errno if the end is kept.
 *
 * atlock_disown(): the caller of `req` did not receive this grant. If the holder asks again meanwhile and is told that the
 * lock is the caller's, it stays so.
 *
 * atlock_end_new() makes an end beforehand, so that writing it needs no memory (NULL: out of memory). It is for holders that
 * cannot ask again: open files. atlock_end_write() takes it over and frees it at last; atlock_end_free() frees one unused.
 */
struct atlock_end;
int atlock_disown(struct atlock *al, const struct atlock_request *req, const struct atlock_grant *grant);
struct atlock_end *atlock_end_new(const struct atlock_name *name, const struct atlock_caller *holder,
				  const struct atlock_grant *grant);
int atlock_end_write(struct atlock *al, struct atlock_end *end);
void atlock_end_free(struct atlock_end *end);

#endif
