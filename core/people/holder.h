/*
 * Who is asking: turns a calling thread, its user and the text after '@' into a holder, owner + who. Private to core/.
 *
 * The prefix of a who says what ends its locks besides their leases. No user can pose as a session or an open file:
 * those are never taken from text that a user wrote.
 *
 *	build-17	plain: any name that a user chooses
 *	user		everything of that user (identity=user, no '@')
 *	sid:4711	a session (identity=session, no '@')
 *	pid:4711	a process: ends when it exits
 *	pr:123		a pull request: ends when it is closed
 *	flock:...	an open file description: ends when it is closed
 */
#ifndef CORE_HOLDER_H
#define CORE_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "atlock.h"
#include "session.h"

struct sessions;
struct users;

enum holder_kind { HOLDER_PLAIN, HOLDER_SESSION, HOLDER_PROCESS, HOLDER_PULL, HOLDER_FLOCK };

enum holder_kind holder_kind(const char *who);

/* Whether only a lease ends this holder's locks: it is no process, pull request or open file. */
bool holder_needs_lease(const struct atlock_caller *caller);

/* The who of locks that the manager itself holds for the option of that name. No user may write it. */
#define HOLDER_DISABLE "disable_apply"
#define HOLDER_DISABLE_OWNER "root"

/* The number in "pid:N" or "pr:N": decimal, from 1, without leading zeros. False for any other who. */
bool holder_pid(const char *who, pid_t *out);
bool holder_pull(const char *who, uint64_t *out);

/* Whether `text`, an owner or a who, has 1 to `max` bytes and no control bytes. */
bool holder_text_check(const char *text, size_t max);

/*
 * Whether a user may write this who, after '@' or as who=: 0, or -EINVAL and why. Does not check whose process a "pid:"
 * is.
 */
int holder_who_check(const char *who, struct atlock_why *why);

/*
 * What atlock_identify() does, without a manager. `who_text` may be NULL. Reads /proc for a "pid:", and where session.h
 * says so. `known` is a session that this thread was in; if the session is needed, it becomes the present one. Without
 * a "pid:", `out->pid` is `tid`, a thread of the caller, rather than its thread group.
 */
int holder_identify(struct users *users, struct sessions *sessions, const struct atlock_options *options, pid_t tid,
		    uid_t uid, gid_t gid, const char *who_text, struct session_id *known, struct atlock_caller *out,
		    struct atlock_why *why);

/*
 * Turns `holder` into one of another user. A name that this host does not know is a holder too, with the uid
 * HOLDER_NOBODY: then only the name counts, and administrators end its locks. -EIO if the user database does not
 * answer.
 */
#define HOLDER_NOBODY 65534
int holder_give(struct users *users, const char *owner, struct atlock_caller *holder, struct atlock_why *why);

#endif
