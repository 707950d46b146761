/*
 * Callers: on whose behalf a call is made, and which holder that is.
 *
 * A holder is an owner (a user name) and a who (what followed '@' in the lock's name). Two callers with the same owner and who
 * are the same holder, whatever process or machine they are on. A who is one of
 *
 *	pid:N	the process N; its locks end when it does
 *	sid:N	the session N: a caller that named no who, unless identity=user
 *	user	the user: a caller that named no who, with identity=user
 *	others	any word that the caller chose
 *
 * and, for flock(2), an open file description. A program that calls for itself uses atlock_caller_init(). A front end that
 * serves other processes, as fs/ does, uses atlock_identify().
 */
#ifndef ATLOCK_CALLER_H
#define ATLOCK_CALLER_H

#include "atlock/base.h"

struct atlock_caller {
	char owner[ATLOCK_OWNER_MAX + 1];
	char who[ATLOCK_WHO_MAX + 1];
	uid_t uid;
	gid_t gid;
	pid_t pid;                      /* the calling process, for the record; 0: unknown */
	pid_t session;                  /* its session, for events; 0: unknown */
	char comm[ATLOCK_COMM_MAX + 1]; /* its name, for events; "": unknown */
	bool admin;                     /* may act on what belongs to others */
	bool owners_user;               /* a member of owners_group: may claim URLs for other users */
	bool pull_user; /* one of pull_users: as "pr:N" he is that pull request, whatever owner a record names */
	/*
	 * With who "pid:N" or "sid:N" the start time of N, so that a later process with the same number is another holder. 0 with
	 * other whos, and for a session whose leader's start time is unknown.
	 */
	uint64_t bound_start;
};

/* Fills in a caller by name; other fields are 0. -EINVAL: owner or who is empty, too long or has control bytes. */
int atlock_caller_init(struct atlock_caller *caller, const char *owner, const char *who, uid_t uid);

/* --- For a front end that serves other processes --- */

/*
 * Fills in the caller behind a request of thread `tid`. The owner comes from the user data base (cached). The who is
 * `who_text`, what followed '@', after atlock_who_outer(); if that is empty, "sid:N" or, with identity=user, "user". "pid:N" must be the calling process
 * or an ancestor with the same uid, else -EPERM. -EINVAL if tid is 0: a process outside the manager's pid namespace, whose
 * session and pid cannot be known.
 */
int atlock_identify(struct atlock *al, pid_t tid, uid_t uid, gid_t gid, const char *who_text, struct atlock_caller *out,
		    struct atlock_why *why);

/*
 * Where thread `tid` is in a pid namespace below ours, as in a container, it means a pid of that namespace: turns its "pid:N"
 * into ours. Any other who stays. -EPERM if that is neither the calling process nor an ancestor: other processes of that
 * namespace are not looked for.
 */
int atlock_who_outer(pid_t tid, char who[ATLOCK_WHO_MAX + 1], struct atlock_why *why);

/* Whether the thread runs rm(1) or unlink(1), and not so that absence is success (rm -f). False if that cannot be seen. */
bool atlock_is_removing(struct atlock *al, pid_t tid);

/* Fills in session and comm of the calling process where atlock_identify() did not; what cannot be seen stays empty. */
void atlock_caller_look(struct atlock *al, struct atlock_caller *caller);

/* The process of thread `tid` and its ancestors, nearest first, at most `cap`. Returns how many; 0 if /proc hides them. */
size_t atlock_lineage(pid_t tid, pid_t *out, size_t cap);

/* Writes the who of open file description `number` of a mount; `mount` tells mounts apart. */
void atlock_who_flock(uint32_t mount, uint64_t number, char out[ATLOCK_WHO_MAX + 1]);

/* Whether a who is an open file description; a process; a session or the user, so that the caller named none. */
bool atlock_who_is_flock(const char *who);
bool atlock_who_is_process(const char *who);
bool atlock_who_is_implied(const char *who);

#endif
