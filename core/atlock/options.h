/*
 * The options: their values, how text becomes one, and which are in force.
 *
 * One table in core/ (options.c) has name, type, default, range and help of each option. The mount option, the file below
 * config/, `atlockfs --help` and this page's functions all read that table.
 *
 * Calling sequence
 *
 *	struct atlock_options o;
 *	atlock_options_init(&o);
 *	atlock_option_set(&o, "default_ttl", "15m", &why);
 *	atlock_open(&al, "/var/lib/atlockfs", &(struct atlock_setup){ .options = &o }, &why);
 *	atlock_configure(al, NULL, "max_queue", "50", &why);
 *
 * Threads
 *
 * Functions that take a `struct atlock_options *` use only that struct: one thread at a time for each. Functions that take
 * a `struct atlock *` may be called from any thread.
 */
#ifndef ATLOCK_OPTIONS_H
#define ATLOCK_OPTIONS_H

#include "atlock/base.h"

struct atlock_caller;

enum atlock_deadlock_policy {
	ATLOCK_DEADLOCK_LIFO,            /* "lifo": refuse the newest wait of the cycle */
	ATLOCK_DEADLOCK_FIFO,            /* "fifo": the oldest */
	ATLOCK_DEADLOCK_LOWEST_PRIORITY, /* "lowest_priority" */
	ATLOCK_DEADLOCK_RANDOM,          /* "random" */
	ATLOCK_DEADLOCK_OFF,             /* "off": look for no deadlocks */
};

enum atlock_sync { ATLOCK_SYNC_COMMIT, ATLOCK_SYNC_OFF };
enum atlock_identity { ATLOCK_IDENTITY_SESSION, ATLOCK_IDENTITY_USER };
enum atlock_admin_rm { ATLOCK_ADMIN_RM_NAMED, ATLOCK_ADMIN_RM_ANY };
enum atlock_lost_signal { ATLOCK_LOST_TERM, ATLOCK_LOST_KILL, ATLOCK_LOST_NONE };
enum atlock_log_level { ATLOCK_LOG_ERROR, ATLOCK_LOG_WARNING, ATLOCK_LOG_INFO, ATLOCK_LOG_DEBUG };
enum atlock_log_target { ATLOCK_LOG_AUTO, ATLOCK_LOG_STDERR, ATLOCK_LOG_SYSLOG };

#define ATLOCK_AUTO 0 /* queue_timeout: three times the wait that past hold times and the place in the queue predict */

/* The fields have the options' names. Durations are nanoseconds; a default stands in parentheses. */
struct atlock_options {
	int64_t default_ttl;          /* lease of a lock whose request asks for none (30m) */
	int64_t max_ttl;              /* longest lease that a request may ask for (2h) */
	int64_t queue_timeout;        /* how long a waiter stays in a queue (10m); ATLOCK_AUTO, ATLOCK_NEVER */
	int64_t max_queue;            /* waiters that one lock may have (1000) */
	int64_t claim_timeout;        /* how soon the holder of a granted ticket must take up the lock (60s) */
	int64_t status_ttl;           /* age at which an app's status is unknown, see shared.h (60s) */
	int64_t lock_delay;           /* how long a lock whose lease ran out rests: it cannot be taken (0) */
	int64_t deadlock_policy;      /* enum atlock_deadlock_policy: which wait is refused (lifo) */
	int64_t deadlock_interval;    /* time between two searches of the whole wait-for graph (30s) */
	int64_t sync;                 /* enum atlock_sync: calls return when on disk, or earlier (commit) */
	int64_t identity;             /* enum atlock_identity: who a caller without "@who" is (session) */
	int64_t admin_rm;             /* enum atlock_admin_rm: must administrators name the holder (named) */
	int64_t max_locks_per_user;   /* locks that one user may hold or wait for; 0: no limit (50000) */
	int64_t max_waiters_per_user; /* waits that one user may have at a time; 0: no limit (10000) */
	int64_t queue_share;          /* percent of max_queue that one user may have in one queue; 100: no limit (25) */
	int64_t store_share;          /* percent of the store that one user may fill; 100: no limit (25) */
	int64_t max_dirs;             /* directories that custom/ may have; 0: no limit (1000000) */
	int64_t dirs_share;           /* percent of max_dirs that one user may have; 100: no limit (25) */
	int64_t rate_limit;           /* changes that one user may make in a second; 0: no limit (5000) */
	int64_t host_timeout;         /* a silent host's sessions and processes hold nothing on a shared store (15s) */
	int64_t lost_signal;          /* enum atlock_lost_signal: for the processes of such a host (term) */
	int64_t engine_timeout;       /* how long a call tries to reach the engine of a shared store (5s) */
	int64_t engine_failures;      /* calls in a row without an answer after which all fail at once (1) */
	int64_t engine_pause;         /* for how long at first; each failed trial doubles it, up to 16 times (1s) */
	int64_t events_keep;          /* age at which events are removed (30d) */
	int64_t events_refused;       /* refusals of one user in a second that become events (10) */
	int64_t owners_interval;      /* time between two searches for leftovers in owners/ (1h) */
	int64_t disable_apply;        /* 1: the manager holds global/apply for good (0) */
	int64_t on_event_timeout;     /* time after which a command of on_event is killed (10s) */
	int64_t on_event_failures;    /* failures in a row after which the command of on_event rests (5) */
	int64_t on_event_pause;       /* for how long at first; each failed trial doubles it, up to a minute (1s) */
	int64_t log;                  /* enum atlock_log_target: auto is stderr with -f, else syslog (auto) */
	int64_t log_level;            /* enum atlock_log_level (info) */
	char admin_group[64];         /* group whose members are administrators ("": none) */
	char pull_users[256];         /* user names and @groups for which "@pr:N" of a repository is one holder ("") */
	char owners_group[64];        /* group whose members may claim URLs of owners/ for other users ("": none) */
	char on_event[256];           /* shell command that reads each event on its standard input ("": none) */
	char policy[256];             /* file of rules that say who may do what ("": none) */
	char store[256];              /* where the locks are kept: a directory, or scheme:address ("") */
	char key_file[256];           /* key that encrypts users' texts in the store ("": they are kept in clear) */
	char old_key_file[256];       /* key they are encrypted with so far; an open brings all to key_file ("") */
	uint64_t given;               /* a bit for each that atlock_option_set() set, in the table's order (0) */
};

/* Fills in every default. Call it before all else; it cannot fail. */
void atlock_options_init(struct atlock_options *options);

/*
 * Sets one option from text; a flag also by its name alone (value NULL). -ENOENT: there is no such option. -EINVAL: the value
 * cannot be read. -ERANGE: it is out of range. -ENAMETOOLONG. `why` says which values are allowed. Copies both strings.
 */
int atlock_option_set(struct atlock_options *options, const char *name, const char *value, struct atlock_why *why);

/* Writes an option's value as text that atlock_option_set() reads back. -ENOENT; -ERANGE if `len` bytes are too few. */
int atlock_option_get(const struct atlock_options *options, const char *name, char *out, size_t len);

/* Checks every option, and one against another: -EINVAL if default_ttl is above max_ttl, -ERANGE if one is out of range. */
int atlock_options_check(const struct atlock_options *options, struct atlock_why *why);

/* --- The table --- */

/* The name of the i-th option, or NULL after the last. `*help` gets its line for --help; both strings are static. */
const char *atlock_option_name(size_t i, const char **help);

/* The i-th option's default and range as text: "lock_delay=0 (0 to 1h)". False for an option that this version refuses. */
bool atlock_option_usage(size_t i, char *out, size_t len);

/* --- While the manager is open --- */

/* Copies the options in force. */
void atlock_options_read(struct atlock *al, struct atlock_options *out);

/*
 * Changes one option at once, and for every later open whose options were not given that one by atlock_option_set(). `caller`
 * must be an administrator (-EPERM); NULL is the program itself. -EPERM too for an option that only an open can set, such as
 * `sync` and `store`. Other errors as atlock_option_set() and atlock_options_check(). Returns when the change is durable.
 */
int atlock_configure(struct atlock *al, const struct atlock_caller *caller, const char *name, const char *value,
		     struct atlock_why *why);

/* 0 if atlock_configure() would let this caller change this option; -EPERM. */
int atlock_may_configure(const struct atlock *al, const struct atlock_caller *caller, const char *name,
			 struct atlock_why *why);

/* 0 if this caller may read this option's value; -EACCES. A command that the daemon runs is read by administrators, unless it is empty. */
int atlock_may_read_option(struct atlock *al, const struct atlock_caller *caller, const char *name,
			   struct atlock_why *why);

/* Reads the file of the option `policy` again. 1: that option is empty. After an error the rules before it stay in force. */
int atlock_reload(struct atlock *al, struct atlock_why *why);

/* --- Durations as text --- */

/* Reads "250ms", "90s", "15m", "2h", "7d", "1h30m"; "never" if `never`. -EINVAL; -ERANGE if an int64_t cannot hold it. */
int atlock_duration_parse(const char *text, bool never, int64_t *out);

/* Writes what atlock_duration_parse() reads back, cut off after `len` - 1 bytes; 32 bytes hold every duration. */
void atlock_duration_print(int64_t duration, char *out, size_t len);

#endif
