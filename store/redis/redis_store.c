#include "redis_store.h"

#include "engine_refuse.h"
#include "redis_realm.h"
#include "remote_engine.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIRRORS 64 /* of one realm on one machine: each mount is a host of its own */

/* The directory that caches are in: systemd's, the user's, or the system's. */
static int cache_root(char *out, size_t len)
{
	static const struct {
		const char *variable;
		const char *below;
	} places[] = { { "CACHE_DIRECTORY", "" }, { "XDG_CACHE_HOME", "/atlockfs" }, { "HOME", "/.cache/atlockfs" } };
	int n = geteuid() == 0 && getenv("CACHE_DIRECTORY") == NULL && getenv("XDG_CACHE_HOME") == NULL
			? snprintf(out, len, "/var/cache/atlockfs")
			: 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && n == 0; i++) {
		const char *value = getenv(places[i].variable);

		if (value != NULL && value[0] == '/')
			n = snprintf(out, len, "%.*s%s", (int)strcspn(value, ":"), value, places[i].below);
	}
	return n > 0 && (size_t)n < len ? 0 : -ENOENT;
}

/* With its parents. The mirror has what the realm has: only its owner may read it. */
static int dir_make(char *path)
{
	for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		int rc = mkdir(path, 0755) != 0 && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (rc < 0)
			return rc;
	}
	return mkdir(path, 0700) != 0 && errno != EEXIST ? -errno : 0;
}

/* Where the mirrors of this realm are. */
static int mirrors_dir(const struct redis_address *address, char *out, size_t len, char *why, size_t whylen)
{
	uint64_t hash = slice_hash(SLICE_HASH, slice_of(address->master));
	char root[PATH_MAX];
	int rc = cache_root(root, sizeof(root));

	if (rc < 0)
		return store_refuse(why, whylen, rc, "nowhere to keep the mirror of the store: set XDG_CACHE_HOME");
	hash = slice_hash(hash, slice_of(address->nodes[0].host));
	hash = slice_hash(hash, (struct slice){ .data = &address->nodes[0].port, .len = sizeof(int) });
	hash = slice_hash(hash, (struct slice){ .data = &address->db, .len = sizeof(int) });
	int n = snprintf(out, len, "%s/%s-%016" PRIx64, root, address->realm, hash);
	rc = n < 0 || (size_t)n >= len ? -ENAMETOOLONG : dir_make(out);
	return rc < 0 ? store_refuse(why, whylen, rc, "%s: %s", out, strerror(-rc)) : 0;
}

static int join(struct engine **out, const struct redis_address *address, const char *cache,
		const struct store_options *options, char *why, size_t whylen)
{
	const struct store_share *share = options->share;
	const struct remote_options remote = {
		.cache = cache,
		.host = share->host,
		.host_timeout = share->host_timeout,
		.timeout = share->timeout,
		.threads = !share->manual,
		.changed = share->changed,
		.cut = share->cut,
		.breaker = share->breaker,
		.breaker_failures = share->breaker_failures,
		.breaker_pause = share->breaker_pause,
		.changed_arg = share->arg,
	};
	struct remote_adapter *adapter;
	/* A request that is lost leaves time for another. */
	int rc = redis_realm_open(&adapter, address, (int)share->timeout / 2);

	if (rc < 0)
		return store_refuse(why, whylen, rc, "out of memory");
	return remote_open(out, adapter, &remote, options, why, whylen);
}

static int redis_store_open(struct engine **out, const char *where, const struct store_options *options, char *why,
			    size_t whylen)
{
	struct redis_address address;
	char dir[PATH_MAX];
	char cache[PATH_MAX + 8];

	if (options->share == NULL || options->readonly)
		return store_refuse(why, whylen, -ENOTSUP,
				    "%s: a store that several hosts share is read through a mount of it", where);
	int rc = redis_address_parse(where, &address, why, whylen);
	if (rc == 0)
		rc = mirrors_dir(&address, dir, sizeof(dir), why, whylen);
	if (rc == 0) {
		rc = -EBUSY;
		for (int i = 1; i <= MIRRORS && rc == -EBUSY; i++) {
			(void)snprintf(cache, sizeof(cache), "%s/%d", dir, i);
			rc = join(out, &address, cache, options, why, whylen);
		}
	}
	explicit_bzero(&address, sizeof(address));
	return rc;
}

const struct store_engine store_redis = {
	.scheme = "redis",
	.shared = true,
	.open = redis_store_open,
	.close = remote_close,
	.update = remote_update,
	.submit = remote_submit,
	.view = remote_view,
	.list = remote_list,
	.peek = remote_peek,
	.number = remote_number,
	.host = remote_host,
	.incarnation = remote_host_life,
	.limit = remote_limit,
	.publish = remote_publish,
	.now = remote_now,
	.space = remote_space,
	.stats = remote_stats,
};
