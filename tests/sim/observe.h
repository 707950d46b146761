/* What the manager says about its locks and queues, read through the public header and kept for one step. */
#ifndef SIM_OBSERVE_H
#define SIM_OBSERVE_H

#include "atlock.h"
#include "cast.h"
#include "model.h"

#define OBSERVE_ALIEN (-2) /* an owner, who or metadata line that nobody here wrote */

struct seen_ticket {
	uint64_t number;
	int actor;
	int priority;
	bool parked;
	int64_t since;
	int64_t deadline;
	int64_t ttl;
	uint64_t position;
};

struct seen_lock {
	bool read;
	int ret; /* of atlock_get() */
	enum atlock_state state;
	int actor;
	uid_t uid;
	mode_t mode;
	uint64_t token;
	uint64_t version;
	uint64_t waiters;
	int64_t acquired_at;
	int64_t renewed_at;
	int64_t expires_at;
	int64_t ttl;
	int64_t claim_by;
	int meta[STEP_KEYS];
	struct seen_ticket tickets[MODEL_TICKETS];
	int tickets_len; /* may be more than fit */
};

struct observation {
	struct atlock *al;
	struct seen_lock locks[CAST_LOCKS];
};

/* Forgets what was read; from now on `al` is asked. */
void observe_init(struct observation *observation, struct atlock *al);

/* The lock as it stands, read at most once since observe_init(). */
const struct seen_lock *observe_lock(struct observation *observation, int index);

#endif
