/* What the manager does once an operation has ended: waiters answered, processes watched, changes announced. Private to core/. */
#ifndef CORE_AFTER_H
#define CORE_AFTER_H

#include "op.h"

/* An op_after_fn. */
void after_op(struct op *op, bool committed, int rc);

#endif
