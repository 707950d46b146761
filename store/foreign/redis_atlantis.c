/*
 * Atlantis' records in Redis: "pr/<key>" is a lock, "global/<key>" a command lock, "<host>::<repository>::<number>" a
 * pull request. All other keys are left alone. Keys are collected first, because a SCAN may return one twice, and
 * values are read in batches, so that neither side blocks for long.
 */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign.h"
#include "redis_nodes.h"

#define SCAN "500"
#define SCANS_MAX 1000000 /* a Redis that needs more SCAN calls is not Atlantis' */
#define BATCH 100
#define KEYS_MAX (UINT64_C(50) * 1000 * 1000)

static const char *const prefixes[] = {
	[FOREIGN_LOCK] = "pr/",
	[FOREIGN_PULL] = "",
	[FOREIGN_GLOBAL] = "global/",
	[FOREIGN_ENHANCED] = "atlantis:enhanced:lock:",
	[FOREIGN_QUEUE] = "atlantis:enhanced:queue:",
};

/* Keys with a NUL in them are not Atlantis'. */
struct redis_key {
	char *text;
	size_t node; /* that has it */
};

struct redis {
	struct foreign base;
	struct redis_nodes nodes;
	struct redis_key *keys;
	size_t count;
	size_t capacity;
	size_t asked;        /* keys whose values have been requested */
	redisReply *batch;   /* values of the keys before `asked` */
	size_t at;           /* next in the batch */
	redisReply *value;   /* returned by redis_get() */
	redisReply *members; /* of the queue that is being read */
	size_t member;       /* next in it */
	const char *queue;   /* its key, without prefix */
};

static int key_kind(const char *key)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (prefixes[i][0] != '\0' && strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
			return (int)i;
	return strstr(key, "::") != NULL ? FOREIGN_PULL : -1;
}

/* Names are cut off where control bytes begin: they go to a terminal. */
static void other_note(struct redis *redis, const char *key)
{
	struct foreign *base = &redis->base;
	size_t used = strlen(base->other);
	int len = 0;

	base->others++;
	while (len < 60 && (unsigned char)key[len] > 0x20 && key[len] != 0x7f)
		len++;
	if (used + (size_t)len + 3 < sizeof(base->other))
		(void)snprintf(base->other + used, sizeof(base->other) - used, "%s%.*s", used > 0 ? ", " : "", len,
			       key);
}

static int key_add(struct redis *redis, const redisReply *key)
{
	if (key->type != REDIS_REPLY_STRING)
		return 0;
	if (strlen(key->str) != key->len || key_kind(key->str) < 0) {
		other_note(redis, key->str);
		return 0;
	}
	if (redis->count == redis->capacity) {
		size_t capacity = redis->capacity * 2 + 256;
		struct redis_key *keys = reallocarray(redis->keys, capacity, sizeof(*keys));

		if (keys == NULL || capacity > KEYS_MAX)
			return foreign_fail(&redis->base, -ENOMEM, "%s: too many keys for the memory",
					    redis->nodes.where);
		redis->keys = keys;
		redis->capacity = capacity;
	}
	redis->keys[redis->count] = (struct redis_key){ strdup(key->str), redis->nodes.now };
	if (redis->keys[redis->count].text == NULL)
		return foreign_fail(&redis->base, -ENOMEM, "out of memory");
	redis->count++;
	return 0;
}

static int key_order(const void *a, const void *b)
{
	return strcmp(((const struct redis_key *)a)->text, ((const struct redis_key *)b)->text);
}

static void keys_unique(struct redis *redis)
{
	size_t kept = 0;

	if (redis->count > 0)
		qsort(redis->keys, redis->count, sizeof(*redis->keys), key_order);
	for (size_t i = 0; i < redis->count; i++) {
		if (kept > 0 && strcmp(redis->keys[kept - 1].text, redis->keys[i].text) == 0)
			free(redis->keys[i].text);
		else
			redis->keys[kept++] = redis->keys[i];
	}
	redis->count = kept;
	redis->base.total = kept;
}

static bool is_list(const redisReply *reply, size_t count)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements == count;
}

/* Adds the keys of the node that is being asked. */
static int node_gather(struct redis *redis)
{
	char cursor[32] = "0";
	unsigned int asked = 0;
	int err = 0;

	do {
		const char *argv[] = { "SCAN", cursor, "COUNT", SCAN };
		redisReply *reply = redis_ask(&redis->nodes, &err, 4, argv, NULL);

		if (reply == NULL)
			return err;
		if (!is_list(reply, 2) || reply->element[0]->type != REDIS_REPLY_STRING ||
		    reply->element[1]->type != REDIS_REPLY_ARRAY ||
		    strlcpy(cursor, reply->element[0]->str, sizeof(cursor)) >= sizeof(cursor))
			err = foreign_fail(&redis->base, -EBADMSG, "%s does not answer SCAN as a Redis does",
					   redis->nodes.where);
		for (size_t i = 0; err == 0 && i < reply->element[1]->elements; i++)
			err = key_add(redis, reply->element[1]->element[i]);
		freeReplyObject(reply);
		if (err == 0 && ++asked == SCANS_MAX)
			err = foreign_fail(&redis->base, -EBADMSG, "%s does not come to the end of SCAN",
					   redis->nodes.where);
	} while (err == 0 && strcmp(cursor, "0") != 0);
	return err;
}

static int keys_gather(struct redis *redis)
{
	int err = redis_nodes_look(&redis->nodes);

	if (err == 0)
		redis->base.flushes_before = redis_nodes_flushes(&redis->nodes);
	for (size_t i = 0; err == 0 && i < redis->nodes.count; i++) {
		err = redis_nodes_use(&redis->nodes, i);
		if (err == 0)
			err = node_gather(redis);
	}
	if (err == 0)
		redis->base.flushes = redis_nodes_flushes(&redis->nodes);
	keys_unique(redis);
	return err;
}

/* Keys of a Cluster may be in different slots of its node, which one command cannot ask for. */
static size_t batch_size(const struct redis *redis)
{
	return redis->nodes.cluster ? 1 : BATCH;
}

static int batch_read(struct redis *redis)
{
	const char *argv[BATCH + 1] = { "MGET" };
	size_t n = 0;
	int err;

	freeReplyObject(redis->batch);
	redis->batch = NULL;
	while (n < batch_size(redis) && redis->asked + n < redis->count) {
		argv[n + 1] = redis->keys[redis->asked + n].text;
		n++;
	}
	err = redis_nodes_use(&redis->nodes, redis->keys[redis->asked].node);
	if (err < 0)
		return err;
	redis->batch = redis_ask(&redis->nodes, &err, (int)n + 1, argv, NULL);
	if (redis->batch == NULL)
		return err;
	if (!is_list(redis->batch, n))
		return foreign_fail(&redis->base, -EBADMSG, "%s does not answer MGET as a Redis does",
				    redis->nodes.where);
	redis->asked += n;
	redis->at = 0;
	return 0;
}

static int64_t key_ttl(struct redis *redis, const char *key)
{
	int err;
	redisReply *reply = redis_ask_words(&redis->nodes, &err, "PTTL", key, NULL);
	int64_t ttl = reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0 ? reply->integer : -1;

	freeReplyObject(reply);
	return ttl;
}

/* Reads a queue, a sorted set, in its order. */
static int queue_read(struct redis *redis, const char *key)
{
	const char *argv[] = { "ZRANGE", key, "0", "-1" };
	int err;

	freeReplyObject(redis->members);
	redis->member = 0;
	redis->queue = key + strlen(prefixes[FOREIGN_QUEUE]);
	redis->members = redis_ask(&redis->nodes, &err, 4, argv, NULL);
	return err;
}

/* The next member of the queue: 0, or 1 if there is none. */
static int member_next(struct redis *redis, struct foreign_item *out)
{
	const redisReply *members = redis->members;

	if (members == NULL || members->type != REDIS_REPLY_ARRAY || redis->member == members->elements)
		return 1;
	*out = (struct foreign_item){ .kind = FOREIGN_QUEUE, .key = slice_of(redis->queue), .ttl = -1 };
	out->value = (struct slice){ members->element[redis->member]->str, members->element[redis->member]->len };
	redis->member++;
	return 0;
}

/* A key that was deleted meanwhile, or whose value is of another type than Atlantis', is no record. */
static int redis_next(struct foreign *foreign, struct foreign_item *out)
{
	struct redis *redis = (struct redis *)foreign;
	int err;

	for (;;) {
		const redisReply *value;
		const char *key;
		int kind;

		if (member_next(redis, out) == 0)
			return 0;
		if (redis->batch == NULL || redis->at == redis->batch->elements) {
			if (redis->asked == redis->count)
				return 1;
			err = batch_read(redis);
			if (err < 0)
				return err;
		}
		key = redis->keys[redis->asked - redis->batch->elements + redis->at].text;
		value = redis->batch->element[redis->at++];
		kind = key_kind(key);
		if (kind == FOREIGN_QUEUE) {
			err = queue_read(redis, key);
			if (err < 0)
				return err;
			continue;
		}
		if (value->type != REDIS_REPLY_STRING || kind < 0)
			continue;
		out->kind = (enum foreign_kind)kind;
		out->key = slice_of(key + strlen(prefixes[kind]));
		out->value = (struct slice){ value->str, value->len };
		out->ttl = kind == FOREIGN_ENHANCED ? key_ttl(redis, key) : -1;
		return 0;
	}
}

/* The key as Redis has it; NULL once the failure has been noted. */
static char *key_spell(struct redis *redis, enum foreign_kind kind, const char *key, size_t len)
{
	char *spelled;

	if (asprintf(&spelled, "%s%.*s", prefixes[kind], (int)len, key) >= 0)
		return spelled;
	foreign_fail(&redis->base, -ENOMEM, "out of memory");
	return NULL;
}

static int redis_get(struct foreign *foreign, enum foreign_kind kind, const char *key, struct slice *out)
{
	struct redis *redis = (struct redis *)foreign;
	char *spelled = key_spell(redis, kind, key, strlen(key));
	int err = -ENOMEM;

	if (redis->value != NULL)
		freeReplyObject(redis->value);
	redis->value = spelled == NULL ? NULL : redis_ask_words(&redis->nodes, &err, "GET", spelled, NULL);
	free(spelled);
	if (redis->value == NULL)
		return err;
	if (redis->value->type != REDIS_REPLY_STRING)
		return 1;
	*out = (struct slice){ redis->value->str, redis->value->len };
	return 0;
}

static bool is_same(const redisReply *value, const struct slice *old)
{
	if (old == NULL)
		return value->type == REDIS_REPLY_NIL;
	return value->type == REDIS_REPLY_STRING && value->len == old->len &&
	       (old->len == 0 || memcmp(value->str, old->data, old->len) == 0);
}

/* Between WATCH and EXEC: 0, or 1 if another client changed the key. */
static int swap(struct redis *redis, const char *key, struct slice value, int64_t ttl)
{
	char left[24];
	const char *argv[] = { value.data == NULL ? "DEL" : "SET", key, value.data, "PX", left };
	const size_t lens[] = { 3, strlen(key), value.len, 2, (size_t)snprintf(left, sizeof(left), "%" PRId64, ttl) };
	redisReply *reply;
	int err = redis_tell(&redis->nodes, "MULTI", NULL, NULL);

	if (err == 0) {
		freeReplyObject(redis_ask(&redis->nodes, &err, value.data == NULL ? 2 : ttl > 0 ? 5 : 3, argv, lens));
	}
	if (err < 0)
		return err;
	reply = redis_ask_words(&redis->nodes, &err, "EXEC", NULL, NULL);
	if (reply == NULL)
		return err;
	err = reply->type == REDIS_REPLY_NIL ? 1 : 0;
	if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 && reply->element[0]->type == REDIS_REPLY_ERROR)
		err = redis_nodes_fail(&redis->nodes, reply->element[0]);
	freeReplyObject(reply);
	return err;
}

static int redis_change(struct foreign *foreign, const struct foreign_item *item, const struct slice *old)
{
	struct redis *redis = (struct redis *)foreign;
	char *key = key_spell(redis, item->kind, item->key.data, item->key.len);
	redisReply *value = NULL;
	int err;

	if (key == NULL)
		return -ENOMEM;
	err = redis_tell(&redis->nodes, "WATCH", key, NULL);
	if (err == 0)
		value = redis_ask_words(&redis->nodes, &err, "GET", key, NULL);
	if (value != NULL && is_same(value, old))
		err = swap(redis, key, item->value, item->ttl);
	else if (value != NULL)
		err = redis_tell(&redis->nodes, "UNWATCH", NULL, NULL) < 0 ? -EIO : 1;
	freeReplyObject(value);
	free(key);
	return err;
}

static int redis_enqueue(struct foreign *foreign, const char *key, const char *member, double score)
{
	struct redis *redis = (struct redis *)foreign;
	char *spelled = key_spell(redis, FOREIGN_QUEUE, key, strlen(key));
	char number[64];
	const char *argv[] = { "ZADD", spelled, "NX", number, member };
	redisReply *reply;
	int err = -ENOMEM;

	snprintf(number, sizeof(number), "%.6f", score);
	reply = spelled == NULL ? NULL : redis_ask(&redis->nodes, &err, 5, argv, NULL);
	free(spelled);
	if (reply == NULL)
		return err;
	err = reply->type == REDIS_REPLY_INTEGER && reply->integer == 0;
	freeReplyObject(reply);
	return err;
}

static int redis_again(struct foreign *foreign)
{
	struct redis *redis = (struct redis *)foreign;

	for (size_t i = 0; i < redis->count; i++)
		free(redis->keys[i].text);
	redis->count = redis->asked = redis->at = 0;
	freeReplyObject(redis->batch);
	freeReplyObject(redis->members);
	redis->batch = redis->members = NULL;
	redis->base.others = 0;
	redis->base.other[0] = '\0';
	return keys_gather(redis);
}

static void redis_close(struct foreign *foreign)
{
	struct redis *redis = (struct redis *)foreign;

	for (size_t i = 0; i < redis->count; i++)
		free(redis->keys[i].text);
	free(redis->keys);
	freeReplyObject(redis->batch);
	freeReplyObject(redis->value);
	freeReplyObject(redis->members);
	redis_nodes_close(&redis->nodes);
	free(redis);
}

static bool redis_changed(struct foreign *foreign)
{
	return redis_nodes_changed(&((struct redis *)foreign)->nodes);
}

static const struct foreign_type redis_type = { .next = redis_next,
						.again = redis_again,
						.get = redis_get,
						.change = redis_change,
						.enqueue = redis_enqueue,
						.changed = redis_changed,
						.close = redis_close };

int redis_atlantis_open(struct foreign **out, const char *text, unsigned int flags, char error[FOREIGN_ERROR_MAX])
{
	struct redis *redis = calloc(1, sizeof(*redis));
	int err;

	if (redis == NULL) {
		snprintf(error, FOREIGN_ERROR_MAX, "out of memory");
		return -ENOMEM;
	}
	redis->base.type = &redis_type;
	err = redis_nodes_open(&redis->nodes, &redis->base, text, (flags & FOREIGN_WATCH) != 0);
	if (err == 0)
		err = keys_gather(redis);
	if (err < 0) {
		memcpy(error, redis->base.error, FOREIGN_ERROR_MAX);
		redis_close(&redis->base);
		return err;
	}
	*out = &redis->base;
	return 0;
}
