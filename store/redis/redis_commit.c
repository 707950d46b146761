#include "redis_commit.h"

#include "redis_pack.h"
#include "remote_bytes.h"

#include <errno.h>
#include <stdio.h>

static struct slice bytes_of(const void *data, size_t len)
{
	return (struct slice){ .data = data, .len = len };
}

/* The words of the request, in the pack's arena. NULL: no memory. */
static struct slice *commit_words(const struct redis_process *process, struct redis_pack *pack, const char *keep,
				  const struct remote_commit *commit, const char *sha, size_t *count)
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
		slice_of(process->hash),
		slice_of(process->stream),
		bytes_of(numbers, 8),
		bytes_of(numbers + 8, 8),
		bytes_of(numbers + 16, 8),
		box,
		bytes_of(numbers + 24, 8),
		commit->box,
		pack->parts,
		slice_of(total),
		slice_of(keep),
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

/* One try. With `full` the parts that take memory are refused, and the server may have none. */
static int send_once(struct redis_process *process, const char *keep, const struct remote_commit *commit, bool full,
		     struct remote_reply *out)
{
	struct redis_pack pack;
	char sha[REDIS_SHA + 1];
	redisReply *reply;
	size_t count;
	int rc = redis_process_sha(process, full ? REDIS_COMMIT_FULL : REDIS_COMMIT, commit->base.epoch, sha);

	if (rc != 0)
		return rc;
	rc = redis_pack(&pack, commit, full);
	struct slice *words = rc == 0 ? commit_words(process, &pack, keep, commit, sha, &count) : NULL;
	if (words == NULL) {
		rc = -ENOMEM;
	} else {
		rc = redis_line_ask(process->line, words, count, 0, &reply);
		if (rc == 0) {
			rc = reply_commit(reply, commit, out);
			freeReplyObject(reply);
		}
	}
	redis_pack_free(&pack);
	return rc;
}

int redis_commit_send(struct redis_process *process, const char *keep, const struct remote_commit *commit,
		      struct remote_reply *out)
{
	size_t takers = 0;

	for (size_t i = 0; i < commit->count; i++)
		takers += redis_part_takes(&commit->parts[i]);
	int rc = send_once(process, keep, commit, takers == 0, out);
	/* Those that take memory look like conflicts: they run again, and by themselves they are refused. */
	if (rc == -ENOSPC && takers < commit->count)
		rc = send_once(process, keep, commit, true, out);
	return rc;
}
