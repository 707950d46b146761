/*
 * A realm in a Redis: an adapter for store/remote. Keys are "atlantis:enhanced:{<realm>}:k" and "...:l", which a cluster keeps in one slot.
 */
#ifndef STORE_REDIS_REALM_H
#define STORE_REDIS_REALM_H

#include "redis_uri.h"
#include "remote_adapter.h"

#define REDIS_REALM_NAME 64 /* longest name of a realm */

struct redis_realm_options {
	const struct redis_uri *uri;
	const char *realm; /* letters, digits, "-" and "_" */
	int timeout;       /* ms, of one request */
	unsigned int keep; /* entries of the history that the server keeps, at least */
};

/* Connects to nothing yet. -EINVAL for a name that is not allowed, -ENOMEM. */
int redis_realm_open(struct remote_adapter **out, const struct redis_realm_options *options);

/* Makes the realm: 0, -EEXIST, or a negative errno. */
int redis_realm_create(struct remote_adapter *adapter);

#endif
