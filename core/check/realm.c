/* Realms by their address: made, and looked at, by people. */
#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlock/realm.h"
#include "store_realm.h"
#include "why.h"

#define SECOND INT64_C(1000000000)

/* The code that fits what the store says. */
static int realm_fail(struct atlock_why *why, int err, const char *text)
{
	return why_set(why, err, err == -EINVAL ? ATLOCK_INVALID_REQUEST : ATLOCK_BACKEND_ERROR, "%s", text);
}

bool atlock_realm_is(const char *uri)
{
	return uri != NULL && store_realm_is(uri);
}

int atlock_realm_create(const char *uri, struct atlock_why *why)
{
	char text[512] = "";
	int rc = store_realm_create(uri, text, sizeof(text));

	return rc < 0 ? realm_fail(why, rc, text) : 0;
}

int atlock_realm_backup(const char *uri, const char *path, uint64_t *keys, struct atlock_why *why)
{
	char text[512] = "";
	int rc = store_realm_backup(uri, path, keys, text, sizeof(text));

	return rc < 0 ? realm_fail(why, rc, text) : 0;
}

int atlock_realm_restore(const char *uri, const char *path, uint64_t *keys, struct atlock_why *why)
{
	char text[512] = "";
	int rc = store_realm_restore(uri, path, keys, text, sizeof(text));

	return rc < 0 ? realm_fail(why, rc, text) : 0;
}

static void host_copy(struct atlock_realm_host *out, const struct store_realm_host *host)
{
	*out = (struct atlock_realm_host){
		.chain = host->chain,
		.incarnation = host->incarnation,
		.timeout = host->timeout * (SECOND / 1000),
		.gone = host->gone,
		.heard = host->heard < 0 ? ATLOCK_NEVER : host->heard * SECOND,
	};
	(void)strlcpy(out->name, host->name, sizeof(out->name));
}

int atlock_realm_read(struct atlock_realm *out, const char *uri, struct atlock_why *why)
{
	struct store_realm realm;
	char text[512] = "";
	int rc = store_realm_read(uri, &realm, text, sizeof(text));

	*out = (struct atlock_realm){ .count = 0 };
	if (rc < 0)
		return realm_fail(why, rc, text);
	out->hosts = calloc(realm.count + 1, sizeof(*out->hosts));
	if (out->hosts == NULL) {
		store_realm_clear(&realm);
		return realm_fail(why, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < STORE_REALM_ID; i++)
		(void)snprintf(out->id + 2 * i, 3, "%02x", realm.id[i]);
	out->epoch = realm.epoch;
	out->revision = realm.revision;
	out->opened = realm.opened;
	for (; out->count < realm.count; out->count++)
		host_copy(&out->hosts[out->count], &realm.hosts[out->count]);
	store_realm_clear(&realm);
	return 0;
}

void atlock_realm_clear(struct atlock_realm *realm)
{
	free(realm->hosts);
	*realm = (struct atlock_realm){ .count = 0 };
}
