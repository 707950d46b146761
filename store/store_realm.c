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

int store_realm_backup(const char *uri, const char *path, uint64_t *keys, char *why, size_t whylen)
{
	struct remote_adapter *adapter = NULL;
	struct dump dump;
	int rc = adapter_open(uri, &adapter, why, whylen);

	if (rc < 0 || adapter == NULL)
		return rc;
	rc = dump_init(&dump);
	if (rc == 0)
		rc = dump_take(&dump, adapter);
	if (rc == -EAGAIN)
		(void)store_refuse(why, whylen, rc,
				   "%s: too much was changed meanwhile: try again, or with a larger history=", uri);
	else if (rc < 0)
		(void)refuse(adapter, uri, rc, why, whylen);
	else if ((rc = dump_write(&dump, path)) < 0)
		(void)store_refuse(why, whylen, rc, "%s: %s", path, strerror(-rc));
	*keys = dump.count;
	dump_free(&dump);
	adapter->ops->close(adapter);
	return rc;
}

/* Puts the dump into the Redis, looks whether it is there, and makes it a realm. */
static int fill(struct remote_adapter *adapter, const struct dump *dump)
{
	int rc = redis_realm_fill(adapter, dump);

	if (rc == 0)
		rc = dump_compare(dump, adapter);
	return rc == 0 ? redis_realm_fill_end(adapter, dump) : rc;
}

int store_realm_restore(const char *uri, const char *path, uint64_t *keys, char *why, size_t whylen)
{
	struct remote_adapter *adapter = NULL;
	struct dump dump;
	int rc = adapter_open(uri, &adapter, why, whylen);

	if (rc < 0 || adapter == NULL)
		return rc;
	rc = dump_init(&dump);
	if (rc == 0)
		rc = dump_read(&dump, path);
	if (rc == -EBADMSG)
		(void)store_refuse(why, whylen, rc, "%s is damaged, or no backup of a realm", path);
	else if (rc < 0)
		(void)store_refuse(why, whylen, rc, "%s: %s", path, strerror(-rc));
	else if ((rc = fill(adapter, &dump)) == -EBADMSG)
		(void)store_refuse(why, whylen, rc, "%s: what was written is not there: is it used otherwise?", uri);
	else if (rc < 0)
		(void)refuse(adapter, uri, rc, why, whylen);
	*keys = dump.count;
	dump_free(&dump);
	adapter->ops->close(adapter);
	return rc;
}

void store_realm_clear(struct store_realm *realm)
{
	free(realm->hosts);
	*realm = (struct store_realm){ .count = 0 };
}
