/*
 * A redis-server of a test's own, on a free port of the loopback, with its files in a directory that goes with it.
 *
 *	redis_server_start(&server, NULL)
 *	redis_server_stop(&server)
 */
#ifndef TESTS_REDIS_SERVER_H
#define TESTS_REDIS_SERVER_H

#include "redis_address.h"
#include "redis_uri.h"

#include <sys/types.h>

struct redis_server {
	char *dir;
	char password[32]; /* empty: none is asked for */
	struct redis_uri uri;
	pid_t pid;
};

/* Exits if none can be started. */
void redis_server_start(struct redis_server *server, const char *password);
void redis_server_stop(struct redis_server *server);

/* The address of a realm in it. */
struct redis_address redis_server_address(const struct redis_server *server, const char *realm);

/* Kills it, and starts another process on the same files and port. */
void redis_server_restart(struct redis_server *server);

/* Runs a command of words; fails the test if it is refused. */
void redis_server_tell(const struct redis_server *server, const char *command);

#endif
