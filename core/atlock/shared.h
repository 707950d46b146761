/*
 * Shared resources: which apps use one, whether each is up, and whether the resource may be stopped.
 *
 * A resource may be stopped when every app that uses it is DOWN. The right to stop it is a lock, "shared/<resource>/stop@<app>",
 * which is taken, renewed and released as any other (lock.h). atlock_acquire(), and every call that makes the lease longer or
 * changes the holder, is -EBUSY (IN_USE) unless every other app is DOWN in the same transaction.
 *
 * Calling sequence
 *
 *	atlock_shared_make(al, "database", &caller, &why);
 *	atlock_app_add(al, "database", "web", &caller, false, &why);
 *	atlock_app_write(al, "database", "web", &caller, "DOWN", 4, &why);	again before status_ttl is over
 *	atlock_verdict(al, "database", NULL, &text, &len);
 */
#ifndef ATLOCK_SHARED_H
#define ATLOCK_SHARED_H

#include "atlock/base.h"
#include "atlock/caller.h"
#include "atlock/list.h"

/* --- Resources --- */

struct atlock_shared {
	char name[ATLOCK_COMPONENT_MAX + 1];
	uid_t uid; /* of the user who made it */
	gid_t gid;
	int64_t made_at;    /* instant */
	int64_t changed_at; /* instant at which an app was last added or removed */
	uint64_t apps;
};

/* Makes a resource that belongs to the caller. -EEXIST, -EDQUOT; bad names as atlock_component_check(). */
int atlock_shared_make(struct atlock *al, const char *resource, const struct atlock_caller *caller,
		       struct atlock_why *why);

/* By its maker or an administrator, else -EACCES. -ENOENT. -ENOTEMPTY: it has apps, or its lock is held. */
int atlock_shared_remove(struct atlock *al, const char *resource, const struct atlock_caller *caller,
			 struct atlock_why *why);

/* Reads one: 0 or -ENOENT. */
int atlock_shared_get(struct atlock *al, const char *resource, struct atlock_shared *out);

/* A listing (list.h) in order of names. */
typedef int atlock_shared_fn(void *arg, const struct atlock_shared *shared);
int atlock_shared_list(struct atlock *al, struct atlock_place *place, atlock_shared_fn *fn, void *arg);

/* --- Apps --- */

/* What an app says of itself. UNKNOWN counts as UP. */
enum atlock_app_status { ATLOCK_APP_UNKNOWN, ATLOCK_APP_UP, ATLOCK_APP_DOWN, ATLOCK_APP_STATUSES };

struct atlock_app {
	char name[ATLOCK_WHO_MAX + 1];
	enum atlock_app_status status; /* as it counts now: UNKNOWN once it is older than the option status_ttl */
	enum atlock_app_status said;   /* as it was written */
	int64_t written_at;            /* instant */
	int64_t age;                   /* time since, ns */
	uid_t uid;
	gid_t gid;
	char owner[ATLOCK_OWNER_MAX + 1];
};

/* "UP", "DOWN", "UNKNOWN". Never NULL. */
const char *atlock_app_status_name(enum atlock_app_status status);

/* 0 if this may name an app: a path component that reads the same after '@'. -EINVAL, -ENAMETOOLONG. */
int atlock_app_check(const char *app, struct atlock_why *why);

/*
 * Registers an app that belongs to the caller's uid and is UNKNOWN. 1: it exists and the caller may write it (-EEXIST if
 * `exclusive`). -EACCES: it is another's. -ENOENT: there is no such resource. -EDQUOT.
 */
int atlock_app_add(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		   bool exclusive, struct atlock_why *why);

/*
 * Writes an app's status as of now: one word in `text`, `len` bytes; with NULL the status that it counts as, once more. By its
 * uid or an administrator, else -EACCES. -EINVAL: another word. -ENOENT.
 */
int atlock_app_write(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		     const char *text, size_t len, struct atlock_why *why);

/* Makes the app belong to `to`. By an administrator, else -EPERM. */
int atlock_app_give(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		    const struct atlock_caller *to, struct atlock_why *why);

/* Removes one, by those who may write it. -EBUSY while the app holds the resource's lock: it must release that first. */
int atlock_app_remove(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		      struct atlock_why *why);

/* Reads one: 0 or -ENOENT. */
int atlock_app_get(struct atlock *al, const char *resource, const char *app, struct atlock_app *out);

/* A listing (list.h) in order of names. */
typedef int atlock_app_fn(void *arg, const struct atlock_app *app);
int atlock_app_list(struct atlock *al, const char *resource, struct atlock_place *place, atlock_app_fn *fn, void *arg);

/* --- Counters of `atlock guard` --- */

/* How a run ended: the resource was stopped; it was not, because it is in use, or because another was stopping it. */
enum atlock_guard_result { ATLOCK_GUARD_STOPPED, ATLOCK_GUARD_IN_USE, ATLOCK_GUARD_CONTENDED, ATLOCK_GUARD_RESULTS };

/* "stopped", "in_use", "contended". */
const char *atlock_guard_result_name(enum atlock_guard_result result);

/*
 * Counts a run, by those who may write the app: "<app> <result> <tries> <milliseconds>". -EINVAL, -ENOENT, -EACCES. The
 * second prints the counters of a resource since the manager was opened as key=value lines; `*text` is malloc'ed. -ENOENT.
 */
int atlock_guard_note(struct atlock *al, const char *resource, const struct atlock_caller *caller, const char *text,
		      size_t len, struct atlock_why *why);
int atlock_guard_text(struct atlock *al, const char *resource, char **text, size_t *len);

/* --- The verdict --- */

/*
 * Says as text which apps keep the resource from being stopped: "stop" or "keep", then a line for each app, then the lock's
 * holder. For one app; with NULL for the lock's holder or, if it is free, for an app that is not registered. `*text` is
 * malloc'ed. -ENOENT.
 */
int atlock_verdict(struct atlock *al, const char *resource, const char *app, char **text, size_t *len);

#endif
