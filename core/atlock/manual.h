/*
 * What the manager's own threads do, one call each: for tests that open it with `manual` and drive time themselves. No promise.
 *
 * Each may be called from any thread unless it says otherwise, and returns how much it did or a negative errno.
 */
#ifndef ATLOCK_MANUAL_H
#define ATLOCK_MANUAL_H

#include "atlock/base.h"

/* Ends every lease, ticket and claim whose time is over. */
int atlock_run_due(struct atlock *al);

/* The instant at which atlock_run_due() next has something to do; ATLOCK_NEVER: nothing is pending. */
int64_t atlock_next_due(struct atlock *al);

/*
 * Writes the ends that the store could not write before: of processes that are gone, of cancelled calls, of grants that were
 * given back (lock.h). Negative if some are left. One thread at a time; the manager's thread calls it every second while there
 * are any.
 */
int atlock_run_ends(struct atlock *al);

/*
 * Acts on what other hosts have changed in a shared store: claims locks that they granted to calls blocked here, ends calls that they ended,
 * releases what was bound to hosts that are gone, reads the options again. One thread at a time.
 */
int atlock_run_feed(struct atlock *al);

/* Searches the whole wait-for graph for cycles; returns the number of victims. */
int atlock_run_deadlock(struct atlock *al);

/* Writes the refusals noted since the last call as events. */
int atlock_run_refused(struct atlock *al);

/* Removes the events of days that ended longer than events_keep ago. */
int atlock_run_prune(struct atlock *al);

/*
 * Repairs what crashes of older versions or damage left in owners/: frees URLs without references, claims the URL of references
 * that lost their claim, removes references of others than the URL's owner, corrects counts. Returns for how many URLs; -EIO if
 * one cannot be read, after doing the others. Keeps what belongs to users that no longer exist: an administrator decides.
 */
int atlock_run_owners(struct atlock *al);

#endif
