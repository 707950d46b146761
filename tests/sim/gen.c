#include "gen.h"

#include <string.h>

#define SECONDS(n) ((int64_t)(n)*ATLOCK_SECOND)

/* How often each operation comes up. */
static const unsigned weights[STEP_OPS] = {
	[STEP_ACQUIRE] = 150,     [STEP_ACQUIRE_ALL] = 20, [STEP_RELEASE] = 110,      [STEP_RENEW] = 40,
	[STEP_TRANSFER] = 30,     [STEP_WRITE] = 30,       [STEP_CHMOD] = 5,          [STEP_CLAIM] = 40,
	[STEP_WAIT] = 150,        [STEP_WAIT_CANCEL] = 25, [STEP_ENQUEUE] = 130,      [STEP_CANCEL] = 20,
	[STEP_REPRIORITISE] = 25, [STEP_RELEASE_PULL] = 5, [STEP_RELEASE_HOLDER] = 5, [STEP_RUN_DUE] = 60,
	[STEP_RUN_DEADLOCK] = 16, [STEP_LIST] = 20,        [STEP_CONFIGURE] = 16,     [STEP_ADVANCE] = 130,
	[STEP_WALL] = 5,          [STEP_REOPEN] = 4,
};

void gen_init(struct gen *gen, uint64_t seed, bool faults)
{
	*gen = (struct gen){ .state = seed, .faults = faults, .values = 1 };
}

/* splitmix64: any seed will do, and every run of it is a good one. */
uint64_t gen_below(struct gen *gen, uint64_t n)
{
	uint64_t z = gen->state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % n;
}

static int pick(struct gen *gen, int n)
{
	return (int)gen_below(gen, (uint64_t)n);
}

static bool chance(struct gen *gen, int percent)
{
	return pick(gen, 100) < percent;
}

static enum step_op pick_op(struct gen *gen)
{
	unsigned sum = 0;
	for (int i = 0; i < STEP_OPS; i++)
		sum += weights[i];
	unsigned left = (unsigned)gen_below(gen, sum);
	int op = 0;
	while (left >= weights[op])
		left -= weights[op++];
	return (enum step_op)op;
}

static int64_t pick_ttl(struct gen *gen, const struct model *model)
{
	int64_t max = model->options.max_ttl;
	switch (pick(gen, 16)) {
	case 0: return ATLOCK_NEVER;
	case 1: return max + 1;
	case 2: return max;
	case 3: return -SECONDS(1);
	case 4:
	case 5:
	case 6: return SECONDS(1 + pick(gen, 5));
	case 7:
	case 8: return SECONDS(5 + pick(gen, 60));
	default: return 0;
	}
}

static int64_t pick_timeout(struct gen *gen)
{
	switch (pick(gen, 12)) {
	case 0: return ATLOCK_NEVER;
	case 1: return pick(gen, 8) ? 1 : -1;
	case 2:
	case 3:
	case 4: return SECONDS(1 + pick(gen, 10));
	default: return 0;
	}
}

/* Mostly whoever holds the lock. */
static int pick_holder(struct gen *gen, const struct model *model, int lock)
{
	if (model->locks[lock].held && chance(gen, 85))
		return model->locks[lock].actor;
	return pick(gen, CAST_ACTORS);
}

static int pick_lock(struct gen *gen, const struct model *model, bool held)
{
	int lock = pick(gen, CAST_LOCKS);
	for (int tries = 0; tries < 4 && model->locks[lock].held != held; tries++)
		lock = pick(gen, CAST_LOCKS);
	return lock;
}

/* Mostly somebody's ticket; the number one above all of them is nobody's. */
static void pick_ticket(struct gen *gen, const struct model *model, struct step *step)
{
	for (int tries = 0; tries < 8; tries++) {
		const struct model_lock *lock = &model->locks[step->lock];
		if (lock->tickets_len > 0) {
			const struct model_ticket *ticket = &lock->tickets[pick(gen, lock->tickets_len)];
			step->ticket = ticket->number;
			if (chance(gen, 80))
				step->actor = ticket->actor;
			return;
		}
		step->lock = pick(gen, CAST_LOCKS);
	}
	step->ticket = UINT64_C(1) << 40;
}

static bool waits_for(const struct model_lock *lock, int actor)
{
	for (int i = 0; i < lock->tickets_len; i++) {
		if (lock->tickets[i].actor == actor)
			return true;
	}
	return false;
}

/* Metadata with a request, but not one that a ticket with other metadata may answer: which then counts is not pinned down. */
static void pick_text(struct gen *gen, const struct model *model, struct step *step)
{
	const struct model_lock *lock = &model->locks[step->lock];
	if (!chance(gen, 20) || waits_for(lock, step->actor))
		return;
	step->keys = (unsigned)pick(gen, 1 << STEP_KEYS);
}

static void gen_write(struct gen *gen, const struct model *model, struct step *step)
{
	step->keys = 1U + (unsigned)pick(gen, (1 << STEP_KEYS) - 1);
	step->replace = chance(gen, 30);
	switch (pick(gen, 8)) {
	case 0: step->line = LINE_BAD; break;
	case 1: step->line = LINE_TTL; break;
	case 2: step->line = LINE_RENEW; break;
	case 3: step->line = LINE_WHO; break;
	default: break;
	}
	step->ttl = chance(gen, 10) ? model->options.max_ttl + SECONDS(1) : SECONDS(1 + pick(gen, 40));
	if (step->line == LINE_TTL && chance(gen, 10))
		step->ttl = ATLOCK_NEVER;
	const char *owner = cast_actors[step->actor].owner;
	do
		step->to = pick(gen, CAST_ACTORS);
	while (strcmp(cast_actors[step->to].owner, owner) != 0);
	/* Nobody becomes a session or an open file by being called so. */
	const char *who = cast_actors[step->to].who;
	if (step->line == LINE_WHO && (strncmp(who, "flock:", 6) == 0 || strncmp(who, "sid:", 4) == 0))
		step->line = LINE_NONE;
	step->bad = pick(gen, 16);
}

static void gen_change(struct gen *gen, const struct model *model, struct step *step)
{
	step->lock = pick_lock(gen, model, true);
	step->actor = pick_holder(gen, model, step->lock);
	step->ttl = pick_ttl(gen, model);
	step->to = pick(gen, CAST_ACTORS);
	step->mode = (mode_t)pick(gen, 01000);
	uint64_t version = model->locks[step->lock].version;
	if (chance(gen, 12))
		step->version = version + (uint64_t)pick(gen, 2);
	if (chance(gen, 12) && (step->op == STEP_RELEASE || step->op == STEP_TRANSFER)) {
		step->actor = CAST_ACTORS - 1;
		step->force = chance(gen, 80);
	}
	if (step->op == STEP_RENEW && chance(gen, 40)) {
		step->add = true;
		if (step->ttl == ATLOCK_NEVER)
			step->ttl = 0;
	}
	if (step->op == STEP_CHMOD)
		step->force = cast_actors[step->actor].admin;
	if (step->force && model->locks[step->lock].held && chance(gen, 80))
		step->named = model->locks[step->lock].actor + 1;
	if (step->op == STEP_WRITE)
		gen_write(gen, model, step);
}

static void gen_acquire(struct gen *gen, const struct model *model, struct step *step)
{
	step->lock = pick_lock(gen, model, chance(gen, 30));
	step->actor = chance(gen, 15) ? pick_holder(gen, model, step->lock) : pick(gen, CAST_ACTORS);
	step->ttl = pick_ttl(gen, model);
	step->exclusive = chance(gen, 15);
	pick_text(gen, model, step);
	if (step->op == STEP_ACQUIRE)
		return;
	step->keys = 0;
	step->locks_len = 2 + pick(gen, STEP_ALL_MAX - 1);
	for (int i = 0; i < step->locks_len; i++)
		step->locks[i] = (step->lock + 3 * i) % CAST_LOCKS;
}

/* Waits are for what somebody has, and mostly by somebody who has something too: so that cycles close. */
static void gen_join(struct gen *gen, const struct model *model, struct step *step)
{
	step->lock = pick_lock(gen, model, true);
	step->actor = pick(gen, CAST_ACTORS);
	if (chance(gen, 60)) {
		const struct model_lock *other = &model->locks[pick_lock(gen, model, true)];
		if (other->held)
			step->actor = other->actor;
	}
	step->ttl = pick_ttl(gen, model);
	step->timeout = pick_timeout(gen);
	step->priority = chance(gen, 1) ? ATLOCK_PRIORITIES : pick(gen, ATLOCK_PRIORITIES);
	pick_text(gen, model, step);
	if (step->op != STEP_WAIT)
		return;
	step->waiter = gen->waiters++;
	if (chance(gen, 10))
		step->self = pick(gen, CAST_ACTORS);
	/* Holding it under the very who one asks with is not another hold of one's own. */
	if (step->self >= 0 && strcmp(cast_actors[step->self].who, cast_actors[step->actor].who) == 0)
		step->self = -1;
}

static void gen_wait_cancel(struct gen *gen, const struct model *model, struct step *step)
{
	step->waiter = gen->waiters ? pick(gen, gen->waiters) : 0;
	for (int tries = 0; tries < 20; tries++) {
		const struct model_lock *lock = &model->locks[pick(gen, CAST_LOCKS)];
		if (lock->tickets_len == 0)
			continue;
		int waiter = lock->tickets[pick(gen, lock->tickets_len)].waiter;
		if (waiter >= 0)
			step->waiter = waiter;
	}
}

static void gen_advance(struct gen *gen, const struct model *model, struct step *step)
{
	int64_t due = model_next_due(model);
	int kind = pick(gen, 20);
	if (kind < 4 && due != ATLOCK_NEVER && due >= model->now)
		step->advance = due - model->now + pick(gen, 2);
	else if (kind == 4)
		step->advance = SECONDS(30 + pick(gen, 200));
	else if (kind < 8)
		step->advance = 1;
	else
		step->advance = (int64_t)gen_below(gen, (uint64_t)SECONDS(2));
}

static int64_t pick_wall_step(struct gen *gen)
{
	return (int64_t)gen_below(gen, (uint64_t)SECONDS(7200)) - SECONDS(3600);
}

static void gen_configure(struct gen *gen, const struct model *model, struct step *step)
{
	step->option = (enum step_option)pick(gen, 3);
	gen->pass = step->option == OPTION_POLICY && model->options.policy == ATLOCK_DEADLOCK_OFF && chance(gen, 70);
	if (step->option == OPTION_POLICY)
		step->setting = chance(gen, 30) ? ATLOCK_DEADLOCK_OFF : pick(gen, ATLOCK_DEADLOCK_OFF);
	else if (step->option == OPTION_LOCK_DELAY)
		step->setting = chance(gen, 60) ? 0 : SECONDS(1 + pick(gen, 8));
	else
		step->setting = 2 + pick(gen, 7);
}

static void gen_query(struct gen *gen, struct step *step)
{
	step->query = (enum step_query)pick(gen, QUERY_KINDS);
	step->limit = (size_t)pick(gen, 4);
	step->actor = pick(gen, CAST_ACTORS);
	step->repo = pick(gen, step->query == QUERY_PREFIX ? CAST_REPOS : CAST_REPOS - 1);
	step->pull = chance(gen, 50) ? 5 : 50;
}

static bool is_others(const struct step *step, int lock, int actor)
{
	return cast_locks[lock].repo == step->repo && cast_actors[actor].pull == step->pull &&
	       strcmp(cast_actors[actor].owner, cast_actors[step->actor].owner) != 0;
}

/* Then only an administrator can close the pull request; that others cannot is in test_pull.c. */
static bool pull_has_others(const struct model *model, const struct step *step)
{
	for (int i = 0; i < CAST_LOCKS; i++) {
		const struct model_lock *lock = &model->locks[i];
		if (lock->held && is_others(step, i, lock->actor))
			return true;
		for (int j = 0; j < lock->tickets_len; j++) {
			if (is_others(step, i, lock->tickets[j].actor))
				return true;
		}
	}
	return false;
}

static void gen_fault(struct gen *gen, struct step *step)
{
	int kind = pick(gen, 1000);
	if (!gen->faults || step->op == STEP_ADVANCE || step->op == STEP_WALL)
		return;
	if (kind < 30)
		step->fault = FAULT_TWICE;
	else if (kind < 50)
		step->fault = FAULT_FAIL;
	else if (kind < 54)
		step->fault = FAULT_CRASH_BEFORE;
	else if (kind < 58)
		step->fault = FAULT_CRASH_AFTER;
	if (step->fault >= FAULT_CRASH_BEFORE)
		step->advance = chance(gen, 50) ? 0 : (int64_t)gen_below(gen, (uint64_t)SECONDS(60));
}

static void gen_reopen(struct gen *gen, struct step *step)
{
	step->advance = (int64_t)gen_below(gen, (uint64_t)SECONDS(chance(gen, 50) ? 1 : 120));
	if (chance(gen, 25))
		step->wall = pick_wall_step(gen);
}

void gen_step(struct gen *gen, const struct model *model, struct step *step)
{
	*step = (struct step){ .op = gen->pass ? STEP_RUN_DEADLOCK : pick_op(gen), .self = -1, .value = gen->values++ };
	gen->pass = false;
	step->actor = pick(gen, CAST_ACTORS);
	switch (step->op) {
	case STEP_ACQUIRE:
	case STEP_ACQUIRE_ALL: gen_acquire(gen, model, step); break;
	case STEP_RELEASE:
	case STEP_RENEW:
	case STEP_TRANSFER:
	case STEP_WRITE:
	case STEP_CHMOD:
	case STEP_CLAIM: gen_change(gen, model, step); break;
	case STEP_WAIT:
	case STEP_ENQUEUE: gen_join(gen, model, step); break;
	case STEP_WAIT_CANCEL: gen_wait_cancel(gen, model, step); break;
	case STEP_CANCEL:
	case STEP_REPRIORITISE:
		step->lock = pick(gen, CAST_LOCKS);
		step->force = chance(gen, 30);
		step->priority = pick(gen, ATLOCK_PRIORITIES);
		if (step->op == STEP_REPRIORITISE && chance(gen, 2))
			step->priority = ATLOCK_PRIORITIES;
		pick_ticket(gen, model, step);
		break;
	case STEP_RELEASE_PULL:
		step->repo = pick(gen, CAST_REPOS - 1);
		step->pull = chance(gen, 70) ? 5 : 50;
		if (pull_has_others(model, step))
			step->actor = CAST_ACTORS - 1;
		break;
	case STEP_LIST: gen_query(gen, step); break;
	case STEP_CONFIGURE: gen_configure(gen, model, step); break;
	case STEP_ADVANCE: gen_advance(gen, model, step); break;
	case STEP_WALL: step->wall = pick_wall_step(gen); break;
	case STEP_REOPEN: gen_reopen(gen, step); break;
	default: break;
	}
	gen_fault(gen, step);
}
