/* What the manager does after an operation has ended: answers waiters, watches processes, announces changes. Private to core/. */
#ifndef CORE_AFTER_H
#define CORE_AFTER_H

#include "op.h"

/* Of type op_after_fn. */
void after_op(struct op *op, bool committed, int rc);

#endif
