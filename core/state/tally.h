/*
 * How many locks each owner holds and how often each waits, for the limits of limit.h. The index has it, but a walk over
 * thousands of entries with every acquire would be dear for all. So an owner's entries are counted once, when a limit asks for the
 * first time, and from then on in memory, along with what is written. Private to core/; runs inside an operation's transaction,
 * of which there is one at a time.
 */
#ifndef CORE_TALLY_H
#define CORE_TALLY_H

#include "op.h"

struct tallies;

int tallies_new(struct tallies **out);
void tallies_free(struct tallies *tallies);

/* How many entries an owner has in TABLE_HELD or TABLE_WAITS, those of this transaction included. */
int tally_get(struct op *op, enum record_table table, struct slice owner, uint64_t *out);

/* An entry came (1) or went (-1). */
void tally_add(struct op *op, enum record_table table, struct slice owner, int by);

/* What this run of the operation wrote is dropped. */
void tally_undo(struct op *op);

/* A commit failed, and it is not known which runs saw what it would have written. Everything is counted anew when it is asked for. */
void tally_forget(struct op *op);

#endif
