/*
 * Who plays in the simulation: a few locks and a few holders, chosen so that names that look alike meet (the same pull
 * request number in two repositories, one repository's name beginning with another's, one session of two users, two
 * users of one uid). Locks are sorted as the manager sorts them.
 */
#ifndef SIM_CAST_H
#define SIM_CAST_H

#include "atlock.h"

#define CAST_LOCKS 8
#define CAST_ACTORS 11
#define CAST_REPOS 4 /* the last one: what is not below repos/ */

struct cast_lock {
	const char *path;
	int repo;
	bool lasts; /* it has no lease unless given one */
	struct atlock_name name;
};

struct cast_actor {
	const char *owner;
	const char *who;
	uid_t uid;
	bool admin;
	bool unending; /* something else ends it, so it needs no lease */
	uint64_t pull; /* of "pr:N", else 0 */
	struct atlock_caller caller;
};

extern struct cast_lock cast_locks[CAST_LOCKS];
extern struct cast_actor cast_actors[CAST_ACTORS];
extern const char *const cast_repos[CAST_REPOS];

/* Parses the names and makes the callers. 0, or the manager's refusal. */
int cast_init(void);

/* Index of a lock by its name, of an actor by owner and who; -1 if it does not play. */
int cast_find_lock(const struct atlock_name *name);
int cast_find_path(const char *path);
int cast_find_actor(const char *owner, const char *who);

bool cast_same_uid(int a, int b);

#endif
