/*
 * What every page of the library needs: the handle, time, limits of size, and how a call is refused.
 *
 * Time
 *
 * Durations and instants are nanoseconds in an int64_t. An instant is lease time: it never steps back or forward, also over a
 * restart of the manager. atlock_wall() (open.h) turns an instant into wall time, nanoseconds since 1970. Fields that hold wall
 * time say so.
 *
 * Refusals
 *
 * A call that can be refused takes a `struct atlock_why *`, which may be NULL. A call that returns a negative errno has filled
 * it; a call that returns 0 or more leaves it alone. Programs compare `code` and `advice`, never `text`.
 */
#ifndef ATLOCK_BASE_H
#define ATLOCK_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ATLOCK_NEVER INT64_MAX            /* a duration or an instant: no end */
#define ATLOCK_SECOND INT64_C(1000000000) /* nanoseconds */

/* Limits, in bytes without the NUL unless a line says otherwise. */
#define ATLOCK_COMPONENT_MAX 255 /* one component of a path */
#define ATLOCK_KEY_MAX 490       /* a lock's key: what follows "repos/", plus one */
#define ATLOCK_OWNER_MAX 128     /* a user name */
#define ATLOCK_WHO_MAX 200       /* the part of a lock's name after '@' */
#define ATLOCK_COMM_MAX 15       /* a process's name */
#define ATLOCK_PATH_MAX 4096     /* a path below the mount point, with its NUL */
#define ATLOCK_URL_MAX 480       /* a Git URL in its canonical spelling */
#define ATLOCK_META_KEYS 64      /* keys, not bytes: metadata that users write to one lock */
#define ATLOCK_META_BYTES 16384  /* all of that metadata together */
#define ATLOCK_ID_MAX 176        /* a printed lock id, with its NUL */

/* The manager. open.h opens and closes it. */
struct atlock;

/* --- Refusals --- */

enum atlock_code {
	ATLOCK_OK,
	ATLOCK_LOCK_EXISTS,       /* EEXIST, EBUSY, EACCES: another holder has the lock */
	ATLOCK_LOCK_NOT_FOUND,    /* ENOENT */
	ATLOCK_LOCK_EXPIRED,      /* ESTALE */
	ATLOCK_TIMEOUT,           /* ETIMEDOUT */
	ATLOCK_QUEUE_FULL,        /* EDQUOT */
	ATLOCK_QUOTA,             /* EDQUOT: a limit of the user is reached, or the store has no space */
	ATLOCK_DEADLOCK,          /* EDEADLK */
	ATLOCK_BACKEND_ERROR,     /* EIO */
	ATLOCK_CIRCUIT_OPEN,      /* EHOSTDOWN */
	ATLOCK_INVALID_REQUEST,   /* EINVAL, ENAMETOOLONG, ENOTDIR */
	ATLOCK_PERMISSION_DENIED, /* EPERM, EACCES */
	ATLOCK_RATE_LIMIT,        /* EAGAIN */
	ATLOCK_VERSION_CONFLICT,  /* EAGAIN: the lock changed since the caller read it */
	ATLOCK_CANCELLED,         /* EINTR, ECANCELED */
	ATLOCK_IN_USE,            /* EBUSY: other apps use the shared resource */
	ATLOCK_CODES
};

/* What the text advises the caller to do. The wording of a text may change in any version; its advice does not. */
enum atlock_advice {
	ATLOCK_ADVICE_OTHER,
	ATLOCK_ADVICE_WAIT,    /* wait below wait/ */
	ATLOCK_ADVICE_NAME,    /* use the name that the holder used */
	ATLOCK_ADVICE_SESSION, /* another session of the same user has the lock */
	ATLOCK_ADVICE_WHO,     /* give who= as well */
	ATLOCK_ADVICE_ADMIN,   /* only an administrator may do this */
	ATLOCK_ADVICES
};

/*
 * Why a call was refused. The text has up to four parts: "line 2: ", the path of a lock, what is wrong with it, ": " and an
 * advice. The offsets say where they are, in bytes, so that a program can print the parts in its own words.
 */
struct atlock_why {
	enum atlock_code code;
	bool noted;       /* the event log has the refusal already */
	char text[475];   /* one line without control bytes; it says what to do next */
	uint16_t begin;   /* where the path or the reason begins, after "line 2: " */
	uint16_t subject; /* length of the path at `begin`; 0: the text names no lock */
	uint16_t end;     /* where ": " and the advice begin; 0: there is no advice */
	uint16_t advice;  /* enum atlock_advice */
};

/* The name of a code as files and events print it: "LOCK_EXISTS". Never NULL. */
const char *atlock_code_name(enum atlock_code code);

/* The name of an advice: "wait", "name"; "other" for a number that has none. Never NULL. */
const char *atlock_advice_name(enum atlock_advice advice);

#endif
