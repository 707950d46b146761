/*
 * Users by uid and by name, and group membership. Asks the system's user database, which may be a directory service
 * across the network, and caches the answer for USERS_KEEP: a renamed user or a new member is seen after that time, and
 * calls in between cost a table lookup.
 *
 * While the database does not answer, the last answer stays valid: otherwise a user would get another name and lose all
 * locks. A user who is not cached yet is refused then, with -EIO.
 *
 * Any thread may call. No mutex is held while the database is asked.
 */
#ifndef CORE_USERS_H
#define CORE_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "atlock.h"

#define USERS_BETWEEN " ," /* what stands between the entries of a list */
#define USERS_KEEP (60 * ATLOCK_SECOND)
#define USERS_SLOTS 1024      /* maximum of cached users */
#define USERS_GROUP_SLOTS 512 /* maximum of cached groups */

struct users;

/* The source of the answers: the system, or a test. Each returns 0, 1 (no such entry), or -EIO: no answer. */
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
 * The name of a user; "uid:1234" for a user without a name, or whose name exceeds ATLOCK_OWNER_MAX or has control
 * bytes.
 */
int users_name(struct users *users, uid_t uid, char out[ATLOCK_OWNER_MAX + 1]);

/* A user by name, or by "uid:1234" (gid is then the same number): 0 or 1 (no such user). Not cached. */
int users_find(struct users *users, const char *name, uid_t *uid, gid_t *gid);

/* Whether the user is in this group, as primary group or as a member: 0 yes, 1 no. The group "" has no members. */
int users_in_group(struct users *users, uid_t uid, const char *group);

/* Whether a list of user names and @groups, with spaces or commas between them, has this user. A failed lookup is a no. */
bool users_listed(struct users *users, uid_t uid, const char *name, const char *list);

#endif
