/*
 * Shared resources and their apps. In doubt a resource must not be stopped: an unreadable app stays, with unknown status, and a
 * missing one is replaced by an app with unknown status.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fsck.h"
#include "lock_name.h"
#include "shared_guard.h"

static struct slice resource_of(struct slice app_key)
{
	struct slice rest = fsck_rest(app_key);

	return (struct slice){ rest.data, strnlen(rest.data, rest.len) };
}

static int apps_count(struct fsck *fsck, struct slice resource, uint64_t *out)
{
	struct record_key prefix = record_key_app(resource, slice_of(""));

	return fsck_count(fsck, &prefix, out);
}

static int app_put(struct fsck *fsck, const struct record_key *key, const struct record_holder *holder)
{
	struct record_app record = {
		.status = ATLOCK_APP_UNKNOWN,
		.uid = holder != NULL ? holder->uid : 0,
		.gid = holder != NULL ? holder->gid : 0,
		.written = fsck->op->now,
		.owner = holder != NULL ? holder->owner : slice_of("root"),
	};

	return op_put(fsck->op, RECORD_APP, key, &record);
}

static int shared_put(struct fsck *fsck, struct slice resource, uint64_t apps, const struct record_shared *old)
{
	struct record_key key = record_key_of(TABLE_SHARED, resource);
	struct record_shared record = { .made = fsck->op->now, .changed = fsck->op->now };

	if (old != NULL)
		record = *old;
	record.apps = apps;
	return op_put(fsck->op, RECORD_SHARED, &key, &record);
}

/* --- The holder of the right to stop must be an app of the resource --- */

static int stop_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct record_lock lock;
	struct record_app app;
	struct record_key at;
	struct slice resource;
	int rc = fsck_decode(fsck, RECORD_LOCK, key, value, &lock);

	if (rc != 0 || lock.grant.state == RECORD_DELAYED || name_shared(fsck_rest(key), &resource) < 0)
		return rc < 0 ? rc : 0;
	at = record_key_app(resource, lock.grant.holder.who);
	rc = fsck_get(fsck, RECORD_APP, &at, &app);
	if (rc != 1)
		return rc;
	fsck_problem(fsck, key, "the holder is no app of the resource", "it is one now");
	return fsck->fix ? app_put(fsck, &at, &lock.grant.holder) : 0;
}

/* --- Apps --- */

static int app_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct slice resource = resource_of(key);
	struct record_key at = { .len = key.len };
	struct record_key shared = record_key_of(TABLE_SHARED, resource);
	struct record_app record = { .status = 0 };
	struct slice any;
	uint64_t apps;
	int rc;

	if (resource.len == 0 || resource.len > ATLOCK_COMPONENT_MAX || resource.len + 2 >= key.len)
		return fsck_drop(fsck, key, "the app's key is damaged");
	rc = fsck_decode(fsck, RECORD_APP, key, value, &record);
	if (rc == 1 || (rc == 0 && record.status >= ATLOCK_APP_STATUSES)) {
		fsck_problem(fsck, key, "the app's record is damaged", "it is root's and UNKNOWN now");
		memcpy(at.data, key.data, key.len);
		rc = fsck->fix ? app_put(fsck, &at, NULL) : 0;
	}
	if (rc == 0)
		rc = store_get(fsck->op->txn, record_key_slice(&shared), &any);
	if (rc != 1)
		return rc;
	fsck_problem(fsck, key, "the app of a resource that is not there", "the resource is root's now");
	rc = apps_count(fsck, resource, &apps);
	return rc == 0 && fsck->fix ? shared_put(fsck, resource, apps, NULL) : rc;
}

/* --- Resources --- */

/* Adds an app under an unused name. */
static int app_stand_in(struct fsck *fsck, struct slice resource)
{
	struct record_key key;
	struct slice any;
	char name[32] = "lost";
	int rc = 0;

	for (unsigned int i = 2; rc == 0; i++) {
		key = record_key_app(resource, slice_of(name));
		rc = store_get(fsck->op->txn, record_key_slice(&key), &any);
		(void)snprintf(name, sizeof(name), "lost-%u", i);
	}
	return rc < 0 ? rc : app_put(fsck, &key, NULL);
}

static int shared_one(struct fsck *fsck, struct slice key, struct slice value)
{
	struct slice resource = fsck_rest(key);
	struct record_shared record;
	uint64_t apps;
	int rc = fsck_decode(fsck, RECORD_SHARED, key, value, &record);
	bool damaged = rc == 1;

	if (rc >= 0)
		rc = apps_count(fsck, resource, &apps);
	if (rc < 0)
		return rc;
	if (resource.len == 0 || resource.len > ATLOCK_COMPONENT_MAX ||
	    memchr(resource.data, '\0', resource.len) != NULL)
		return fsck_drop(fsck, key, "no resource can have this name");
	if (damaged) {
		fsck_problem(fsck, key, "the resource's record is damaged", "it is root's now");
		return fsck->fix ? shared_put(fsck, resource, apps, NULL) : 0;
	}
	if (apps == record.apps)
		return 0;
	fsck_problem(fsck, key, "the resource's number of apps is wrong",
		     apps < record.apps ? "counted anew, with one of which nothing is known for those that are lost"
					: "counted anew");
	if (!fsck->fix)
		return 0;
	if (apps < record.apps) {
		rc = app_stand_in(fsck, resource);
		apps++;
	}
	return rc < 0 ? rc : shared_put(fsck, resource, apps, &record);
}

int fsck_shared(struct fsck *fsck)
{
	static const unsigned char stops[] = { TABLE_LOCK, NAME_TREE_SHARED };
	int rc = fsck_each(fsck, (struct slice){ stops, sizeof(stops) }, stop_one);

	if (rc == 0)
		rc = fsck_table(fsck, TABLE_APP, app_one);
	return rc == 0 ? fsck_table(fsck, TABLE_SHARED, shared_one) : rc;
}
