/* The hosts of a realm, for people. */
#ifndef STORE_REDIS_HOSTS_H
#define STORE_REDIS_HOSTS_H

#include "redis_process.h"
#include "remote_box.h"

/* Called with each host that the realm has had. `heard`: seconds since its last commit or heartbeat, by the server's clock; -1: not known. */
typedef int redis_host_fn(void *arg, uint16_t chain, const struct box *box, int64_t heard);

/* 0, what `each` returned, or a negative errno. */
int redis_hosts_each(struct redis_process *process, redis_host_fn *each, void *arg);

#endif
