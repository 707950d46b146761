/*
 * Opening a store by its URI, and what every engine has in common: clock, refusing calls that cannot work.
 */
#include "store.h"

#include "engine.h"
#include "engine_refuse.h"
#include "lmdb_store.h"
#include "redis_address.h"
#include "redis_store.h"
#include "txn_run.h"

#include <bsd/string.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct store {
	const struct store_engine *engine;
	struct engine *handle;
	unsigned int generation; /* a child must not use what its parent opened */
	bool readonly;
	bool durable;
	struct store_clock clock;
};

static const struct store_engine *const engines[] = {
	&store_lmdb,
	&store_redis,
};

#define ENGINES (sizeof(engines) / sizeof(engines[0]))

/* How often this process came out of a fork: no call asks the system for its number. */
static _Atomic unsigned int generation;
static pthread_once_t generation_once = PTHREAD_ONCE_INIT;

static void generation_next(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static void generation_watch(void)
{
	(void)pthread_atfork(NULL, NULL, generation_next);
}

/* Length of "scheme" in "scheme:rest"; 0 if `uri` is a path. "./a:b" and "a/b:c" are paths. */
static size_t uri_scheme(const char *uri)
{
	size_t len = strspn(uri, "abcdefghijklmnopqrstuvwxyz0123456789+-");

	return uri[len] == ':' ? len : 0;
}

/* The engine for `uri`, and in `*where` what it is to open. NULL, with `why`, if there is none. */
static const struct store_engine *engine_find(const char *uri, const char **where, char *why, size_t whylen)
{
	size_t len = uri_scheme(uri);
	char known[128] = "";

	*where = uri;
	if (len == 0)
		return &store_lmdb;
	if (redis_address_is(uri))
		return &store_redis;
	for (size_t i = 0; i < ENGINES; i++) {
		if (strlen(engines[i]->scheme) == len && memcmp(engines[i]->scheme, uri, len) == 0) {
			*where = uri + len + 1;
			return engines[i];
		}
		(void)strlcat(known, " ", sizeof(known));
		(void)strlcat(known, engines[i]->scheme, sizeof(known));
	}
	(void)store_refuse(why, whylen, -EINVAL,
			   "store %s: no engine is called %.*s; there is:%s (write a directory of that name as ./%s)",
			   uri, (int)len, uri, known, uri);
	return NULL;
}

int store_open(struct store **out, const char *uri, const struct store_options *options, char *why, size_t whylen)
{
	static const struct store_options defaults = { .sync = STORE_SYNC_COMMIT };
	const char *where = uri;

	if (options == NULL)
		options = &defaults;
	if (out == NULL)
		return store_refuse(why, whylen, -EINVAL, "nowhere to put the store");
	*out = NULL;
	if (options->engine == NULL && (uri == NULL || *uri == 0))
		return store_refuse(why, whylen, -EINVAL, "no store is named: give a directory");
	const struct store_engine *engine = options->engine != NULL ? options->engine
								    : engine_find(uri, &where, why, whylen);
	if (engine == NULL)
		return -EINVAL;

	struct store *store = calloc(1, sizeof(*store));
	if (store == NULL)
		return store_refuse(why, whylen, -ENOMEM, "out of memory");
	int rc = engine->open(&store->handle, where, options, why, whylen);
	if (rc < 0) {
		free(store);
		return rc;
	}
	store->engine = engine;
	(void)pthread_once(&generation_once, generation_watch);
	store->generation = atomic_load_explicit(&generation, memory_order_relaxed);
	store->readonly = options->readonly;
	store->durable = options->sync == STORE_SYNC_COMMIT;
	if (options->clock != NULL)
		store->clock = *options->clock;
	*out = store;
	return 0;
}

void store_close(struct store *store)
{
	if (store == NULL)
		return;
	store->engine->close(store->handle);
	free(store);
}

/* Functions do not nest: an update inside an update would wait for itself. */
static int store_usable(const struct store *store)
{
	if (atomic_load_explicit(&generation, memory_order_relaxed) != store->generation)
		return -EINVAL;
	return txn_running() ? -EDEADLK : 0;
}

static int store_writable(const struct store *store)
{
	int rc = store_usable(store);

	return rc == 0 && store->readonly ? -EROFS : rc;
}

int store_update(struct store *store, store_fn *fn, void *arg)
{
	int rc = store_writable(store);

	return rc < 0 ? rc : store->engine->update(store->handle, fn, arg);
}

void store_submit(struct store *store, struct store_job *job)
{
	int rc = store_writable(store);

	if (rc < 0)
		job->done(job, rc);
	else if (store->engine->submit != NULL)
		store->engine->submit(store->handle, job);
	else
		job->done(job, store->engine->update(store->handle, job->fn, job->arg));
}

int store_view(struct store *store, store_fn *fn, void *arg)
{
	int rc = store_usable(store);

	return rc < 0 ? rc : store->engine->view(store->handle, fn, arg);
}

int store_list(struct store *store, store_fn *fn, void *arg)
{
	const struct store_engine *engine = store->engine;
	int rc = store_usable(store);

	return rc < 0 ? rc : (engine->list != NULL ? engine->list : engine->view)(store->handle, fn, arg);
}

int store_peek(struct store *store, store_fn *fn, void *arg)
{
	const struct store_engine *engine = store->engine;
	int rc = store_usable(store);

	return rc < 0 ? rc : (engine->peek != NULL ? engine->peek : engine->view)(store->handle, fn, arg);
}

int store_flush(struct store *store)
{
	int rc = store_usable(store);

	if (rc < 0 || store->readonly || store->engine->flush == NULL)
		return rc;
	return store->engine->flush(store->handle);
}

int store_copy(struct store *store, const char *to)
{
	int rc = store_usable(store);

	if (rc < 0)
		return rc;
	return store->engine->copy == NULL ? -ENOTSUP : store->engine->copy(store->handle, to);
}

void store_now(struct store *store, struct store_time *out)
{
	if (store->clock.read != NULL)
		store->clock.read(store->clock.arg, out);
	else
		store->engine->now(store->handle, out);
}

bool store_shared(const struct store *store)
{
	return store->engine->shared;
}

bool store_durable(const struct store *store)
{
	return store->durable;
}

int store_number(struct store *store, struct store_txn *txn, struct slice name, uint64_t *out)
{
	return store->engine->number != NULL ? store->engine->number(txn, name, out) : 1;
}

size_t store_limit(const struct store *store)
{
	return store->engine->limit == NULL ? 0 : store->engine->limit(store->handle);
}

void store_host(struct store *store, struct store_host *out)
{
	*out = (struct store_host){ .chain = 0 };
	if (store->engine->host != NULL)
		store->engine->host(store->handle, out);
}

int store_incarnation(struct store *store, struct store_txn *txn, uint16_t chain, uint64_t *out)
{
	return store->engine->incarnation != NULL ? store->engine->incarnation(txn, chain, out) : 1;
}

int store_publish(struct store *store, const char *event, struct slice text)
{
	return store->engine->publish == NULL ? 1 : store->engine->publish(store->handle, event, text);
}

void store_space(struct store *store, struct store_space *out)
{
	store->engine->space(store->handle, out);
}

void store_promise(struct store *store, uint64_t bytes)
{
	if (store->engine->promise != NULL)
		store->engine->promise(store->handle, bytes);
}

void store_stats(struct store *store, struct store_stats *out)
{
	store->engine->stats(store->handle, out);
}
