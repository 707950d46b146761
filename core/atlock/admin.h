/*
 * The state of the manager for those who run it: counts, health, metrics, and files of keys.
 *
 * Options are changed by atlock_configure() (options.h), rules reloaded by atlock_reload(), events archived by
 * atlock_archived() (event.h). check.h checks, repairs and copies a store.
 */
#ifndef ATLOCK_ADMIN_H
#define ATLOCK_ADMIN_H

#include "atlock/base.h"
#include "atlock/caller.h"

/* --- State --- */

struct atlock_status {
	uint64_t held;         /* locks */
	uint64_t waiting;      /* tickets */
	uint64_t store_used;   /* bytes */
	uint64_t store_free;   /* bytes */
	uint64_t store_size;   /* bytes that the store can grow to */
	uint64_t events_used;  /* bytes of the event log, about */
	bool events_full;      /* the event log has used up its share */
	bool store_low;        /* taking locks is refused: events_full, or the store has little space left */
	uint64_t updates;      /* transactions since the manager was opened */
	uint64_t commits;      /* and how often they were committed; one commit takes many */
	uint64_t events;       /* number of the newest event */
	uint64_t owners_swept; /* URLs whose leftovers were repaired since the manager was opened */
	int64_t last_change;   /* instant of the newest change */
	uint64_t ends;         /* ends of holders and waits that the store could not write yet */
};

/* Reads all of it in one transaction. -EIO, -EHOSTDOWN. */
int atlock_status(struct atlock *al, struct atlock_status *out);

/*
 * Health as text: the first line begins with "ok", "degraded" or "failing" and a reason; then one line for each check, then
 * counts. With `probe` it writes to the store, at most once a second, and waits for that at most a second; without, that check
 * shows its last result. malloc'ed, `*len` bytes and a NUL; or NULL.
 */
char *atlock_health_text(struct atlock *al, bool probe, size_t *len);

/*
 * Notes for health and the metrics what `atlock mirror` sees: "mirror=2 repos/... is another's there", or "mirror=0" if all is well. Shown
 * until the next note, at most ten minutes. By an administrator, else -EPERM. -EINVAL.
 */
int atlock_health_note(struct atlock *al, const struct atlock_caller *caller, const char *line, size_t len,
		       struct atlock_why *why);

/*
 * Metrics in Prometheus' format: counters since the manager was opened, and present values, for which it reads every queue.
 * malloc'ed, or NULL.
 */
char *atlock_metrics_text(struct atlock *al, size_t *len);

/* --- Keys that encrypt users' texts in the store (option key_file) --- */

#define ATLOCK_KEY_ID_MAX 17 /* bytes of a key's id, hex, with its NUL: it tells keys apart and is no secret */

/* Makes a file with a new key that only its owner can read. -EEXIST: it never replaces a key, which texts may still need. */
int atlock_key_new(const char *path, char id[ATLOCK_KEY_ID_MAX], struct atlock_why *why);

/* The id of a file's key, as events and refusals print it. -EACCES: others may read the file. -EINVAL: it has no key. */
int atlock_key_id(const char *path, char id[ATLOCK_KEY_ID_MAX], struct atlock_why *why);

#endif
