/*
 * The holders that stand behind a blocked call. They are not the waiter itself, but their locks cannot end before the call
 * returns, because the process that made the call is the one that would end them. The wait-for graph follows them as it follows
 * the waiter (waitfor.h). In memory only: blocked calls die with the manager. Private to core/.
 *
 * Any thread may call; the table has a mutex of its own, a leaf.
 */
#ifndef CORE_BEHIND_H
#define CORE_BEHIND_H

#include "atlock.h"
#include "record.h"

#define BEHIND_MAX 16 /* holders behind one call, at most */

struct behind;
struct behind_call; /* the holders behind one call */

int behind_new(struct behind **out);
void behind_free(struct behind *behind);

/* Enters the holders that stand behind the call `number`; NULL without memory. */
struct behind_call *behind_add(struct behind *behind, uint64_t number, const struct atlock_caller *holders, size_t n);

/* Removes the entry when the call has ended. NULL is allowed. */
void behind_remove(struct behind *behind, struct behind_call *call);

/*
 * Writes the numbers of the calls that this holder stands behind, at most `cap`, and returns how many it wrote. `start` is that
 * of a process or session, 0 if unknown.
 */
size_t behind_calls(struct behind *behind, struct slice owner, struct slice who, uint64_t start, uint64_t *numbers,
		    size_t cap);

#endif
