#include "holder.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "decimal.h"
#include "process.h"
#include "session.h"
#include "users.h"
#include "why.h"

#define WHO_USER "user"
#define WHO_SESSION "sid:"
#define WHO_FLOCK "flock:"
#define UNSEEN "your process is not visible from here (another pid namespace): name yourself, as in NAME@build-17"

static const struct {
	enum holder_kind kind;
	char prefix[8];
} kinds[] = {
	{ HOLDER_SESSION, WHO_SESSION },
	{ HOLDER_PROCESS, "pid:" },
	{ HOLDER_PULL, "pr:" },
	{ HOLDER_FLOCK, WHO_FLOCK },
};

/* Compares a few bytes several times in every call: strncmp() would cost more. */
static bool begins(const char *text, const char *prefix)
{
	while (*prefix != '\0' && *text == *prefix) {
		text++;
		prefix++;
	}
	return *prefix == '\0';
}

enum holder_kind holder_kind(const char *who)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (begins(who, kinds[i].prefix))
			return kinds[i].kind;
	return HOLDER_PLAIN;
}

bool atlock_who_is_flock(const char *who)
{
	return who != NULL && holder_kind(who) == HOLDER_FLOCK;
}

bool atlock_who_is_process(const char *who)
{
	return who != NULL && holder_kind(who) == HOLDER_PROCESS;
}

bool atlock_who_is_implied(const char *who)
{
	return who != NULL && (holder_kind(who) == HOLDER_SESSION || strcmp(who, WHO_USER) == 0);
}

void atlock_who_flock(uint32_t mount, uint64_t number, char out[ATLOCK_WHO_MAX + 1])
{
	(void)snprintf(out, ATLOCK_WHO_MAX + 1, WHO_FLOCK "%08" PRIx32 "-%" PRIu64, mount, number);
}

/* Each number has one spelling: digits only, no leading zero. */
static bool number_read(const char *who, const char *prefix, long long max, long long *out)
{
	const char *digits = who + strlen(prefix);
	const char *bad = NULL;

	if (strncmp(who, prefix, strlen(prefix)) != 0)
		return false;
	if (digits[0] == '0' || digits[strspn(digits, "0123456789")] != '\0')
		return false;
	*out = strtonum(digits, 1, max, &bad);
	return bad == NULL;
}

bool holder_needs_lease(const struct atlock_caller *caller)
{
	enum holder_kind kind = holder_kind(caller->who);

	return kind != HOLDER_PROCESS && kind != HOLDER_PULL && kind != HOLDER_FLOCK;
}

bool holder_pid(const char *who, pid_t *out)
{
	long long number;

	if (!number_read(who, "pid:", INT_MAX, &number))
		return false;
	*out = (pid_t)number;
	return true;
}

bool holder_pull(const char *who, uint64_t *out)
{
	long long number;

	if (!number_read(who, "pr:", LLONG_MAX, &number))
		return false;
	*out = (uint64_t)number;
	return true;
}

bool holder_text_check(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return len > 0 && len <= max;
}

int holder_who_check(const char *who, struct atlock_why *why)
{
	pid_t pid;
	uint64_t pull;

	if (!holder_text_check(who, ATLOCK_WHO_MAX))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "what follows '@' must have 1 to %d bytes and no control bytes", ATLOCK_WHO_MAX);
	switch (holder_kind(who)) {
	case HOLDER_SESSION:
	case HOLDER_FLOCK:
		return why_set(
			why, -EINVAL, ATLOCK_INVALID_REQUEST,
			"\"@%s\" is reserved: no name may stand for a session or an open file; leave out '@' to be "
			"your session",
			who);
	case HOLDER_PROCESS:
		if (!holder_pid(who, &pid))
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
				       "\"@%s\" has no process id: write @pid:$$, a decimal number above 0", who);
		return 0;
	case HOLDER_PULL:
		if (!holder_pull(who, &pull))
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
				       "\"@%s\" has no pull request number: write @pr:123, a decimal number above 0 "
				       "without leading zeros",
				       who);
		return 0;
	case HOLDER_PLAIN: break;
	}
	if (strcmp(who, HOLDER_DISABLE) == 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "\"@" HOLDER_DISABLE "\" is reserved for the option of that name: choose another name");
	if (strcmp(who, WHO_USER) == 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "\"@user\" is reserved for the option identity=user: choose another name");
	return 0;
}

int atlock_caller_init(struct atlock_caller *caller, const char *owner, const char *who, uid_t uid)
{
	pid_t pid;
	uint64_t pull;

	if (caller == NULL || owner == NULL || who == NULL)
		return -EINVAL;
	if (!holder_text_check(owner, ATLOCK_OWNER_MAX) || !holder_text_check(who, ATLOCK_WHO_MAX))
		return -EINVAL;
	if (holder_kind(who) == HOLDER_PROCESS && !holder_pid(who, &pid))
		return -EINVAL;
	if (holder_kind(who) == HOLDER_PULL && !holder_pull(who, &pull))
		return -EINVAL;
	memset(caller, 0, sizeof(*caller));
	strlcpy(caller->owner, owner, sizeof(caller->owner));
	strlcpy(caller->who, who, sizeof(caller->who));
	caller->uid = uid;
	caller->admin = uid == 0;
	return 0;
}

/* Names a caller who gave no who, according to the option identity. */
static int caller_default(struct sessions *sessions, const struct atlock_options *options, pid_t tid,
			  struct session_id *known, struct atlock_caller *caller, struct atlock_why *why)
{
	pid_t session = 0;
	int err;

	if (options->identity == ATLOCK_IDENTITY_USER) {
		strlcpy(caller->who, WHO_USER, sizeof(caller->who));
		return 0;
	}
	err = process_session(tid, &session);
	if (err == -ENXIO)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, UNSEEN);
	if (err < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the session of process %d cannot be read: %s",
			       tid, strerror(-err));
	*decimal_print(stpcpy(caller->who, WHO_SESSION), (uint64_t)session) = '\0';
	caller->session = session;
	if (known->number != session || known->start == 0)
		*known = (struct session_id){ session, sessions_start(sessions, session) };
	caller->bound_start = known->start;
	return 0;
}

/*
 * Binds the caller to process `pid`, which must be the caller's own or an ancestor, so that a lock never depends on a
 * stranger's process.
 */
static int caller_bind(pid_t tid, pid_t pid, struct atlock_caller *caller, struct atlock_why *why)
{
	struct process self;
	struct process bound;
	int err = process_read(tid, &self);

	if (err == -ENXIO)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, UNSEEN);
	if (err == 0)
		err = process_ancestor(&self, pid, &bound);
	if (err < 0 && err != -ESRCH)
		return why_set(why, -EIO, ATLOCK_BACKEND_ERROR, "process %d cannot be looked up: %s", pid,
			       strerror(-err));
	if (err != 0)
		return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED,
			       "process %d is neither yours nor an ancestor of it: write @pid:$$ for your shell", pid);
	if (bound.pid != self.pid && bound.uid != caller->uid && caller->uid != 0)
		return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED,
			       "process %d belongs to another user: bind the lock to one of your own", pid);
	caller->pid = self.pid;
	caller->bound_start = bound.start;
	return 0;
}

int atlock_who_outer(pid_t tid, char who[ATLOCK_WHO_MAX + 1], struct atlock_why *why)
{
	struct process self;
	struct process bound;
	pid_t pid;
	int err;

	if (!holder_pid(who, &pid) || process_read(tid, &self) < 0 || self.depth <= 1)
		return 0;
	err = process_inner_ancestor(&self, pid, &bound);
	if (err < 0 && err != -ESRCH)
		return why_set(why, -EIO, ATLOCK_BACKEND_ERROR, "process %d cannot be looked up: %s", pid,
			       strerror(-err));
	if (err != 0)
		return why_set(why, -EPERM, ATLOCK_PERMISSION_DENIED,
			       "process %d of your container is neither yours nor an ancestor of it: write @pid:$$ for "
			       "your shell",
			       pid);
	(void)snprintf(who, ATLOCK_WHO_MAX + 1, "pid:%jd", (intmax_t)bound.pid);
	return 0;
}

static int caller_who(struct sessions *sessions, const struct atlock_options *options, pid_t tid, const char *who,
		      struct session_id *known, struct atlock_caller *caller, struct atlock_why *why)
{
	pid_t pid;
	int err;

	if (who == NULL || who[0] == '\0')
		return caller_default(sessions, options, tid, known, caller, why);
	err = holder_who_check(who, why);
	if (err < 0)
		return err;
	strlcpy(caller->who, who, sizeof(caller->who));
	return holder_pid(who, &pid) ? caller_bind(tid, pid, caller, why) : 0;
}

int holder_identify(struct users *users, struct sessions *sessions, const struct atlock_options *options, pid_t tid,
		    uid_t uid, gid_t gid, const char *who_text, struct session_id *known, struct atlock_caller *out,
		    struct atlock_why *why)
{
	int err;

	memset(out, 0, sizeof(*out));
	out->uid = uid;
	out->gid = gid;
	out->pid = tid > 0 ? tid : 0;
	err = users_name(users, uid, out->owner);
	if (err < 0)
		return why_set(why, err, ATLOCK_BACKEND_ERROR, "the user data base does not say who uid %u is: %s", uid,
			       strerror(-err));
	/* If the group lookup fails, the caller is not an administrator. */
	out->admin = uid == 0 || users_in_group(users, uid, options->admin_group) == 0;
	out->owners_user = users_in_group(users, uid, options->owners_group) == 0;
	out->pull_user = users_listed(users, uid, out->owner, options->pull_users);
	return caller_who(sessions, options, tid, who_text, known, out, why);
}

int holder_give(struct users *users, const char *owner, struct atlock_caller *holder, struct atlock_why *why)
{
	int err = users_find(users, owner, &holder->uid, &holder->gid);

	if (err < 0)
		return why_set(why, err, ATLOCK_BACKEND_ERROR, "the user data base does not answer: try again");
	if (err == 1) {
		holder->uid = HOLDER_NOBODY;
		holder->gid = HOLDER_NOBODY;
	}
	strlcpy(holder->owner, owner, sizeof(holder->owner));
	holder->admin = false;
	holder->pull_user = false;
	return 0;
}
