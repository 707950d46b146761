#include "redis_realm.h"

#include "redis_commit.h"
#include "redis_process.h"
#include "redis_restore.h"
#include "redis_script.h"
#include "remote_bytes.h"
#include "remote_entry.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define ENTRIES "256"  /* of the history, fetched at a time */
#define SCANNED "1000" /* keys */
#define KEYS_MAX 3000  /* of a commit: Lua's unpack() takes less than 8,000, and a key that is set takes two */
#define BYTES_MAX ((size_t)8 * 1024 * 1024)

struct realm {
	struct remote_adapter base; /* must be first: cast back to the realm */
	struct redis_address address;
	struct redis_place place;
	struct redis_line lines[REMOTE_LINES];
	struct redis_process process;
	char hash[128];
	char stream[128];
	char keep[16];
};

static struct slice bytes_of(const void *data, size_t len)
{
	return (struct slice){ .data = data, .len = len };
}

/* What REMOTE_LINE_COMMIT failed with, for people. */
static int told(struct realm *realm, int rc)
{
	if (rc < 0)
		(void)strlcpy(realm->base.trouble, realm->lines[REMOTE_LINE_COMMIT].trouble,
			      sizeof(realm->base.trouble));
	return rc;
}

static int redis_hello(struct remote_adapter *adapter, const struct remote_report *report,
		       const struct remote_at *distrust, struct remote_welcome *out)
{
	struct realm *realm = (struct realm *)adapter;
	unsigned char bytes[REDIS_REPORT];
	char epoch[24] = "";
	redisReply *reply;
	int rc = redis_process_know(&realm->process);

	if (rc < 0)
		return told(realm, rc);
	if (distrust != NULL)
		(void)snprintf(epoch, sizeof(epoch), "%" PRIu64, distrust->epoch);
	if (report != NULL) {
		unsigned char *at = bytes_put(bytes, report->chain, 2);

		at = bytes_put(bytes_put(at, report->base.epoch, 8), report->base.revision, 8);
		(void)bytes_put(at, report->base.tag, 8);
	}
	const struct slice args[] = { slice_of(realm->process.run_id), slice_of(epoch),
				      bytes_of(bytes, report == NULL ? 0 : REDIS_REPORT),
				      slice_of(realm->address.publish ? REDIS_CHANNEL "acquired" : "") };
	rc = redis_process_eval(&realm->process, redis_hello_script, args, 4, &reply);
	if (rc < 0)
		return told(realm, rc);
	rc = reply_welcome(reply, out);
	freeReplyObject(reply);
	realm->base.trouble[0] = '\0';
	if (rc == -EACCES)
		(void)snprintf(realm->base.trouble, sizeof(realm->base.trouble),
			       "the user of the Redis lacks a right on the realm's keys%s: see docs/REMOTE.md",
			       realm->address.publish ? ", or to publish events" : "");
	char process[17];
	(void)strlcpy(process, realm->process.run_id, sizeof(process));
	out->process = strtoull(process, NULL, 16);
	return rc == 0 && out->opened ? told(realm, redis_process_load(&realm->process, out->at.epoch)) : rc;
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
	int rc = redis_process_know(&realm->process);

	if (rc < 0)
		return rc;
	(void)bytes_put(revision, before->revision, 8);
	(void)bytes_put(tag, before->tag, 8);
	(void)snprintf(ended, sizeof(ended), "%" PRIu64, before->epoch);
	if (epoch != 0)
		(void)snprintf(opened, sizeof(opened), "%" PRIu64, epoch);
	const struct slice args[] = {
		slice_of(realm->process.run_id),
		slice_of(ended),
		bytes_of(revision, 8),
		bytes_of(tag, 8),
		entry,
		slice_of(opened),
	};
	rc = redis_process_eval(&realm->process, redis_append_script, args, 6, &reply);
	if (rc < 0)
		return rc;
	rc = reply_number(reply, &result);
	freeReplyObject(reply);
	return rc < 0 ? -EHOSTDOWN : result == 0 ? 0 : REMOTE_HELLO;
}

static int redis_commit(struct remote_adapter *adapter, const struct remote_commit *commit, struct remote_reply *out)
{
	struct realm *realm = (struct realm *)adapter;

	return told(realm, redis_commit_send(&realm->process, realm->keep, commit, out));
}

static int redis_barrier(struct remote_adapter *adapter, enum remote_line line, const struct remote_at *base,
			 struct remote_at *at)
{
	struct realm *realm = (struct realm *)adapter;
	unsigned char revision[8];
	unsigned char tag[8];
	char sha[REDIS_SHA + 1];
	redisReply *reply;
	int rc = redis_process_sha(&realm->process, REDIS_BARRIER, base->epoch, sha);

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
	rc = reply_barrier(reply, at);
	at->epoch = base->epoch;
	freeReplyObject(reply);
	return rc == -EBADMSG ? -EHOSTDOWN : rc;
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
	rc = reply_entries(reply, wait != 0, each, arg);
	freeReplyObject(reply);
	return rc;
}

static int redis_scan(struct remote_adapter *adapter, remote_scan_fn *each, void *arg)
{
	struct realm *realm = (struct realm *)adapter;
	char cursor[REDIS_CURSOR] = "0";
	redisReply *reply;
	int rc;

	do {
		const struct slice words[] = { slice_of("HSCAN"), slice_of(realm->hash), slice_of(cursor),
					       slice_of("COUNT"), slice_of(SCANNED) };

		rc = redis_line_ask(&realm->lines[REMOTE_LINE_COMMIT], words, 5, 0, &reply);
		if (rc != 0)
			return rc == -EINPROGRESS || rc > 0 ? -EHOSTDOWN : rc;
		rc = reply_scan(reply, cursor, each, arg);
		freeReplyObject(reply);
	} while (rc == 0 && strcmp(cursor, "0") != 0);
	return rc;
}

/* The message is the event with the name of the realm before its members: realms share the channels of a server. */
static int redis_publish(struct remote_adapter *adapter, const char *event, struct slice text)
{
	struct realm *realm = (struct realm *)adapter;
	char channel[64];
	char head[REDIS_REALM_NAME + 16];
	redisReply *reply;
	struct arena arena;
	char *message;
	int rc;

	if (!realm->address.publish)
		return 1;
	if (event == NULL)
		return 0;
	if (!arena_init(&arena, text.len + sizeof(head)))
		return -ENOMEM;
	(void)snprintf(channel, sizeof(channel), REDIS_CHANNEL "%s", event);
	size_t len = (size_t)snprintf(head, sizeof(head), "{\"realm\":\"%s\",", realm->address.realm);
	message = arena_take(&arena, len + text.len);
	if (message == NULL) {
		rc = -ENOMEM;
	} else {
		memcpy(message, head, len);
		memcpy(message + len, (const char *)text.data + 1, text.len - 1);
		const struct slice words[] = { slice_of("PUBLISH"), slice_of(channel),
					       bytes_of(message, len + text.len - 1) };
		rc = redis_line_ask(&realm->lines[REMOTE_LINE_TELL], words, 3, 0, &reply);
		if (rc == 0)
			freeReplyObject(reply);
	}
	arena_free(&arena);
	return rc == -EINPROGRESS || rc > 0 ? -EHOSTDOWN : rc;
}

static void redis_close(struct remote_adapter *adapter)
{
	struct realm *realm = (struct realm *)adapter;

	for (size_t i = 0; i < REMOTE_LINES; i++)
		redis_line_close(&realm->lines[i]);
	redis_process_destroy(&realm->process);
	redis_place_destroy(&realm->place);
	explicit_bzero(&realm->address, sizeof(realm->address));
	free(realm);
}

static const struct remote_ops redis_ops = {
	.close = redis_close,
	.hello = redis_hello,
	.append = redis_append,
	.commit = redis_commit,
	.barrier = redis_barrier,
	.entries = redis_entries,
	.publish = redis_publish,
	.scan = redis_scan,
};

int redis_realm_open(struct remote_adapter **out, const struct redis_address *address, int timeout)
{
	struct realm *realm = calloc(1, sizeof(*realm));

	if (realm == NULL)
		return -ENOMEM;
	realm->base.ops = &redis_ops;
	realm->base.limits = (struct remote_limits){ .parts = REMOTE_PARTS, .keys = KEYS_MAX, .bytes = BYTES_MAX };
	realm->address = *address;
	redis_place_init(&realm->place, &realm->address);
	for (size_t i = 0; i < REMOTE_LINES; i++)
		redis_line_init(&realm->lines[i], &realm->place, timeout);
	(void)snprintf(realm->hash, sizeof(realm->hash), "atlantis:enhanced:{%s}:k", address->realm);
	(void)snprintf(realm->stream, sizeof(realm->stream), "atlantis:enhanced:{%s}:l", address->realm);
	(void)snprintf(realm->keep, sizeof(realm->keep), "%u", address->history);
	redis_process_init(&realm->process, &realm->lines[REMOTE_LINE_COMMIT], realm->hash, realm->stream);
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
	int rc = redis_process_know(&realm->process);

	if (rc < 0)
		return told(realm, rc);
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	memcpy(&head.tag, bytes + REMOTE_ID, sizeof(head.tag));
	(void)entry_head_put(entry, &head);
	const struct slice args[] = { slice_of(realm->process.run_id), bytes_of(bytes, REMOTE_ID),
				      bytes_of(entry, sizeof(entry)) };
	rc = redis_process_eval(&realm->process, redis_create_script, args, 3, &reply);
	if (rc < 0)
		return told(realm, rc);
	rc = reply_number(reply, &exists);
	freeReplyObject(reply);
	return rc < 0 ? rc : exists != 0 ? -EEXIST : 0;
}

int redis_realm_hosts(struct remote_adapter *adapter, redis_host_fn *each, void *arg)
{
	struct realm *realm = (struct realm *)adapter;

	return told(realm, redis_hosts_each(&realm->process, each, arg));
}

int redis_realm_fill(struct remote_adapter *adapter, const struct dump *dump)
{
	struct realm *realm = (struct realm *)adapter;

	return told(realm, redis_restore_keys(&realm->process, dump));
}

int redis_realm_fill_end(struct remote_adapter *adapter, const struct dump *dump)
{
	struct realm *realm = (struct realm *)adapter;

	return told(realm, redis_restore_end(&realm->process, dump));
}
