/*
 * The connections to Atlantis' Redis: one server, or all nodes of a Cluster that have slots; and one more on which the server tells of
 * changed keys, where it does. Private to store/.
 */
#ifndef STORE_REDIS_NODES_H
#define STORE_REDIS_NODES_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "foreign.h"
#include "redis_uri.h"

#define REDIS_NODES_MAX 256

struct redis_peer {
	char host[256];
	int port;
	redisContext *context; /* NULL: not connected */
};

struct redis_nodes {
	struct foreign *base; /* gets the texts of errors */
	struct redis_uri uri;
	struct redis_peer peers[REDIS_NODES_MAX];
	size_t count;
	size_t now; /* the one that is asked */
	bool cluster;
	redisContext *watch; /* NULL: changes are not told */
	char where[300];     /* host and port of the one that is asked */
};

/* Connects to the server of that address. With `watch`, base->watch is the descriptor of its notifications, or -1 if it sends none. */
int redis_nodes_open(struct redis_nodes *nodes, struct foreign *base, const char *address, bool watch);
void redis_nodes_close(struct redis_nodes *nodes);

/* Learns which nodes have slots, if it is a Cluster. */
int redis_nodes_look(struct redis_nodes *nodes);

/* Asks this node from now on; connects to it if needed. -EHOSTDOWN: a part of the records cannot be read. */
int redis_nodes_use(struct redis_nodes *nodes, size_t index);

/* How often the server was told to forget all it has; -1 if it does not say. */
int64_t redis_nodes_flushes(struct redis_nodes *nodes);

/* As foreign_changed(). */
bool redis_nodes_changed(struct redis_nodes *nodes);

/*
 * Run one command, on the node that its key has moved to if the one that is asked says so. The first two return NULL once the failure has
 * been noted, the third is for the effect alone.
 */
redisReply *redis_ask(struct redis_nodes *nodes, int *err, int argc, const char **argv, const size_t *lens);
redisReply *redis_ask_words(struct redis_nodes *nodes, int *err, const char *a, const char *b, const char *c);
int redis_tell(struct redis_nodes *nodes, const char *a, const char *b, const char *c);

/* Notes the failure of the last command; without a reply, that of the connection. */
int redis_nodes_fail(struct redis_nodes *nodes, const redisReply *reply);

#endif
