/* The chains of events of a mount: one for each host, where several write to its store. */
#ifndef TOOLS_CHAINS_H
#define TOOLS_CHAINS_H

#include "mount.h"

struct chain {
	unsigned int chain;
	bool own; /* of the mount's own host */
	uint64_t last;
	char host[65];
	char anchor[96]; /* NUMBER:HASH of the event after which it begins; "": it begins with its first */
};

/* Calls `fn` with each line of events/chains. 0, or 1 if there is no such file: one host has all events. Negative errno. */
typedef int chain_fn(void *arg, const struct chain *chain);
int chains_each(const struct mount *mount, chain_fn *fn, void *arg);

/* The number of the mount's own chain; 0 where there is one host. */
unsigned int chains_own(const struct mount *mount);

#endif
