/*
 * One operation: a function run inside a store transaction, with its inputs (time, options, counters) and the effects
 * to carry out after the commit (answer waiters, announce changes, arm the next deadline). Private to core/.
 *
 *	struct op op;
 *	op_init(&op, al, caller, why);
 *	op.request = ...;
 *	return op_run(&op, acquire_in_txn);	carries out the effects, and frees what the operation gathered
 *
 * Or asynchronously; `op` must stay valid until `end` is called, which frees it:
 *
 *	op_submit(op, acquire_in_txn, end);
 *
 * The function may run again: op_run() empties everything gathered before each run. A function that returns < 0 leaves
 * no trace. One that must refuse and still write (the victim of a deadlock) returns 0 and sets `op->refusal`.
 */
#ifndef CORE_OP_H
#define CORE_OP_H

#include "lock_name.h"
#include "policy_rules.h"
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

struct op_charge {
	uid_t uid;
	int64_t bytes; /* below 0: given back */
};

/* Changes of the in-memory counts by one run of the function: see tally.h. */
#define TALLY_CHANGES 4
struct tally;
struct tally_changes {
	size_t count; /* may exceed the length of the list */
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
	atlock_end_fn *told;  /* asynchronous call: see op_new() */
	void *told_arg;
	struct atlock *al;
	const struct atlock_options *options;
	const struct policy *policy; /* that binds the caller; NULL: none does. See allow.h */
	struct policy_user policy_user;
	const struct atlock_caller *caller; /* who acts; NULL: the manager itself */
	const struct atlock_caller *holder; /* for whom a lock is taken; NULL: the caller */
	const struct atlock_request *request;
	struct atlock_why *why;
	void *arg;        /* the operation's own */
	uint64_t random;  /* drawn before the first run, so that runs agree */
	uint64_t wait;    /* number of this call in the waits, or 0 */
	uint64_t claimed; /* grant to be given back, or 0: see ends_claim() */

	/* Private to op_run() and op_submit(). */
	op_fn *fn;
	bool decided;  /* the function has succeeded; a later error is the store's */
	int64_t began; /* see steady_now() */
	op_end_fn *end;
	struct tally_changes tallied;

	/* Reset before each run. */
	struct store_txn *txn;
	int64_t now;
	int64_t wall;
	struct record_counter counter;
	struct record_tail tail;
	unsigned char tail_hash[32];
	uint64_t events_before; /* what events took and are to take when the tail was loaded: see space_charge() */
	bool counter_loaded, counter_dirty;
	bool tail_loaded, tail_dirty;
	bool ended;  /* a grant or a wait: see owed.h */
	bool sweeps; /* ends what is due: see expire_lock() */
	bool dir_known;
	uint64_t dir_id; /* the directory read last, as the next: see dir_load() */
	struct record_dir dir;
	enum metrics_call call; /* counted as this; set before the first run, which may change it */
	int refusal;
	int failure; /* out of memory while gathering */
	int64_t due; /* earliest deadline this operation added */
	struct position_changes positions;
	struct pile notices; /* struct notice */
	struct pile changes; /* what (1), length (2), key */
	struct pile bound;   /* struct bound: processes to watch from now on */
	struct pile marks;   /* struct metrics_mark */
	struct pile charges; /* struct op_charge */
	struct pile texts; /* why calls are refused: deadlock cycles, and who still has a lock; each ends with a NUL */
	size_t circle;     /* 1 + offset of the newest cycle; 0: none */
	size_t late;       /* the same of what calls that time out are told */
};

/* A blocked call to be answered after the commit. */
struct notice {
	uint64_t wait;
	int err;
	enum atlock_code code;
	struct atlock_grant grant;
	size_t text;        /* in op->texts; see op_circle() and op_late() */
	const char *reason; /* the same as text; NULL: the code's own text */
};

struct bound {
	pid_t pid;
	uint64_t start;
};

void op_init(struct op *op, struct atlock *al, const struct atlock_caller *caller, struct atlock_why *why);
int op_run(struct op *op, op_fn *fn);

/* As op_run(), but passes the result to `end`, perhaps before this returns, on any thread that uses the store. */
void op_submit(struct op *op, op_fn *fn, op_end_fn *end);

/*
 * Allocates memory that begins with an operation, for an asynchronous call; NULL if there is none, and then the call
 * has been told. op_tell_end() is an op_end_fn that frees the memory and tells the call.
 */
void *op_new(size_t size, atlock_end_fn *told, void *arg, struct atlock_why *why);
void op_tell_end(struct op *op, int rc);

/* Runs `fn` on one consistent snapshot, read-only. */
int op_view(struct op *op, op_fn *fn);

/* Whether it runs so: what it reads is committed. */
bool op_is_view(const struct op *op);

/* op_view() and op_run() for an operation that needs only `arg`: a read by the manager; a change counted as `call`. */
int op_look(struct atlock *al, op_fn *fn, void *arg, struct atlock_why *why);
int op_call(struct atlock *al, const struct atlock_caller *caller, enum metrics_call call, op_fn *fn, void *arg,
	    struct atlock_why *why);

/* As op_look(), for a listing: of a shared store it may be a second old, and costs no request to its engine. */
int op_list(struct atlock *al, op_fn *fn, void *arg);

/* As op_look(), of what this host has of a shared store, however old that is. Not inside an operation. */
int op_peek(struct atlock *al, op_fn *fn, void *arg);

/*
 * Of a shared store: waits until this host has all that any host was told is done. For an operation that decides by an index, which a commit
 * does not compare.
 */
int op_catch_up(struct atlock *al, struct atlock_why *why);

/* The next number for a grant or a ticket of a lock: greater than all earlier ones of this lock, even after a crash. */
int op_number(struct op *op, struct slice lock, uint64_t *out);

/* Skips `count` numbers. */
int op_skip(struct op *op, uint64_t count);

/*
 * Whether the operation has used up half of what the store takes in one step: one that may be done in several stops here and goes on in the
 * next. The other half is for what it does about its last item.
 */
bool op_is_full(const struct op *op);

/* Loads the chain's tail with the counts; set `tail_dirty` after changing it. */
int op_tail(struct op *op);

/* Gathered until after the commit: the ticket's call is answered, if op_tells() says that there is one to answer. */
bool op_tells(const struct op *op, const struct record_ticket *ticket);
void op_tell(struct op *op, const struct record_ticket *ticket, int err, enum atlock_code code,
	     const struct record_grant *granted);

/* Sets the deadlock cycle that calls refused from now on are told of; returns the newest, NULL if there is none. */
void op_circle(struct op *op, const char *text);
const char *op_circle_text(const struct op *op);

/* Sets what calls that time out from now on are told. */
void op_late(struct op *op, const char *text);
void op_changed(struct op *op, enum atlock_change what, struct slice lock);

/*
 * Watches the process of `who` after the commit, if it is a "pid:". The `pid` of a record is another: the process that
 * called.
 */
void op_bound(struct op *op, struct slice who, uint64_t start);
void op_due(struct op *op, int64_t instant);

/* Charges a user instead of the caller with bytes of events after the commit; see space_charge(). */
void op_charge(struct op *op, uid_t uid, int64_t bytes);

/* Counts after the commit; see metrics.h. `value` is in nanoseconds, if used. */
void op_mark(struct op *op, enum metrics_mark_kind kind, unsigned int label, int64_t value);

/* Explains that the record at a key is unreadable; returns -EIO. */
int op_corrupt(struct op *op, struct slice key, int err);
int key_corrupt(struct atlock_why *why, struct slice key, int err);

/* Record of `kind` at `key`: 0, 1 (absent), or a negative errno that has been explained. */
int op_get(struct op *op, enum record_kind kind, const struct record_key *key, void *record);
int op_put(struct op *op, enum record_kind kind, const struct record_key *key, const void *record);

#endif
