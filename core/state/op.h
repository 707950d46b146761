/*
 * One operation: a function run inside a store transaction, with what it needs (the time, the options, the counters) and
 * what is to happen once it is committed (waiters told, changes announced, the next deadline armed). Private to core/.
 *
 *	struct op op;
 *	op_init(&op, al, caller, why);
 *	op.request = ...;
 *	return op_run(&op, acquire_in_txn);	delivers, and frees what the operation gathered
 *
 * Or, without waiting for the commit, for an operation that stays where it is until `end` is called (and is freed by that):
 *
 *	op_submit(op, acquire_in_txn, end);
 *
 * The function may run again: op_run() empties everything gathered before each run. A function that returns < 0 leaves
 * no trace. One that must refuse and still write (the victim of a deadlock) returns 0 and sets `op->refusal`.
 */
#ifndef CORE_OP_H
#define CORE_OP_H

#include "name.h"
#include "policy.h"
#include "position.h"
#include "record.h"
#include "state.h"

/* Bytes gathered during an operation; small ones need no allocation. */
struct pile {
	unsigned char *data;
	size_t len;
	size_t cap;
	_Alignas(max_align_t) unsigned char small[512];
};

/* What a run of the function has changed in memory: see tally.h. */
#define TALLY_CHANGES 4
struct tally;
struct tally_changes {
	size_t count; /* may be more than are listed */
	struct tally_change {
		struct tally *tally;
		short of;
		short by;
	} list[TALLY_CHANGES];
};

struct op;

typedef int op_fn(struct op *op);
typedef void op_end_fn(struct op *op, int rc);

struct op {
	struct store_job job; /* first: cast back to the operation */
	atlock_end_fn *told;  /* who only started it: see op_new() */
	void *told_arg;
	struct atlock *al;
	const struct atlock_options *options;
	const struct policy *policy; /* that binds the caller; NULL: none does. See allow.h */
	struct policy_user policy_user;
	const struct atlock_caller *caller; /* who acts; NULL: the manager itself */
	const struct atlock_caller *holder; /* whom a lock is taken for; NULL: the caller */
	const struct atlock_request *request;
	struct atlock_why *why;
	void *arg;        /* the operation's own */
	uint64_t random;  /* drawn before the first run, so that runs agree */
	uint64_t wait;    /* number under which this call waits, or 0 */
	uint64_t claimed; /* grant that was to be given back, or 0: see ends_claim() */

	/* op_run()'s and op_submit()'s. */
	op_fn *fn;
	bool decided;  /* the function has succeeded; what fails after it is the store */
	int64_t began; /* see steady_now() */
	op_end_fn *end;
	struct tally_changes tallied;

	/* Set anew for each run. */
	struct store_txn *txn;
	int64_t now;
	int64_t wall;
	struct record_counter counter;
	struct record_tail tail;
	unsigned char tail_hash[32];
	uint64_t events_before; /* what events took and are to take when the tail was loaded: see space_charge() */
	bool counter_loaded, counter_dirty;
	bool tail_loaded, tail_dirty;
	bool ended; /* a grant or a wait: see owed.h */
	bool dir_known;
	uint64_t dir_id; /* the directory that was read last, as the next: see dir_load() */
	struct record_dir dir;
	enum metrics_call call; /* as what it is counted; set before the first run, which may know better */
	int refusal;
	int failure; /* out of memory while gathering */
	int64_t due; /* earliest deadline this operation added */
	struct position_changes positions;
	struct pile notices; /* struct notice */
	struct pile changes; /* what (1), length (2), key */
	struct pile bound;   /* struct bound: processes to watch from now on */
	struct pile marks;   /* struct metrics_mark */
	struct pile texts;   /* circles of waits, each ending with a NUL */
	size_t circle;       /* 1 + where the newest begins; 0: none */
};

/* A blocked call to be answered after the commit. */
struct notice {
	uint64_t wait;
	int err;
	enum atlock_code code;
	struct atlock_grant grant;
	size_t circle;      /* of op->texts; see op_circle() */
	const char *reason; /* the same, as it is told; NULL: what the code says */
};

struct bound {
	pid_t pid;
	uint64_t start;
};

void op_init(struct op *op, struct atlock *al, const struct atlock_caller *caller, struct atlock_why *why);
int op_run(struct op *op, op_fn *fn);

/* As op_run(): `end` gets what that would have returned, perhaps before this returns, on any thread that uses the store. */
void op_submit(struct op *op, op_fn *fn, op_end_fn *end);

/*
 * Memory that begins with an operation, for a call that is told of its end; NULL if there is none, and then the call has been told.
 * op_tell_end() frees it and tells the call; it is an op_end_fn.
 */
void *op_new(size_t size, atlock_end_fn *told, void *arg, struct atlock_why *why);
void op_tell_end(struct op *op, int rc);

/* Runs `fn` on one consistent state, without the right to write. */
int op_view(struct op *op, op_fn *fn);

/* The two for an operation that needs nothing but `arg`: a look on behalf of the manager; a change that is counted as `call`. */
int op_look(struct atlock *al, op_fn *fn, void *arg, struct atlock_why *why);
int op_call(struct atlock *al, const struct atlock_caller *caller, enum metrics_call call, op_fn *fn, void *arg,
	    struct atlock_why *why);

/* The next number for a grant or a ticket of a lock: greater than all that this lock had before, whatever crashes. */
int op_number(struct op *op, struct slice lock, uint64_t *out);

/* Leaves out as many numbers. */
int op_skip(struct op *op, uint64_t count);

/* The chain's tail with the counts; mark it dirty after changing it. */
int op_tail(struct op *op);

/* Gathered for after the commit. */
void op_tell(struct op *op, const struct record_ticket *ticket, int err, enum atlock_code code,
	     const struct record_lock *granted);

/* Those who are told of a deadlock from now on are told of this circle, too. The newest; NULL if there is none. */
void op_circle(struct op *op, const char *text);
const char *op_circle_text(const struct op *op);
void op_changed(struct op *op, enum atlock_change what, struct slice lock);

/* If `who` is bound to a process: it is watched after the commit. A record's `pid` is another, the one that called. */
void op_bound(struct op *op, struct slice who, uint64_t start);
void op_due(struct op *op, int64_t instant);

/* To be counted; see metrics.h. `value` is in nanoseconds, where there is one. */
void op_mark(struct op *op, enum metrics_mark_kind kind, unsigned int label, int64_t value);

/* Says that a record cannot be read, naming its key; returns -EIO. */
int op_corrupt(struct op *op, struct slice key, int err);
int key_corrupt(struct atlock_why *why, struct slice key, int err);

/* Record of `kind` at `key`: 0, 1 (absent), or a negative errno that has been explained. */
int op_get(struct op *op, enum record_kind kind, const struct record_key *key, void *record);
int op_put(struct op *op, enum record_kind kind, const struct record_key *key, const void *record);

#endif
