/* Locks and tickets as atlock.h shows them, copied out of the store. Private to core/. */
#ifndef CORE_VIEW_H
#define CORE_VIEW_H

#include "table.h"

/* Fills `out` from a record, the user's text and the queue: 0, or a negative errno with nothing to free. */
int view_make(struct op *op, struct slice lock, const struct record_lock *record, struct atlock_view *out);

/* Fills `out`; the caller passes `position` and `expected`. */
int view_ticket(const struct ticket *ticket, uint64_t position, int64_t expected, struct atlock_ticket *out);

#endif
