#include "redis_restore.h"

#include "redis_pack.h"
#include "redis_script.h"
#include "remote_bytes.h"
#include "remote_entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define KEYS 500 /* set at a time */
#define BYTES ((size_t)1024 * 1024)
#define ARENA_SIZE ((size_t)256 * 1024)

/* Of one dump, to tell it from others. */
struct mark {
	unsigned char bytes[REMOTE_ID + 16];
};

static struct slice mark_of(const struct dump *dump, struct mark *mark)
{
	unsigned char *at = bytes_put_slice(mark->bytes, (struct slice){ .data = dump->id, .len = REMOTE_ID });

	(void)bytes_put(bytes_put(at, dump->at.revision, 8), dump->at.tag, 8);
	return (struct slice){ .data = mark->bytes, .len = sizeof(mark->bytes) };
}

/* Runs one of the two scripts: 0 or -EEXIST. */
static int script_run(struct redis_process *process, const char *script, const struct slice *args, size_t count)
{
	redisReply *reply = NULL;
	long long exists = 0;
	int rc = redis_process_know(process);

	if (rc == 0)
		rc = redis_process_eval(process, script, args, count, &reply);
	if (rc < 0 || reply == NULL)
		return rc;
	rc = reply_number(reply, &exists);
	freeReplyObject(reply);
	return rc < 0 ? rc : exists != 0 ? -EEXIST : 0;
}

/* Sets some keys, from the i-th on; how many, or a negative errno. */
static int keys_set(struct redis_process *process, const struct dump *dump, size_t i, struct arena *arena)
{
	struct slice words[2 + 2 * KEYS] = { slice_of("HSET"), slice_of(process->hash) };
	redisReply *reply;
	size_t bytes = 0;
	size_t n = 0;

	arena_empty(arena);
	for (; n < KEYS && i + n < dump->count && bytes < BYTES; n++) {
		const struct dump_item *item = &dump->items[i + n];
		unsigned char *value = arena_take(arena, 8 + item->value.len);

		words[2 + 2 * n] = redis_field(arena, item->key);
		if (value == NULL || words[2 + 2 * n].data == NULL)
			return -ENOMEM;
		(void)bytes_put_slice(bytes_put(value, item->version, 8), item->value);
		words[3 + 2 * n] = (struct slice){ .data = value, .len = 8 + item->value.len };
		bytes += item->key.len + item->value.len;
	}
	int rc = redis_line_ask(process->line, words, 2 + 2 * n, 0, &reply);
	if (rc != 0)
		return rc > 0 || rc == -EINPROGRESS ? -EHOSTDOWN : rc;
	freeReplyObject(reply);
	return (int)n;
}

int redis_restore_keys(struct redis_process *process, const struct dump *dump)
{
	struct arena arena;
	struct mark mark;
	const struct slice args[] = { mark_of(dump, &mark) };
	size_t done = 0;
	int rc = script_run(process, redis_restore_script, args, 1);

	if (rc < 0)
		return rc;
	if (!arena_init(&arena, ARENA_SIZE))
		return -ENOMEM;
	while (rc >= 0 && done < dump->count) {
		rc = keys_set(process, dump, done, &arena);
		done += rc > 0 ? (size_t)rc : 0;
	}
	arena_free(&arena);
	return rc < 0 ? rc : 0;
}

int redis_restore_end(struct redis_process *process, const struct dump *dump)
{
	unsigned char entry[ENTRY_HEAD];
	char epoch[24];
	struct mark mark;

	(void)entry_head_put(entry, &(struct entry_head){ .revision = dump->at.revision, .tag = dump->at.tag });
	(void)snprintf(epoch, sizeof(epoch), "%" PRIu64, dump->at.epoch);
	const struct slice args[] = {
		mark_of(dump, &mark),
		{ .data = dump->id, .len = REMOTE_ID },
		slice_of(epoch),
		{ .data = entry, .len = sizeof(entry) },
	};
	return script_run(process, redis_restored_script, args, 4);
}
