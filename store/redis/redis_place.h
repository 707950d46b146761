/*
 * The server that has a realm: one of the nodes of its address, the one that Sentinels name, or the one that a node of a cluster names. All
 * lines of a realm are connected to one server; one that learns of another tells the others by this.
 */
#ifndef STORE_REDIS_PLACE_H
#define STORE_REDIS_PLACE_H

#include "redis_address.h"

#include <pthread.h>
#include <stdint.h>

struct redis_place {
	const struct redis_address *address;

	pthread_mutex_t lock; /* of the rest */
	struct redis_node node;
	bool known;
	bool asking;          /* the slot of the realm is on its way there: each request must say ASKING first */
	int64_t until;        /* ms of the monotonic clock that this is believed for, if asking */
	unsigned int version; /* grows with each change */
	size_t next;          /* node of the address to be tried next */
};

/* What a line needs to connect. */
struct redis_target {
	struct redis_node node;
	bool asking;
	unsigned int version;
};

void redis_place_init(struct redis_place *place, const struct redis_address *address);
void redis_place_destroy(struct redis_place *place);

/* Where the realm is believed to be. Asks the Sentinels, if there are some and it is not known: at most `timeout` ms. 0, -EHOSTDOWN, -EACCES. */
int redis_place_find(struct redis_place *place, int timeout, struct redis_target *out);

/* Whether the target is still the place. */
bool redis_place_is(struct redis_place *place, const struct redis_target *target);

/* The server of this target has not the realm, or no right to change it: look elsewhere next. */
void redis_place_forget(struct redis_place *place, const struct redis_target *target);

/*
 * The server of this target has answered with an error of a cluster: "MOVED slot host:port" or "ASK slot host:port". True if that names
 * another place, which it then is.
 */
bool redis_place_redirect(struct redis_place *place, const struct redis_target *target, const char *error);

/* ms of the monotonic clock. */
int64_t redis_clock(void);

#endif
