/*
 * The holders that stand behind a blocked call. They are not the waiter itself, but their locks cannot end before the call
 * returns, because the process that made the call is the one that would end them. The wait-for graph follows them as it follows
 * the waiter (waitfor.h). In memory only: blocked calls die with the manager. Private to core/.
 *
 * Any thread may call; the table has a mutex of its own, a leaf.
 */
#ifndef CORE_CALL_HOLDERS_H
#define CORE_CALL_HOLDERS_H

#include "atlock.h"
#include "record.h"

#define CALL_HOLDERS_MAX 16 /* holders behind one call, at most */

struct call_holders;
struct call_holders_entry; /* the holders behind one call */

int call_holders_new(struct call_holders **out);
void call_holders_free(struct call_holders *table);

/* Enters the holders that stand behind the call `number`; NULL without memory. */
struct call_holders_entry *call_holders_add(struct call_holders *table, uint64_t number,
					    const struct atlock_caller *holders, size_t n);

/* Removes the entry when the call has ended. NULL is allowed. */
void call_holders_remove(struct call_holders *table, struct call_holders_entry *call);

/*
 * Writes the numbers of the calls that this holder stands behind, at most `cap`, and returns how many it wrote. `start` is that
 * of a process or session, 0 if unknown.
 */
size_t call_holders_calls(struct call_holders *table, struct slice owner, struct slice who, uint64_t start,
			  uint64_t *numbers, size_t cap);

#endif
