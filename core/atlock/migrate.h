/*
 * Moving a store: a directory that one host uses to a realm that several share, and back. For our own tools: no promise.
 *
 *	atlock_migrate("/var/lib/atlockfs", "redis://redis.example:6379/0?realm=ci", say, NULL, &result, &why);
 */
#ifndef ATLOCK_MIGRATE_H
#define ATLOCK_MIGRATE_H

#include "atlock/base.h"

struct atlock_migration {
	uint64_t records; /* that were moved */
	bool was_done;    /* by an earlier call, from the same source */
};

/* What is being done, and of how many records: "read", "written", "compared". */
typedef void atlock_migrate_fn(void *arg, const char *what, uint64_t records);

/*
 * Copies all of `from` to `to`, each a directory or the address of a realm, and compares the two. Nothing may use them: -EBUSY. `to` must not
 * be there or be empty (-EEXIST), or have what an interrupted call has left: then it goes on. Until the end no host can mount it. `from` is
 * left as it is. -EINVAL: both are directories, or the texts are encrypted. -EAGAIN: `from` was changed meanwhile.
 *
 * Names keep their locks and leases, which run anew from the first mount; what is bound to processes, sessions and open files ends then.
 * Tokens go on rising. Events are kept, in the chains that they are in.
 */
int atlock_migrate(const char *from, const char *to, atlock_migrate_fn *fn, void *arg, struct atlock_migration *out,
		   struct atlock_why *why);

#endif
