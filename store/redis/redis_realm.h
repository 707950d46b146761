/*
 * A realm in a Redis: an adapter for store/remote. Keys are "atlantis:enhanced:{<realm>}:k" and "...:l", which a cluster keeps in one slot.
 */
#ifndef STORE_REDIS_REALM_H
#define STORE_REDIS_REALM_H

#include "redis_address.h"
#include "redis_hosts.h"
#include "remote_adapter.h"
#include "remote_dump.h"

/* Connects to nothing yet. `timeout` is that of one request, in ms. 0 or -ENOMEM. */
int redis_realm_open(struct remote_adapter **out, const struct redis_address *address, int timeout);

/* Makes the realm: 0, -EEXIST, or a negative errno; adapter->trouble may say more. */
int redis_realm_create(struct remote_adapter *adapter);

/* As redis_hosts_each(). */
int redis_realm_hosts(struct remote_adapter *adapter, redis_host_fn *each, void *arg);

/* As redis_restore.h: the keys of a dump, then what makes them a realm. */
int redis_realm_fill(struct remote_adapter *adapter, const struct dump *dump);
int redis_realm_fill_end(struct remote_adapter *adapter, const struct dump *dump);

#endif
