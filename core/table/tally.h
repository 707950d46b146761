/*
 * How many locks each owner holds and waits for, for the limits of limit.h. The index has the entries, but counting
 * thousands of them in every acquire would slow down all users. So the entries of an owner are counted once, when a
 * limit first needs them, and then updated in memory with each write. Private to core/; runs inside an operation's
 * transaction, of which there is one at a time.
 */
#ifndef CORE_TALLY_H
#define CORE_TALLY_H

#include "op.h"

struct tallies;

int tallies_new(struct tallies **out);
void tallies_free(struct tallies *tallies);

/* The number of entries of an owner in TABLE_HELD or TABLE_WAITS, including those of this transaction. */
int tally_get(struct op *op, enum record_table table, struct slice owner, uint64_t *out);

/* Counts an added (1) or removed (-1) entry. */
void tally_add(struct op *op, enum record_table table, struct slice owner, int by);

/* Undoes the changes of this run of the operation. */
void tally_undo(struct op *op);

/*
 * After a failed commit it is unknown which runs saw its changes: discards all counts, so that they are counted again
 * when needed.
 */
void tally_forget(struct op *op);

#endif
