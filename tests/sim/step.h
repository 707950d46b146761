/*
 * One step of the simulation as plain data: what is asked of the manager and of the model alike, and what goes wrong
 * underneath while it runs.
 */
#ifndef SIM_STEP_H
#define SIM_STEP_H

#include "atlock.h"

#define STEP_ALL_MAX 3 /* locks of one acquire_all */
#define STEP_KEYS 4    /* metadata keys in play; the last one is "note", written as a line without '=' */

enum step_op {
	STEP_ACQUIRE,
	STEP_ACQUIRE_ALL,
	STEP_RELEASE,
	STEP_RENEW,
	STEP_TRANSFER,
	STEP_WRITE,
	STEP_CHMOD,
	STEP_CLAIM,
	STEP_WAIT,
	STEP_WAIT_CANCEL,
	STEP_ENQUEUE,
	STEP_CANCEL,
	STEP_REPRIORITISE,
	STEP_RELEASE_PULL,
	STEP_RELEASE_HOLDER,
	STEP_RUN_DUE,
	STEP_RUN_DEADLOCK,
	STEP_LIST,
	STEP_CONFIGURE,
	STEP_ADVANCE, /* time passes */
	STEP_WALL,    /* somebody sets the wall clock */
	STEP_REOPEN,
	STEP_OPS
};

enum step_fault {
	FAULT_NONE,
	FAULT_TWICE,        /* update functions run twice, as after a conflict */
	FAULT_FAIL,         /* the commit fails */
	FAULT_CRASH_BEFORE, /* the machine dies before the commit, */
	FAULT_CRASH_AFTER,  /* or after it but before anybody heard of it */
};

/* The line of a write that means something to the manager, next to the metadata. */
enum step_line { LINE_NONE, LINE_TTL, LINE_RENEW, LINE_WHO, LINE_BAD };

enum step_option { OPTION_POLICY, OPTION_LOCK_DELAY, OPTION_MAX_QUEUE };

enum step_query { QUERY_ALL, QUERY_PREFIX, QUERY_OWNER, QUERY_WHO, QUERY_PULL, QUERY_KINDS };

struct step {
	enum step_op op;
	enum step_fault fault;
	int actor;
	int lock;
	int locks[STEP_ALL_MAX];
	int locks_len;
	int to;   /* transfer, and who= of a write: an actor */
	int self; /* wait: the actor whose who the owner goes by elsewhere; -1: none */
	int64_t ttl;
	int64_t timeout;
	uint64_t version;
	uint64_t ticket;
	int waiter; /* wait: what it will be known by; wait_cancel: which */
	int priority;
	bool exclusive;
	bool add;
	bool force;
	int named; /* release, transfer, chmod: one more than the actor whose who the name says; 0: a plain name */
	bool replace;
	unsigned keys; /* bit set of the metadata keys that become `value` */
	int value;
	enum step_line line;
	int bad; /* which bad line */
	mode_t mode;
	int repo; /* release_pull, QUERY_PULL */
	uint64_t pull;
	enum step_option option;
	int64_t setting;
	enum step_query query;
	size_t limit;
	int64_t advance; /* advance: both clocks; reopen: wall time while closed */
	int64_t wall;    /* wall: the step, forward or back */
};

extern const char *const step_ops[STEP_OPS];
extern const char *const step_keys[STEP_KEYS];
extern const char *const step_faults[];

/* The key=value lines of an acquire, wait, enqueue or write. Returns their length. */
size_t step_text(const struct step *step, char *out, size_t len);

/* The value of a configure step as atlock_configure() takes it, and the option's name. */
const char *step_option_name(const struct step *step);
void step_option_value(const struct step *step, char *out, size_t len);

/* The prefix a QUERY_PREFIX lists, chosen by `repo`. */
const char *step_prefix(const struct step *step);

/* One readable line, without newline. */
void step_print(const struct step *step, char *out, size_t len);

#endif
