/*
 * Refusals for the event log. A refusal changes nothing, so it must not cost its caller a commit: it is noted here, and
 * the background thread writes all noted ones together a moment later. Refusals of a user above the option
 * events_refused per second are counted and not written; the next event of that user says how many. Private to core/.
 */
#ifndef CORE_REFUSAL_H
#define CORE_REFUSAL_H

#include "op.h"

struct refusals;

int refusals_new(struct refusals **out);
void refusals_free(struct refusals *refusals);

/*
 * Notes that the operation's caller was refused with `rc`, and marks `why` as noted. Ignores the manager's own
 * operations.
 */
void refusal_note(const struct op *op, int rc);

#endif
