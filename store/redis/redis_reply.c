#include "redis_reply.h"

#include "remote_bytes.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>

#define VERSION_MIN 7 /* "#!lua" and redis.acl_check_cmd() */

static struct slice bytes_of(const void *data, size_t len)
{
	return (struct slice){ .data = data, .len = len };
}

int reply_number(const redisReply *reply, long long *out)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0 || reply->element[0]->type != REDIS_REPLY_INTEGER)
		return -EBADMSG;
	*out = reply->element[0]->integer;
	return 0;
}

bool reply_bytes(const redisReply *reply, size_t i, size_t len, struct slice *out)
{
	if (reply->type != REDIS_REPLY_ARRAY || i >= reply->elements || reply->element[i]->type != REDIS_REPLY_STRING)
		return false;
	*out = bytes_of(reply->element[i]->str, reply->element[i]->len);
	return len == 0 || out->len == len;
}

static bool reply_u64(const redisReply *reply, size_t i, uint64_t *out)
{
	struct slice bytes;

	return reply_bytes(reply, i, 8, &bytes) && bytes_take(&bytes, 8, out);
}

/* The value of a line "name:value" of INFO; false if there is none. */
static bool info_line(const redisReply *reply, const char *name, char *out, size_t size)
{
	const char *found = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;

	if (found == NULL)
		return false;
	found += strlen(name);
	size_t len = strcspn(found, "\r\n");
	(void)strlcpy(out, found, len < size ? len + 1 : size);
	return len < size;
}

int reply_process(const redisReply *reply, char run_id[static REDIS_RUN_ID + 1], char version[static REDIS_VERSION])
{
	char *end;

	if (!info_line(reply, "run_id:", run_id, REDIS_RUN_ID + 1) ||
	    strspn(run_id, "0123456789abcdef") != REDIS_RUN_ID ||
	    !info_line(reply, "redis_version:", version, REDIS_VERSION))
		return -EBADMSG;
	unsigned long major = strtoul(version, &end, 10);
	if (end == version)
		return -EBADMSG;
	return major < VERSION_MIN ? -EPROTONOSUPPORT : 0;
}

static int reports_take(struct slice bytes, struct remote_welcome *out)
{
	uint64_t chain;

	for (out->count = 0; bytes.len >= REDIS_REPORT && out->count < REMOTE_CHAINS; out->count++) {
		struct remote_report *report = &out->reports[out->count];

		if (!bytes_take(&bytes, 2, &chain) || !bytes_take(&bytes, 8, &report->base.epoch) ||
		    !bytes_take(&bytes, 8, &report->base.revision) || !bytes_take(&bytes, 8, &report->base.tag))
			return -EBADMSG;
		report->chain = (uint16_t)chain;
	}
	return bytes.len == 0 ? 0 : -EBADMSG;
}

int reply_welcome(const redisReply *reply, struct remote_welcome *out)
{
	struct slice id;
	struct slice epoch;
	struct slice reports;
	long long result;
	int rc = reply_number(reply, &result);

	if (rc == 0 && result != 0)
		return result == 1 ? -ENOENT : result == 3 ? -EACCES : -EBADMSG;
	if (rc < 0 || !reply_bytes(reply, 1, REMOTE_ID, &id) || !reply_bytes(reply, 2, 0, &epoch) ||
	    !reply_u64(reply, 3, &out->at.revision) || !reply_u64(reply, 4, &out->at.tag) || reply->elements < 7 ||
	    reply->element[5]->type != REDIS_REPLY_INTEGER || !reply_bytes(reply, 6, 0, &reports))
		return -EBADMSG;
	memcpy(out->id, id.data, REMOTE_ID);
	out->at.epoch = strtoull(epoch.data, NULL, 10);
	out->opened = reply->element[5]->integer == 1;
	return reports_take(reports, out);
}

static int missed_each(const redisReply *reply, const struct remote_commit *commit)
{
	struct slice entry;
	int rc = 0;

	for (size_t i = 3; rc == 0 && commit->missed != NULL && reply_bytes(reply, i, 0, &entry); i++)
		rc = commit->missed(commit->missed_arg, entry);
	return rc;
}

int reply_commit(const redisReply *reply, const struct remote_commit *commit, struct remote_reply *out)
{
	struct slice bytes;
	long long result;

	if (reply_number(reply, &result) < 0)
		return -EINPROGRESS;
	if (result == REMOTE_HELLO)
		return REMOTE_HELLO;
	if (result == REMOTE_FENCED && reply_u64(reply, 1, &out->box_version) && reply_bytes(reply, 2, 0, &bytes) &&
	    bytes.len <= sizeof(out->box)) {
		memcpy(out->box, bytes.data, bytes.len);
		out->box_len = bytes.len;
		return REMOTE_FENCED;
	}
	if (result != REMOTE_DONE || !reply_u64(reply, 1, &out->at.revision) || !reply_bytes(reply, 2, 0, &bytes) ||
	    bytes.len != commit->count || bytes.len > sizeof(out->applied))
		return -EINPROGRESS;
	memcpy(out->applied, bytes.data, bytes.len);
	out->at.epoch = commit->base.epoch;
	out->at.tag = commit->tag;
	/* It is a help: entries that cannot be taken are fetched. */
	(void)missed_each(reply, commit);
	return REMOTE_DONE;
}

int reply_barrier(const redisReply *reply, struct remote_at *out)
{
	long long result;

	if (reply_number(reply, &result) < 0)
		return -EBADMSG;
	if (result == REMOTE_HELLO)
		return REMOTE_HELLO;
	return result == 0 && reply_u64(reply, 1, &out->revision) && reply_u64(reply, 2, &out->tag) ? 0 : -EBADMSG;
}

int reply_entries(const redisReply *reply, bool read, remote_entry_fn *each, void *arg)
{
	const redisReply *list = reply;
	int rc = 0;

	if (reply->type == REDIS_REPLY_NIL)
		return 0;
	/* XREAD's is in an array of streams, each with its name. */
	if (read) {
		if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 1 ||
		    reply->element[0]->type != REDIS_REPLY_ARRAY || reply->element[0]->elements != 2)
			return -EBADMSG;
		list = reply->element[0]->element[1];
	}
	if (list->type != REDIS_REPLY_ARRAY)
		return -EBADMSG;
	for (size_t i = 0; i < list->elements && rc == 0; i++) {
		const redisReply *item = list->element[i];
		struct slice entry;

		/* The id, and an array of fields. */
		if (item->type != REDIS_REPLY_ARRAY || item->elements != 2 ||
		    !reply_bytes(item->element[1], 1, 0, &entry))
			return -EBADMSG;
		rc = each(arg, entry);
	}
	return rc;
}

/* The fields that are keys. */
static int fields_each(const redisReply *list, remote_scan_fn *each, void *arg)
{
	struct slice field;
	struct slice value;
	uint64_t version;
	int rc = 0;

	for (size_t i = 0; i + 1 < list->elements && rc == 0; i += 2) {
		if (!reply_bytes(list, i, 0, &field) || !reply_bytes(list, i + 1, 0, &value))
			return -EBADMSG;
		if (field.len < 2 || *(const char *)field.data != 'k')
			continue;
		if (!bytes_take(&value, 8, &version))
			return -EBADMSG;
		rc = each(arg, bytes_of((const char *)field.data + 1, field.len - 1), version, value);
	}
	return rc;
}

int reply_scan(const redisReply *reply, char cursor[static REDIS_CURSOR], remote_scan_fn *each, void *arg)
{
	struct slice next;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !reply_bytes(reply, 0, 0, &next) ||
	    next.len >= REDIS_CURSOR || reply->element[1]->type != REDIS_REPLY_ARRAY)
		return -EBADMSG;
	(void)strlcpy(cursor, next.data, REDIS_CURSOR);
	return fields_each(reply->element[1], each, arg);
}
