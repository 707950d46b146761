/* The enhanced lock manager's records. A lock is what "namespace:path:workspace" names; the name in its resource is no part of that. */
#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "atlantis.h"
#include "holder.h"
#include "lock_name.h"
#include "other_records.h"
#include "text.h"
#include "why.h"

/* The path of a resource: a project's or a command's lock. */
static int resource_path(const json_t *value, const char *key, struct atlock_foreign_record *record,
			 struct atlock_why *why)
{
	const char *type = atlantis_string(value, "resource.type");
	struct atlock_parts parts = { .repo = "" };
	struct atlock_name name;
	int err;

	if (strcmp(type, "global") == 0) {
		snprintf(record->path, sizeof(record->path), "global/%s", atlantis_string(value, "resource.name"));
		return atlock_name_parse(record->path, &name, why);
	}
	strlcpy(parts.repo, atlantis_string(value, "resource.namespace"), sizeof(parts.repo));
	strlcpy(parts.workspace, atlantis_string(value, "resource.workspace"), sizeof(parts.workspace));
	err = atlantis_path_clean(atlantis_string(value, "resource.path"), parts.dir, sizeof(parts.dir));
	if (err < 0 || parts.repo[0] == '\0' || parts.workspace[0] == '\0')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "%.160s: its resource names no repository and workspace", key);
	err = atlock_name_join(&parts, &name, why);
	return err < 0 ? err : name_print_plain(&name, record->path, sizeof(record->path));
}

/* The time that is left, in milliseconds: of the key, else until expires_at; -1: no end. */
static int64_t time_left(const json_t *value, int64_t ttl)
{
	struct tm tm = { .tm_sec = 0 };
	const char *until = atlantis_string(value, "expires_at");

	if (ttl >= 0 || strptime(until, "%Y-%m-%dT%H:%M:%S", &tm) == NULL || tm.tm_year < 71)
		return ttl;
	return ((int64_t)timegm(&tm) - (int64_t)time(NULL)) * 1000;
}

static int metadata_print(FILE *out, const json_t *metadata, struct atlock_why *why)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)metadata, key, value) {
		const char *text = json_string_value(value);

		if (text == NULL || !text_key_is_own(key, strlen(key)) || text_bad_byte(text, strlen(text)) != 0)
			return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
				       "its metadata has a key or value that no lock "
				       "can have: %.64s",
				       key);
		fprintf(out, "%s=%s\n", key, text);
	}
	return 0;
}

static int enhanced_text(const json_t *value, int64_t left, struct atlock_foreign_record *record,
			 struct atlock_why *why)
{
	size_t len;
	FILE *out = open_memstream(&record->text, &len);
	int err;

	if (out == NULL)
		return atlantis_no_memory(why);
	if (left >= 0)
		fprintf(out, "ttl=%" PRId64 "s\n", (left + 999) / 1000);
	fprintf(out, "priority=%s\n", atlock_priority_name((enum atlock_priority)atlantis_integer(value, "priority")));
	atlantis_line(out, "enhanced_id", atlantis_string(value, "id"));
	err = metadata_print(out, json_object_get(value, "metadata"), why);
	return fclose(out) == 0 ? err : atlantis_no_memory(why);
}

int enhanced_record(const struct json_t *value, const char *key, int64_t ttl, bool waits,
		    struct atlock_foreign_record *record, struct atlock_why *why)
{
	const char *owner = atlantis_string(value, "owner");
	const char *pull = atlantis_string(value, "metadata.pull_request");
	int64_t priority = atlantis_integer(value, "priority");
	int64_t left = time_left(value, ttl);
	struct atlock_caller caller;
	int err;

	record->kind = waits ? ATLOCK_FOREIGN_WAITER : ATLOCK_FOREIGN_LEASE;
	if (priority < 0 || priority >= ATLOCK_PRIORITIES)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "its priority is not 0 to %d",
			       ATLOCK_PRIORITIES - 1);
	if (left < 0 && ttl < 0 && left != -1)
		return why_set(why, -EINVAL, ATLOCK_LOCK_EXPIRED, "its lease has run out");
	err = resource_path(value, key, record, why);
	if (err < 0)
		return err;
	/* A waiter's ticket is the importing user's: its owner there is told in its name. */
	if (pull[0] != '\0')
		snprintf(record->who, sizeof(record->who), "pr:%s", pull);
	else if (waits)
		strlcpy(record->who, owner, sizeof(record->who));
	else
		strlcpy(record->who, "enhanced", sizeof(record->who));
	if (atlock_caller_init(&caller, owner, record->who, 0) < 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "its owner \"%.64s\" cannot be one here", owner);
	if (!waits)
		strlcpy(record->owner, owner, sizeof(record->owner));
	if (waits) {
		record->text = strdup(atlock_priority_name((enum atlock_priority)priority));
		return record->text == NULL ? atlantis_no_memory(why) : 0;
	}
	return enhanced_text(value, left, record, why);
}

/* --- From the tree --- */

static json_t *resource_make(const json_t *lock, const char *path)
{
	const char *repo = atlantis_string(lock, "repo");

	if (strncmp(path, "global/", strlen("global/")) == 0)
		return json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", "global", "namespace", "", "name",
				 path + strlen("global/"), "workspace", "", "path", "");
	if (repo[0] == '\0')
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", "project", "namespace", repo, "name",
			 atlantis_string(lock, "project"), "workspace", atlantis_string(lock, "workspace"), "path",
			 atlantis_string(lock, "dir"));
}

static json_t *metadata_make(const json_t *lock)
{
	json_t *metadata = json_deep_copy(json_object_get(lock, "meta"));
	const char *who = atlantis_string(lock, "who");

	if (strncmp(who, "pr:", 3) == 0)
		json_object_set_new(metadata, "pull_request", json_string(who + 3));
	return metadata;
}

static json_t *enhanced_make(const json_t *lock, json_t *resource, int64_t left)
{
	enum atlock_priority priority = ATLOCK_NORMAL;
	json_t *value;

	(void)atlock_priority_parse(atlantis_string(lock, "priority"), &priority);
	value = json_pack("{s:s, s:O, s:s, s:i, s:s, s:s, s:o, s:I}", "id", atlantis_string(lock, "id"), "resource",
			  resource, "state", "acquired", "priority", (int)priority, "owner",
			  atlantis_string(lock, "owner"), "acquired_at", atlantis_string(lock, "acquired_at"),
			  "metadata", metadata_make(lock), "version", (json_int_t)atlantis_integer(lock, "version"));
	if (left > 0)
		json_object_set_new(value, "expires_at", json_string(atlantis_string(lock, "expires_at")));
	return value;
}

/* A waiter of a session or a process has its user's name there, any other the name that it waits under. */
static json_t *waiter_make(const json_t *waiter, json_t *resource)
{
	const char *owner = atlantis_string(waiter, "owner");
	const char *who = atlantis_string(waiter, "who");
	enum atlock_priority priority = ATLOCK_NORMAL;
	json_t *metadata = json_pack("{s:s, s:s}", "user", owner, "who", who);
	char id[64];

	if (strncmp(who, "pr:", 3) == 0)
		json_object_set_new(metadata, "pull_request", json_string(who + 3));
	(void)atlock_priority_parse(atlantis_string(waiter, "priority"), &priority);
	snprintf(id, sizeof(id), "ticket_%" PRId64, (int64_t)atlantis_integer(waiter, "ticket"));
	return json_pack("{s:s, s:O, s:s, s:i, s:s, s:s, s:o, s:i}", "id", id, "resource", resource, "state", "pending",
			 "priority", (int)priority, "owner", holder_kind(who) == HOLDER_PLAIN ? who : owner,
			 "requested_at", atlantis_string(waiter, "since"), "metadata", metadata, "version", 1);
}

/* The manager's own score of a request, (4 - priority) * 1e6 + seconds: those that it queues later go on behind these. */
static double waiter_score(const json_t *waiter)
{
	enum atlock_priority priority = ATLOCK_NORMAL;
	struct tm tm = { .tm_sec = 0 };

	(void)atlock_priority_parse(atlantis_string(waiter, "priority"), &priority);
	(void)strptime(atlantis_string(waiter, "since"), "%Y-%m-%dT%H:%M:%S", &tm);
	return (4 - (int)priority) * 1e6 + (double)timegm(&tm);
}

/* A waiter's line names its lock alone. */
static void parts_add(json_t *waiter)
{
	struct atlock_parts parts;
	struct atlock_name name;

	if (atlock_name_parse(atlantis_string(waiter, "lock"), &name, NULL) < 0 || atlock_name_split(&name, &parts) < 0)
		return;
	json_object_set_new(waiter, "repo", json_string(parts.repo));
	json_object_set_new(waiter, "dir", json_string(parts.dir));
	json_object_set_new(waiter, "workspace", json_string(parts.workspace));
	json_object_set_new(waiter, "project", json_string(parts.project));
}

int atlock_foreign_enhanced(const char *line, size_t len, struct atlock_foreign_record *record, struct atlock_why *why)
{
	json_t *lock = atlantis_parse(line, len, "a line of locks.jsonl", why);
	bool waits = lock != NULL && strcmp(atlantis_string(lock, "kind"), "waiter") == 0;
	json_t *resource;
	json_t *value = NULL;
	int64_t left;
	int err = lock == NULL ? -EBADMSG : 1;

	atlock_foreign_clear(record);
	if (waits)
		parts_add(lock);
	resource = lock == NULL ? NULL : resource_make(lock, atlantis_string(lock, "lock"));
	if (resource != NULL) {
		left = waits ? 0 : time_left(lock, -1);
		value = waits ? waiter_make(lock, resource) : enhanced_make(lock, resource, left);
		record->kind = waits ? ATLOCK_FOREIGN_WAITER : ATLOCK_FOREIGN_LEASE;
		record->ttl = left > 0 ? left : 0;
		record->score = waits ? waiter_score(lock) : 0;
		strlcpy(record->path, atlantis_string(lock, "lock"), sizeof(record->path));
		if (asprintf(&record->key, "%s:%s:%s", atlantis_string(resource, "namespace"),
			     atlantis_string(resource, "path"), atlantis_string(resource, "workspace")) < 0)
			record->key = NULL;
		err = value == NULL || record->key == NULL || atlantis_value(value, record) < 0
			      ? atlantis_no_memory(why)
			      : 0;
	}
	json_decref(value);
	json_decref(resource);
	json_decref(lock);
	return err;
}
