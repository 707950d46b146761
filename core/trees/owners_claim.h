/*
 * Which user owns a Git URL: one claim for each URL, and the references that keep it alive. A claim without references, or a
 * reference without a claim, is a leftover: no operation makes one, and the sweep repairs it. Private to core/; all of it runs
 * inside an operation's transaction.
 */
#ifndef CORE_OWNERS_CLAIM_H
#define CORE_OWNERS_CLAIM_H

#include "owners_path.h"
#include "table.h"

/* The claim of a URL: 0 or 1 (none). */
int owners_claim_get(struct op *op, struct slice url, struct record_claim *out);

/* The claim's counter of references of a type. */
uint64_t *owners_count(struct record_claim *claim, enum atlock_reference_type type);

/*
 * Repairs the claim and the references of a URL, and writes an event if it changed something: 1, or 0 if nothing was wrong. The
 * owner in the claim keeps the URL; without a claim, the owner of the first reference gets it.
 */
int owners_mend_url(struct op *op, struct slice url);

#endif
