#include "store_realm.h"

#include "engine_refuse.h"
#include "redis_realm.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT 5000 /* ms, of a request */

bool store_realm_is(const char *uri)
{
	return redis_address_is(uri);
}

/* Connects to nothing yet. */
static int adapter_open(const char *uri, struct remote_adapter **out, char *why, size_t whylen)
{
	struct redis_address address;
	int rc = redis_address_parse(uri, &address, why, whylen);

	if (rc < 0)
		return rc;
	rc = redis_realm_open(out, &address, TIMEOUT);
	explicit_bzero(&address, sizeof(address));
	return rc < 0 ? store_refuse(why, whylen, rc, "out of memory") : 0;
}

/* What the transport says of a failure, and what is to be done. */
static int refuse(const struct remote_adapter *adapter, const char *uri, int rc, char *why, size_t whylen)
{
	if (rc == -EEXIST)
		return store_refuse(why, whylen, rc, "%s is there already: nothing was changed", uri);
	if (rc == -ENOENT)
		return store_refuse(why, whylen, rc, "there is no realm %s: make it with `atlock realm create`", uri);
	return store_refuse(why, whylen, rc, "%s: %s", uri,
			    adapter->trouble[0] != '\0' ? adapter->trouble : strerror(-rc));
}

int store_realm_create(const char *uri, char *why, size_t whylen)
{
	struct remote_adapter *adapter;
	int rc = adapter_open(uri, &adapter, why, whylen);

	if (rc < 0)
		return rc;
	rc = redis_realm_create(adapter);
	if (rc < 0)
		(void)refuse(adapter, uri, rc, why, whylen);
	adapter->ops->close(adapter);
	return rc;
}

static int host_take(void *arg, uint16_t chain, const struct box *box, int64_t heard)
{
	struct store_realm *realm = arg;
	struct store_realm_host *hosts = reallocarray(realm->hosts, realm->count + 1, sizeof(*hosts));

	if (hosts == NULL)
		return -ENOMEM;
	realm->hosts = hosts;
	struct store_realm_host *host = &hosts[realm->count++];
	*host = (struct store_realm_host){
		.chain = chain,
		.incarnation = box->incarnation,
		.timeout = box->timeout,
		.gone = box->gone,
		.heard = heard,
	};
	(void)strlcpy(host->name, box->name, sizeof(host->name));
	return 0;
}

int store_realm_read(const char *uri, struct store_realm *out, char *why, size_t whylen)
{
	struct remote_welcome *welcome = calloc(1, sizeof(*welcome));
	struct remote_adapter *adapter = NULL;

	*out = (struct store_realm){ .count = 0 };
	int rc = welcome == NULL ? store_refuse(why, whylen, -ENOMEM, "out of memory")
				 : adapter_open(uri, &adapter, why, whylen);
	if (rc < 0 || adapter == NULL) {
		free(welcome);
		return rc;
	}
	rc = adapter->ops->hello(adapter, NULL, NULL, welcome);
	if (rc == 0)
		rc = redis_realm_hosts(adapter, host_take, out);
	if (rc < 0)
		(void)refuse(adapter, uri, rc, why, whylen);
	memcpy(out->id, welcome->id, sizeof(out->id));
	out->epoch = welcome->at.epoch;
	out->revision = welcome->at.revision;
	out->opened = welcome->opened;
	adapter->ops->close(adapter);
	free(welcome);
	if (rc < 0)
		store_realm_clear(out);
	return rc;
}

/* A realm and the file that it is copied to or from. */
struct copy {
	const char *uri;
	const char *path;
	struct remote_adapter *adapter;
	struct dump dump;
};

/* Copies what `run` does, which says in `why` what failed. Sets `keys` to how many there are. */
static int copy_run(struct copy *copy, int (*run)(struct copy *, char *, size_t), uint64_t *keys, char *why,
		    size_t whylen)
{
	int rc = adapter_open(copy->uri, &copy->adapter, why, whylen);

	if (rc < 0 || copy->adapter == NULL)
		return rc;
	rc = dump_init(&copy->dump);
	rc = rc < 0 ? store_refuse(why, whylen, rc, "%s: %s", copy->path, strerror(-rc)) : run(copy, why, whylen);
	*keys = copy->dump.count;
	dump_free(&copy->dump);
	copy->adapter->ops->close(copy->adapter);
	return rc;
}

static int backup(struct copy *copy, char *why, size_t whylen)
{
	int rc = dump_take(&copy->dump, copy->adapter);

	if (rc == -EAGAIN)
		(void)store_refuse(
			why, whylen, rc,
			"%s: too much was changed meanwhile: try again, or with a larger history=", copy->uri);
	else if (rc < 0)
		(void)refuse(copy->adapter, copy->uri, rc, why, whylen);
	else if ((rc = dump_write(&copy->dump, copy->path)) < 0)
		(void)store_refuse(why, whylen, rc, "%s: %s", copy->path, strerror(-rc));
	return rc;
}

int store_realm_backup(const char *uri, const char *path, uint64_t *keys, char *why, size_t whylen)
{
	return copy_run(&(struct copy){ .uri = uri, .path = path }, backup, keys, why, whylen);
}

/* Puts the dump into the Redis, looks whether it is there, and makes it a realm. */
static int fill(struct remote_adapter *adapter, const struct dump *dump)
{
	int rc = redis_realm_fill(adapter, dump);

	if (rc == 0)
		rc = dump_compare(dump, adapter);
	return rc == 0 ? redis_realm_fill_end(adapter, dump) : rc;
}

static int restore(struct copy *copy, char *why, size_t whylen)
{
	int rc = dump_read(&copy->dump, copy->path);

	if (rc == -EBADMSG)
		(void)store_refuse(why, whylen, rc, "%s is damaged, or no backup of a realm", copy->path);
	else if (rc < 0)
		(void)store_refuse(why, whylen, rc, "%s: %s", copy->path, strerror(-rc));
	else if ((rc = fill(copy->adapter, &copy->dump)) == -EBADMSG)
		(void)store_refuse(why, whylen, rc, "%s: what was written is not there: is it used otherwise?",
				   copy->uri);
	else if (rc < 0)
		(void)refuse(copy->adapter, copy->uri, rc, why, whylen);
	return rc;
}

int store_realm_restore(const char *uri, const char *path, uint64_t *keys, char *why, size_t whylen)
{
	return copy_run(&(struct copy){ .uri = uri, .path = path }, restore, keys, why, whylen);
}

void store_realm_clear(struct store_realm *realm)
{
	free(realm->hosts);
	*realm = (struct store_realm){ .count = 0 };
}

/* --- All keys --- */

struct store_realm_keys {
	struct dump dump;
};

int store_realm_keys_new(struct store_realm_keys **out)
{
	struct store_realm_keys *keys = calloc(1, sizeof(*keys));
	int rc = keys == NULL ? -ENOMEM : dump_init(&keys->dump);

	*out = keys;
	return rc;
}

void store_realm_keys_free(struct store_realm_keys *keys)
{
	if (keys == NULL)
		return;
	dump_free(&keys->dump);
	free(keys);
}

int store_realm_keys_add(struct store_realm_keys *keys, struct slice key, struct slice value)
{
	return dump_add(&keys->dump, key, 1, value);
}

int store_realm_keys_each(const struct store_realm_keys *keys, size_t i, store_realm_key_fn *fn, void *arg)
{
	int rc = 0;

	for (; rc == 0 && i < keys->dump.count; i++)
		rc = fn(arg, keys->dump.items[i].key, keys->dump.items[i].value);
	return rc;
}

int store_realm_take(const char *uri, struct store_realm_keys *keys, char *why, size_t whylen)
{
	struct remote_adapter *adapter = NULL;
	int rc = adapter_open(uri, &adapter, why, whylen);

	if (rc < 0 || adapter == NULL)
		return rc;
	rc = dump_take(&keys->dump, adapter);
	if (rc < 0)
		(void)refuse(adapter, uri, rc, why, whylen);
	adapter->ops->close(adapter);
	return rc;
}

/* Whether the realm that is there has this id. */
static bool is_named(struct remote_adapter *adapter, const unsigned char id[REMOTE_ID])
{
	struct remote_welcome *welcome = calloc(1, sizeof(*welcome));
	bool is = welcome != NULL && adapter->ops->hello(adapter, NULL, NULL, welcome) == 0 &&
		  memcmp(welcome->id, id, REMOTE_ID) == 0;

	free(welcome);
	return is;
}

int store_realm_fill(const char *uri, struct store_realm_keys *keys, const unsigned char name[STORE_REALM_NAME],
		     char *why, size_t whylen)
{
	struct remote_adapter *adapter = NULL;
	struct dump *dump = &keys->dump;
	int rc = adapter_open(uri, &adapter, why, whylen);

	if (rc < 0 || adapter == NULL)
		return rc;
	memcpy(dump->id, name, REMOTE_ID);
	dump->at = (struct remote_at){ .epoch = 1, .revision = 1 };
	memcpy(&dump->at.tag, name + REMOTE_ID, sizeof(dump->at.tag));
	dump_sort(dump);
	rc = fill(adapter, dump);
	if (rc == -EEXIST && is_named(adapter, dump->id))
		rc = 1;
	else if (rc == -EBADMSG)
		(void)store_refuse(why, whylen, rc, "%s: what was written is not there: is it used otherwise?", uri);
	else if (rc < 0)
		(void)refuse(adapter, uri, rc, why, whylen);
	adapter->ops->close(adapter);
	return rc;
}
