/*
 * Listings: which locks are held, in order, in pages, by path, owner, who and host.
 *
 * Calling sequence
 *
 *	struct atlock_query query = { .owner = "alice", .limit = 100 };
 *	do
 *		rc = atlock_list(al, &query, show, arg);	`show` gets at most 100 views
 *	while (rc == 1);
 *
 * Callbacks
 *
 * A callback runs in the middle of a read transaction on the calling thread: it may read through the manager, not change. What
 * its pointers lead to is valid during the call only. It returns 0 to go on and anything else to stop. One call of a listing
 * sees one consistent state of the store.
 *
 * Errors
 *
 * A listing returns 0, a positive outcome where one is named, or a negative errno: -EIO and -EHOSTDOWN if the store fails.
 */
#ifndef ATLOCK_LIST_H
#define ATLOCK_LIST_H

#include "atlock/base.h"
#include "atlock/lock.h"
#include "atlock/name.h"

typedef int atlock_list_fn(void *arg, const struct atlock_view *view);

/* --- Held locks --- */

/* What to list: a lock must match every field that is set. Zero is the default: all locks in one page. */
struct atlock_query {
	const char *prefix; /* of the canonical path: "repos/acme/infra/"; does not look below directories of custom/ */
	const char *owner;
	const char *who;
	const char *pull_repo; /* with pull_num: held for this pull request */
	uint64_t pull_num;
	size_t limit;             /* locks in a page; 0: no end */
	struct atlock_name after; /* the last lock listed, set by atlock_list(); len 0: from the start */
};

/* Lists held locks in key order. 0 at the end, 1 if there may be more: call again with the same query. */
int atlock_list(struct atlock *al, struct atlock_query *query, atlock_list_fn *fn, void *arg);

/* --- Directories --- */

/*
 * Where a listing is. A listing shows what comes after the place: everything if it is NULL or empty (len 0). While a callback
 * gets an item, the place is that item's; a later call with a copy of it goes on after that item, whatever was added or removed
 * meanwhile, the item included. A place is good for the same listing of the same directory only.
 */
#define ATLOCK_PLACE_MAX 512

struct atlock_place {
	uint16_t len;
	unsigned char data[ATLOCK_PLACE_MAX]; /* opaque */
};

/*
 * What exists directly below a virtual directory of repos/, or below global/. `view` is the lock, or NULL for a directory. Costs
 * one seek a child, however many locks are below it.
 */
typedef int atlock_child_fn(void *arg, const char *component, const struct atlock_view *view);
int atlock_children(struct atlock *al, const char *dir, struct atlock_place *place, atlock_child_fn *fn, void *arg);

/* --- By owner, who and host --- */

enum atlock_by { ATLOCK_BY_OWNER, ATLOCK_BY_WHO, ATLOCK_BY_HOST };

/*
 * Every owner, who or host that holds a lock, once each: escaped as a path component, sorted as it reads unescaped. Costs a
 * seek for each owner; for each who one for each owner it holds under; for hosts a look at every lock.
 */
typedef int atlock_group_fn(void *arg, const char *component);
int atlock_by_groups(struct atlock *al, enum atlock_by by, struct atlock_place *place, atlock_group_fn *fn, void *arg);

/* 0 if a component can stand for an owner, who or host; -EINVAL, and `why` gives the right spelling. */
int atlock_by_check(const char *component, struct atlock_why *why);

/* The locks of one owner, who or host. */
int atlock_by_list(struct atlock *al, enum atlock_by by, const char *component, struct atlock_place *place,
		   atlock_list_fn *fn, void *arg);

/* One of those locks by its id: 0 or 1 (none). Costs one look-up. Clear `out` with atlock_view_clear(). */
int atlock_by_find(struct atlock *al, enum atlock_by by, const char *component, const char *id,
		   struct atlock_view *out);

/* The name of a lock in such a listing: its printed id, escaped as a component. */
void atlock_by_id(const struct atlock_view *view, char out[ATLOCK_ID_MAX]);

/* --- For whom --- */

/*
 * The user for whom something is listed, and whether that user may search a directory of custom/ and all above it. `may` runs as the
 * callbacks of listings do. Where a function takes a reader, NULL sees everything.
 */
struct atlock_reader {
	const char *user;
	bool (*may)(void *arg, uint64_t dir);
	void *arg;
};

#endif
