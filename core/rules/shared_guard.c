/* When a shared resource may be stopped, and by which app. */
#include "shared_guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "holder.h"
#include "lock_name.h"
#include "table.h"
#include "why.h"

#define STOP_LEASE (60 * ATLOCK_SECOND)
#define BLOCKERS_NAMED 3 /* in a refusal; the file verdict names all */

static const char *const statuses[] = {
	[ATLOCK_APP_UNKNOWN] = "UNKNOWN",
	[ATLOCK_APP_UP] = "UP",
	[ATLOCK_APP_DOWN] = "DOWN",
};

const char *atlock_app_status_name(enum atlock_app_status status)
{
	return statuses[(unsigned int)status < ATLOCK_APP_STATUSES ? status : ATLOCK_APP_UNKNOWN];
}

int shared_load(struct op *op, struct slice resource, struct record_shared *out)
{
	struct record_key key = record_key_of(TABLE_SHARED, resource);

	return op_get(op, RECORD_SHARED, &key, out);
}

/* An unknown status value is damage; it must not be taken for a known one. */
static int app_valid(struct op *op, struct slice key, const struct record_app *record)
{
	return record->status < ATLOCK_APP_STATUSES ? 0 : op_corrupt(op, key, -EBADMSG);
}

int shared_app_load(struct op *op, struct slice resource, struct slice app, struct record_app *out)
{
	struct record_key key = record_key_app(resource, app);
	int rc = op_get(op, RECORD_APP, &key, out);

	return rc != 0 ? rc : app_valid(op, record_key_slice(&key), out);
}

int shared_app_next(struct op *op, struct slice resource, struct record_key *from, struct slice *app,
		    struct record_app *out)
{
	struct record_key prefix = record_key_app(resource, slice_of(""));
	struct slice key;
	struct slice value;
	int rc = store_next(op->txn, record_key_slice(from), record_key_slice(&prefix), &key, &value);

	if (rc != 0)
		return rc;
	rc = record_decode(RECORD_APP, value, out);
	if (rc < 0)
		return op_corrupt(op, key, rc);
	*app = (struct slice){ (const char *)key.data + prefix.len, key.len - prefix.len };
	*from = record_key_after(key);
	return app_valid(op, key, out);
}

enum atlock_app_status shared_status(const struct op *op, const struct record_app *record)
{
	if (op->now - record->written > op->options->status_ttl)
		return ATLOCK_APP_UNKNOWN;
	return (enum atlock_app_status)record->status;
}

bool shared_is(struct slice lock)
{
	struct slice resource;

	return name_shared(lock, &resource) == 0;
}

void shared_lock(struct slice resource, struct atlock_name *out)
{
	static const char tail[] = "/" NAME_STOP;

	memset(out, 0, sizeof(*out));
	out->key[0] = NAME_TREE_SHARED;
	memcpy(out->key + 1, resource.data, resource.len);
	memcpy(out->key + 1 + resource.len, tail, sizeof(tail) - 1);
	out->len = (uint16_t)(resource.len + sizeof(tail));
}

/* Names of the apps that block, as many as fit into a refusal. */
struct blockers {
	unsigned int count;
	char text[320];
	size_t len;
};

static void blockers_add(struct op *op, struct blockers *blockers, struct slice app, const struct record_app *record)
{
	enum atlock_app_status status = shared_status(op, record);
	bool stale = status != (enum atlock_app_status)record->status;
	int n;

	blockers->count++;
	if (blockers->count > BLOCKERS_NAMED)
		return;
	n = snprintf(blockers->text + blockers->len, sizeof(blockers->text) - blockers->len,
		     "%s%.*s is %s (said %s %jds ago)", blockers->len > 0 ? ", " : "", app.len > 64 ? 64 : (int)app.len,
		     (const char *)app.data, atlock_app_status_name(status),
		     stale ? atlock_app_status_name((enum atlock_app_status)record->status) : "so",
		     (intmax_t)((op->now - record->written) / ATLOCK_SECOND));
	if (n > 0 && (size_t)n < sizeof(blockers->text) - blockers->len)
		blockers->len += (size_t)n;
}

/* 0 if every app but `self` is known to be down. */
static int guard_others(struct op *op, struct slice resource, struct slice self)
{
	struct record_key from = record_key_app(resource, slice_of(""));
	struct blockers blockers = { .count = 0 };
	struct record_app record;
	struct slice app = { NULL, 0 };
	int rc;

	while ((rc = shared_app_next(op, resource, &from, &app, &record)) == 0)
		if (!slice_equal(app, self) && shared_status(op, &record) != ATLOCK_APP_DOWN)
			blockers_add(op, &blockers, app, &record);
	if (rc < 0 || blockers.count == 0)
		return rc < 0 ? rc : 0;
	return why_set(op->why, -EBUSY, ATLOCK_IN_USE,
		       "shared/%.*s is in use: %s%s: try again when all are DOWN, see verdict",
		       resource.len > 64 ? 64 : (int)resource.len, (const char *)resource.data, blockers.text,
		       blockers.count > BLOCKERS_NAMED ? " and others" : "");
}

int shared_guard(struct op *op, struct slice lock, const struct record_grant *held)
{
	struct record_shared shared;
	struct record_app app;
	struct slice resource;
	int rc;

	if (name_shared(lock, &resource) < 0)
		return 0;
	rc = shared_load(op, resource, &shared);
	if (rc == 1)
		return why_set(op->why, -ENOENT, ATLOCK_LOCK_NOT_FOUND, "there is no shared/%.*s: make it first",
			       (int)resource.len, (const char *)resource.data);
	if (rc == 0)
		rc = shared_app_load(op, resource, held->holder.who, &app);
	if (rc == 1)
		return why_set(op->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "%.*s is no app of shared/%.*s: create apps/%.*s in it first", (int)held->holder.who.len,
			       (const char *)held->holder.who.data, (int)resource.len, (const char *)resource.data,
			       (int)held->holder.who.len, (const char *)held->holder.who.data);
	if (rc != 0)
		return rc;
	if (app.uid != held->holder.uid && (op->caller == NULL || !op->caller->admin))
		return why_set(op->why, -EACCES, ATLOCK_PERMISSION_DENIED,
			       "the app %.*s belongs to %.*s: ask them or an administrator", (int)held->holder.who.len,
			       (const char *)held->holder.who.data, (int)app.owner.len, (const char *)app.owner.data);
	if (held->ttl == ATLOCK_NEVER)
		return why_set(op->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "the right to stop a shared resource always has a lease: renew it while you need it");
	return guard_others(op, resource, held->holder.who);
}

int shared_request(const struct atlock_request *req, struct atlock_why *why)
{
	if (atlock_name_tree(req->name) != ATLOCK_SHARED)
		return 0;
	if (req->name->who[0] != '\0' && strcmp(req->name->who, req->caller->who) == 0 &&
	    holder_kind(req->caller->who) == HOLDER_PLAIN)
		return 0;
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "say which app wants to stop the resource: touch " NAME_STOP "@<app>");
}

int shared_refuse_wait(const struct atlock_request *req, struct atlock_why *why)
{
	if (atlock_name_tree(req->name) != ATLOCK_SHARED)
		return 0;
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "the lock of a shared resource has no queue: read its verdict, then touch " NAME_STOP "@<app>");
}

int64_t shared_ttl(const struct atlock_options *options, const struct atlock_name *name, int64_t asked)
{
	if (asked != 0 || atlock_name_tree(name) != ATLOCK_SHARED)
		return asked;
	return options->max_ttl < STOP_LEASE ? options->max_ttl : STOP_LEASE;
}
