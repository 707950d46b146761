/*
 * Which user has a Git URL: one claim a URL, and the references that it lives by. A claim without references, or a
 * reference without a claim, is a leftover: no operation makes one, and the sweep sets it right. Private to core/; all of
 * it runs inside an operation's transaction.
 */
#ifndef CORE_OWNERS_H
#define CORE_OWNERS_H

#include "owners_path.h"
#include "table.h"

/* The claim of a URL: 0 or 1 (none). */
int owners_claim_get(struct op *op, struct slice url, struct record_claim *out);

/* How many references of a type a claim counts. */
uint64_t *owners_count(struct record_claim *claim, enum atlock_reference_type type);

/*
 * Sets the claim and the references of a URL right, and writes an event if something was wrong: 1, or 0 if nothing was.
 * Whoever has the claim keeps the URL; without one, the owner of the first reference gets it.
 */
int owners_mend_url(struct op *op, struct slice url);

#endif
