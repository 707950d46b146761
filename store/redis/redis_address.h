/*
 * Where a realm is, as users write it:
 *
 *	redis://[user@]host[:port][,host[:port]...][/db]?realm=NAME            a server, or nodes of a cluster
 *	redis+sentinel://[user@]host[:port][,...]/MASTER[/db]?realm=NAME       what Sentinels say
 *
 * and after realm=, with "&" before each:
 *
 *	password_file=PATH            the first line of a file that others cannot read
 *	sentinel_password_file=PATH   the Sentinels' own
 *	history=ENTRIES               that the server keeps, at least (100000)
 *	publish=yes                   this host publishes its events for other programs
 *
 * Without a password_file, the password is that of the environment variable ATLOCK_REDIS_PASSWORD. An address contains none, so it may be
 * shown: one with a password in it is refused.
 */
#ifndef STORE_REDIS_ADDRESS_H
#define STORE_REDIS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#define REDIS_NODES 16                 /* most hosts of an address */
#define REDIS_REALM_NAME 64            /* longest name of a realm */
#define REDIS_PASSWORD 512             /* longest password, with its NUL */
#define REDIS_CHANNEL "atlantis:lock:" /* and the type of the event */
#define REDIS_HISTORY 100000           /* entries, if the address does not say */

struct redis_node {
	char host[256];
	int port;
};

struct redis_address {
	struct redis_node nodes[REDIS_NODES];
	size_t node_count;
	char master[64]; /* as the Sentinels call it; empty: the nodes are servers */
	char user[128];
	char password[REDIS_PASSWORD]; /* sent to the server only, never printed, as the next */
	char sentinel_password[REDIS_PASSWORD];
	int db;
	char realm[REDIS_REALM_NAME + 1];
	unsigned int history;
	bool publish;
};

/* Whether a text begins as an address of this kind does. */
bool redis_address_is(const char *text);

/* 0, or a negative errno with a line for people: -EINVAL, or of reading a file. */
int redis_address_parse(const char *text, struct redis_address *out, char *why, size_t whylen);

#endif
