/*
 * The lock manager: who holds which lock, who waits for it, until when, and what has happened. Knows neither FUSE nor
 * LMDB. This is the only header that fs/ and tools/ include.
 *
 *	struct atlock_options o;  atlock_options_init(&o);
 *	atlock_open(&al, "/var/lib/atlockfs", &setup, &why);
 *	atlock_name_parse("repos/acme/infra/-/modules/vpc/-/production", &name, &why);
 *	atlock_caller_init(&caller, "alice", "build-17", 1000);
 *	atlock_acquire(al, &(struct atlock_request){ .name = &name, .caller = &caller }, &grant, &why);
 *	atlock_release(al, &(struct atlock_request){ .name = &name, .caller = &caller }, NULL, &why);
 *	atlock_close(al);
 *
 * Errors. Every call returns a negative errno if it was refused or failed, 0 if done, and a positive outcome where one is
 * named. A refusal fills `why` (if not NULL) with a code and one line for people, and has changed nothing.
 *
 * Threads. Any call from any thread. Calls that change something return when the change is durable (option `sync`).
 * Callbacks run on the thread whose call caused them, or on the manager's own, after the commit and with no lock of the
 * manager held; they may call back in. Callbacks of listings run in the middle of a read: they may read, not change.
 *
 * Time. Durations and instants are nanoseconds. Instants are lease time, which never steps; atlock_wall() translates one
 * into wall time for people. ATLOCK_NEVER is "no end".
 */
#ifndef ATLOCK_H
#define ATLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifndef ATLOCK_VERSION
#define ATLOCK_VERSION "0.1"
#endif

#define ATLOCK_NEVER INT64_MAX
#define ATLOCK_AUTO 0 /* queue_timeout: from past hold times and the place in the queue */
#define ATLOCK_SECOND INT64_C(1000000000)

#define ATLOCK_COMPONENT_MAX 255 /* bytes in one path component */
#define ATLOCK_KEY_MAX 490       /* bytes of a lock's key: what follows "repos/" plus one */
#define ATLOCK_OWNER_MAX 128     /* bytes of a user name */
#define ATLOCK_WHO_MAX 200       /* bytes of the part after '@' */
#define ATLOCK_COMM_MAX 15       /* bytes of a process's name */
#define ATLOCK_PATH_MAX 4096
#define ATLOCK_URL_MAX 480      /* bytes of a Git URL in its one spelling */
#define ATLOCK_META_KEYS 64     /* keys of a lock's own metadata */
#define ATLOCK_META_BYTES 16384 /* and bytes of it in all */
#define ATLOCK_ID_MAX 176       /* bytes of a printed lock id, with its NUL */

struct atlock;

/* --- Refusals ------------------------------------------------------------------------------------------------ */

enum atlock_code {
	ATLOCK_OK,
	ATLOCK_LOCK_EXISTS,       /* EEXIST, EBUSY, EACCES: somebody has it */
	ATLOCK_LOCK_NOT_FOUND,    /* ENOENT */
	ATLOCK_LOCK_EXPIRED,      /* ESTALE */
	ATLOCK_TIMEOUT,           /* ETIMEDOUT */
	ATLOCK_QUEUE_FULL,        /* EDQUOT */
	ATLOCK_QUOTA,             /* EDQUOT: a limit of the user's, or room in the store */
	ATLOCK_DEADLOCK,          /* EDEADLK */
	ATLOCK_BACKEND_ERROR,     /* EIO */
	ATLOCK_CIRCUIT_OPEN,      /* EHOSTDOWN */
	ATLOCK_INVALID_REQUEST,   /* EINVAL, ENAMETOOLONG, ENOTDIR */
	ATLOCK_PERMISSION_DENIED, /* EPERM, EACCES */
	ATLOCK_RATE_LIMIT,        /* EAGAIN */
	ATLOCK_VERSION_CONFLICT,  /* EAGAIN: changed since the caller looked */
	ATLOCK_CANCELLED,         /* EINTR, ECANCELED */
	ATLOCK_IN_USE,            /* EBUSY: others use a shared resource */
	ATLOCK_CODES
};

/* What a refusal's text advises, for programs that say it in other words: a text may change, this does not. */
enum atlock_advice {
	ATLOCK_ADVICE_OTHER,
	ATLOCK_ADVICE_WAIT,    /* wait below wait/ */
	ATLOCK_ADVICE_NAME,    /* use the name that its holder used */
	ATLOCK_ADVICE_SESSION, /* another session of the caller's has it */
	ATLOCK_ADVICE_WHO,     /* give who= as well */
	ATLOCK_ADVICE_ADMIN,   /* it is for administrators */
	ATLOCK_ADVICES
};

struct atlock_why {
	enum atlock_code code;
	bool noted;     /* the event log knows of it */
	char text[475]; /* one line, no control bytes, says what to do next */
	/* Its parts, in bytes: "line 2: " and the rest; at the beginning of that the path of a lock; at the end ": " and advice. */
	uint16_t begin;   /* where the rest begins */
	uint16_t subject; /* bytes of the path; 0: none */
	uint16_t end;     /* where the advice begins, with its ": "; 0: there is none */
	uint16_t advice;  /* enum atlock_advice */
};

/* "LOCK_EXISTS". Never NULL. */
const char *atlock_code_name(enum atlock_code code);

/* "wait", "name"; "other" of what has no name. */
const char *atlock_advice_name(enum atlock_advice advice);

/* --- Options: one table defines name, type, default, range and help (options.c) ------------------------------------ */

enum atlock_deadlock_policy {
	ATLOCK_DEADLOCK_LIFO,
	ATLOCK_DEADLOCK_FIFO,
	ATLOCK_DEADLOCK_LOWEST_PRIORITY,
	ATLOCK_DEADLOCK_RANDOM,
	ATLOCK_DEADLOCK_OFF,
};

enum atlock_sync { ATLOCK_SYNC_COMMIT, ATLOCK_SYNC_OFF };
enum atlock_identity { ATLOCK_IDENTITY_SESSION, ATLOCK_IDENTITY_USER };
enum atlock_admin_rm { ATLOCK_ADMIN_RM_NAMED, ATLOCK_ADMIN_RM_ANY };
enum atlock_log_level { ATLOCK_LOG_ERROR, ATLOCK_LOG_WARNING, ATLOCK_LOG_INFO, ATLOCK_LOG_DEBUG };
enum atlock_log_target { ATLOCK_LOG_AUTO, ATLOCK_LOG_STDERR, ATLOCK_LOG_SYSLOG };

struct atlock_options {
	int64_t default_ttl;
	int64_t max_ttl;
	int64_t queue_timeout; /* or ATLOCK_AUTO */
	int64_t max_queue;
	int64_t claim_timeout;
	int64_t status_ttl;
	int64_t lock_delay;
	int64_t deadlock_policy; /* enum atlock_deadlock_policy */
	int64_t deadlock_interval;
	int64_t sync;               /* enum atlock_sync */
	int64_t identity;           /* enum atlock_identity */
	int64_t admin_rm;           /* enum atlock_admin_rm */
	int64_t max_locks_per_user; /* 0: no limit */
	int64_t max_waiters_per_user;
	int64_t max_dirs;
	int64_t rate_limit; /* changes a second and user; 0: no limit */
	int64_t events_keep;
	int64_t events_refused; /* refusals a second and user that are written */
	int64_t disable_apply;
	int64_t on_event_timeout;
	int64_t log;       /* enum atlock_log_target */
	int64_t log_level; /* enum atlock_log_level */
	char admin_group[64];
	char on_event[256];
	char policy[256];
	char store[256];
	char key_file[256];     /* "": the users' texts are kept as they are */
	char old_key_file[256]; /* the key they are sealed with so far */
	uint64_t given;         /* which were set by atlock_option_set(), one bit each in the order of the table */
};

void atlock_options_init(struct atlock_options *options);

/*
 * Sets one option from text; a flag also by its name alone (value NULL). -ENOENT for an unknown name, -EINVAL for a bad
 * value, -ERANGE for one out of range, -ENAMETOOLONG; `why` says what would do.
 */
int atlock_option_set(struct atlock_options *options, const char *name, const char *value, struct atlock_why *why);

/* Writes an option's value as text that atlock_option_set() reads back. -ENOENT, -ERANGE. */
int atlock_option_get(const struct atlock_options *options, const char *name, char *out, size_t len);

/* Checks all of them, and against each other: a default_ttl above max_ttl is -EINVAL. -ERANGE for one out of range. */
int atlock_options_check(const struct atlock_options *options, struct atlock_why *why);

/* Name of the i-th option, or NULL after the last; `*help` gets its line for --help. */
const char *atlock_option_name(size_t i, const char **help);

/* What it is at first and what it may be: "lock_delay=0 (0 to 1h)". False for one that this version refuses. */
bool atlock_option_usage(size_t i, char *out, size_t len);

/*
 * For what a mistyped word may be meant to be: how many letters must be changed, added, dropped or swapped with their neighbour
 * to make one word from the other. Of words longer than ATLOCK_WORD_MAX that is ATLOCK_WORD_MAX.
 */
#define ATLOCK_WORD_MAX 31
size_t atlock_word_distance(const char *a, const char *b);

/* "90s", "15m", "2h", "7d", "250ms", "never" if `never` is allowed. -EINVAL, -ERANGE. */
int atlock_duration_parse(const char *text, bool never, int64_t *out);
void atlock_duration_print(int64_t duration, char *out, size_t len);

/* --- Names: one lock has one spelling (name.c) --------------------------------------------------------------------- */

enum atlock_tree { ATLOCK_REPOS, ATLOCK_CUSTOM, ATLOCK_GLOBAL, ATLOCK_SHARED };

/*
 * A parsed lock name. `key` is what identifies the lock; callers copy and compare it but do not look inside. `who` is
 * what followed '@', in its one spelling (escaped, so without control bytes), or empty.
 */
struct atlock_name {
	uint16_t len;
	unsigned char key[ATLOCK_KEY_MAX];
	char who[ATLOCK_WHO_MAX + 1];
};

/* A name of repos/ taken apart and decoded. An unnamed project is "". `dir` of the repository's root is ".". */
struct atlock_parts {
	char repo[ATLOCK_KEY_MAX + 1];
	char dir[ATLOCK_KEY_MAX + 1];
	char workspace[ATLOCK_COMPONENT_MAX + 1];
	char project[ATLOCK_COMPONENT_MAX + 1];
};

enum atlock_path { ATLOCK_PATH_DIR, ATLOCK_PATH_LOCK };

/*
 * What a path below the root can be: a (virtual) directory or a lock. Takes "repos", "repos/a/-", "global/apply",
 * "repos/a/-/d/-/ws@who", .... -EINVAL for a spelling that is not the one, -ENAMETOOLONG, -ENOTDIR below a lock, -ENOENT
 * for another tree. Everything below custom/ depends on what was made there: see atlock_resolve().
 */
int atlock_path_kind(const char *path, struct atlock_why *why);

/* Parses "repos/...", "global/..." and "shared/<resource>/stop" with or without "@who". Errors as above, and -EISDIR for a directory. */
int atlock_name_parse(const char *path, struct atlock_name *out, struct atlock_why *why);

/* The lock `leaf` ("name" or "name@who") in the directory `dir` of custom/ (0 is custom/ itself). */
int atlock_name_custom(uint64_t dir, const char *leaf, struct atlock_name *out, struct atlock_why *why);

/* The directory of custom/ that a lock is in; false if it is in another tree. */
bool atlock_name_dir(const struct atlock_name *name, uint64_t *dir);

/* As atlock_name_parse(), for custom/ too: walks its directories. -ENOENT if one is not there, -ENOTDIR if it is a lock. */
int atlock_resolve(struct atlock *al, const char *path, struct atlock_name *out, struct atlock_why *why);

bool atlock_name_equal(const struct atlock_name *a, const struct atlock_name *b);
enum atlock_tree atlock_name_tree(const struct atlock_name *name);

/* The canonical path, without "@who". Names of custom/ need `al` to look up directories; others take NULL. -ERANGE. */
int atlock_name_print(struct atlock *al, const struct atlock_name *name, char *out, size_t len);

/*
 * The same for people and listings, which one lock too deep must not break: the end of a path that does not fit stands after
 * "custom/-/", which no path begins with, and a directory that is gone reads as '?'. ATLOCK_PATH_MAX bytes are always enough.
 */
int atlock_name_show(struct atlock *al, const struct atlock_name *name, char *out, size_t len);

/*
 * Takes a name of repos/ apart; -EINVAL for another tree. And makes one from decoded parts, escaping what must be; the
 * directory "" is "." too, but other "." and ".." in paths are -EINVAL: they should have been resolved.
 */
int atlock_name_split(const struct atlock_name *name, struct atlock_parts *out);
int atlock_name_join(const struct atlock_parts *parts, struct atlock_name *out, struct atlock_why *why);

/*
 * Checks the name of a directory below custom/: 0, -EINVAL, -ENAMETOOLONG. An '@' in it is spelled %40 as in a lock's name,
 * so that "a@b" can only be the lock "a".
 */
int atlock_component_check(const char *text, struct atlock_why *why);

/* "host::repo::num" of a pull request, both ways. */
struct atlock_pull {
	char host[ATLOCK_COMPONENT_MAX + 1];
	char repo[ATLOCK_KEY_MAX + 1];
	uint64_t num;
};
int atlock_legacy_pull_key(const struct atlock_pull *pull, char *out, size_t len);
int atlock_legacy_pull_parse(const char *key, struct atlock_pull *out, struct atlock_why *why);

/* --- Who is asking (holder.c) --------------------------------------------------------------------------------------- */

/*
 * A holder is owner + who. `bound_start` is the start time of the process a "pid:" holder lives and dies with, or of the
 * leader of a "sid:" holder's session, so that a recycled number is somebody else.
 */
struct atlock_caller {
	char owner[ATLOCK_OWNER_MAX + 1];
	char who[ATLOCK_WHO_MAX + 1];
	uid_t uid;
	gid_t gid;
	pid_t pid;     /* of the calling process, for the record; 0 unknown */
	pid_t session; /* and its session, and what it is called; for events */
	char comm[ATLOCK_COMM_MAX + 1];
	bool admin;
	uint64_t bound_start; /* with who "pid:N" or "sid:N": N's start time, 0 for a session if unknown; else 0 */
};

/* A caller by name. -EINVAL for an empty or over-long owner or who, or control bytes in them. */
int atlock_caller_init(struct atlock_caller *caller, const char *owner, const char *who, uid_t uid);

/*
 * The caller behind a request of thread `tid`: owner from the user data base (cached), and `who` from `who_text` (what
 * followed '@'), or, if that is empty, from the session ("sid:N") or by the option identity=user ("user").
 * "pid:N" must be the caller or an ancestor of it with the same uid: else -EPERM. -EINVAL for a process outside the
 * manager's pid namespace (tid 0), where a session or pid cannot be known.
 */
int atlock_identify(struct atlock *al, pid_t tid, uid_t uid, gid_t gid, const char *who_text, struct atlock_caller *out,
		    struct atlock_why *why);

/* What a who says of its holder: that it is an open file description; that it is one who named none, but a session or user. */
bool atlock_who_is_flock(const char *who);
bool atlock_who_is_implied(const char *who);

/* The who of the open file description `number` of a mount, which `mount` tells from others. */
void atlock_who_flock(uint32_t mount, uint64_t number, char out[ATLOCK_WHO_MAX + 1]);

/*
 * Looks at the calling process for what events say of it: its session and what it is called, as far as that is not known by
 * atlock_identify() already. What it cannot see stays empty.
 */
void atlock_caller_look(struct atlock *al, struct atlock_caller *caller);

/* --- The manager ------------------------------------------------------------------------------------------------------ */

/* Nanoseconds since any fixed point that never steps, and since 1970. */
struct atlock_time {
	int64_t steady;
	int64_t wall;
};

/*
 * Something about a lock became different; sent after the commit. `name` is valid during the call. END: a grant has ended, and
 * the lock is free, rests, or was handed over by the same commit.
 */
enum atlock_change { ATLOCK_CHANGE_LOCK, ATLOCK_CHANGE_END, ATLOCK_CHANGE_QUEUE, ATLOCK_CHANGE_DIR };
typedef void atlock_change_fn(void *arg, enum atlock_change what, const struct atlock_name *name);

/* One line, without its newline and without control bytes. May come in the middle of a call: it must not call back in. */
typedef void atlock_log_fn(void *arg, enum atlock_log_level level, const char *line);

struct atlock_setup {
	const struct atlock_options *options; /* NULL: defaults */
	const char *host;                     /* NULL: the system's host name */
	atlock_change_fn *on_change;
	void *change_arg;
	atlock_log_fn *log; /* NULL: as atlock_log() does */
	void *log_arg;
	bool readonly;
	bool repair; /* for atlock_check() and atlock_repair(): opens what is damaged, too, and recovers, starts and ends nothing */
	/* For tests: */
	void (*clock)(void *arg, struct atlock_time *out); /* replaces the system's clocks */
	void *clock_arg;
	bool manual;   /* no thread: the caller runs atlock_run_due() */
	uint64_t seed; /* of ids and of deadlock_policy=random; 0: from the system */
	uint64_t store_max_bytes;
	uid_t store_owner;        /* a user who is trusted with the store beside root and the caller */
	const void *store_engine; /* struct store_engine of the tests' own */
	void *store_engine_arg;
};

/*
 * Opens the store, refuses what it cannot read, drops what died with the last manager (parked waiters, processes that
 * are gone), and starts the thread that ends leases. Call after the last fork.
 */
int atlock_open(struct atlock **out, const char *store, const struct atlock_setup *setup, struct atlock_why *why);

/* Answers every parked waiter with -ECANCELED, stops the thread, closes the store. NULL is allowed. */
void atlock_close(struct atlock *al);

/*
 * The options in force, and a change to one of them while running: by an administrator (-EPERM), or with caller NULL by the
 * program itself. It holds at once, and again at every later open whose options were not given that one with
 * atlock_option_set(). -EPERM too for `sync` and `store`, which are for the open; else as atlock_option_set() and
 * atlock_options_check().
 */
void atlock_options_read(struct atlock *al, struct atlock_options *out);
int atlock_configure(struct atlock *al, const struct atlock_caller *caller, const char *name, const char *value,
		     struct atlock_why *why);

/* Reads the policy file again. 0, or 1 if there is none; after an error the rules there were stay in force. */
int atlock_reload(struct atlock *al, struct atlock_why *why);

/* 0 if the caller may change this option at all; -EPERM as above. */
int atlock_may_configure(const struct atlock *al, const struct atlock_caller *caller, const char *name,
			 struct atlock_why *why);

int64_t atlock_now(struct atlock *al);
int64_t atlock_wall(struct atlock *al, int64_t instant);

/* --- Locks (lock.c): each call is one transaction --------------------------------------------------------------------- */

enum atlock_priority { ATLOCK_LOW, ATLOCK_NORMAL, ATLOCK_HIGH, ATLOCK_CRITICAL, ATLOCK_PRIORITIES };

const char *atlock_priority_name(enum atlock_priority priority);
int atlock_priority_parse(const char *text, enum atlock_priority *out);

enum atlock_state { ATLOCK_ACQUIRED, ATLOCK_PENDING, ATLOCK_EXPIRED, ATLOCK_RELEASED };

/* What a caller asks. Zero is the default everywhere. */
struct atlock_request {
	const struct atlock_name *name;
	const struct atlock_caller *caller;
	int64_t ttl;      /* lease; 0: default_ttl, or none for a holder that something else ends; ATLOCK_NEVER */
	uint64_t version; /* fail with VERSION_CONFLICT unless the lock has this version; 0: any */
	uint64_t token;   /* -ESTALE unless the lock still has this token; 0: any */
	mode_t mode;      /* acquire: permission bits, with S_IFREG set to say so; else 0644 */
	bool exclusive;   /* acquire: holding it already is -EEXIST */
	bool add;         /* renew: add ttl to lease and expiry instead of counting from now */
	bool force;   /* override the holder that the name says, as administrators may and whom the policy allows it */
	bool replace; /* write: the lines replace the user's keys instead of merging */
	enum atlock_priority priority;    /* wait, enqueue; ATLOCK_LOW is 0, so set it */
	int64_t timeout;                  /* wait, enqueue: at most this long; 0: queue_timeout */
	const struct atlock_caller *self; /* wait: held by this one, who waits as `caller`, is -EDEADLK; or NULL */
	const char *text;                 /* acquire, wait, enqueue, write: key=value lines, text_len bytes */
	size_t text_len;
	unsigned int
		*own; /* changes of this lock that the call makes are added to it and not told to on_change; or NULL */
};

/* What a grant gives. */
struct atlock_grant {
	uint64_t token;
	uint64_t version;
	int64_t acquired_at;
	int64_t expires_at;
	uint64_t ticket; /* the queue ticket it came from, or 0 */
	uint32_t id_random;
	bool again; /* it was the caller's before this call */
};

/* One lock as it stands. Strings belong to the view: free with atlock_view_clear(). */
struct atlock_view {
	struct atlock_name name;
	enum atlock_state state;
	enum atlock_priority priority;
	char *owner;
	char *who;
	char *host;
	char *meta; /* the user's own keys: "key=value\n" lines, values escaped; "" if none */
	size_t meta_len;
	bool meta_damaged; /* they cannot be read, and `meta` is "": see atlock_view_check() */
	uid_t uid;
	gid_t gid;
	mode_t mode;
	pid_t pid;
	uint64_t token;
	uint64_t version;
	uint64_t id_time; /* wall time and random part of the id */
	uint32_t id_random;
	int64_t acquired_at;
	int64_t renewed_at;
	int64_t expires_at;
	int64_t ttl;
	int64_t claim_by; /* while ATLOCK_PENDING: when the grant passes on */
	uint64_t waiters;
};

void atlock_view_clear(struct atlock_view *view);

/* 0, or -EIO if the user's own keys cannot be read: `why` names the record. */
int atlock_view_check(const struct atlock_view *view, struct atlock_why *why);

/*
 * Takes the lock if it is free or expired: 0. Held by the same holder: 1, and with a ttl the lease is replaced by one
 * from now (-EEXIST if `exclusive`). Held by another: -EBUSY, or -EACCES if by another uid (-EEXIST if `exclusive`).
 * -EDQUOT if the store has no room left, -ENOENT if a directory of custom/ went away. An administrator's text may say
 * owner=: then the lock is taken for that user, whether or not the system knows one of that name.
 */
int atlock_acquire(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out,
		   struct atlock_why *why);

/*
 * Takes all of them or none. `failed` (may be NULL) gets the index of the first that was refused. Requests differ in
 * name only as far as this call is concerned; each may have its own ttl and text.
 */
int atlock_acquire_all(struct atlock *al, const struct atlock_request *reqs, size_t n, struct atlock_grant *out,
		       size_t *failed, struct atlock_why *why);

/*
 * Gives the lock back; the next waiter has it in the same transaction. 1 if it was free or expired. -EPERM if another
 * who of the same uid has it, -EACCES if another uid; `force` by an administrator who names the holder overrides. `out` (may be NULL) gets
 * what was released.
 */
int atlock_release(struct atlock *al, const struct atlock_request *req, struct atlock_view *out,
		   struct atlock_why *why);

/*
 * Ends whose caller is gone and cannot try again. Where the store fails they are kept, and written as soon as it works
 * (atlock_run_ends()); `health` says how many there are. Each returns 0, 1 if the grant was over already, or a negative errno if
 * it is kept.
 *
 * atlock_disown(): the caller of `req` did not take this grant. If its holder comes again and is told that the lock
 * is his, it is not given back.
 *
 * atlock_end_new() makes the end of a grant beforehand, so that writing it needs no memory; NULL without. It is for a holder who
 * cannot come again: an open file. atlock_end_write() frees it in the end.
 */
struct atlock_end;
int atlock_disown(struct atlock *al, const struct atlock_request *req, const struct atlock_grant *grant);
struct atlock_end *atlock_end_new(const struct atlock_name *name, const struct atlock_caller *holder,
				  const struct atlock_grant *grant);
int atlock_end_write(struct atlock *al, struct atlock_end *end);
void atlock_end_free(struct atlock_end *end);

/*
 * atlock_acquire() and atlock_release() without waiting for the store: `end` is called once with what they would have returned, perhaps before this
 * returns, on this thread or on another that is in a call of the manager; it should be quick. All that the pointers lead to
 * must stay until then. All are ended before atlock_close().
 */
typedef void atlock_end_fn(void *arg, int rc);
void atlock_acquire_start(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out,
			  struct atlock_why *why, atlock_end_fn *end, void *arg);
void atlock_release_start(struct atlock *al, const struct atlock_request *req, struct atlock_why *why,
			  atlock_end_fn *end, void *arg);

/*
 * Renews a lease the caller holds: to now + ttl (0: the lease it has), or with `add` by ttl from the old expiry.
 * -ENOENT if free or expired, -EPERM / -EACCES if another's, -EINVAL above max_ttl.
 */
int atlock_renew(struct atlock *al, const struct atlock_request *req, struct atlock_grant *out, struct atlock_why *why);

/*
 * Hands the lock to `to`: token and queue stay. By the holder, or with `force` by an administrator. -EDEADLK if `to` waits,
 * perhaps through others, for somebody who waits for this lock.
 */
int atlock_transfer(struct atlock *al, const struct atlock_request *req, const struct atlock_caller *to,
		    struct atlock_why *why);

/*
 * Applies key=value lines (text.c says which are understood) to a lock the caller holds, all or none. -EINVAL with the
 * line's number in `why`; -EDQUOT above ATLOCK_META_KEYS or ATLOCK_META_BYTES; -ENOENT, -EPERM, -EACCES as renew.
 */
int atlock_write(struct atlock *al, const struct atlock_request *req, struct atlock_why *why);

/* Sets a lock's permission bits (only 0777 of them), or its group; by the holder, or with `force` by an administrator. */
int atlock_chmod(struct atlock *al, const struct atlock_request *req, mode_t mode, struct atlock_why *why);
int atlock_chgrp(struct atlock *al, const struct atlock_request *req, gid_t gid, struct atlock_why *why);

/* Any access by its holder takes up a lock that was granted to a ticket. 0, or 1 if there was nothing to do. */
int atlock_claim(struct atlock *al, const struct atlock_request *req, struct atlock_why *why);

/* Reads a lock: 0, or 1 if it is free or expired. With a `who` in the name, also 1 unless that is the holder's. */
int atlock_get(struct atlock *al, const struct atlock_name *name, struct atlock_view *out);

/*
 * Whether the caller holds the lock: 0 (`out`, may be NULL, gets it), 1 if it is free, -EBUSY or -EACCES with the same
 * `why` as atlock_acquire() if another does.
 */
int atlock_holds(struct atlock *al, const struct atlock_name *name, const struct atlock_caller *caller,
		 struct atlock_view *out, struct atlock_why *why);

/* Releases everything a holder has and cancels its tickets: what the death of a process does. */
int atlock_release_holder(struct atlock *al, const struct atlock_caller *holder, size_t *released,
			  struct atlock_why *why);

/*
 * Whose eyes what is listed is for: a user, and whether he may search a directory of custom/ and all above it. `may` runs as
 * callbacks of listings do. A reader of NULL sees all.
 */
struct atlock_reader {
	const char *user;
	bool (*may)(void *arg, uint64_t dir);
	void *arg;
};

/* --- Listing (list.c) --------------------------------------------------------------------------------------------------- */

/* What to list: every field that is set must match. A page ends after `limit` (0: no end); `after` continues it. */
struct atlock_query {
	const char *prefix; /* "repos/acme/infra/": by canonical path; not below custom/'s directories */
	const char *owner;
	const char *who;
	const char *pull_repo; /* held for this pull request: with pull_num */
	uint64_t pull_num;
	size_t limit;
	struct atlock_name after; /* len 0: from the start; set to the last one listed */
};

/*
 * Where a listing is. Listings that take one show what comes after it: all of it if the place is empty (len 0) or NULL. While
 * an item is shown, the place is that item's; a listing that is called later with a copy of it goes on behind that item, whatever
 * was added or removed meanwhile, the item itself included. A place is good for the same listing of the same thing only.
 */
#define ATLOCK_PLACE_MAX 512

struct atlock_place {
	uint16_t len;
	unsigned char data[ATLOCK_PLACE_MAX];
};

/* Return non-zero to stop. The view is only valid during the call. */
typedef int atlock_list_fn(void *arg, const struct atlock_view *view);

/* Lists held locks in key order, from one consistent state. 0 at the end, 1 if there may be more. */
int atlock_list(struct atlock *al, struct atlock_query *query, atlock_list_fn *fn, void *arg);

/*
 * What exists directly below a virtual directory of repos/ or below global/: `view` is the lock, or NULL for a directory.
 * Costs one seek a child, however many locks are below it.
 */
typedef int atlock_child_fn(void *arg, const char *component, const struct atlock_view *view);
int atlock_children(struct atlock *al, const char *dir, struct atlock_place *place, atlock_child_fn *fn, void *arg);

/* --- By owner, who and host (by.c) -------------------------------------------------------------------------------------- */

enum atlock_by { ATLOCK_BY_OWNER, ATLOCK_BY_WHO, ATLOCK_BY_HOST };

/*
 * Every owner, who or host that holds something, each once, spelled as a path component and sorted as it is unspelled.
 * Owners cost a seek each, whos one for each owner they hold under, hosts a look at every lock. Return non-zero to stop.
 */
typedef int atlock_group_fn(void *arg, const char *component);
int atlock_by_groups(struct atlock *al, enum atlock_by by, struct atlock_place *place, atlock_group_fn *fn, void *arg);

/* 0 if a component can stand for an owner, who or host; -EINVAL, and `why` gives the right spelling. */
int atlock_by_check(const char *component, struct atlock_why *why);

/* The locks of one of them; and one lock by its id, which costs a look-up: 0, or 1 (none). */
int atlock_by_list(struct atlock *al, enum atlock_by by, const char *component, struct atlock_place *place,
		   atlock_list_fn *fn, void *arg);
int atlock_by_find(struct atlock *al, enum atlock_by by, const char *component, const char *id,
		   struct atlock_view *out);

/* What a lock is called there: its printed id, as a component. */
void atlock_by_id(const struct atlock_view *view, char out[ATLOCK_ID_MAX]);

/* --- Waiting (queue.c, wait.c) ------------------------------------------------------------------------------------------- */

/*
 * Told exactly once how a wait ended: 0 and the grant, or a negative errno and why. Returns whether the grant was taken: a
 * lock that nobody is there for any more is released again.
 */
typedef bool atlock_done_fn(void *arg, int err, const struct atlock_grant *grant, const struct atlock_why *why);

/*
 * Takes the lock, or waits for it without occupying a thread. 0: taken, or already the caller's (then as atlock_acquire():
 * the lease and text of the request count); `done` is not called.
 * 1: parked, `done` is called once, perhaps before this returns; *wait identifies it. < 0: refused.
 */
int atlock_wait(struct atlock *al, const struct atlock_request *req, atlock_done_fn *done, void *arg, uint64_t *wait,
		struct atlock_grant *out, struct atlock_why *why);

/*
 * Ends a parked wait: 0, and `done` will not be called; 1 if it has been or is being called already; < 0 if the store
 * failed, then the wait goes on until atlock_run_ends() has ended it, and `done` will be called.
 */
int atlock_wait_cancel(struct atlock *al, uint64_t wait);

/* The process of thread `tid` and its ancestors, the nearest first: at most `cap`, and how many. 0 if that cannot be seen. */
size_t atlock_lineage(pid_t tid, pid_t *out, size_t cap);

/*
 * Says who made a parked wait: thread `tid`, of this uid and gid, whose process has `files` open, `n` holders that are open files
 * (atlock_who_flock()). Locks of the process, its session, those files and an `atlock run` that started it cannot end before the
 * call returns, so they count as waiting with it. A circle that this closes is resolved at once, by ending this wait or another.
 * 0, or a negative errno if that could not be done; the wait goes on then. Does nothing for a wait that has ended.
 */
int atlock_wait_behind(struct atlock *al, uint64_t wait, pid_t tid, uid_t uid, gid_t gid,
		       const struct atlock_caller *files, size_t n);

/*
 * Joins the queue and returns: 0 with a ticket that outlives the caller; 1 if the caller's holder has one already; 2 if
 * the lock was free and is the caller's now (`grant`), or was the caller's already: see atlock_wait().
 */
int atlock_enqueue(struct atlock *al, const struct atlock_request *req, uint64_t *ticket, struct atlock_grant *grant,
		   struct atlock_why *why);

/* One ticket as it stands. Free with atlock_ticket_clear(). */
struct atlock_ticket {
	uint64_t ticket; /* sequence: first come, first served within a priority */
	enum atlock_priority priority;
	char *owner;
	char *who;
	char *host;
	uid_t uid;
	gid_t gid;
	pid_t pid;
	bool parked; /* somebody's call is blocked on it */
	int64_t since;
	int64_t deadline;
	int64_t ttl;
	uint64_t position; /* 1 is next */
	int64_t expected;  /* estimated wait from past hold times; -1 unknown */
};

void atlock_ticket_clear(struct atlock_ticket *ticket);

/* Reads a ticket of a lock by number, or (ticket 0) the first one of the holder owner + who. 0 or 1 (none). */
int atlock_ticket_get(struct atlock *al, const struct atlock_name *name, uint64_t ticket, const char *owner,
		      const char *who, struct atlock_ticket *out);

/* The first ticket of this who and priority, of any owner: 0 or 1. Costs a look-up for each owner who waits for anything. */
int atlock_ticket_find(struct atlock *al, const struct atlock_name *name, enum atlock_priority priority,
		       const char *who, struct atlock_ticket *out);

/* Leaves the queue. 1 if there is no such ticket; -EPERM, -EACCES if it is another's and not `force`d. */
int atlock_cancel(struct atlock *al, const struct atlock_request *req, uint64_t ticket, struct atlock_why *why);

/* Moves a ticket to the end of another priority. Errors as atlock_cancel(). */
int atlock_reprioritise(struct atlock *al, const struct atlock_request *req, uint64_t ticket, struct atlock_why *why);

/* Lists a lock's tickets in service order, from one consistent state. */
typedef int atlock_ticket_fn(void *arg, const struct atlock_ticket *ticket);
int atlock_queue_list(struct atlock *al, const struct atlock_name *name, struct atlock_place *place,
		      atlock_ticket_fn *fn, void *arg);

/* Every lock that has waiters, in key order. */
typedef int atlock_name_fn(void *arg, const struct atlock_name *name, uint64_t waiters);
int atlock_queues(struct atlock *al, struct atlock_place *place, atlock_name_fn *fn, void *arg);

/*
 * What leads to queues with waiters, directly below a path ("" for all trees, "repos/acme"), or below a directory of custom/;
 * each component once. Costs what is below, whatever waits elsewhere. Errors as atlock_children(), and -ENOENT.
 */
int atlock_queue_children(struct atlock *al, const char *dir, struct atlock_place *place, atlock_group_fn *fn,
			  void *arg);
int atlock_queue_dir_children(struct atlock *al, uint64_t dir, struct atlock_place *place, atlock_group_fn *fn,
			      void *arg);

/* --- Directories of custom/ (dir.c) ---------------------------------------------------------------------------------------- */

struct atlock_dir {
	uint64_t id; /* 0 is custom/ itself */
	uint64_t parent;
	uid_t uid;
	gid_t gid;
	mode_t mode;
	int64_t atime; /* wall time; reading the directory does not change it */
	int64_t mtime;
	int64_t ctime;
	uint64_t subdirs;
	char name[ATLOCK_COMPONENT_MAX + 1];
};

/* A directory by its id, or by its name in another. -ENOENT; -EINVAL, -ENAMETOOLONG as atlock_component_check(). */
int atlock_dir_get(struct atlock *al, uint64_t id, struct atlock_dir *out);
int atlock_dir_find(struct atlock *al, uint64_t parent, const char *name, struct atlock_dir *out);

/*
 * Makes a directory that belongs to the caller's uid and `gid`. -EEXIST if a directory or a lock has the name, -ENOENT if
 * the parent is gone, -EDQUOT if the store has no room left; bad names as above. `out` may be NULL.
 */
int atlock_dir_make(struct atlock *al, uint64_t parent, const char *name, const struct atlock_caller *caller,
		    mode_t mode, gid_t gid, struct atlock_dir *out, struct atlock_why *why);

/* -ENOENT, -ENOTDIR if a lock has the name, -ENOTEMPTY if a directory or a lock is in it (also one that rests). */
int atlock_dir_remove(struct atlock *al, uint64_t parent, const char *name, struct atlock_why *why);

/* Sets what is given; -1 (as the type has it) leaves a field alone, INT64_MIN a time. */
struct atlock_dir_change {
	mode_t mode;
	uid_t uid;
	gid_t gid;
	int64_t atime;
	int64_t mtime;
};
int atlock_dir_set(struct atlock *al, uint64_t id, const struct atlock_dir_change *change, struct atlock_why *why);

/* Directories, then held locks directly below `dir`; exactly one of the two pointers is set. -ENOENT. */
typedef int atlock_dir_fn(void *arg, const struct atlock_dir *dir, const struct atlock_view *lock);
int atlock_dir_list(struct atlock *al, uint64_t dir, struct atlock_place *place, atlock_dir_fn *fn, void *arg);

/* --- Repository ownership (giturl.c, owners*.c) ------------------------------------------------------------------------------- */

/*
 * The one spelling of a Git URL: "github.com/acme/infra". Scheme, user, password, default port, ".git", upper case, blanks
 * around it and slashes too many are dropped; another port stays ("github.com:4443/a"); "host:a/b" is "host/a/b"; escapes
 * are undone where they can be. -EINVAL, -ENAMETOOLONG; `why` never quotes the URL, which may carry a password.
 */
int atlock_url_normalise(const char *text, char out[ATLOCK_URL_MAX + 1], struct atlock_why *why);

enum atlock_reference_type { ATLOCK_APPLICATIONS, ATLOCK_CREDENTIALS, ATLOCK_REFERENCE_TYPES };

enum atlock_owners_kind {
	ATLOCK_OWNERS_DIR,       /* owners, or a URL or the beginning of one: `prefix`, and `url` if it is whole */
	ATLOCK_OWNERS_URL,       /* <url>/- */
	ATLOCK_OWNERS_OWNER,     /* <url>/-/owner */
	ATLOCK_OWNERS_TYPE,      /* <url>/-/applications */
	ATLOCK_OWNERS_REFERENCE, /* <url>/-/applications/<id> */
};

/* A path below owners/, with any spelling of the URL, as what it names. */
struct atlock_owners_path {
	enum atlock_owners_kind kind;
	enum atlock_reference_type type;
	char url[ATLOCK_URL_MAX + 1];
	char prefix[ATLOCK_URL_MAX + 1];
	char id[ATLOCK_COMPONENT_MAX + 1];
};

/*
 * Takes "owners", "owners/https:/github.com/acme", "owners/github.com/acme/infra/-/applications/web", .... -EINVAL,
 * -ENAMETOOLONG (URL and id together, too: ATLOCK_KEY_MAX), -ENOENT for another name after "-", -ENOTDIR below a file.
 */
int atlock_owners_parse(const char *path, struct atlock_owners_path *out, struct atlock_why *why);

/* Who has a URL; and one reference to it. */
struct atlock_ownership {
	char url[ATLOCK_URL_MAX + 1];
	char owner[ATLOCK_OWNER_MAX + 1];
	uid_t uid;
	gid_t gid;
	int64_t since;
	uint64_t references[ATLOCK_REFERENCE_TYPES];
};
struct atlock_reference {
	struct atlock_owners_path path;
	char owner[ATLOCK_OWNER_MAX + 1];
	char host[ATLOCK_COMPONENT_MAX + 1];
	uid_t uid;
	gid_t gid;
	pid_t pid;
	int64_t since;
};

/*
 * Makes a reference, and claims the URL for the caller's owner if nobody has it: 0, or 1 if the same reference is there
 * already (-EEXIST if `exclusive`). -EPERM if another owner has the URL; -EDQUOT if the store has no room left.
 */
int atlock_refer(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		 bool exclusive, struct atlock_why *why);

/* Removes one; the last frees the URL. -ENOENT; -EPERM if it is another owner's and the caller no administrator. */
int atlock_unrefer(struct atlock *al, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		   struct atlock_why *why);

/* 0, or 1 if nobody has the URL, or there is no such reference. */
int atlock_ownership_get(struct atlock *al, const char *url, struct atlock_ownership *out);
int atlock_reference_get(struct atlock *al, const struct atlock_owners_path *path, struct atlock_reference *out);

/* What exists directly below a directory of owners/, each in the spelling that leads there. Return non-zero to stop. */
typedef int atlock_owners_fn(void *arg, const char *component, bool directory);
int atlock_owners_list(struct atlock *al, const struct atlock_owners_path *path, struct atlock_place *place,
		       atlock_owners_fn *fn, void *arg);

/* What `cat` prints. Returns a malloc'ed string or NULL. */
char *atlock_ownership_text(struct atlock *al, const struct atlock_ownership *ownership, size_t *len);
char *atlock_reference_text(struct atlock *al, const struct atlock_reference *reference, size_t *len);

/*
 * Sets right what crashes of older versions or damage left over: frees URLs without references, gives references that lost
 * their claim one, removes those of others than the URL's owner, corrects counts. Returns for how many URLs, or a negative
 * errno (-EIO for one that cannot be read; the others are done). Users that are gone keep theirs: an administrator decides.
 */
int atlock_run_owners(struct atlock *al);

/* --- Shared resources (shared.c): stoppable only when all who use them are down ---------------------------------------- */

/* What an app says of itself. Whatever is not known to be down counts as up. */
enum atlock_app_status { ATLOCK_APP_UNKNOWN, ATLOCK_APP_UP, ATLOCK_APP_DOWN, ATLOCK_APP_STATUSES };

struct atlock_shared {
	char name[ATLOCK_COMPONENT_MAX + 1];
	uid_t uid;
	gid_t gid;
	int64_t made_at;
	int64_t changed_at; /* when an app came or went last */
	uint64_t apps;
};

struct atlock_app {
	char name[ATLOCK_WHO_MAX + 1];
	enum atlock_app_status status; /* as it counts now: what is older than the option status_ttl is UNKNOWN */
	enum atlock_app_status said;   /* as it was written */
	int64_t written_at;
	int64_t age;
	uid_t uid;
	gid_t gid;
	char owner[ATLOCK_OWNER_MAX + 1];
};

/* "UP", "DOWN", "UNKNOWN". Never NULL. */
const char *atlock_app_status_name(enum atlock_app_status status);

/* 0 if an app may be called so: a component of a path that reads the same after '@'. -EINVAL, -ENAMETOOLONG. */
int atlock_app_check(const char *app, struct atlock_why *why);

/* Makes a resource of the caller's. -EEXIST, -EDQUOT; bad names as atlock_component_check(). */
int atlock_shared_make(struct atlock *al, const char *resource, const struct atlock_caller *caller,
		       struct atlock_why *why);

/* By who made it or an administrator, else -EACCES. -ENOENT, -ENOTEMPTY while it has apps or its lock is held. */
int atlock_shared_remove(struct atlock *al, const char *resource, const struct atlock_caller *caller,
			 struct atlock_why *why);

/* 0 or -ENOENT. The list is in order of names; return non-zero to stop. */
int atlock_shared_get(struct atlock *al, const char *resource, struct atlock_shared *out);
typedef int atlock_shared_fn(void *arg, const struct atlock_shared *shared);
int atlock_shared_list(struct atlock *al, struct atlock_place *place, atlock_shared_fn *fn, void *arg);

/*
 * Registers an app that belongs to the caller's uid and is UNKNOWN. 1 if it is there already and the caller may write it
 * (-EEXIST if `exclusive`), -EACCES if it is another's. -ENOENT without the resource, -EDQUOT.
 */
int atlock_app_add(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		   bool exclusive, struct atlock_why *why);

/*
 * Writes an app's status, one word, as of now; without `text`, the one it counts as now once more. By its uid or an
 * administrator, else -EACCES. -EINVAL for another word, -ENOENT.
 */
int atlock_app_write(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		     const char *text, size_t len, struct atlock_why *why);

/* By an administrator (-EPERM): the app belongs to `to` from now on. */
int atlock_app_give(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		    const struct atlock_caller *to, struct atlock_why *why);

/* Who may as for writing. -EBUSY while the app holds the resource's lock: then it must give that back first. */
int atlock_app_remove(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		      struct atlock_why *why);

int atlock_app_get(struct atlock *al, const char *resource, const char *app, struct atlock_app *out);
typedef int atlock_app_fn(void *arg, const struct atlock_app *app);
int atlock_app_list(struct atlock *al, const char *resource, struct atlock_place *place, atlock_app_fn *fn, void *arg);

/*
 * Who keeps the resource from being stopped, as text (malloc'ed): "stop" or "keep", then a line for each app, then who has
 * the lock. For one app, or with NULL for the lock's holder, or if it is free for nobody in particular. -ENOENT.
 *
 * The lock itself, "shared/<resource>/stop@<app>", is taken, renewed and released as any other. atlock_acquire() and
 * whatever makes its lease longer or changes its holder is -EBUSY (IN_USE) unless every other app is DOWN by then.
 */
int atlock_verdict(struct atlock *al, const char *resource, const char *app, char **text, size_t *len);

/* --- Pull requests (pull.c): what one holds, and how its projects stand ------------------------------------------------------ */

/* As Atlantis numbers them. */
enum atlock_project_status {
	ATLOCK_PLAN_ERRORED,
	ATLOCK_PLANNED,
	ATLOCK_PLANNED_NO_CHANGES,
	ATLOCK_APPLY_ERRORED,
	ATLOCK_APPLIED,
	ATLOCK_PLAN_DISCARDED,
	ATLOCK_POLICY_CHECK_ERRORED,
	ATLOCK_POLICY_CHECK_PASSED,
	ATLOCK_PROJECT_STATUSES
};

/* "planned". Never NULL. And the status a word names: 0 or -EINVAL. */
const char *atlock_project_status_name(enum atlock_project_status status);
int atlock_project_status_parse(const char *word, enum atlock_project_status *out);

/* A pull request as a path names it: "github.com/acme/infra/-/123", each part in its one spelling. */
struct atlock_pull_name {
	char text[ATLOCK_KEY_MAX];
	size_t host_len;
	size_t repo_len; /* the repository follows the host and a '/' */
	uint64_t num;
};

/*
 * Reads "pulls/github.com/acme/infra/-/123": 0, or 1 for a directory on the way to one. -EINVAL for another spelling,
 * -ENAMETOOLONG. And makes one from decoded parts, takes it apart, and writes its path.
 */
int atlock_pull_parse(const char *path, struct atlock_pull_name *out, struct atlock_why *why);
int atlock_pull_join(const struct atlock_pull *pull, struct atlock_pull_name *out, struct atlock_why *why);
int atlock_pull_split(const struct atlock_pull_name *name, struct atlock_pull *out);
int atlock_pull_print(const struct atlock_pull_name *name, char *out, size_t len);

/*
 * A project of a pull request is called as its lock is. Reads "modules/vpc/-/production:vpc": 0 and the lock's name, or 1 for
 * a directory on the way to one. Errors as atlock_name_parse(); -EINVAL for one with "@who".
 */
int atlock_project_parse(const struct atlock_pull_name *pull, const char *path, struct atlock_name *out,
			 struct atlock_why *why);

/* What exists directly below a directory of pulls/ ("pulls/github.com"), or below a directory of a pull's projects ("modules"). */
typedef int atlock_pull_child_fn(void *arg, const char *component, bool directory);
int atlock_pull_children(struct atlock *al, const char *path, struct atlock_place *place, atlock_pull_child_fn *fn,
			 void *arg);
int atlock_project_children(struct atlock *al, const struct atlock_pull_name *pull, const char *dir,
			    struct atlock_place *place, atlock_pull_child_fn *fn, void *arg);

/* The texts of a pull request: pull_text.c says how they read. */
enum atlock_pull_text { ATLOCK_PULL_HEAD, ATLOCK_PULL_META, ATLOCK_PULL_PROJECTS, ATLOCK_PULL_SUMMARY };

#define ATLOCK_PULL_BYTES (1 << 20) /* of one write to a pull request */

/* A malloc'ed text; "" (the summary: zeros) of a pull request that nobody wrote about. */
int atlock_pull_read(struct atlock *al, const struct atlock_pull_name *pull, enum atlock_pull_text what, char **text,
		     size_t *len, struct atlock_why *why);

/*
 * Writes one of the first three, all or nothing. Statuses that are not in the text stay if it is about the same head commit
 * and go if it is about another. `replace`: lines of ATLOCK_PULL_META take the place of all that were there. -EINVAL with the
 * line's number in `why`, -EDQUOT.
 */
int atlock_pull_write(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		      enum atlock_pull_text what, const char *text, size_t len, bool replace, struct atlock_why *why);

/* Empties one of the first three. */
int atlock_pull_clear(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		      enum atlock_pull_text what, struct atlock_why *why);

/* A project's status: 0, or 1 if it has none. Sets it from a word; -EINVAL, and `why` has all of them. Forgets it: 0 or 1. */
int atlock_project_get(struct atlock *al, const struct atlock_pull_name *pull, const struct atlock_name *project,
		       enum atlock_project_status *out);
int atlock_project_set(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		       const struct atlock_name *project, const char *word, size_t len, struct atlock_why *why);
int atlock_project_drop(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
			const struct atlock_name *project, struct atlock_why *why);

/* The locks that "pr:<num>" holds in exactly this repository, whoever owns them; and one by its id: 0 or 1. */
int atlock_pull_locks(struct atlock *al, const struct atlock_pull_name *pull, struct atlock_place *place,
		      atlock_list_fn *fn, void *arg);
int atlock_pull_lock(struct atlock *al, const struct atlock_pull_name *pull, const char *id, struct atlock_view *out);

/*
 * Closes it in one transaction: releases those locks, cancels its tickets there, forgets its status. -EPERM, and nothing has
 * changed, if one of the locks or tickets is another owner's and the caller no administrator. `released` may be NULL.
 */
int atlock_pull_close(struct atlock *al, const struct atlock_caller *caller, const struct atlock_pull_name *pull,
		      size_t *released, struct atlock_why *why);

/* --- Policy (policy.c, allow.c): who may do what ------------------------------------------------------------------------- */

/* A rules file by itself, to ask what it says. The manager's own is the option `policy`. */
struct atlock_policy;

enum atlock_policy_verdict { ATLOCK_POLICY_SILENT, ATLOCK_POLICY_ALLOWS, ATLOCK_POLICY_DENIES };

struct atlock_policy_answer {
	enum atlock_policy_verdict verdict; /* silent: as where there is no policy */
	size_t line;                        /* of the rule that decides, or 0 */
	char rule[ATLOCK_PATH_MAX];
};

/* -EINVAL with the line that is wrong, or why the file cannot be read. `file` begins with '/'. */
int atlock_policy_load(const char *file, struct atlock_policy **out, struct atlock_why *why);
void atlock_policy_free(struct atlock_policy *policy);

/* Which rule decides about a user of this system, an action ("acquire", "read=key", ...) and a lock's path. -ENOENT: no such user. */
int atlock_policy_test(struct atlock_policy *policy, const char *user, const char *action, const char *lock,
		       struct atlock_policy_answer *out, struct atlock_why *why);

/* Whether a rule lends the caller what else is for administrators: "transfer", "force" or "ttl=never" on this lock. */
bool atlock_lends(struct atlock *al, const struct atlock_caller *caller, const char *action,
		  const struct atlock_name *name);

#define ATLOCK_HIDDEN "[hidden]" /* stands for a value that is not for the reader */

/* Whether the policy hides values from anybody, so that two users may read two things. */
bool atlock_hides(struct atlock *al);

/*
 * The holder's own keys of a view as the reader may see them, malloc'ed, values that the policy hides from him replaced: 0, or 1
 * if he may see them as they are. Administrators and the lock's owner see everything.
 */
int atlock_view_hide(struct atlock *al, const struct atlock_caller *reader, const struct atlock_view *view, char **meta,
		     size_t *meta_len);

/* --- Text (text.c) --------------------------------------------------------------------------------------------------------- */

/* What `cat` prints. Returns a malloc'ed string or NULL. */
char *atlock_view_text(struct atlock *al, const struct atlock_view *view, size_t *len);
char *atlock_ticket_text(struct atlock *al, const struct atlock_name *name, const struct atlock_ticket *ticket,
			 size_t *len);

/* One JSON object, no newline, as in locks.jsonl. */
char *atlock_view_json(struct atlock *al, const struct atlock_view *view, size_t *len);
char *atlock_ticket_json(struct atlock *al, const struct atlock_name *name, const struct atlock_ticket *ticket,
			 size_t *len);

/* One field of the text by its key ("token"), the user's own included. 0, 1 (no such key), -ERANGE, -EIO if damaged. */
int atlock_view_field(struct atlock *al, const struct atlock_view *view, const char *key, char *out, size_t len);

/* The printed id, lock_<ns>_<owner>_<8 hex>. */
void atlock_view_id(const struct atlock_view *view, char out[ATLOCK_ID_MAX]);

/* An instant as RFC 3339 UTC, or "never". */
void atlock_instant_print(struct atlock *al, int64_t instant, char *out, size_t len);

/* --- Events (event.c) ------------------------------------------------------------------------------------------------------- */

enum atlock_event_type {
	ATLOCK_EVENT_ACQUIRED,
	ATLOCK_EVENT_GRANTED, /* to a waiter */
	ATLOCK_EVENT_CLAIMED,
	ATLOCK_EVENT_RENEWED,
	ATLOCK_EVENT_CHANGED, /* metadata, mode */
	ATLOCK_EVENT_TRANSFERRED,
	ATLOCK_EVENT_RELEASED,
	ATLOCK_EVENT_FORCED,
	ATLOCK_EVENT_EXPIRED,
	ATLOCK_EVENT_UNCLAIMED, /* not taken up within claim_timeout */
	ATLOCK_EVENT_QUEUED,
	ATLOCK_EVENT_CANCELLED,
	ATLOCK_EVENT_TIMED_OUT,
	ATLOCK_EVENT_REPRIORITISED,
	ATLOCK_EVENT_DEADLOCK, /* this ticket was the victim */
	ATLOCK_EVENT_DIR_MADE,
	ATLOCK_EVENT_DIR_REMOVED,
	ATLOCK_EVENT_DIR_CHANGED,
	ATLOCK_EVENT_CONFIGURED,
	ATLOCK_EVENT_OPENED,
	ATLOCK_EVENT_CLOSED,
	ATLOCK_EVENT_URL_CLAIMED,
	ATLOCK_EVENT_URL_FREED,
	ATLOCK_EVENT_REFERENCE_MADE,
	ATLOCK_EVENT_REFERENCE_REMOVED,
	ATLOCK_EVENT_OWNERS_SWEPT, /* what was left over of a claim was set right */
	ATLOCK_EVENT_SHARED_MADE,
	ATLOCK_EVENT_SHARED_REMOVED,
	ATLOCK_EVENT_APP_ADDED,
	ATLOCK_EVENT_APP_UNKNOWN, /* what it wrote; in the order of enum atlock_app_status */
	ATLOCK_EVENT_APP_UP,
	ATLOCK_EVENT_APP_DOWN,
	ATLOCK_EVENT_APP_GIVEN,
	ATLOCK_EVENT_APP_REMOVED,
	ATLOCK_EVENT_PULL_STATUS,  /* of one project: "<path>=<status>" */
	ATLOCK_EVENT_PULL_CHANGED, /* its head commit or what is known of it */
	ATLOCK_EVENT_PULL_CLOSED,
	ATLOCK_EVENT_SEALED, /* every text has the key in use, or none any more */
	ATLOCK_EVENT_REFUSED,
	ATLOCK_EVENT_RESTORED,
	ATLOCK_EVENT_REPAIRED,
	ATLOCK_EVENT_ARCHIVED, /* up to the event in `new`, and removed */
	ATLOCK_EVENTS
};

struct atlock_event {
	uint64_t seq;
	enum atlock_event_type type;
	enum atlock_code code;
	int64_t wall; /* when, wall time */
	uint64_t token;
	uint64_t ticket;
	uint64_t skipped;  /* refusals that were not written before this one */
	const char *lock;  /* path, or what else it is about, or "" */
	const char *owner; /* the holder or waiter it is about */
	const char *who;
	const char *old; /* of what was changed, or ""; of a refusal what it was about if that is no lock */
	const char *new;
	const char *actor; /* whose call it was; "" for the manager itself */
	const char *comm;
	const char *host;
	uid_t actor_uid;
	pid_t actor_pid;
	pid_t session;
	unsigned char prev[32]; /* hash of the event before it */
	unsigned char hash[32]; /* and of this one */
	const char *line;       /* as it reads in events/, without the newline */
	size_t line_len;
};

const char *atlock_event_name(enum atlock_event_type type);

/* Events from sequence number `from` on, in order. Return non-zero to stop. */
typedef int atlock_event_fn(void *arg, const struct atlock_event *event);
int atlock_events(struct atlock *al, uint64_t from, atlock_event_fn *fn, void *arg);

/*
 * Checks the chain: 0, or -EBADMSG and the first bad sequence number. 1 if what is there is as it was written, but events in front
 * of it are gone of which nothing is known: then `*bad` is the first that is there, and `why` says so.
 */
int atlock_events_verify(struct atlock *al, uint64_t *bad, struct atlock_why *why);

/* Behind which event the log begins, once events were archived or have become older than events_keep. */
struct atlock_anchor {
	uint64_t seq;
	char hash[65]; /* in hex */
	bool archived; /* else its time was over */
	char time[32]; /* when, as events have it; "": by an older version, which did not write that down */
	char by[ATLOCK_OWNER_MAX + 1]; /* "": by the manager itself */
};

/* 0, or 1 if it begins with the first event, or nothing says what was before it. */
int atlock_anchor(struct atlock *al, struct atlock_anchor *out);

/*
 * All events up to this one, "NUMBER:HASH", are safe elsewhere: removes them. By an administrator (-EPERM), or with caller NULL by
 * the program itself. -EINVAL if the log has no such event, -EEXIST if that is gone already.
 */
int atlock_archived(struct atlock *al, const struct atlock_caller *caller, const char *anchor, struct atlock_why *why);

/* Removes the events of days that have been over for the option events_keep; returns how many, or a negative errno. */
int atlock_run_prune(struct atlock *al);

/*
 * Tells the event log of a refusal that was decided elsewhere, unless it knows: about a lock, or else about `subject`, a path of
 * which the last 255 bytes are kept. Both may be NULL. Those that this manager decides about a lock it knows of by itself.
 */
void atlock_refused(struct atlock *al, const struct atlock_caller *caller, const struct atlock_name *name,
		    const char *subject, struct atlock_why *why);

/* Writes the refusals that were noted since; returns how many, or a negative errno. */
int atlock_run_refused(struct atlock *al);

/* A file of events: the lines of one day of UTC. Lines are added at its end, and stay where they are. */
#define ATLOCK_DAY_NAME 24
struct atlock_day {
	char name[ATLOCK_DAY_NAME]; /* "2026-11-16.jsonl" */
	uint64_t size;
	int64_t changed; /* wall time */
};

/* All of them in order, the one of today among them even if it is empty. Called after the read. Return non-zero to stop. */
typedef int atlock_day_fn(void *arg, const struct atlock_day *day);
int atlock_days(struct atlock *al, struct atlock_place *place, atlock_day_fn *fn, void *arg);

/* One by its name: 0 or 1 (none). And the name of today's. */
int atlock_day_get(struct atlock *al, const char *name, struct atlock_day *out);
void atlock_day_live(struct atlock *al, char out[ATLOCK_DAY_NAME]);

/*
 * Reads from any offset, which costs a search among the day's events, not a walk over them. Returns how many bytes, 0 at the end,
 * or a negative errno. Lines that had to make room on a full store read as blank. Of a lock that the reader may not know of, and of
 * what another user did there, a line has number, hashes and length alone, and the type "hidden".
 */
ssize_t atlock_day_read(struct atlock *al, const struct atlock_reader *reader, const char *name, uint64_t offset,
			char *out, size_t len);

/*
 * Checks lines of event files, also copies of them, in any order of the files:
 *
 *	audit = atlock_audit_new();
 *	atlock_audit_file(audit, "2026-11-16.jsonl");
 *	atlock_audit_line(audit, line, len, true);	each of them
 *	atlock_audit_end(audit, &result);
 *	atlock_audit_free(audit);
 */
struct atlock_audit;

struct atlock_audit_result {
	uint64_t events;
	uint64_t first;
	uint64_t last;
	char hash
		[65]; /* of the last, in hex: kept elsewhere, it shows later whether the log up to it is still the same */
	uint64_t
		cut; /* the first event, if nothing shows what was before it: then the rest proves little; 0: all is shown */
	uint64_t bad; /* the first event that is changed, missing or in the wrong place; 0: none is */
	char text[ATLOCK_PATH_MAX + 256]; /* and what about it */
};

/* NULL without memory. */
struct atlock_audit *atlock_audit_new(void);
void atlock_audit_free(struct atlock_audit *audit);

/*
 * An event that must be there, or be the one that the first follows on, as "NUMBER:HASH". And one behind which the log is known to
 * begin. -EINVAL. Call before the first line.
 */
int atlock_audit_anchor(struct atlock_audit *audit, const char *text, struct atlock_why *why);
int atlock_audit_begin(struct atlock_audit *audit, const char *text, struct atlock_why *why);

/* What follows are the lines of this file. */
void atlock_audit_file(struct atlock_audit *audit, const char *name);

/* A line without its newline, which must be NUL-terminated; `whole` if it had one. -ENOMEM. */
int atlock_audit_line(struct atlock_audit *audit, const char *text, size_t len, bool whole);

/*
 * The line that ends an archive: how many events the file at hand has, from which to which, and their hashes. A line like that is
 * checked against the lines before it when it comes along.
 */
void atlock_audit_seal(const struct atlock_audit *audit, const char *time, char *out, size_t len);

/* 0, or -EBADMSG and what is wrong. */
int atlock_audit_end(struct atlock_audit *audit, struct atlock_audit_result *out);

/* After that: the i-th of the archives that were among the files, and whether the event that follows on it is there. False: none. */
struct atlock_audit_archive {
	const char *file;
	uint64_t first;
	uint64_t last;
	bool joined;
};
bool atlock_audit_archive(const struct atlock_audit *audit, size_t i, struct atlock_audit_archive *out);

/* --- Keys that users' texts are sealed with (seal_key.c) -------------------------------------------------------------------- */

#define ATLOCK_KEY_ID_MAX 17 /* bytes of a key's id in hex, with its NUL: tells keys apart, is no secret */

/* Makes a key file, readable for its owner alone. -EEXIST: an old key may still be needed. */
int atlock_key_new(const char *path, char id[ATLOCK_KEY_ID_MAX], struct atlock_why *why);

/* The id of the key in a file, as events and refusals name it. -EACCES if others may read the file, -EINVAL if it has none. */
int atlock_key_id(const char *path, char id[ATLOCK_KEY_ID_MAX], struct atlock_why *why);

/* --- Moving in: Atlantis' records, where it keeps them, and what they are in the tree (foreign.c, atlantis*.c) -------------- */

enum atlock_foreign_kind { ATLOCK_FOREIGN_LOCK, ATLOCK_FOREIGN_PULL, ATLOCK_FOREIGN_GLOBAL, ATLOCK_FOREIGN_KINDS };

/*
 * One record, as Atlantis has it and as the tree does. Zero it before first use and free it with atlock_foreign_clear().
 * No token or password is in any of it.
 */
struct atlock_foreign_record {
	enum atlock_foreign_kind kind;
	char *key;                        /* under which Atlantis keeps it today; NULL if it has no such thing */
	char *value;                      /* its JSON, on one line; NULL with `key` */
	char path[ATLOCK_PATH_MAX];       /* below the mount: "repos/...", "global/apply", "pulls/github.com/a/b/-/7" */
	char owner[ATLOCK_OWNER_MAX + 1]; /* "": whoever takes it */
	char who[ATLOCK_WHO_MAX + 1];     /* "" for a pull request */
	char *text;                       /* what to write there: key=value lines; of a pull request, projects.tsv */
	char *meta;                       /* of a pull request: its meta */
	bool elsewhere;                   /* was found under a key that is not its own, old or new */
	bool shortened;                   /* the pull request's description did not fit and is left out */
};

void atlock_foreign_clear(struct atlock_foreign_record *record);

struct atlock_foreign;

#define ATLOCK_FOREIGN_OLDER 1U       /* a Bolt file whose newest state is damaged: the one before it */
#define ATLOCK_FOREIGN_BEFORE_0_25 2U /* statuses are numbered as Atlantis did before 0.25 */

/*
 * Opens a Bolt file, a Redis (redis://[user:password@]host[:port][/db]), or JSON lines as atlock_foreign_line() makes them,
 * "-" from standard input. Only reads, unless atlock_foreign_change() is called. -EBADMSG for what is none of these or
 * damaged, -EBUSY for a file that a running Atlantis has, -EHOSTDOWN, -EACCES, -ENOENT. One thread at a time.
 */
int atlock_foreign_open(struct atlock_foreign **out, const char *from, unsigned int flags, struct atlock_why *why);
void atlock_foreign_close(struct atlock_foreign *foreign);

/* How many records there are, or 0 if that shows only at the end. */
uint64_t atlock_foreign_total(const struct atlock_foreign *foreign);

/* The next record: 0, 1 after the last, 2 for one that cannot be moved (`why` names it) and may be passed over. */
int atlock_foreign_next(struct atlock_foreign *foreign, struct atlock_foreign_record *record, struct atlock_why *why);

/* What is at the record's key now: 0 and `value` (malloc'ed), or 1 (nothing). -EROFS unless it is a Redis. */
int atlock_foreign_get(struct atlock_foreign *foreign, const struct atlock_foreign_record *record, char **value,
		       struct atlock_why *why);

/*
 * Writes `value` at the record's key, or deletes it (NULL), if what is there is still `old` (NULL: nothing), byte by byte; 1
 * and nothing changed if not.
 */
int atlock_foreign_change(struct atlock_foreign *foreign, const struct atlock_foreign_record *record, const char *old,
			  const char *value, struct atlock_why *why);

/*
 * The record that a line of locks.jsonl is for Atlantis: 0; 1 if that has no such thing: a waiter, a lock of custom/, one
 * that is held for no pull request. Path, owner and who are filled in for every lock.
 */
int atlock_foreign_from_lock(const char *line, size_t len, struct atlock_foreign_record *record,
			     struct atlock_why *why);

/*
 * The record of a pull request, from its path and what its files head, meta and projects.tsv say: 0, or 1 if all of them are
 * empty.
 */
int atlock_foreign_from_pull(const char *path, const char *head, const char *meta, const char *projects,
			     struct atlock_foreign_record *record, struct atlock_why *why);

/* A record as a line of JSON, no newline: {"bucket":...,"key":...,"value":...}. malloc'ed, or NULL. */
char *atlock_foreign_line(const struct atlock_foreign_record *record);

/*
 * Compares two values as Atlantis reads them: a field that is missing or zero is the same, tokens do not count. 0, or 1 and
 * the first difference for people.
 */
int atlock_foreign_compare(const char *a, const char *b, char *difference, size_t len);

/* --- Time passing (lease.c) --------------------------------------------------------------------------------------------------- */

/* Ends every lease, ticket and claim whose time has come; returns how many, or a negative errno. */
int atlock_run_due(struct atlock *al);

/*
 * Tries again to write the ends that the store could not write: of processes that are gone, of calls that were cancelled, of
 * grants that were given back. Returns how many it wrote, or a negative errno if some are left. One thread at a time; the
 * manager's own calls it every second while there are any.
 */
int atlock_run_ends(struct atlock *al);

/* When atlock_run_due() next has something to do; ATLOCK_NEVER if nothing is pending. */
int64_t atlock_next_due(struct atlock *al);

/* Looks for cycles in the whole wait-for graph; returns how many victims, or a negative errno. */
int atlock_run_deadlock(struct atlock *al);

/* --- Text for people (clean.c) -------------------------------------------------------------------------------------------------- */

/*
 * Names and texts that others chose may have in them what a terminal obeys, what turns the direction of text, ends a line or
 * cannot be seen, and bytes that are no UTF-8. This is the one place that knows.
 */

/* How many bytes the character at `text` has, of `len` that are left; and whether it may be shown as it is. */
size_t atlock_clean_next(const char *text, size_t len, bool *clean);

/*
 * Writes all of it with what may not be shown spelled \xNN, and a NUL; whole characters, as many as fit. Returns how long the
 * whole is, as snprintf(3) does: `len` if it is clean.
 */
size_t atlock_clean(const char *text, size_t len, char *out, size_t size);

/* Puts '?' in place of each such byte. */
void atlock_tame(char *text, size_t len);

/* --- Log (log.c) ---------------------------------------------------------------------------------------------------------------- */

/* Where the process's log goes, and how much of it. Before this nothing is written. Call it before there are threads. */
void atlock_log_open(enum atlock_log_target target, enum atlock_log_level level);

/* Writes one line; control bytes in it are spelled \xNN, and user and password of a URL are left out. */
void atlock_log(enum atlock_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- Standard input, output and error (standard.c) ------------------------------------------------------------------------------ */

/*
 * To be called first by a program: opens those that are closed, on /dev/null, for no file may get their numbers and with them
 * what is meant for a terminal. They still fail to read and write.
 */
int atlock_standard_open(void);

/* To be called last: whether all that was printed so far arrived; one thread at a time. */
int atlock_standard_flush(void);

/* --- The whole store ------------------------------------------------------------------------------------------------------------ */

struct atlock_status {
	uint64_t held;
	uint64_t waiting;
	uint64_t store_used;
	uint64_t store_free;
	uint64_t store_size;  /* what it can grow to */
	uint64_t events_used; /* by the event log, about */
	bool events_full;     /* that is its share */
	bool store_low;       /* for this reason or another taking locks is refused */
	uint64_t updates;
	uint64_t commits;
	uint64_t events;
	uint64_t owners_swept; /* URLs whose leftovers were set right since the manager was opened */
	int64_t last_change;   /* instant of the newest change */
	uint64_t ends;         /* of holders and waits, that could not be written yet */
};
int atlock_status(struct atlock *al, struct atlock_status *out);

/*
 * Whether all is well. The first line begins with "ok", "degraded" or "failing", with the reason behind it; then come the
 * checks, one a line, and counts. With `probe` the store is written to, at most once a second, for which this waits a second
 * at most; without, that check stands as it was found last. Returns a malloc'ed string or NULL.
 */
char *atlock_health_text(struct atlock *al, bool probe, size_t *len);

/*
 * Everything that is counted, as Prometheus reads it: counters since the manager was opened, and how things stand now, for
 * which every queue is looked at. Returns a malloc'ed string or NULL.
 */
char *atlock_metrics_text(struct atlock *al, size_t *len);

/*
 * Writes a copy, as of one moment and without gaps, to the directory `dir`, which must be empty or not there. Others may use
 * the store meanwhile, and `al` may be readonly. -ENOTEMPTY. Before a copy is mounted in place of what it was made of,
 * atlock_restored() sees to it that no token is given out twice.
 */
int atlock_backup(struct atlock *al, const char *dir, struct atlock_why *why);
int atlock_restored(struct atlock *al, struct atlock_why *why);

/*
 * Sets right what atlock_check() finds, of every tree, in one transaction: indexes and counts are made anew from the records, a lock
 * whose record is damaged from the indexes; what nothing can be made of is dropped. No lock comes free by it: one of which nobody
 * knows whose it was is held by root@fsck. Prints a line for each to `report` (may be NULL), and returns how many there were, or a
 * negative errno: then nothing has changed.
 */
int64_t atlock_repair(struct atlock *al, FILE *report, struct atlock_why *why);

/* Checks every record and index against each other; prints what is wrong to `report` (may be NULL); returns how many. */
int64_t atlock_check(struct atlock *al, FILE *report);

#endif
