#include "remote_round.h"

#include "remote_batch.h"

#include <errno.h>
#include <stdlib.h>

static int below_next(void *view, struct slice from, struct slice prefix, struct slice *key, struct slice *value)
{
	return mirror_next(view, from, prefix, key, value);
}

static int below_get(void *view, struct slice key, struct slice *value)
{
	return mirror_get(view, key, value, NULL);
}

const struct txn_source mirror_source = {
	.get = below_get,
	.next = below_next,
};

static int over_get(void *view, struct slice key, struct slice *value)
{
	const struct round *round = view;
	bool same;
	size_t i = writes_find(&round->over, key, &same);

	if (!same)
		return mirror_get(round->mirror, key, value, NULL);
	*value = round->over.list[i]->value;
	return value->data == NULL;
}

static int over_next(void *view, struct slice from, struct slice prefix, struct slice *key, struct slice *value)
{
	const struct round *round = view;
	struct txn_write found;
	int rc = writes_next(&round->over, below_next, round->mirror, from, prefix, &found);

	if (rc != 0)
		return rc;
	*key = found.key;
	if (value != NULL)
		*value = found.value;
	return 0;
}

static uint64_t over_version(void *view, struct slice key)
{
	const struct round *round = view;
	struct slice value;
	uint64_t version = 0;
	bool same;
	size_t i = writes_find(&round->over, key, &same);

	if (same)
		return REMOTE_PART_VERSION(round->owners[i]);
	(void)mirror_get(round->mirror, key, &value, &version);
	return version;
}

static const struct txn_source over_source = {
	.get = over_get,
	.next = over_next,
	.version = over_version,
};

static bool over_reserve(struct round *round)
{
	if (round->over.count < round->over_cap)
		return true;
	size_t cap = round->over_cap == 0 ? 64 : round->over_cap * 2;
	struct txn_write **list = reallocarray(round->over.list, cap, sizeof(*list));
	if (list == NULL)
		return false;
	round->over.list = list;
	uint16_t *owners = reallocarray(round->owners, cap, sizeof(*owners));
	if (owners == NULL)
		return false;
	round->owners = owners;
	round->over_cap = cap;
	return true;
}

/* Lays one write of part `part` over what is there. */
static bool over_add(struct round *round, struct txn_write *write, size_t part)
{
	struct writes *over = &round->over;
	bool same;

	if (!over_reserve(round))
		return false;
	size_t i = writes_find(over, write->key, &same);
	if (!same) {
		memmove(over->list + i + 1, over->list + i, (over->count - i) * sizeof(struct txn_write *));
		memmove(round->owners + i + 1, round->owners + i, (over->count - i) * sizeof(*round->owners));
		over->count++;
	}
	over->list[i] = write;
	round->owners[i] = (uint16_t)part;
	return true;
}

static bool is_local(const struct engine *engine, struct slice key)
{
	return engine->share != NULL && engine->share->is_local(key);
}

/* The write as it is sent: local keys are not (1), and values are in the form that all hosts share. 0, 1 or a negative errno. */
static int write_send(struct engine *engine, struct txn_write *write, struct txn_write **out)
{
	const struct store_share *share = engine->share;
	unsigned char buf[STORE_SHARE_BUF];
	struct slice value = write->value;

	if (*(const unsigned char *)write->key.data == 0)
		return -EINVAL;
	if (is_local(engine, write->key))
		return 1;
	*out = write;
	if (share == NULL || value.data == NULL)
		return 0;
	int rc = share->leave(share->arg, write->key, &value, buf);
	if (rc < 0 || value.data == write->value.data)
		return rc;
	struct txn_write *sent = arena_take(&engine->arena, sizeof(*sent));
	if (sent == NULL || !arena_copy(&engine->arena, value, &sent->value))
		return -ENOMEM;
	sent->key = write->key;
	*out = sent;
	return 0;
}

static int compares_copy(struct engine *engine, const struct reads *reads, struct remote_part *part)
{
	struct txn_read *compares = arena_take(&engine->arena, (reads->count + 1) * sizeof(*compares));

	if (compares == NULL)
		return -ENOMEM;
	part->compares = compares;
	for (size_t i = 0; i < reads->count; i++) {
		struct txn_read *compare = &compares[part->compare_count];

		if (is_local(engine, reads->list[i].key))
			continue;
		compare->version = reads->list[i].version;
		if (!arena_copy(&engine->arena, reads->list[i].key, &compare->key))
			return -ENOMEM;
		part->compare_count++;
	}
	return 0;
}

/* Copies both sets, which the next function would overwrite. The bytes of the writes are in the arena already. */
static int part_copy(struct engine *engine, const struct txn_commit *commit, struct remote_part *part)
{
	struct txn_write **writes = arena_take(&engine->arena, (commit->writes->count + 1) * sizeof(*writes));

	*part = (struct remote_part){ .writes = writes };
	if (writes == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < commit->writes->count; i++) {
		int rc = write_send(engine, commit->writes->list[i], &writes[part->write_count]);

		if (rc < 0)
			return rc;
		part->write_count += rc == 0;
	}
	return compares_copy(engine, commit->reads, part);
}

static size_t part_bytes(const struct remote_part *part)
{
	size_t bytes = 0;

	for (size_t i = 0; i < part->compare_count; i++)
		bytes += part->compares[i].key.len;
	for (size_t i = 0; i < part->write_count; i++)
		bytes += part->writes[i]->key.len + part->writes[i]->value.len;
	return bytes;
}

/* Lays all writes of a part over the mirror, those of local keys too. */
static bool over_add_all(struct round *round, const struct txn_commit *commit)
{
	for (size_t i = 0; i < commit->writes->count; i++)
		if (!over_add(round, commit->writes->list[i], round->part_count))
			return false;
	return true;
}

/*
 * Adds what a function read and wrote to the commit: 0, also if it wrote nothing that is the realm's, 1 (the commit is full), or a
 * negative errno, which is the function's result.
 */
static int part_add(struct round *round, struct slot *slot, const struct txn_commit *commit)
{
	const struct remote_limits *limits = &round->engine->adapter->limits;
	struct remote_part *part = &round->parts[round->part_count];

	if (round->part_count == limits->parts)
		return 1;
	int rc = part_copy(round->engine, commit, part);
	if (rc < 0 || part->write_count == 0)
		return rc;
	size_t keys = part->compare_count + part->write_count;
	size_t bytes = part_bytes(part);
	if (keys > limits->keys || bytes > limits->bytes)
		return -E2BIG;
	if (round->keys + keys > limits->keys || round->bytes + bytes > limits->bytes)
		return 1;
	if (!over_add_all(round, commit))
		return -ENOMEM;
	slot->state = SLOT_PART;
	slot->part = round->part_count++;
	round->keys += keys;
	round->bytes += bytes;
	return 0;
}

/* As part_add(). */
static int slot_run(struct round *round, struct slot *slot)
{
	struct engine *engine = round->engine;
	struct store_job *job = slot->job;

	txn_lend(engine->writer, &engine->arena);
	job->result = txn_run(engine->writer, round, job->fn, job->arg);
	struct txn_commit commit = txn_commit(engine->writer);
	int rc = job->result < 0 || commit.writes->count == 0 ? 0 : part_add(round, slot, &commit);
	if (rc < 0)
		job->result = rc;
	if (rc == 1 || slot->state == SLOT_PART)
		return rc;
	/* What the parts before it wrote may not come to be. */
	bool fresh = slot->fence != 0 && round->base.revision >= slot->fence && round->part_count == 0;
	slot->state = fresh ? SLOT_DONE : SLOT_ANSWER;
	return rc == -ENOMEM ? rc : 0;
}

static int round_fn(struct store_txn *txn, void *arg)
{
	struct round *round = arg;
	int rc = 0;

	round->mirror = txn;
	for (size_t i = 0; i < round->count && rc == 0; i++)
		if (round->slots[i].state == SLOT_OPEN)
			rc = slot_run(round, &round->slots[i]);
	return rc < 0 ? rc : 0;
}

int round_run(struct round *round)
{
	struct engine *engine = round->engine;

	if (engine->writer == NULL)
		engine->writer = txn_new(&over_source, false);
	if (engine->writer == NULL)
		return -ENOMEM;
	arena_empty(&engine->arena);
	round->part_count = round->keys = round->bytes = round->over.count = 0;
	return mirror_view(engine->mirror, round_fn, round, &round->base);
}

void round_free(struct round *round)
{
	free(round->over.list);
	free(round->owners);
}
