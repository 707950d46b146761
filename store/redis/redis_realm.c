#include "redis_realm.h"

#include "redis_line.h"
#include "redis_pack.h"
#include "redis_script.h"
#include "remote_bytes.h"
#include "remote_entry.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define RUN_ID 40
#define SHA 40
#define REPORT 26
#define ENTRIES "256"  /* of the history, fetched at a time */
#define SCANNED "1000" /* keys */
#define KEYS_MAX 3000  /* of a commit: Lua's unpack() takes less than 8,000, and a key that is set takes two */
#define BYTES_MAX ((size_t)8 * 1024 * 1024)

struct realm {
	struct remote_adapter base; /* must be first: cast back to the realm */
	struct redis_uri uri;
	struct redis_line lines[REMOTE_LINES];
	char hash[128];
	char stream[128];
	char keep[16];
	char run_id[RUN_ID + 1]; /* of the process that the line for commits is connected to; REMOTE_LINE_COMMIT's */
	unsigned int run_of;     /* on which of its connections that was asked; 0: not yet */

	pthread_mutex_t lock; /* of the rest */
	uint64_t epoch;       /* that the scripts were loaded for; 0: none */
	char commit_sha[SHA + 1];
	char barrier_sha[SHA + 1];
};

static struct slice bytes_of(const void *data, size_t len)
{
	return (struct slice){ .data = data, .len = len };
}

/* Whether a reply is an array that begins with a number; that number. */
static int reply_number(const redisReply *reply, long long *out)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0 || reply->element[0]->type != REDIS_REPLY_INTEGER)
		return -EBADMSG;
	*out = reply->element[0]->integer;
	return 0;
}

/* Element `i` of an array as bytes; false if it is none, or, with a length, of another. */
static bool reply_bytes(const redisReply *reply, size_t i, size_t len, struct slice *out)
{
	if (i >= reply->elements || reply->element[i]->type != REDIS_REPLY_STRING)
		return false;
	*out = bytes_of(reply->element[i]->str, reply->element[i]->len);
	return len == 0 || out->len == len;
}

static bool reply_u64(const redisReply *reply, size_t i, uint64_t *out)
{
	struct slice bytes;

	return reply_bytes(reply, i, 8, &bytes) && bytes_take(&bytes, 8, out);
}

/* The run_id of the process at the other end of the line for commits. */
static int process_know(struct realm *realm)
{
	struct redis_line *line = &realm->lines[REMOTE_LINE_COMMIT];
	const struct slice words[] = { slice_of("INFO"), slice_of("server") };
	redisReply *reply;
	int rc = redis_line_open(line);

	if (rc < 0 || realm->run_of == line->connections)
		return rc;
	rc = redis_line_ask(line, words, 2, 0, &reply);
	if (rc != 0)
		return rc == -EINPROGRESS || rc > 0 ? -EHOSTDOWN : rc;
	const char *found = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, "run_id:") : NULL;
	if (found != NULL && strlen(found + 7) >= RUN_ID) {
		memcpy(realm->run_id, found + 7, RUN_ID);
		realm->run_of = line->connections;
	}
	freeReplyObject(reply);
	return found == NULL ? -EHOSTDOWN : 0;
}

/* Runs a script that is sent whole. As redis_line_ask(), but a failure is never in doubt: the caller looks again. */
static int script_eval(struct realm *realm, const char *script, const struct slice *args, size_t count,
		       redisReply **out)
{
	struct slice words[16] = { slice_of("EVAL"), slice_of(script), slice_of("2"), slice_of(realm->hash),
				   slice_of(realm->stream) };
	size_t at = 5;

	for (size_t i = 0; i < count; i++)
		words[at++] = args[i];
	int rc = redis_line_ask(&realm->lines[REMOTE_LINE_COMMIT], words, at, 0, out);
	return rc > 0 || rc == -EINPROGRESS ? -EHOSTDOWN : rc;
}

/* Loads one script for an epoch; its sum. */
static int script_load(struct realm *realm, const char *format, uint64_t epoch, char sha[SHA + 1])
{
	char number[24];
	char script[4096];
	redisReply *reply;

	(void)snprintf(number, sizeof(number), "%" PRIu64, epoch);
	/* The formats are this room's own. */
	int len = snprintf(script, sizeof(script), format, number);
	if (len < 0 || (size_t)len >= sizeof(script))
		return -E2BIG;
	const struct slice words[] = { slice_of("SCRIPT"), slice_of("LOAD"), bytes_of(script, (size_t)len) };
	int rc = redis_line_ask(&realm->lines[REMOTE_LINE_COMMIT], words, 3, 0, &reply);
	if (rc != 0)
		return rc == -EINPROGRESS || rc > 0 ? -EHOSTDOWN : rc;
	bool good = reply->type == REDIS_REPLY_STRING && reply->len == SHA;
	if (good)
		(void)strlcpy(sha, reply->str, SHA + 1);
	freeReplyObject(reply);
	return good ? 0 : -EBADMSG;
}

static int scripts_load(struct realm *realm, uint64_t epoch)
{
	char commit[SHA + 1];
	char barrier[SHA + 1];
	int rc = script_load(realm, redis_commit_script, epoch, commit);

	if (rc == 0)
		rc = script_load(realm, redis_barrier_script, epoch, barrier);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&realm->lock);
	realm->epoch = epoch;
	memcpy(realm->commit_sha, commit, sizeof(commit));
	memcpy(realm->barrier_sha, barrier, sizeof(barrier));
	pthread_mutex_unlock(&realm->lock);
	return 0;
}

/* The sum of a script for this epoch: 0, or REMOTE_HELLO if none was loaded. */
static int script_sha(struct realm *realm, const char *loaded, uint64_t epoch, char out[SHA + 1])
{
	pthread_mutex_lock(&realm->lock);
	int rc = realm->epoch == epoch ? 0 : REMOTE_HELLO;
	memcpy(out, loaded, SHA + 1);
	pthread_mutex_unlock(&realm->lock);
	return rc;
}

static int reports_decode(struct slice bytes, struct remote_welcome *out)
{
	uint64_t chain;

	for (out->count = 0; bytes.len >= REPORT && out->count < REMOTE_CHAINS; out->count++) {
		struct remote_report *report = &out->reports[out->count];

		if (!bytes_take(&bytes, 2, &chain) || !bytes_take(&bytes, 8, &report->base.epoch) ||
		    !bytes_take(&bytes, 8, &report->base.revision) || !bytes_take(&bytes, 8, &report->base.tag))
			return -EBADMSG;
		report->chain = (uint16_t)chain;
	}
	return bytes.len == 0 ? 0 : -EBADMSG;
}

static int welcome_decode(const struct realm *realm, const redisReply *reply, struct remote_welcome *out)
{
	struct slice id;
	struct slice epoch;
	struct slice reports;
	long long result;
	int rc = reply_number(reply, &result);

	if (rc == 0 && result != 0)
		return result == 1 ? -ENOENT : -EACCES;
	if (rc < 0 || !reply_bytes(reply, 1, REMOTE_ID, &id) || !reply_bytes(reply, 2, 0, &epoch) ||
	    !reply_u64(reply, 3, &out->at.revision) || !reply_u64(reply, 4, &out->at.tag) || reply->elements < 7 ||
	    reply->element[5]->type != REDIS_REPLY_INTEGER || !reply_bytes(reply, 6, 0, &reports))
		return -EBADMSG;
	memcpy(out->id, id.data, REMOTE_ID);
	out->at.epoch = strtoull(epoch.data, NULL, 10);
	out->opened = reply->element[5]->integer == 1;
	char process[17];
	(void)strlcpy(process, realm->run_id, sizeof(process));
	out->process = strtoull(process, NULL, 16);
	return reports_decode(reports, out);
}

static int redis_hello(struct remote_adapter *adapter, const struct remote_report *report,
		       const struct remote_at *distrust, struct remote_welcome *out)
{
	struct realm *realm = (struct realm *)adapter;
	unsigned char bytes[REPORT];
	char epoch[24] = "";
	redisReply *reply;
	int rc = process_know(realm);

	if (rc < 0)
		return rc;
	if (distrust != NULL)
		(void)snprintf(epoch, sizeof(epoch), "%" PRIu64, distrust->epoch);
	if (report != NULL) {
		unsigned char *at = bytes_put(bytes, report->chain, 2);

		at = bytes_put(bytes_put(at, report->base.epoch, 8), report->base.revision, 8);
		(void)bytes_put(at, report->base.tag, 8);
	}
	const struct slice args[] = { slice_of(realm->run_id), slice_of(epoch),
				      bytes_of(bytes, report == NULL ? 0 : REPORT) };
	rc = script_eval(realm, redis_hello_script, args, 3, &reply);
	if (rc < 0)
		return rc;
	rc = welcome_decode(realm, reply, out);
	freeReplyObject(reply);
	return rc == 0 && out->opened ? scripts_load(realm, out->at.epoch) : rc;
}

static int redis_append(struct remote_adapter *adapter, const struct remote_at *before, struct slice entry,
			uint64_t epoch)
{
	struct realm *realm = (struct realm *)adapter;
	unsigned char revision[8];
	unsigned char tag[8];
	char ended[24];
	char opened[24] = "";
	redisReply *reply;
	long long result = 0;
	int rc = process_know(realm);

	if (rc < 0)
		return rc;
	(void)bytes_put(revision, before->revision, 8);
	(void)bytes_put(tag, before->tag, 8);
	(void)snprintf(ended, sizeof(ended), "%" PRIu64, before->epoch);
	if (epoch != 0)
		(void)snprintf(opened, sizeof(opened), "%" PRIu64, epoch);
	const struct slice args[] = {
		slice_of(realm->run_id), slice_of(ended), bytes_of(revision, 8),
		bytes_of(tag, 8),        entry,           slice_of(opened),
	};
	rc = script_eval(realm, redis_append_script, args, 6, &reply);
	if (rc < 0)
		return rc;
	rc = reply_number(reply, &result);
	freeReplyObject(reply);
	return rc < 0 ? -EHOSTDOWN : result == 0 ? 0 : REMOTE_HELLO;
}

static int commit_decode(const redisReply *reply, const struct remote_commit *commit, struct remote_reply *out)
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
	    bytes.len != commit->count)
		return -EINPROGRESS;
	memcpy(out->applied, bytes.data, bytes.len);
	out->at.epoch = commit->base.epoch;
	out->at.tag = commit->tag;
	return REMOTE_DONE;
}

/* The words of the request, in the pack's arena. NULL: no memory. */
static struct slice *commit_words(struct realm *realm, struct redis_pack *pack, const struct remote_commit *commit,
				  const char *sha, size_t *count)
{
	struct arena *arena = &pack->arena;
	size_t fields = pack->field_count;
	struct slice *words = arena_take(arena, (14 + fields + pack->value_count) * sizeof(*words));
	unsigned char *numbers = arena_take(arena, 32);
	char *total = arena_take(arena, 24);
	struct slice box = redis_field(arena, commit->box_key);

	if (words == NULL || numbers == NULL || total == NULL || box.data == NULL)
		return NULL;
	(void)bytes_put(numbers, commit->base.revision, 8);
	(void)bytes_put(numbers + 8, commit->base.tag, 8);
	(void)bytes_put(numbers + 16, commit->tag, 8);
	(void)bytes_put(numbers + 24, commit->box_version, 8);
	(void)snprintf(total, 24, "%zu", fields);
	const struct slice head[] = {
		slice_of("EVALSHA"),
		slice_of(sha),
		slice_of("2"),
		slice_of(realm->hash),
		slice_of(realm->stream),
		bytes_of(numbers, 8),
		bytes_of(numbers + 8, 8),
		bytes_of(numbers + 16, 8),
		box,
		bytes_of(numbers + 24, 8),
		commit->box,
		pack->parts,
		slice_of(total),
		slice_of(realm->keep),
	};
	memcpy(words, head, sizeof(head));
	*count = sizeof(head) / sizeof(head[0]);
	if (fields > 0)
		memcpy(words + *count, pack->fields, fields * sizeof(*words));
	*count += fields;
	if (pack->value_count > 0)
		memcpy(words + *count, pack->values, pack->value_count * sizeof(*words));
	*count += pack->value_count;
	return words;
}

static int redis_commit(struct remote_adapter *adapter, const struct remote_commit *commit, struct remote_reply *out)
{
	struct realm *realm = (struct realm *)adapter;
	struct redis_pack pack;
	char sha[SHA + 1];
	redisReply *reply;
	size_t count;
	int rc = script_sha(realm, realm->commit_sha, commit->base.epoch, sha);

	if (rc != 0)
		return rc;
	rc = redis_pack(&pack, commit);
	struct slice *words = rc == 0 ? commit_words(realm, &pack, commit, sha, &count) : NULL;
	if (words == NULL) {
		rc = -ENOMEM;
	} else {
		rc = redis_line_ask(&realm->lines[REMOTE_LINE_COMMIT], words, count, 0, &reply);
		if (rc == 0) {
			rc = commit_decode(reply, commit, out);
			freeReplyObject(reply);
		}
	}
	redis_pack_free(&pack);
	return rc;
}

static int redis_barrier(struct remote_adapter *adapter, enum remote_line line, const struct remote_at *base,
			 struct remote_at *at)
{
	struct realm *realm = (struct realm *)adapter;
	unsigned char revision[8];
	unsigned char tag[8];
	char sha[SHA + 1];
	redisReply *reply;
	long long result;
	int rc = script_sha(realm, realm->barrier_sha, base->epoch, sha);

	if (rc != 0)
		return rc;
	(void)bytes_put(revision, base->revision, 8);
	(void)bytes_put(tag, base->tag, 8);
	const struct slice words[] = {
		slice_of("EVALSHA"),     slice_of(sha),         slice_of("2"),    slice_of(realm->hash),
		slice_of(realm->stream), bytes_of(revision, 8), bytes_of(tag, 8),
	};
	rc = redis_line_ask(&realm->lines[line], words, 7, 0, &reply);
	if (rc != 0)
		return rc == -EINPROGRESS ? -EHOSTDOWN : rc;
	rc = reply_number(reply, &result);
	if (rc == 0 && result == REMOTE_HELLO)
		rc = REMOTE_HELLO;
	else if (rc < 0 || !reply_u64(reply, 1, &at->revision) || !reply_u64(reply, 2, &at->tag))
		rc = -EHOSTDOWN;
	at->epoch = base->epoch;
	freeReplyObject(reply);
	return rc;
}

/* Calls `each` with the entries of a stream's reply: an array of id and fields. */
static int entries_each(const redisReply *list, remote_entry_fn *each, void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < list->elements && rc == 0; i++) {
		const redisReply *item = list->element[i];
		struct slice entry;

		if (item->type != REDIS_REPLY_ARRAY || item->elements != 2 ||
		    item->element[1]->type != REDIS_REPLY_ARRAY || !reply_bytes(item->element[1], 1, 0, &entry))
			return -EBADMSG;
		rc = each(arg, entry);
	}
	return rc;
}

static int redis_entries(struct remote_adapter *adapter, enum remote_line line, const struct remote_at *after, int wait,
			 remote_entry_fn *each, void *arg)
{
	struct realm *realm = (struct realm *)adapter;
	const char *key = realm->stream;
	char block[16];
	char id[32];
	redisReply *reply;

	(void)snprintf(block, sizeof(block), "%d", wait);
	(void)snprintf(id, sizeof(id), "%s%" PRIu64 "-0", wait == 0 ? "(" : "", after->revision);
	const struct slice range[] = { slice_of("XRANGE"), slice_of(key),     slice_of(id),
				       slice_of("+"),      slice_of("COUNT"), slice_of(ENTRIES) };
	const struct slice read[] = {
		slice_of("XREAD"), slice_of("COUNT"),   slice_of(ENTRIES), slice_of("BLOCK"),
		slice_of(block),   slice_of("STREAMS"), slice_of(key),     slice_of(id),
	};
	int rc = redis_line_ask(&realm->lines[line], wait == 0 ? range : read, wait == 0 ? 6 : 8, wait, &reply);
	if (rc != 0)
		return rc == -EINPROGRESS || rc > 0 ? -EHOSTDOWN : rc;
	const redisReply *list = reply;
	/* XREAD's is in an array of streams, each with its name. */
	if (wait != 0 && reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 && reply->element[0]->elements == 2)
		list = reply->element[0]->element[1];
	rc = list->type == REDIS_REPLY_NIL     ? 0
	     : list->type == REDIS_REPLY_ARRAY ? entries_each(list, each, arg)
					       : -EBADMSG;
	freeReplyObject(reply);
	return rc;
}

/* The fields that are keys, of a reply of HSCAN. */
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

static int redis_scan(struct remote_adapter *adapter, remote_scan_fn *each, void *arg)
{
	struct realm *realm = (struct realm *)adapter;
	char cursor[32] = "0";
	struct slice next;
	redisReply *reply;
	int rc;

	do {
		const struct slice words[] = { slice_of("HSCAN"), slice_of(realm->hash), slice_of(cursor),
					       slice_of("COUNT"), slice_of(SCANNED) };

		rc = redis_line_ask(&realm->lines[REMOTE_LINE_COMMIT], words, 5, 0, &reply);
		if (rc != 0)
			return rc == -EINPROGRESS || rc > 0 ? -EHOSTDOWN : rc;
		if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !reply_bytes(reply, 0, 0, &next) ||
		    next.len >= sizeof(cursor) || reply->element[1]->type != REDIS_REPLY_ARRAY)
			rc = -EBADMSG;
		else
			rc = fields_each(reply->element[1], each, arg);
		if (rc == 0)
			(void)strlcpy(cursor, next.data, sizeof(cursor));
		freeReplyObject(reply);
	} while (rc == 0 && strcmp(cursor, "0") != 0);
	return rc;
}

static void redis_close(struct remote_adapter *adapter)
{
	struct realm *realm = (struct realm *)adapter;

	for (size_t i = 0; i < REMOTE_LINES; i++)
		redis_line_close(&realm->lines[i]);
	pthread_mutex_destroy(&realm->lock);
	explicit_bzero(&realm->uri, sizeof(realm->uri));
	free(realm);
}

static const struct remote_ops redis_ops = {
	.close = redis_close,
	.hello = redis_hello,
	.append = redis_append,
	.commit = redis_commit,
	.barrier = redis_barrier,
	.entries = redis_entries,
	.scan = redis_scan,
};

static bool name_is_good(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= REDIS_REALM_NAME &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == len;
}

int redis_realm_open(struct remote_adapter **out, const struct redis_realm_options *options)
{
	struct realm *realm = name_is_good(options->realm) ? calloc(1, sizeof(*realm)) : NULL;

	if (realm == NULL)
		return name_is_good(options->realm) ? -ENOMEM : -EINVAL;
	realm->base.ops = &redis_ops;
	realm->base.limits = (struct remote_limits){ .parts = REMOTE_PARTS, .keys = KEYS_MAX, .bytes = BYTES_MAX };
	realm->uri = *options->uri;
	for (size_t i = 0; i < REMOTE_LINES; i++)
		redis_line_init(&realm->lines[i], &realm->uri, options->timeout);
	(void)snprintf(realm->hash, sizeof(realm->hash), "atlantis:enhanced:{%s}:k", options->realm);
	(void)snprintf(realm->stream, sizeof(realm->stream), "atlantis:enhanced:{%s}:l", options->realm);
	(void)snprintf(realm->keep, sizeof(realm->keep), "%u", options->keep);
	pthread_mutex_init(&realm->lock, NULL);
	*out = &realm->base;
	return 0;
}

int redis_realm_create(struct remote_adapter *adapter)
{
	struct realm *realm = (struct realm *)adapter;
	unsigned char bytes[REMOTE_ID + 8];
	unsigned char entry[ENTRY_HEAD];
	struct entry_head head = { .revision = 1 };
	redisReply *reply;
	long long exists = 0;
	int rc = process_know(realm);

	if (rc < 0)
		return rc;
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	memcpy(&head.tag, bytes + REMOTE_ID, sizeof(head.tag));
	(void)entry_head_put(entry, &head);
	const struct slice args[] = { slice_of(realm->run_id), bytes_of(bytes, REMOTE_ID),
				      bytes_of(entry, sizeof(entry)) };
	rc = script_eval(realm, redis_create_script, args, 3, &reply);
	if (rc < 0)
		return rc;
	rc = reply_number(reply, &exists);
	freeReplyObject(reply);
	return rc < 0 ? rc : exists != 0 ? -EEXIST : 0;
}
