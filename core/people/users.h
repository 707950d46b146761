/*
 * Users by number and by name, and who is in which group. Asks the system's user data base, which may be a directory
 * service across the network, and remembers the answer for USERS_KEEP, so that a renamed user or a new member is seen
 * after that time and the calls in between cost a look into a table.
 *
 * While the data base fails to answer, what it said last is kept: else a user would turn into somebody else and lose
 * his locks. A user of whom nothing is known yet is refused then, with -EIO.
 *
 * Any thread may call. No lock is held while the data base is asked.
 */
#ifndef CORE_USERS_H
#define CORE_USERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "atlock.h"

#define USERS_KEEP (60 * ATLOCK_SECOND)
#define USERS_SLOTS 1024      /* users remembered at a time, at most */
#define USERS_GROUP_SLOTS 512 /* and groups */

struct users;

/* Where the answers come from: the system, or a test. Each returns 0, 1 (no such), or -EIO: no answer. */
struct users_source {
	int (*by_uid)(void *arg, uid_t uid, char *name, size_t len);
	int (*by_name)(void *arg, const char *name, uid_t *uid, gid_t *gid);
	int (*groups)(void *arg, const char *user, gid_t **out, size_t *count); /* all of a user's, malloc'ed */
	int (*group)(void *arg, const char *name, gid_t *gid);
	int64_t (*now)(void *arg); /* nanoseconds, never steps */
	void *arg;
};

extern const struct users_source users_system;

/* `source` is kept and must outlive the table; NULL is &users_system. */
int users_new(struct users **out, const struct users_source *source);
void users_free(struct users *users);

/*
 * The name of a user; "uid:1234" for one who has none, or none that fits ATLOCK_OWNER_MAX and is free of control bytes.
 */
int users_name(struct users *users, uid_t uid, char out[ATLOCK_OWNER_MAX + 1]);

/* A user by name, or by "uid:1234" (whose group is then of the same number): 0 or 1 (no such). Not cached. */
int users_find(struct users *users, const char *name, uid_t *uid, gid_t *gid);

/* Whether the data base has this user in this group, as primary group or as a member: 0 yes, 1 no. "" has no members. */
int users_in_group(struct users *users, uid_t uid, const char *group);

#endif
