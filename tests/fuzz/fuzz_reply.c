/*
 * Answers of an engine: whatever a server sends, decoding ends in values or in an error. The first byte chooses what was asked; the rest is the
 * answer, in Redis' protocol.
 */
#include "fuzz.h"
#include "redis_place.h"
#include "redis_reply.h"
#include "remote_box.h"
#include "remote_entry.h"

#include <errno.h>
#include <string.h>

#define PARTS 3

static int entry_look(void *arg, struct slice entry)
{
	unsigned int *count = arg;
	struct slice rest = entry;
	struct entry_head head;
	struct txn_write write;
	struct box box;

	(*count)++;
	if (!entry_head_take(&rest, &head))
		return -EBADMSG;
	while (entry_write_take(&rest, &write) == 0) {
		MUST(write.key.len <= entry.len && write.value.len <= entry.len);
		if (box_chain(write.key) >= 0 && write.value.data != NULL)
			(void)box_decode(write.value, &box);
	}
	return 0;
}

static int key_look(void *arg, struct slice key, uint64_t version, struct slice value)
{
	unsigned int *count = arg;
	struct box box;

	(void)version;
	(*count)++;
	MUST(key.len > 0);
	if (box_chain(key) >= 0 && box_decode(value, &box) == 0)
		MUST(box.part_count <= REMOTE_PARTS && memchr(box.name, '\0', sizeof(box.name)) != NULL);
	return 0;
}

static void commit_look(const redisReply *reply, unsigned int *count)
{
	struct remote_commit commit = { .count = PARTS, .missed = entry_look, .missed_arg = count };
	struct remote_reply out;
	int rc = reply_commit(reply, &commit, &out);

	MUST(rc == REMOTE_DONE || rc == REMOTE_FENCED || rc == REMOTE_HELLO || rc == -EINPROGRESS);
	if (rc == REMOTE_FENCED)
		MUST(out.box_len <= REMOTE_BOX_MAX);
}

static void welcome_look(const redisReply *reply)
{
	static struct remote_welcome welcome;

	if (reply_welcome(reply, &welcome) == 0)
		MUST(welcome.count <= REMOTE_CHAINS);
}

static void process_look(const redisReply *reply)
{
	char run_id[REDIS_RUN_ID + 1];
	char version[REDIS_VERSION];

	if (reply_process(reply, run_id, version) == 0)
		MUST(strlen(run_id) == REDIS_RUN_ID);
}

static void error_look(const redisReply *reply)
{
	struct redis_address address = { .node_count = 1, .nodes = { { "127.0.0.1", 1 } } };
	struct redis_place place;
	struct redis_target target;

	if (reply->type != REDIS_REPLY_ERROR)
		return;
	redis_place_init(&place, &address);
	MUST(redis_place_find(&place, 1, &target) == 0);
	if (redis_place_redirect(&place, &target, reply->str)) {
		MUST(redis_place_find(&place, 1, &target) == 0);
		MUST(target.node.port > 0 && target.node.port < 65536 && target.node.host[0] != '\0');
	}
	redis_place_destroy(&place);
}

static void reply_look(uint8_t asked, const redisReply *reply)
{
	char cursor[REDIS_CURSOR];
	struct remote_at at;
	unsigned int count = 0;

	switch (asked % 8) {
	case 0: commit_look(reply, &count); break;
	case 1: welcome_look(reply); break;
	case 2: (void)reply_barrier(reply, &at); break;
	case 3: (void)reply_entries(reply, false, entry_look, &count); break;
	case 4: (void)reply_entries(reply, true, entry_look, &count); break;
	case 5: (void)reply_scan(reply, cursor, key_look, &count); break;
	case 6: process_look(reply); break;
	default: error_look(reply); break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;

	if (reader == NULL || size < 2) {
		redisReaderFree(reader);
		return 0;
	}
	if (redisReaderFeed(reader, (const char *)data + 1, size - 1) == REDIS_OK &&
	    redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL)
		reply_look(data[0], reply);
	freeReplyObject(reply);
	redisReaderFree(reader);
	return 0;
}
