/* The address of a Redis: redis://[user[:password]@]host[:port][/db]. Private to store/. */
#ifndef STORE_REDIS_URI_H
#define STORE_REDIS_URI_H

#include <stddef.h>

struct redis_uri {
	char host[256];
	char user[128];
	char password[512]; /* sent to the server only, never printed */
	int port;
	int db;
};

/*
 * Reads one. 0, or -EINVAL with a text that has nothing of the password in it. Bytes of user and password may be spelled %XX.
 * Without a password in it, that of the environment variable ATLOCK_REDIS_PASSWORD counts, which unlike the command line
 * only its owner can read.
 */
int redis_uri_parse(const char *text, struct redis_uri *out, char *error, size_t len);

#endif
