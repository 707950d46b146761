/*
 * The write set of one transaction function, laid over the engine's reads. Keys and values are copied into an arena that
 * never moves, so that values from store_get() stay valid while the function writes.
 */
#include "txn_run.h"

#include "arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_SIZE ((size_t)16 * 1024)
#define WRITES_MIN ((size_t)32)

struct store_txn {
	const struct txn_source *source;
	void *view;
	bool readonly;
	bool sync;
	int error;          /* of the first read or write that failed: then nothing is committed */
	bool records;       /* reads, for the engine to compare */
	struct reads reads; /* their keys are in `own` */
	struct writes writes;
	size_t capacity;
	struct arena own;
	struct arena *arena; /* `own`, or the engine's */
};

static _Thread_local bool running;

bool txn_running(void)
{
	return running;
}

struct store_txn *txn_new(const struct txn_source *source, bool readonly)
{
	struct store_txn *txn = calloc(1, sizeof(*txn));

	if (txn == NULL)
		return NULL;
	txn->source = source;
	txn->readonly = readonly;
	txn->records = !readonly && source->version != NULL;
	txn->arena = &txn->own;
	if (!arena_init(&txn->own, readonly ? 0 : ARENA_SIZE)) {
		free(txn);
		return NULL;
	}
	return txn;
}

void txn_free(struct store_txn *txn)
{
	if (txn == NULL)
		return;
	arena_free(&txn->own);
	free(txn->reads.list);
	free(txn->writes.list);
	free(txn);
}

void txn_lend(struct store_txn *txn, struct arena *arena)
{
	txn->arena = arena;
}

int txn_run(struct store_txn *txn, void *view, store_fn *fn, void *arg)
{
	if (txn->arena == &txn->own || txn->records)
		arena_empty(&txn->own);
	txn->reads.count = 0;
	txn->writes.count = 0;
	txn->view = view;
	txn->sync = false;
	txn->error = 0;

	running = true;
	int rc = fn(txn, arg);
	running = false;

	return rc >= 0 && txn->error != 0 ? txn->error : rc;
}

struct txn_commit txn_commit(const struct store_txn *txn)
{
	return (struct txn_commit){
		.reads = txn->records ? &txn->reads : NULL,
		.writes = &txn->writes,
		.durable = txn->sync,
	};
}

size_t store_txn_keys(const struct store_txn *txn)
{
	return txn->reads.count + txn->writes.count;
}

void store_txn_sync(struct store_txn *txn)
{
	txn->sync = true;
}

static bool set_reserve(struct store_txn *txn)
{
	size_t capacity = txn->capacity == 0 ? WRITES_MIN : txn->capacity * 2;
	struct txn_write **list = reallocarray(txn->writes.list, capacity, sizeof(struct txn_write *));

	if (list == NULL)
		return false;
	txn->writes.list = list;
	txn->capacity = capacity;
	return true;
}

/*
 * Puts a write of `key` at index `at`; a value without data removes the key. Both follow the write in memory: a search
 * that finds the write has them in the cache.
 */
static bool set_insert(struct store_txn *txn, size_t at, struct slice key, struct slice value)
{
	struct writes *writes = &txn->writes;

	if (writes->count == txn->capacity && !set_reserve(txn))
		return false;
	struct txn_write *write = arena_take(txn->arena, sizeof(*write) + key.len + value.len + 1);
	if (write == NULL)
		return false;
	unsigned char *bytes = (unsigned char *)(write + 1);
	memcpy(bytes, key.data, key.len);
	write->key = (struct slice){ .data = bytes, .len = key.len };
	write->value = (struct slice){ .data = NULL, .len = 0 };
	if (value.data != NULL) {
		bytes += key.len;
		memcpy(bytes, value.data, value.len);
		write->value = (struct slice){ .data = bytes, .len = value.len };
	}
	if (at < writes->count)
		memmove(writes->list + at + 1, writes->list + at, (writes->count - at) * sizeof(struct txn_write *));
	writes->list[at] = write;
	writes->count++;
	return true;
}

/* Remembers the first error, so that a function that overlooks one commits nothing. */
static int txn_check(struct store_txn *txn, int rc)
{
	if (rc < 0 && txn->error == 0)
		txn->error = rc;
	return rc;
}

/* Adds a key to the read set, unless it is there already. `rc` is what the read returned. */
static int read_record(struct store_txn *txn, struct slice key, int rc)
{
	size_t at;

	if (rc < 0 || reads_find(&txn->reads, key, &at))
		return rc;
	uint64_t version = txn->source->version(txn->view, key);
	return reads_insert(&txn->reads, at, key, version, &txn->own) ? rc : txn_check(txn, -ENOMEM);
}

/* Reads the engine's value, past the write set. */
static int read_below(struct store_txn *txn, struct slice key, struct slice *value)
{
	if (key.len == 0 || key.len > STORE_KEY_MAX)
		return 1;
	int rc = txn_check(txn, txn->source->get(txn->view, key, value));
	return txn->records ? read_record(txn, key, rc) : rc;
}

int store_get(struct store_txn *txn, struct slice key, struct slice *value)
{
	bool same;
	size_t i = writes_find(&txn->writes, key, &same);

	if (same) {
		*value = txn->writes.list[i]->value;
		return value->data == NULL;
	}
	return read_below(txn, key, value);
}

int store_put(struct store_txn *txn, struct slice key, struct slice value)
{
	bool same;

	if (txn->readonly)
		return -EROFS;
	if (key.len == 0 || key.len > STORE_KEY_MAX)
		return -EINVAL;
	if (value.len > STORE_VALUE_MAX)
		return -E2BIG;

	if (value.data == NULL)
		value.data = ""; /* one of no length: only a removal has none */
	size_t i = writes_find(&txn->writes, key, &same);
	bool done = same ? arena_copy(txn->arena, value, &txn->writes.list[i]->value) : set_insert(txn, i, key, value);
	return done ? 0 : txn_check(txn, -ENOMEM);
}

static const struct slice removed = { .data = NULL, .len = 0 };

int store_del(struct store_txn *txn, struct slice key)
{
	bool same;

	if (txn->readonly)
		return -EROFS;
	size_t i = writes_find(&txn->writes, key, &same);
	if (same) {
		bool gone = txn->writes.list[i]->value.data == NULL;

		txn->writes.list[i]->value = removed;
		return gone;
	}
	struct slice value;
	int rc = read_below(txn, key, &value);
	if (rc == 0 && !set_insert(txn, i, key, removed))
		rc = txn_check(txn, -ENOMEM);
	return rc;
}

int store_drop(struct store_txn *txn, struct slice key)
{
	bool same;

	if (txn->readonly)
		return -EROFS;
	if (key.len == 0 || key.len > STORE_KEY_MAX)
		return -EINVAL;
	size_t i = writes_find(&txn->writes, key, &same);
	if (same)
		txn->writes.list[i]->value = removed;
	else if (!set_insert(txn, i, key, removed))
		return txn_check(txn, -ENOMEM);
	return 0;
}

int store_next(struct store_txn *txn, struct slice from, struct slice prefix, struct slice *key, struct slice *value)
{
	struct txn_write found;

	if (slice_compare(from, prefix) < 0)
		from = prefix;
	int rc = txn_check(txn, writes_next(&txn->writes, txn->source->next, txn->view, from, prefix, &found));
	if (rc == 0 && txn->records) {
		bool own;

		(void)writes_find(&txn->writes, found.key, &own);
		rc = own ? 0 : read_record(txn, found.key, 0);
	}
	if (rc != 0)
		return rc;
	*key = found.key;
	if (value != NULL)
		*value = found.value;
	return 0;
}
