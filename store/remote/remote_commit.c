#include "remote_commit.h"

#include "remote_engine.h"
#include "remote_entry.h"
#include "remote_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define RESOLVE_PAUSE 1000000 /* ns */

static int send_once(struct engine *engine, const struct remote_at *base, const struct remote_part *parts, size_t count,
		     uint64_t tag, struct remote_reply *reply)
{
	unsigned char bytes[REMOTE_BOX_MAX];
	struct box_key key = box_key(engine->chain);
	struct box box = engine->box;
	int64_t sent = remote_clock(engine);

	box.commit++;
	struct remote_commit commit = {
		.base = *base,
		.tag = tag,
		.box_key = box_key_slice(&key),
		.box_version = engine->box_version,
		.box = { .data = bytes, .len = box_encode(&box, bytes) },
		.parts = parts,
		.count = count,
		.missed = feed_entry,
		.missed_arg = engine,
	};
	int rc = engine->adapter->ops->commit(engine->adapter, &commit, reply);
	/* A number that was sent is not used again: the box tells the requests of one host apart by it. */
	if (rc == REMOTE_DONE || rc == -EINPROGRESS)
		engine->box.commit = box.commit;
	if (rc == REMOTE_DONE) {
		engine->box_version = reply->at.revision;
		engine->box_sent = sent;
		asked_note(&engine->asked, base->epoch, reply->at.revision, sent);
	}
	if (rc >= 0)
		atomic_store(&engine->answered, sent);
	return rc;
}

/* What the box says about the commit in doubt: true if it was applied; the reply then says so. */
static bool box_tells(const struct engine *engine, const struct box *box, struct remote_reply *reply)
{
	if (box->instance != engine->box.instance || box->commit != engine->doubt.commit)
		return false;
	memcpy(reply->applied, box->applied, box->part_count);
	reply->at.revision = reply->box_version;
	return true;
}

int commit_resolve(struct engine *engine, struct remote_reply *reply)
{
	struct remote_at base = mirror_at(engine->mirror);
	struct box box;
	int rc;

	if (!engine->doubt.open)
		return 0;
	while ((rc = send_once(engine, &base, NULL, 0, remote_random(engine), reply)) < 0 &&
	       remote_clock(engine) < engine->deadline)
		(void)nanosleep(&(struct timespec){ .tv_nsec = RESOLVE_PAUSE }, NULL);
	if (rc < 0 || rc == REMOTE_HELLO)
		return rc;
	engine->doubt.open = false;
	if (rc == REMOTE_DONE)
		return 0;
	rc = box_decode((struct slice){ .data = reply->box, .len = reply->box_len }, &box);
	bool ours = rc == 0 && box.instance == engine->box.instance;
	if (ours && box.incarnation == engine->box.incarnation)
		engine->box_version = reply->box_version;
	else
		engine->ready = false;
	return !ours ? -EIO : box_tells(engine, &box, reply) ? 1 : engine->ready ? 0 : REMOTE_FENCED;
}

/* The entry that the engine made of a commit, to spare fetching it. NULL: no memory. */
static unsigned char *entry_encode(const struct entry_head *head, const struct remote_part *parts, size_t count,
				   const struct remote_reply *reply, const struct txn_write *box, size_t *len)
{
	*len = ENTRY_HEAD + entry_write_size(box);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; reply->applied[i] == '1' && j < parts[i].write_count; j++)
			*len += entry_write_size(parts[i].writes[j]);
	unsigned char *bytes = malloc(*len);
	if (bytes == NULL)
		return NULL;
	unsigned char *at = entry_head_put(bytes, head);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; reply->applied[i] == '1' && j < parts[i].write_count; j++)
			at = entry_write_put(at, parts[i].writes[j]);
	(void)entry_write_put(at, box);
	return bytes;
}

/* Takes a commit into the mirror: at once if the entries before it are there, else with those. */
static int applied_take(struct engine *engine, const struct remote_part *parts, size_t count, uint64_t tag,
			const struct remote_reply *reply)
{
	struct remote_at at = mirror_at(engine->mirror);

	if (reply->at.revision == at.revision + 1 && tag != 0) {
		const struct entry_head head = { .revision = reply->at.revision, .tag = tag, .before = at.tag };
		struct box_key key = box_key(engine->chain);
		unsigned char bytes[REMOTE_BOX_MAX];
		struct box box = engine->box;
		size_t len;

		box.part_count = count;
		memcpy(box.applied, reply->applied, count);
		const struct txn_write write = {
			.key = box_key_slice(&key),
			.value = { .data = bytes, .len = box_encode_whole(&box, bytes) },
		};
		unsigned char *entry = entry_encode(&head, parts, count, reply, &write, &len);
		int rc = entry == NULL ? -ENOMEM : feed_apply(engine, (struct slice){ .data = entry, .len = len });
		free(entry);
		if (rc >= 0)
			return 0;
	}
	return feed_catch_up(engine, REMOTE_LINE_COMMIT, reply->at.revision);
}

int commit_send(struct engine *engine, const struct remote_at *base, const struct remote_part *parts, size_t count,
		struct remote_reply *reply)
{
	uint64_t tag = remote_random(engine);
	int rc = send_once(engine, base, parts, count, tag, reply);

	if (rc == -EINPROGRESS) {
		engine->doubt = (struct remote_doubt){
			.open = true,
			.epoch = base->epoch,
			.commit = engine->box.commit,
		};
		rc = commit_resolve(engine, reply);
		if (engine->doubt.open)
			return -EINPROGRESS;
		if (rc != 1)
			return rc == 0 ? COMMIT_LOST : rc;
		tag = 0;
		rc = REMOTE_DONE;
	}
	/* What is applied is applied: a mirror that cannot follow is mended by the next hello. */
	if (rc == REMOTE_DONE && applied_take(engine, parts, count, tag, reply) != 0)
		atomic_store(&engine->strange, true);
	return rc;
}
