/*
 * Items of DynamoDB tables, as `aws dynamodb scan` prints them: each attribute is an object of its type and its value, numbers as
 * text. A lease service has lockId, namespace, lockName, owner, instanceId, leaseDuration and expiry; the guard of shared databases has
 * a key LOCK#DB#<resource> with its owner and the end of its lease.
 */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "atlantis.h"
#include "atlock/shared.h"
#include "lock_name.h"
#include "other_records.h"
#include "text.h"
#include "why.h"

#define GUARD "LOCK#DB#"

/* An attribute as text, whatever its type; "" if it is not there. */
static const char *attribute(const json_t *item, const char *name)
{
	const json_t *typed = json_object_get(item, name);
	const char *text = json_string_value(json_object_get(typed, "S"));

	if (text == NULL)
		text = json_string_value(json_object_get(typed, "N"));
	return text == NULL ? "" : text;
}

/* The first of several attributes that is there. */
static const char *attribute_of(const json_t *item, const char *const *names)
{
	const char *text = "";

	for (; *names != NULL && text[0] == '\0'; names++)
		text = attribute(item, *names);
	return text;
}

/* Seconds until a time since 1970 in seconds or milliseconds; ATLOCK_NEVER if there is none. */
static int64_t seconds_left(const char *text)
{
	double at = strtod(text, NULL);

	if (text[0] == '\0' || at <= 0)
		return ATLOCK_NEVER;
	if (at > 1e11)
		at /= 1000;
	return at > 1e10 ? ATLOCK_NEVER : (int64_t)at - (int64_t)time(NULL);
}

static int lease_text(int64_t left, const char *duration, struct atlock_foreign_record *record, struct atlock_why *why)
{
	size_t len;
	FILE *out;

	/* A lease is over after its last second. */
	if (left < 0)
		return why_set(why, -EINVAL, ATLOCK_LOCK_EXPIRED, "%.200s: its lease has run out", record->path);
	out = open_memstream(&record->text, &len);
	if (out == NULL)
		return atlantis_no_memory(why);
	if (left != ATLOCK_NEVER)
		fprintf(out, "ttl=%" PRId64 "s\n", left > 0 ? left : 1);
	atlantis_line(out, "lease_duration", duration);
	return fclose(out) == 0 ? 0 : atlantis_no_memory(why);
}

static int holder_take(const char *owner, const char *who, struct atlock_foreign_record *record, struct atlock_why *why)
{
	struct atlock_caller caller;

	if (atlock_caller_init(&caller, owner, who, 0) < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "%.200s: its owner \"%.64s\" cannot be one here",
			       record->path, owner);
	strlcpy(record->owner, owner, sizeof(record->owner));
	strlcpy(record->who, who, sizeof(record->who));
	return 0;
}

static int lease_record(const json_t *item, struct atlock_foreign_record *record, struct atlock_why *why)
{
	const char *namespace = attribute(item, "namespace");
	const char *name = attribute(item, "lockName");
	int err = atlock_component_check(namespace, why);

	if (err == 0)
		err = atlock_component_check(name, why);
	if (err < 0)
		return err;
	snprintf(record->path, sizeof(record->path), "custom/%s/%s", namespace, name);
	err = holder_take(attribute(item, "owner"), attribute(item, "instanceId"), record, why);
	return err < 0 ? err
		       : lease_text(seconds_left(attribute(item, "expiry")), attribute(item, "leaseDuration"), record,
				    why);
}

/* The attributes of a guard's item that are understood, in the order in which they count. */
static const char *const guard_owners[] = { "owner", "lockedBy", "lockOwner", "holder", "app", "appName", NULL };
static const char *const guard_ends[] = { "expiry", "expiresAt", "expires_at", "ttl", NULL };

/* What an item has, for a refusal: so that the user sees which name was not understood. */
static void names_list(const json_t *item, char *out, size_t len)
{
	const char *name;
	json_t *typed;

	out[0] = '\0';
	json_object_foreach((json_t *)item, name, typed) {
		strlcat(out, out[0] == '\0' ? "" : ", ", len);
		strlcat(out, text_bad_byte(name, strlen(name)) == 0 ? name : "?", len);
	}
}

/* The app that stops the resource is the holder of its lock. */
static int guard_record(const json_t *item, const char *resource, struct atlock_foreign_record *record,
			struct atlock_why *why)
{
	const char *app = attribute_of(item, guard_owners);
	const char *end = attribute_of(item, guard_ends);
	char names[200];
	int err = atlock_component_check(resource, why);

	if (err < 0)
		return err;
	names_list(item, names, sizeof(names));
	if (app[0] == '\0')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       GUARD
			       "%.100s names no owner (owner, lockedBy, lockOwner, holder, app, appName): it has %s",
			       resource, names);
	/* A lock that never ends would block others for ever: the end is not guessed. */
	if (seconds_left(end) == ATLOCK_NEVER)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       GUARD
			       "%.100s has no time at which it ends (expiry, expiresAt, expires_at, ttl): it has %s",
			       resource, names);
	err = atlock_app_check(app, why);
	if (err < 0)
		return err;
	snprintf(record->path, sizeof(record->path), "shared/%s/stop", resource);
	strlcpy(record->who, app, sizeof(record->who));
	return lease_text(seconds_left(end), "", record, why);
}

int dynamo_record(const struct json_t *item, struct atlock_foreign_record *record, struct atlock_why *why)
{
	char names[200];
	const char *name;
	json_t *typed;

	record->kind = ATLOCK_FOREIGN_LEASE;
	if (attribute(item, "lockName")[0] != '\0')
		return lease_record(item, record, why);
	json_object_foreach((json_t *)item, name, typed) {
		const char *text = json_string_value(json_object_get(typed, "S"));

		if (text != NULL && strncmp(text, GUARD, strlen(GUARD)) == 0)
			return guard_record(item, text + strlen(GUARD), record, why);
	}
	names_list(item, names, sizeof(names));
	return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "is neither a lease (lockName, namespace, owner, ...) nor a key " GUARD "...: it has %s", names);
}
