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

#include <stdbool.h>
#include <sys/types.h>

#define REDIS_WORDS 16

struct redis_server {
	char *dir;
	const char
		*words[REDIS_WORDS]; /* of its command line, beside the usual; "@port" stands for a second free port */
	char password[32];           /* empty: none is asked for */
	struct redis_uri uri;
	int second_port;
	const char *sentinel; /* its file, if it is a Sentinel */
	pid_t pid;
};

/* Exits if none can be started. */
void redis_server_start(struct redis_server *server, const char *password);

/* The same with words on its command line, up to a NULL. */
void redis_server_start_with(struct redis_server *server, const char *password, const char *const *words);
void redis_server_stop(struct redis_server *server);

/* A Sentinel with this file, which it rewrites. */
void redis_sentinel_start(struct redis_server *server, const char *conf);

/* The address of a realm in it. */
struct redis_address redis_server_address(const struct redis_server *server, const char *realm);

/* Kills it, and starts another process on the same files and port. */
void redis_server_restart(struct redis_server *server);

/* Kills it, without cleaning up. */
void redis_server_kill(const struct redis_server *server);

/* Runs a command of words, as printf() writes it; fails the test if it is refused. */
void redis_server_tell(const struct redis_server *server, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, with the answer, if it is a text. False: it is refused. */
bool redis_server_ask(const struct redis_server *server, const char *command, char *out, size_t len);

#endif
