/* Shared resources and their apps: created, written and removed, each in one transaction. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "event_log.h"
#include "grant.h"
#include "holder.h"
#include "limit.h"
#include "rules.h"
#include "shared_guard.h"
#include "space.h"
#include "why.h"

/* The target of a call. */
struct shared_call {
	struct slice resource;
	struct slice app;
	int status;                     /* to write; -1: the status that it counts as now */
	const struct atlock_caller *to; /* new owner of the app, or NULL */
	bool exclusive;
	bool removes; /* a removal is not limited */
};

/* Parses one word; ignores white space around it, such as the newline of echo. */
static int status_parse(const char *text, size_t len, int *out, struct atlock_why *why)
{
	static const char blank[] = " \t\n";

	while (len > 0 && text[len - 1] != '\0' && strchr(blank, text[len - 1]))
		len--;
	for (; len > 0 && *text != '\0' && strchr(blank, *text); text++)
		len--;
	for (int i = 0; i < ATLOCK_APP_STATUSES; i++) {
		const char *name = atlock_app_status_name((enum atlock_app_status)i);

		if (strlen(name) != len || memcmp(name, text, len) != 0)
			continue;
		*out = i;
		return 0;
	}
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "\"%.*s\" is no status: write UP, DOWN or UNKNOWN",
		       len > 40 ? 40 : (int)len, text);
}

int atlock_app_check(const char *app, struct atlock_why *why)
{
	int rc = atlock_component_check(app, why);

	if (rc < 0)
		return rc;
	if (strlen(app) > ATLOCK_WHO_MAX)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "the name of an app may have %d bytes",
			       ATLOCK_WHO_MAX);
	/* The name also stands after an '@', with the same spelling. */
	rc = escape_check(ESCAPE_WHO, false, app, strlen(app), NULL);
	if (rc == 0 && holder_kind(app) == HOLDER_PLAIN)
		return holder_who_check(app, why);
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "\"%.60s\" cannot be the name of an app: it must read the same after stop@", app);
}

static int call_run(struct atlock *al, const struct atlock_caller *caller, const char *resource, const char *app,
		    struct shared_call *call, op_fn *fn, struct atlock_why *why)
{
	int rc;

	if (al == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no manager given");
	rc = rules_caller(caller, why);
	if (rc == 0)
		rc = atlock_component_check(resource, why);
	if (rc == 0 && app != NULL)
		rc = atlock_app_check(app, why);
	if (rc == 0 && !call->removes)
		rc = limit_rate(al, caller, why);
	if (rc < 0)
		return metrics_refused(al, METRICS_SHARED, rc, why);
	call->resource = slice_of(resource);
	call->app = slice_of(app != NULL ? app : "");
	return op_call(al, caller, METRICS_SHARED, fn, call, why);
}

static int shared_tell(struct op *op, enum atlock_event_type type, const struct shared_call *call)
{
	char path[ATLOCK_PATH_MAX];

	(void)snprintf(path, sizeof(path), "shared/%.*s%s%.*s", (int)call->resource.len,
		       (const char *)call->resource.data, call->app.len > 0 ? "/apps/" : "", (int)call->app.len,
		       (const char *)call->app.data);
	return event_other(op, type, path);
}

static int refuse_gone(struct op *op, const struct shared_call *call)
{
	return why_set(op->why, -ENOENT, ATLOCK_LOCK_NOT_FOUND, "there is no shared/%.*s%s%.*s: make it first",
		       (int)call->resource.len, (const char *)call->resource.data, call->app.len > 0 ? "/apps/" : "",
		       (int)call->app.len, (const char *)call->app.data);
}

static int may_change(struct op *op, uid_t uid, struct slice owner)
{
	if (op->caller->uid == uid || op->caller->admin)
		return 0;
	if (owner.len == 0)
		return why_set(op->why, -EACCES, ATLOCK_PERMISSION_DENIED,
			       "uid %u made this resource: only they and administrators may remove it", uid);
	return why_set(op->why, -EACCES, ATLOCK_PERMISSION_DENIED,
		       "this app belongs to %.*s: only they and administrators may change it", (int)owner.len,
		       (const char *)owner.data);
}

/* --- Resources --- */

static int shared_store(struct op *op, struct slice resource, const struct record_shared *record)
{
	struct record_key key = record_key_of(TABLE_SHARED, resource);

	return op_put(op, RECORD_SHARED, &key, record);
}

static int make_in_txn(struct op *op)
{
	const struct shared_call *call = op->arg;
	struct record_shared record;
	int rc = shared_load(op, call->resource, &record);

	if (rc == 0)
		return why_set(op->why, -EEXIST, ATLOCK_LOCK_EXISTS, "there is a shared resource of that name");
	if (rc == 1)
		rc = space_check(op);
	if (rc < 0)
		return rc;
	record = (struct record_shared){
		.uid = op->caller->uid, .gid = op->caller->gid, .made = op->now, .changed = op->now
	};
	rc = shared_store(op, call->resource, &record);
	return rc < 0 ? rc : shared_tell(op, ATLOCK_EVENT_SHARED_MADE, call);
}

int atlock_shared_make(struct atlock *al, const char *resource, const struct atlock_caller *caller,
		       struct atlock_why *why)
{
	struct shared_call call = { .status = -1 };

	return call_run(al, caller, resource, NULL, &call, make_in_txn, why);
}

static int remove_in_txn(struct op *op)
{
	const struct shared_call *call = op->arg;
	struct record_key key = record_key_of(TABLE_SHARED, call->resource);
	struct record_shared record;
	struct record_lock lock;
	struct atlock_name name;
	int rc;

	rc = shared_load(op, call->resource, &record);
	if (rc != 0)
		return rc < 0 ? rc : refuse_gone(op, call);
	rc = may_change(op, record.uid, slice_of(""));
	if (rc < 0)
		return rc;
	if (record.apps > 0)
		return why_set(op->why, -ENOTEMPTY, ATLOCK_IN_USE, "not empty: %ju %s, rm %s in apps/ first",
			       (uintmax_t)record.apps, record.apps == 1 ? "app uses it" : "apps use it",
			       record.apps == 1 ? "it" : "them");
	shared_lock(call->resource, &name);
	rc = expire_lock(op, name_slice(&name), &lock);
	if (rc == 0)
		return rules_refuse_held(op, name_slice(&name), &lock, -ENOTEMPTY, ATLOCK_LOCK_EXISTS,
					 "release it first");
	if (rc == 1)
		rc = store_del(op->txn, record_key_slice(&key));
	return rc < 0 ? rc : shared_tell(op, ATLOCK_EVENT_SHARED_REMOVED, call);
}

int atlock_shared_remove(struct atlock *al, const char *resource, const struct atlock_caller *caller,
			 struct atlock_why *why)
{
	struct shared_call call = { .status = -1, .removes = true };

	return call_run(al, caller, resource, NULL, &call, remove_in_txn, why);
}

/* --- Apps --- */

static int app_store(struct op *op, const struct shared_call *call, const struct record_app *record)
{
	struct record_key key = record_key_app(call->resource, call->app);

	return op_put(op, RECORD_APP, &key, record);
}

/* Counts an app that was added or removed. */
static int apps_count(struct op *op, const struct shared_call *call, struct record_shared *record, bool added)
{
	if (added)
		record->apps++;
	else if (record->apps > 0)
		record->apps--;
	record->changed = op->now;
	return shared_store(op, call->resource, record);
}

static int add_in_txn(struct op *op)
{
	const struct shared_call *call = op->arg;
	struct record_shared shared;
	struct record_app record;
	int rc;

	rc = shared_load(op, call->resource, &shared);
	if (rc != 0)
		return rc < 0 ? rc : refuse_gone(op, call);
	rc = shared_app_load(op, call->resource, call->app, &record);
	if (rc == 0 && call->exclusive)
		return why_set(op->why, -EEXIST, ATLOCK_LOCK_EXISTS, "there is an app of that name");
	if (rc == 0) {
		rc = may_change(op, record.uid, record.owner);
		return rc < 0 ? rc : 1;
	}
	if (rc == 1)
		rc = space_check(op);
	if (rc < 0)
		return rc;
	record = (struct record_app){
		.status = ATLOCK_APP_UNKNOWN,
		.uid = op->caller->uid,
		.gid = op->caller->gid,
		.written = op->now,
		.owner = slice_of(op->caller->owner),
	};
	rc = app_store(op, call, &record);
	if (rc == 0)
		rc = apps_count(op, call, &shared, true);
	return rc < 0 ? rc : shared_tell(op, ATLOCK_EVENT_APP_ADDED, call);
}

int atlock_app_add(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		   bool exclusive, struct atlock_why *why)
{
	struct shared_call call = { .status = -1, .exclusive = exclusive };

	return call_run(al, caller, resource, app != NULL ? app : "", &call, add_in_txn, why);
}

/* Loads an app that the caller may change. */
static int app_take(struct op *op, const struct shared_call *call, struct record_app *record)
{
	int rc = shared_app_load(op, call->resource, call->app, record);

	if (rc != 0)
		return rc < 0 ? rc : refuse_gone(op, call);
	return may_change(op, record->uid, record->owner);
}

static int write_in_txn(struct op *op)
{
	const struct shared_call *call = op->arg;
	struct record_app record;
	int rc = app_take(op, call, &record);

	if (rc < 0)
		return rc;
	record.status = (uint8_t)(call->status < 0 ? shared_status(op, &record) : (enum atlock_app_status)call->status);
	record.written = op->now;
	record.shift = 0;
	rc = app_store(op, call, &record);
	return rc < 0 ? rc : shared_tell(op, ATLOCK_EVENT_APP_UNKNOWN + record.status, call);
}

int atlock_app_write(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		     const char *text, size_t len, struct atlock_why *why)
{
	struct shared_call call = { .status = -1 };
	int rc = text != NULL ? status_parse(text, len, &call.status, why) : 0;

	return rc < 0 ? rc : call_run(al, caller, resource, app != NULL ? app : "", &call, write_in_txn, why);
}

static int give_in_txn(struct op *op)
{
	const struct shared_call *call = op->arg;
	struct record_app record;
	int rc = app_take(op, call, &record);

	if (rc < 0)
		return rc;
	if (!op->caller->admin)
		return why_set(op->why, -EPERM, ATLOCK_PERMISSION_DENIED, "only an administrator may give an app away");
	record.uid = call->to->uid;
	record.gid = call->to->gid;
	record.owner = slice_of(call->to->owner);
	rc = app_store(op, call, &record);
	return rc < 0 ? rc : shared_tell(op, ATLOCK_EVENT_APP_GIVEN, call);
}

int atlock_app_give(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		    const struct atlock_caller *to, struct atlock_why *why)
{
	struct shared_call call = { .status = -1, .to = to };
	int rc = rules_caller(to, why);

	return rc < 0 ? rc : call_run(al, caller, resource, app != NULL ? app : "", &call, give_in_txn, why);
}

/* The app that holds the right to stop cannot be removed until it releases it: its renewals depend on being an app. */
static int remove_check(struct op *op, const struct shared_call *call)
{
	struct atlock_name name;
	struct record_lock lock;
	int rc;

	shared_lock(call->resource, &name);
	rc = expire_lock(op, name_slice(&name), &lock);
	if (rc == 0 && lock.grant.state != RECORD_DELAYED && slice_equal(lock.grant.holder.who, call->app))
		return rules_refuse_held(op, name_slice(&name), &lock, -EBUSY, ATLOCK_IN_USE, "release it first");
	return rc < 0 ? rc : 0;
}

static int app_remove_in_txn(struct op *op)
{
	const struct shared_call *call = op->arg;
	struct record_key key = record_key_app(call->resource, call->app);
	struct record_shared shared;
	struct record_app record;
	int rc = app_take(op, call, &record);

	if (rc == 0)
		rc = remove_check(op, call);
	if (rc == 0)
		rc = shared_load(op, call->resource, &shared);
	if (rc == 1)
		return op_corrupt(op, record_key_slice(&key), -EBADMSG);
	if (rc == 0)
		rc = store_del(op->txn, record_key_slice(&key));
	if (rc == 0)
		rc = apps_count(op, call, &shared, false);
	return rc < 0 ? rc : shared_tell(op, ATLOCK_EVENT_APP_REMOVED, call);
}

int atlock_app_remove(struct atlock *al, const char *resource, const char *app, const struct atlock_caller *caller,
		      struct atlock_why *why)
{
	struct shared_call call = { .status = -1, .removes = true };

	return call_run(al, caller, resource, app != NULL ? app : "", &call, app_remove_in_txn, why);
}
