/*
 * The reference model: what the lock manager promises, in plain arrays and linear searches. It shares no code with the
 * manager; of its header it uses constants only.
 *
 * The contract leaves open which of several cycles is broken first, what deadlock_policy=random takes, and whether a new wait
 * also breaks cycles that were there before it (arisen while the policy was off) and are the pass's. There the model
 * asks choice_take(), and the caller, if what the manager did does not match, runs the step again on a fresh copy with
 * the next choice until one matches or none is left.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "atlock.h"
#include "cast.h"
#include "step.h"

#define MODEL_TICKETS 16 /* of one lock; more than any max_queue in play */
#define MODEL_TOLD 64
#define MODEL_WANTS 6
#define MODEL_CHOICES 40
#define MODEL_NO_DELAY INT64_MIN

/* What must happen now and then for a long run to be worth anything. */
enum model_tally {
	TALLY_ACQUIRED,
	TALLY_REENTERED,
	TALLY_BUSY,
	TALLY_EXCLUSIVE_REFUSED,
	TALLY_RELEASED,
	TALLY_FORCED,
	TALLY_RENEWED,
	TALLY_RENEW_ADDED,
	TALLY_OVER_MAX,
	TALLY_TRANSFERRED,
	TALLY_TRANSFER_ENDED_WAIT,
	TALLY_GIVEN,            /* to another user, who does not wait for it */
	TALLY_GIFT_LONGER,      /* and who takes it up with a longer lease than the giver's */
	TALLY_TRANSFER_REFUSED, /* it would have closed a cycle */
	TALLY_WRITTEN,
	TALLY_VERSION_CONFLICT,
	TALLY_ALL_TAKEN,
	TALLY_ALL_REFUSED,
	TALLY_PARKED,
	TALLY_QUEUED,
	TALLY_QUEUE_FULL,
	TALLY_GRANTED_PARKED,
	TALLY_GRANTED_PENDING,
	TALLY_GRANTED_SEVERAL,
	TALLY_OVERTAKEN, /* a later ticket of a higher priority came first */
	TALLY_CLAIMED,
	TALLY_UNCLAIMED,
	TALLY_EXPIRED,
	TALLY_EXPIRED_INTO_DELAY,
	TALLY_DELAY_REFUSED,
	TALLY_DELAY_OVER,
	TALLY_TIMED_OUT,
	TALLY_CANCELLED,
	TALLY_WAIT_CANCELLED,
	TALLY_REPRIORITISED,
	TALLY_DEADLOCK_SELF,
	TALLY_DEADLOCK_OTHER,
	TALLY_DEADLOCK_LONG,      /* a cycle of three holders or more */
	TALLY_DEADLOCK_HAND_OVER, /* closed by a hand-over */
	TALLY_DEADLOCK_PASS,      /* found by the periodic pass */
	TALLY_PULL_RELEASED,
	TALLY_HOLDER_RELEASED,
	TALLY_REOPENED_HELD,
	TALLY_REOPENED_PARKED,
	TALLY_COUNT
};

extern const char *const model_tallies[TALLY_COUNT];

/* Where the contract leaves something open. */
enum choice_kind {
	CHOICE_CYCLE, /* which of several cycles is broken first, which edge at random */
	CHOICE_OLDER, /* whether a cycle that the new wait is no part of is broken or left */
	CHOICE_KINDS
};

extern const char *const choice_names[CHOICE_KINDS];

struct choice_path {
	unsigned char pick[MODEL_CHOICES];
	unsigned char arity[MODEL_CHOICES];
	enum choice_kind kind[MODEL_CHOICES];
	int len;  /* choices prescribed */
	int used; /* choices met so far */
};

/* The next path, depth first; false if all have been tried. */
bool choice_next(struct choice_path *path);

struct model_ticket {
	uint64_t number; /* as the manager has it; 0: not seen yet */
	uint64_t order;  /* as the model counts */
	int actor;
	int priority;
	int waiter; /* whose call is blocked on it; -1: nobody's */
	bool moved; /* reprioritised: `since` may be either time */
	int64_t since;
	int64_t deadline;
	int64_t ttl;
	int meta[STEP_KEYS];
};

struct model_lock {
	bool held;
	bool pending;
	bool given; /* pending because another user gave it, not by a ticket */
	int actor;
	uint64_t token; /* 0: not seen yet */
	uint64_t grant; /* order of the grant, as the model counts */
	uint64_t version;
	mode_t mode;
	int64_t acquired_at;
	int64_t renewed_at;
	int64_t expires_at;
	int64_t ttl;
	int64_t claim_by;
	int64_t delay_until; /* not to be had up to then, or MODEL_NO_DELAY */
	int meta[STEP_KEYS]; /* value of each key; 0: not there */
	int tickets_len;
	struct model_ticket tickets[MODEL_TICKETS]; /* in no order */
};

struct model_options {
	int64_t default_ttl;
	int64_t max_ttl;
	int64_t queue_timeout;
	int64_t claim_timeout;
	int64_t lock_delay;
	int64_t max_queue;
	int64_t policy;
};

/* What the manager must have answered. */
struct model_told {
	int waiter;
	int err;
	int lock;
	uint64_t grant;
};

struct model_outcome {
	int want[MODEL_WANTS]; /* any of these return values */
	int wants;
	bool any_positive;     /* or any count > 0 */
	int granted;           /* lock that the grant describes, or -1 */
	uint64_t ticket;       /* ticket that must be answered, or 0 */
	uint64_t ticket_order; /* or the one made by this step */
	int failed;            /* acquire_all: first refused, or -1 */
	bool lost;             /* the request was the victim of its own deadlock */
	uint64_t released_token;
	size_t released; /* locks that release_pull and release_holder ended */
	struct model_told told[MODEL_TOLD];
	int told_len;
	unsigned dirty; /* bit set of the locks that are different now */
	unsigned events[CAST_LOCKS][ATLOCK_EVENTS];
};

struct model {
	int64_t now;
	uint64_t order; /* last order given out */
	struct model_options options;
	struct model_lock locks[CAST_LOCKS];
	uint64_t tally[TALLY_COUNT];
	struct choice_path *path;
	struct model_outcome *out;
	unsigned bumped; /* within this step: bit set of the locks that have their new version */
};

void model_init(struct model *model, const struct model_options *options);

/* Does what the step asks at model->now, along `path`. Clock steps and reopening are model_reopen() and the caller's. */
void model_step(struct model *model, const struct step *step, struct choice_path *path, struct model_outcome *out);

/* The manager goes and comes back at model->now; whoever is parked hears -ECANCELED. Adds to `out`. */
void model_reopen(struct model *model, struct choice_path *path, struct model_outcome *out);

void model_outcome_init(struct model_outcome *out);

/* When something is next over: the last instant at which it is not. ATLOCK_NEVER if nothing is pending. */
int64_t model_next_due(const struct model *model);
int64_t model_lock_due(const struct model_lock *lock);

/* A lock's tickets in service order: their indexes. Returns how many. */
int model_service_order(const struct model_lock *lock, int order[MODEL_TICKETS]);

#endif
