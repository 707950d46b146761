/*
 * The engine in memory: a tree of keys under one mutex, and the faults a test asks for.
 */
#include "mem_engine.h"

#include "engine_refuse.h"

#include <bsd/sys/tree.h>
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	RB_ENTRY(entry) link;
	struct slice key;
	struct slice value;
	uint64_t version;
	unsigned char bytes[]; /* key, then value */
};

static int entry_compare(const struct entry *a, const struct entry *b)
{
	return slice_compare(a->key, b->key);
}

RB_HEAD(entry_tree, entry);
RB_GENERATE_INTERNAL(entry_tree, entry, link, entry_compare, __attribute__((unused)) static)

struct mem_world {
	pthread_mutex_t lock;
	struct entry_tree entries;
	struct mem_faults faults;
	struct mem_counts counts;
	uint64_t random;
	uint64_t version; /* of the newest write */
};

/* One open store. */
struct engine {
	struct mem_world *world;
	struct store_txn *writer;
	struct store_txn *reader;
	struct store_stats stats;
};

struct mem_world *mem_world_new(uint64_t seed)
{
	struct mem_world *world = calloc(1, sizeof(*world));
	pthread_mutexattr_t attr;

	if (world == NULL)
		err(1, "mem_world_new");
	/* A function may ask for space inside its transaction. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&world->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	RB_INIT(&world->entries);
	world->random = seed;
	return world;
}

void mem_world_free(struct mem_world *world)
{
	struct entry *entry;

	if (world == NULL)
		return;
	while ((entry = RB_MIN(entry_tree, &world->entries)) != NULL) {
		RB_REMOVE(entry_tree, &world->entries, entry);
		free(entry);
	}
	pthread_mutex_destroy(&world->lock);
	free(world);
}

struct mem_faults *mem_world_faults(struct mem_world *world)
{
	return &world->faults;
}

void mem_world_counts(struct mem_world *world, struct mem_counts *out)
{
	pthread_mutex_lock(&world->lock);
	*out = world->counts;
	pthread_mutex_unlock(&world->lock);
}

/* splitmix64: small, and the same on every machine. */
static uint64_t world_random(struct mem_world *world)
{
	uint64_t z = (world->random += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static int world_apply(void *arg, const struct txn_write *write)
{
	struct mem_world *world = arg;
	struct entry *old = RB_FIND(entry_tree, &world->entries, &(struct entry){ .key = write->key });

	if (old != NULL) {
		RB_REMOVE(entry_tree, &world->entries, old);
		free(old);
		world->counts.keys--;
	}
	if (write->value.data == NULL)
		return 0;

	struct entry *entry = malloc(sizeof(*entry) + write->key.len + write->value.len);
	if (entry == NULL)
		err(1, "mem_engine");
	memcpy(entry->bytes, write->key.data, write->key.len);
	memcpy(entry->bytes + write->key.len, write->value.data, write->value.len);
	entry->key = (struct slice){ .data = entry->bytes, .len = write->key.len };
	entry->value = (struct slice){ .data = entry->bytes + write->key.len, .len = write->value.len };
	entry->version = ++world->version;
	RB_INSERT(entry_tree, &world->entries, entry);
	world->counts.keys++;
	return 0;
}

static bool fault_due(uint64_t *in)
{
	return *in != 0 && --*in == 0;
}

static int world_commit(struct mem_world *world, const struct store_txn *txn)
{
	/* Both count every commit, so that setting one does not put the other off. */
	bool fails = fault_due(&world->faults.fail_in);
	bool crashes = fault_due(&world->faults.crash_in);

	world->counts.failures += fails || crashes;
	world->counts.down = crashes;
	if (crashes && !world->faults.crash_applied)
		return -EIO;
	if (fails && !crashes)
		return -world->faults.fail_error;
	const struct writes *writes = txn_commit(txn).writes;
	for (size_t i = 0; i < writes->count; i++)
		world_apply(world, writes->list[i]);
	world->counts.commits++;
	return crashes ? -EIO : 0;
}

static int mem_get(void *view, struct slice key, struct slice *value)
{
	struct mem_world *world = view;
	const struct entry *entry = RB_FIND(entry_tree, &world->entries, &(struct entry){ .key = key });

	if (entry == NULL)
		return 1;
	*value = entry->value;
	return 0;
}

static int mem_next(void *view, struct slice from, struct slice prefix, struct slice *key, struct slice *value)
{
	struct mem_world *world = view;
	const struct entry *entry = RB_NFIND(entry_tree, &world->entries, &(struct entry){ .key = from });

	if (entry == NULL || !slice_begins(entry->key, prefix))
		return 1;
	*key = entry->key;
	if (value != NULL)
		*value = entry->value;
	return 0;
}

static uint64_t mem_version(void *view, struct slice key)
{
	struct mem_world *world = view;
	const struct entry *entry = RB_FIND(entry_tree, &world->entries, &(struct entry){ .key = key });

	return entry == NULL ? 0 : entry->version;
}

const struct txn_source mem_source = {
	.get = mem_get,
	.next = mem_next,
};

const struct txn_source mem_comparing_source = {
	.get = mem_get,
	.next = mem_next,
	.version = mem_version,
};

static bool reads_hold(struct mem_world *world, const struct reads *reads)
{
	for (size_t i = 0; reads != NULL && i < reads->count; i++)
		if (mem_version(world, reads->list[i].key) != reads->list[i].version)
			return false;
	return true;
}

/* Runs the function until what it read is still so before its commit. */
static int mem_run(struct engine *engine, store_fn *fn, void *arg)
{
	struct mem_world *world = engine->world;

	for (;; world->counts.conflicts++) {
		int result = txn_run(engine->writer, world, fn, arg);
		struct txn_commit commit = txn_commit(engine->writer);

		if (result < 0)
			return result;
		if (world->faults.before_commit != NULL)
			world->faults.before_commit(world->faults.before_arg, &commit);
		if (reads_hold(world, commit.reads))
			return result;
	}
}

/* Runs the function with the world locked, and commits. */
static int mem_transact(struct engine *engine, store_fn *fn, void *arg)
{
	struct mem_world *world = engine->world;

	if (world->counts.down)
		return -EIO;
	if (world->faults.rerun_percent != 0 && world_random(world) % 100 < world->faults.rerun_percent) {
		world->counts.reruns++;
		(void)txn_run(engine->writer, world, fn, arg);
	}
	int result = mem_run(engine, fn, arg);
	if (result < 0)
		return result;
	if (txn_commit(engine->writer).writes->count > 0) {
		int rc = world_commit(world, engine->writer);
		if (rc < 0)
			return rc;
		engine->stats.commits++;
		engine->stats.batches[0]++;
	}
	engine->stats.updates++;
	return result;
}

static int mem_update(struct engine *engine, store_fn *fn, void *arg)
{
	pthread_mutex_lock(&engine->world->lock);
	int result = mem_transact(engine, fn, arg);
	pthread_mutex_unlock(&engine->world->lock);
	return result;
}

static int mem_view(struct engine *engine, store_fn *fn, void *arg)
{
	struct mem_world *world = engine->world;

	pthread_mutex_lock(&world->lock);
	int result = world->counts.down ? -EIO : txn_run(engine->reader, world, fn, arg);
	pthread_mutex_unlock(&world->lock);
	return result;
}

static void mem_close(struct engine *engine)
{
	txn_free(engine->reader);
	txn_free(engine->writer);
	free(engine);
}

static int mem_open(struct engine **out, const char *where, const struct store_options *options, char *why,
		    size_t whylen)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (engine == NULL || options->engine_arg == NULL) {
		free(engine);
		return store_refuse(why, whylen, -EINVAL, "store %s: no world", where == NULL ? "" : where);
	}
	engine->world = options->engine_arg;
	engine->writer = txn_new(engine->world->faults.compares ? &mem_comparing_source : &mem_source, false);
	engine->reader = txn_new(&mem_source, true);
	if (engine->writer == NULL || engine->reader == NULL) {
		mem_close(engine);
		return store_refuse(why, whylen, -ENOMEM, "out of memory");
	}
	engine->world->counts.down = false;
	*out = engine;
	return 0;
}

/* Tests bring a clock; without one, time stands still. */
static void mem_now(struct engine *engine, struct store_time *out)
{
	(void)engine;
	*out = (struct store_time){ .steady = 0, .wall = 0 };
}

static void mem_space(struct engine *engine, struct store_space *out)
{
	struct mem_world *world = engine->world;

	pthread_mutex_lock(&world->lock);
	uint64_t max = world->faults.max_keys == 0 ? UINT64_MAX : world->faults.max_keys;
	uint64_t keys = world->counts.keys;
	pthread_mutex_unlock(&world->lock);
	*out = (struct store_space){ .used = keys, .free = keys < max ? max - keys : 0, .low = keys >= max };
}

static void mem_stats(struct engine *engine, struct store_stats *out)
{
	pthread_mutex_lock(&engine->world->lock);
	*out = engine->stats;
	pthread_mutex_unlock(&engine->world->lock);
}

const struct store_engine mem_engine = {
	.scheme = "mem",
	.shared = false,
	.open = mem_open,
	.close = mem_close,
	.update = mem_update,
	.view = mem_view,
	.now = mem_now,
	.space = mem_space,
	.stats = mem_stats,
};
