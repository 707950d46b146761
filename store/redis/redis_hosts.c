#include "redis_hosts.h"

#include "remote_bytes.h"

#include <errno.h>
#include <stdlib.h>

#define FIELD 4   /* bytes of the name of a field: a letter, and the key of a box */
#define CHUNK 256 /* chains, asked for at a time */

/* As redis_line_ask(), for requests that change nothing. */
static int look(struct redis_process *process, const struct slice *words, size_t count, redisReply **out)
{
	int rc = redis_line_ask(process->line, words, count, 0, out);

	return rc > 0 || rc == -EINPROGRESS ? -EHOSTDOWN : rc;
}

/* The server's clock, in seconds. */
static int server_time(struct redis_process *process, int64_t *out)
{
	const struct slice words[] = { slice_of("TIME") };
	struct slice seconds;
	redisReply *reply;
	int rc = look(process, words, 1, &reply);

	if (rc < 0)
		return rc;
	if (reply_bytes(reply, 0, 0, &seconds))
		*out = strtoll(seconds.data, NULL, 10);
	else
		rc = -EBADMSG;
	freeReplyObject(reply);
	return rc;
}

/* Pairs of a box and when it was written, of the chains from `first` on. */
static int boxes_each(const redisReply *reply, int first, int64_t now, redis_host_fn *each, void *arg)
{
	struct slice bytes;
	struct slice time;
	uint64_t version;
	struct box box;
	int rc = 0;

	for (int i = 0; i < CHUNK && rc == 0; i++) {
		if (!reply_bytes(reply, 2 * (size_t)i, 0, &bytes))
			continue;
		int64_t heard = reply_bytes(reply, 2 * (size_t)i + 1, 0, &time) ? now - strtoll(time.data, NULL, 10)
										: -1;
		rc = bytes_take(&bytes, 8, &version) ? box_decode(bytes, &box) : -EBADMSG;
		if (rc == 0)
			rc = each(arg, (uint16_t)(first + i), &box, heard);
	}
	return rc;
}

int redis_hosts_each(struct redis_process *process, redis_host_fn *each, void *arg)
{
	static const char letters[] = { 'k', 't' };
	unsigned char names[2 * CHUNK][FIELD];
	struct slice words[2 + 2 * CHUNK] = { slice_of("HMGET"), slice_of(process->hash) };
	redisReply *reply;
	int64_t now = 0;
	int rc = server_time(process, &now);

	for (int first = 0; first < REMOTE_CHAINS && rc == 0; first += CHUNK) {
		for (int i = 0; i < 2 * CHUNK; i++) {
			struct box_key key = box_key((uint16_t)(first + i / 2));

			names[i][0] = (unsigned char)letters[i % 2];
			memcpy(names[i] + 1, key.bytes, sizeof(key.bytes));
			words[2 + i] = (struct slice){ .data = names[i], .len = FIELD };
		}
		rc = look(process, words, sizeof(words) / sizeof(words[0]), &reply);
		if (rc == 0) {
			rc = boxes_each(reply, first, now, each, arg);
			freeReplyObject(reply);
		}
	}
	return rc;
}
