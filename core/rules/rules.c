#include "rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "allow.h"
#include "dir_path.h"
#include "holder.h"
#include "lock_name.h"
#include "meta.h"
#include "seal.h"
#include "shared_guard.h"
#include "text.h"
#include "why.h"

/* Elsewhere the number of a pull request says not of which repository. */
static bool in_repository(const struct op *op)
{
	return op->request != NULL && op->request->name->key[0] == NAME_TREE_REPOS;
}

/*
 * A session, process or open file is the same only within one boot; a process or session also needs the same start. A session's
 * start may be unknown, if its leader had exited before it was read: then the number must do. For pull_users, who run the
 * automation of pull requests, a pull request is one holder whatever owner the record names: an import writes its author there.
 */
bool rules_is_holder(const struct op *op, const struct record_holder *holder, const struct atlock_caller *caller)
{
	if (!slice_equal(holder->who, slice_of(caller->who)))
		return false;
	if (!slice_equal(holder->owner, slice_of(caller->owner)))
		return caller->pull_user && holder_kind(caller->who) == HOLDER_PULL && in_repository(op);
	switch (holder_kind(caller->who)) {
	case HOLDER_PROCESS: return holder->boot == op->al->boot && holder->start == caller->bound_start;
	case HOLDER_SESSION:
		return holder->boot == op->al->boot &&
		       (holder->start == caller->bound_start || holder->start == 0 || caller->bound_start == 0);
	case HOLDER_FLOCK: return holder->boot == op->al->boot;
	default: return true;
	}
}

bool rules_is_disabled(const struct record_holder *holder)
{
	return slice_equal(holder->who, slice_of(HOLDER_DISABLE)) &&
	       slice_equal(holder->owner, slice_of(HOLDER_DISABLE_OWNER));
}

/* By mode and policy. Only the first of the caller's groups is known here: in doubt the reason is hidden. */
static bool may_see_reason(struct op *op, struct slice lock, const struct record_lock *record)
{
	const struct record_holder *holder = &record->grant.holder;
	const struct atlock_caller *caller = op->caller;

	if (caller == NULL)
		return false;
	if (caller->admin || (caller->uid == holder->uid && slice_equal(holder->owner, slice_of(caller->owner))))
		return true;
	if ((record->mode & (S_IRGRP | S_IROTH)) != (S_IRGRP | S_IROTH) &&
	    ((record->mode & S_IRGRP) == 0 || caller->gid != holder->gid))
		return false;
	return allow_reads(op, lock, "reason");
}

/* The holder's reason=, as part of a sentence; empty if there is none, or if the caller may not see it. */
static void held_reason(struct op *op, struct slice lock, const struct record_lock *record, char *out, size_t len)
{
	struct record_key key = record_key_of(TABLE_TEXT, lock);
	struct seal_text text;
	struct meta_line line;
	const char *at;
	size_t left;

	out[0] = '\0';
	if (!may_see_reason(op, lock, record))
		return;
	(void)seal_get(op, &key, &text);
	for (at = text.text.data, left = text.text.len; meta_next(&at, &left, &line);)
		if (meta_line_is(&line, "reason") && line.value_len > 0)
			(void)snprintf(out, len, ", reason \"%.*s\"", line.value_len < 80 ? (int)line.value_len : 80,
				       line.value);
	seal_text_free(&text);
}

static int refuse_delayed(struct op *op, struct slice lock, const char *path, const char *until, uint64_t waiting,
			  int err, enum atlock_code code)
{
	char advice[ATLOCK_PATH_MAX + 16] = "try again then";

	if (!shared_is(lock))
		(void)snprintf(advice, sizeof(advice), "wait in wait/%s", path);
	why_set(op->why, err, code, "%s expired and rests until %s (option lock_delay), %ju waiting: %s", path, until,
		(uintmax_t)waiting, advice);
	why_parts(op->why, path, advice);
	return why_advise(op->why, err, shared_is(lock) ? ATLOCK_ADVICE_OTHER : ATLOCK_ADVICE_WAIT);
}

int rules_refuse_held(struct op *op, struct slice lock, const struct record_lock *record, int err,
		      enum atlock_code code, const char *advice)
{
	const struct record_grant *grant = &record->grant;
	int64_t offset = op->wall - op->now;
	char path[ATLOCK_PATH_MAX];
	char since[TEXT_TIME_MAX];
	char until[TEXT_TIME_MAX];
	char reason[128];
	struct record_queue queue = { .count = 0 };

	if (op->why == NULL)
		return err;
	if (dir_path(op, lock, path, sizeof(path)) < 0 || table_queue_get(op, lock, &queue) < 0)
		return err;
	text_time(grant->expires == ATLOCK_NEVER ? ATLOCK_NEVER : grant->expires + offset, until, sizeof(until));
	if (grant->state == RECORD_DELAYED)
		return refuse_delayed(op, lock, path, until, queue.count, err, code);
	text_time(grant->acquired + offset, since, sizeof(since));
	held_reason(op, lock, record, reason, sizeof(reason));
	why_set(op->why, err, code, "%s is held by %.*s@%.*s since %s%s%s, %ju waiting%s: %s", path,
		(int)grant->holder.owner.len, (const char *)grant->holder.owner.data, (int)grant->holder.who.len,
		(const char *)grant->holder.who.data, since, grant->expires == ATLOCK_NEVER ? "" : " until ",
		grant->expires == ATLOCK_NEVER ? " without a lease" : until, (uintmax_t)queue.count, reason, advice);
	why_parts(op->why, path, advice);
	return err;
}

static int refuse_stale(struct op *op)
{
	return why_set(op->why, -ESTALE, ATLOCK_LOCK_EXPIRED,
		       "the lock you opened has expired or was released: acquire it again");
}

int rules_meant(struct op *op, const struct record_grant *grant)
{
	const char *who = op->request->name->who;

	if (grant->state == RECORD_DELAYED)
		return 1;
	if (op->request->token != 0 && op->request->token != grant->token)
		return refuse_stale(op);
	return who[0] != '\0' && !slice_equal(grant->holder.who, slice_of(who));
}

int rules_refuse_free(struct op *op, struct slice lock)
{
	char path[ATLOCK_PATH_MAX];

	if (op->request->token != 0)
		return refuse_stale(op);
	if (op->why == NULL || dir_path(op, lock, path, sizeof(path)) < 0)
		return -ENOENT;
	return why_set(op->why, -ENOENT, ATLOCK_LOCK_NOT_FOUND, "%s is not held: acquire it first", path);
}

/* Administrators may, and callers that a rule allows it. For a lock, only if the request names its holder: see names_holder(). */
static bool may_force(struct op *op, struct slice lock, enum policy_action by)
{
	return op->request != NULL && op->request->force && (op->caller->admin || allow_grants(op, lock, by));
}

/*
 * A script of root that removes its lock at its end, even if it never got the lock, must not break another holder's.
 * rules_meant() has compared the who.
 */
static bool names_holder(const struct op *op)
{
	return op->request->name->who[0] != '\0' || op->options->admin_rm == ATLOCK_ADMIN_RM_ANY;
}

/* What a caller that is not the holder can do. `force`: it may override, but has not named the holder. `buf` is for the text. */
static const char *change_advice(const struct op *op, const struct record_holder *other, bool force,
				 char buf[ATLOCK_WHO_MAX + 80], enum atlock_advice *kind)
{
	*kind = force ? ATLOCK_ADVICE_NAME : ATLOCK_ADVICE_OTHER;
	if (force) {
		(void)snprintf(buf, ATLOCK_WHO_MAX + 80,
			       "to override that, name its holder: add @%.*s to the lock's name", (int)other->who.len,
			       (const char *)other->who.data);
		return buf;
	}
	if (other->uid != op->caller->uid)
		return "ask its holder or an administrator";
	if (other->who.len > 4 && memcmp(other->who.data, "sid:", 4) == 0) {
		*kind = ATLOCK_ADVICE_SESSION;
		return "another session of yours has it: release it there, let its lease end, or ask an administrator";
	}
	*kind = ATLOCK_ADVICE_NAME;
	return "use the name its holder used (name@who), or ask an administrator";
}

int rules_may_change(struct op *op, struct slice lock, const struct record_lock *record, enum policy_action by)
{
	const struct record_holder *holder = &record->grant.holder;
	bool own = holder->uid == op->caller->uid;
	char buf[ATLOCK_WHO_MAX + 80];
	enum atlock_advice kind;
	bool force;
	int err;

	if (rules_is_disabled(holder))
		return rules_refuse_held(op, lock, record, -EPERM, ATLOCK_PERMISSION_DENIED,
					 "no user can release it while the option disable_apply is set");
	if (rules_is_holder(op, holder, op->caller))
		return 0;
	force = may_force(op, lock, by);
	if (force && names_holder(op))
		return 0;
	err = rules_refuse_held(op, lock, record, own ? -EPERM : -EACCES, ATLOCK_PERMISSION_DENIED,
				change_advice(op, holder, force, buf, &kind));
	return record->grant.state == RECORD_DELAYED ? err : why_advise(op->why, err, kind);
}

int rules_may_change_ticket(struct op *op, struct slice lock, const struct record_ticket *record)
{
	const struct atlock_caller *caller = op->caller;
	char path[ATLOCK_PATH_MAX];
	int err = record->holder.uid == caller->uid ? -EPERM : -EACCES;

	if (rules_is_holder(op, &record->holder, caller) || may_force(op, lock, POLICY_FORCE))
		return 0;
	if (op->why == NULL || dir_path(op, lock, path, sizeof(path)) < 0)
		return err;
	return why_set(op->why, err, ATLOCK_PERMISSION_DENIED,
		       "that place in the queue of %s belongs to %.*s@%.*s: ask them", path,
		       (int)record->holder.owner.len, (const char *)record->holder.owner.data,
		       (int)record->holder.who.len, (const char *)record->holder.who.data);
}

int rules_version(struct op *op, const struct record_grant *grant, uint64_t version)
{
	if (version == 0 || version == grant->version)
		return 0;
	return why_set(op->why, -EAGAIN, ATLOCK_VERSION_CONFLICT, "the lock is at version %ju, not %ju: read it again",
		       (uintmax_t)grant->version, (uintmax_t)version);
}

int rules_ttl(const struct atlock_options *options, const struct atlock_caller *caller, int64_t asked, int64_t *ttl,
	      struct atlock_why *why)
{
	bool ends_otherwise = !holder_needs_lease(caller);
	char most[32];

	if (asked == 0) {
		*ttl = ends_otherwise ? ATLOCK_NEVER : options->default_ttl;
		return 0;
	}
	if (asked < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "a lease cannot be negative");
	if (asked != ATLOCK_NEVER && asked > options->max_ttl) {
		atlock_duration_print(options->max_ttl, most, sizeof(most));
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "a lease may be at most %s (option max_ttl)",
			       most);
	}
	*ttl = asked;
	return 0;
}

int64_t rules_asked(const struct atlock_options *options, const struct atlock_name *name, int64_t asked)
{
	if (asked == 0 && atlock_name_tree(name) == ATLOCK_GLOBAL)
		return ATLOCK_NEVER;
	return shared_ttl(options, name, asked);
}

int rules_timeout(const struct atlock_options *options, int64_t asked, int64_t *timeout, struct atlock_why *why)
{
	if (asked < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "a timeout cannot be negative");
	*timeout = asked == 0 ? options->queue_timeout : asked;
	return 0;
}

int rules_caller(const struct atlock_caller *caller, struct atlock_why *why)
{
	if (caller == NULL || !holder_text_check(caller->owner, ATLOCK_OWNER_MAX) ||
	    !holder_text_check(caller->who, ATLOCK_WHO_MAX))
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the caller has no proper owner or who");
	if (holder_kind(caller->who) == HOLDER_PROCESS && caller->bound_start == 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "%s needs the start time of its process",
			       caller->who);
	return 0;
}

int rules_request(const struct atlock_request *req, struct atlock_why *why)
{
	if (req == NULL || name_check(req->name) < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the request names no lock");
	if (req->text == NULL && req->text_len != 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "the request has a text length but no text");
	if ((unsigned int)req->priority >= ATLOCK_PRIORITIES)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "there is no such priority");
	return rules_caller(req->caller, why);
}

int rules_begin(struct op *op, struct atlock *al, const struct atlock_request *req, enum metrics_call call, void *arg,
		struct atlock_why *why)
{
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	rc = rules_request(req, why);
	if (rc < 0)
		return metrics_refused(al, call, rc, why);
	op_init(op, al, req->caller, why);
	op->call = call;
	op->request = req;
	op->arg = arg;
	return 0;
}
