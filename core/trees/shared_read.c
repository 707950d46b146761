/* Shared resources for readers, and the verdict on one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock_name.h"
#include "place.h"
#include "scan.h"
#include "shared_guard.h"
#include "table.h"
#include "text.h"
#include "view.h"

#define PART 'n' /* of a place: the rest is the resource's or the app's name */

struct shared_read {
	struct slice resource;
	struct slice app;
	struct atlock_shared *shared;
	struct atlock_app *out;
	atlock_shared_fn *each;
	atlock_app_fn *each_app;
	struct atlock_place *place;
	void *arg;
	FILE *text;
};

static void shared_fill(struct atlock_shared *out, struct slice name, const struct record_shared *record)
{
	*out = (struct atlock_shared){
		.uid = record->uid,
		.gid = record->gid,
		.made_at = record->made,
		.changed_at = record->changed,
		.apps = record->apps,
	};
	memcpy(out->name, name.data, name.len < sizeof(out->name) ? name.len : sizeof(out->name) - 1);
}

static void app_fill(const struct op *op, struct atlock_app *out, struct slice name, const struct record_app *record)
{
	*out = (struct atlock_app){
		.status = shared_status(op, record),
		.said = (enum atlock_app_status)record->status,
		.written_at = record->written,
		.age = op->now - record->written,
		.uid = record->uid,
		.gid = record->gid,
	};
	memcpy(out->name, name.data, name.len < sizeof(out->name) ? name.len : sizeof(out->name) - 1);
	memcpy(out->owner, record->owner.data,
	       record->owner.len < sizeof(out->owner) ? record->owner.len : sizeof(out->owner) - 1);
}

static int read_run(struct atlock *al, const char *resource, const char *app, struct shared_read *read, op_fn *fn)
{
	int rc = 0;

	if (al == NULL)
		return -EINVAL;
	if (resource != NULL)
		rc = atlock_component_check(resource, NULL);
	if (rc == 0 && app != NULL)
		rc = atlock_app_check(app, NULL);
	if (rc < 0)
		return rc;
	read->resource = slice_of(resource != NULL ? resource : "");
	read->app = slice_of(app != NULL ? app : "");
	return op_look(al, fn, read, NULL);
}

static int get_in_txn(struct op *op)
{
	const struct shared_read *read = op->arg;
	struct record_shared record;
	int rc = shared_load(op, read->resource, &record);

	if (rc == 0)
		shared_fill(read->shared, read->resource, &record);
	return rc == 1 ? -ENOENT : rc;
}

int atlock_shared_get(struct atlock *al, const char *resource, struct atlock_shared *out)
{
	struct shared_read read = { .shared = out };

	return out == NULL || resource == NULL ? -EINVAL : read_run(al, resource, NULL, &read, get_in_txn);
}

static int list_in_txn(struct op *op)
{
	const struct shared_read *read = op->arg;
	struct record_key last = record_key_of(TABLE_SHARED, place_text(read->place, PART));
	struct scan scan = scan_table(TABLE_SHARED);
	struct record_shared record;
	struct atlock_shared shared;
	int rc;

	if (place_part(read->place) == PART)
		scan_after(&scan, &last);
	while ((rc = scan_record(op, &scan, RECORD_SHARED, &record)) == 0) {
		struct slice name = scan_name(&scan);

		shared_fill(&shared, name, &record);
		place_set(read->place, PART, name);
		if (read->each(read->arg, &shared) != 0)
			return 0;
	}
	return rc < 0 ? rc : 0;
}

int atlock_shared_list(struct atlock *al, struct atlock_place *place, atlock_shared_fn *fn, void *arg)
{
	struct shared_read read = { .each = fn, .place = place, .arg = arg };

	return fn == NULL ? -EINVAL : read_run(al, NULL, NULL, &read, list_in_txn);
}

static int app_get_in_txn(struct op *op)
{
	const struct shared_read *read = op->arg;
	struct record_app record;
	int rc = shared_app_load(op, read->resource, read->app, &record);

	if (rc == 0)
		app_fill(op, read->out, read->app, &record);
	return rc == 1 ? -ENOENT : rc;
}

int atlock_app_get(struct atlock *al, const char *resource, const char *app, struct atlock_app *out)
{
	struct shared_read read = { .out = out };

	if (out == NULL || resource == NULL || app == NULL)
		return -EINVAL;
	return read_run(al, resource, app, &read, app_get_in_txn);
}

static int app_list_in_txn(struct op *op)
{
	const struct shared_read *read = op->arg;
	struct slice after = place_text(read->place, PART);
	struct record_key from = record_key_app(read->resource, after);
	struct record_shared shared;
	struct record_app record;
	struct atlock_app app;
	struct slice name;
	int rc = shared_load(op, read->resource, &shared);

	if (rc != 0)
		return rc == 1 ? -ENOENT : rc;
	if (after.data != NULL)
		from = record_key_after(record_key_slice(&from));
	while ((rc = shared_app_next(op, read->resource, &from, &name, &record)) == 0) {
		app_fill(op, &app, name, &record);
		place_set(read->place, PART, name);
		if (read->each_app(read->arg, &app) != 0)
			return 0;
	}
	return rc < 0 ? rc : 0;
}

int atlock_app_list(struct atlock *al, const char *resource, struct atlock_place *place, atlock_app_fn *fn, void *arg)
{
	struct shared_read read = { .each_app = fn, .place = place, .arg = arg };

	return fn == NULL || resource == NULL ? -EINVAL : read_run(al, resource, NULL, &read, app_list_in_txn);
}

/* --- The verdict --- */

/* Prints an app's line; counts the app if it blocks. The name is last, since it may have blanks. */
static void verdict_app(const struct op *op, FILE *out, struct slice name, const struct record_app *record, bool self,
			unsigned int *blocking)
{
	enum atlock_app_status status = shared_status(op, record);
	bool blocks = !self && status != ATLOCK_APP_DOWN;

	*blocking += blocks;
	(void)fprintf(out, "%s %s %jds %.*s\n",
		      self     ? "self"
		      : blocks ? "blocks"
			       : "down",
		      atlock_app_status_name(status), (intmax_t)((op->now - record->written) / ATLOCK_SECOND),
		      (int)name.len, (const char *)name.data);
}

static void verdict_held(const struct op *op, FILE *out, const struct record_grant *grant)
{
	char until[TEXT_TIME_MAX];

	bool ends = grant->expires != ATLOCK_NEVER;

	text_time(ends ? grant->expires + (op->wall - op->now) : ATLOCK_NEVER, until, sizeof(until));
	(void)fprintf(out, "held%s%s by %.*s@%.*s\n", ends ? " until " : "", ends ? until : "",
		      (int)grant->holder.owner.len, (const char *)grant->holder.owner.data, (int)grant->holder.who.len,
		      (const char *)grant->holder.who.data);
}

/* The verdict's word is printed first but known last, so the lines are buffered. */
static int verdict_write(struct op *op, const struct shared_read *read, struct slice self,
			 const struct record_grant *grant)
{
	struct record_key from = record_key_app(read->resource, slice_of(""));
	bool any_app = false;
	bool refused = grant != NULL && !slice_equal(grant->holder.who, self);
	unsigned int blocking = 0;
	struct record_app record;
	struct slice name;
	char *lines = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&lines, &len);
	int rc;

	if (out == NULL)
		return -ENOMEM;
	while ((rc = shared_app_next(op, read->resource, &from, &name, &record)) == 0) {
		any_app = true;
		verdict_app(op, out, name, &record, slice_equal(name, self), &blocking);
	}
	if (grant != NULL)
		verdict_held(op, out, grant);
	if (fclose(out) != 0 && rc >= 0)
		rc = -ENOMEM;
	if (rc >= 0)
		(void)fprintf(read->text, "%s\n%s", any_app && !refused && blocking == 0 ? "stop" : "keep", lines);
	free(lines);
	return rc < 0 ? rc : 0;
}

/* The verdict for the app that was asked for, or for the one that has the right to stop; if none has it, over all apps. */
static int verdict_in_txn(struct op *op)
{
	const struct shared_read *read = op->arg;
	struct record_shared shared;
	struct record_lock lock;
	struct record_app app;
	struct atlock_name name;
	bool held;
	int rc = shared_load(op, read->resource, &shared);

	if (rc == 0 && read->app.len > 0)
		rc = shared_app_load(op, read->resource, read->app, &app);
	if (rc != 0)
		return rc == 1 ? -ENOENT : rc;
	shared_lock(read->resource, &name);
	rc = table_lock_get(op, name_slice(&name), &lock);
	if (rc < 0)
		return rc;
	held = rc == 0 && table_grant_is_held(op, &lock.grant);
	return verdict_write(op, read, read->app.len == 0 && held ? lock.grant.holder.who : read->app,
			     held ? &lock.grant : NULL);
}

int atlock_verdict(struct atlock *al, const char *resource, const char *app, char **text, size_t *len)
{
	struct shared_read read = { .text = NULL };
	int rc;

	if (text == NULL || len == NULL || resource == NULL)
		return -EINVAL;
	*text = NULL;
	read.text = open_memstream(text, len);
	if (read.text == NULL)
		return -ENOMEM;
	rc = read_run(al, resource, app, &read, verdict_in_txn);
	if (fclose(read.text) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc < 0) {
		free(*text);
		*text = NULL;
	}
	return rc;
}
