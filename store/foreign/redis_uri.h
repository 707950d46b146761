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
 * Parses an address. 0, or -EINVAL with a text that contains nothing of the password. User and password may use %XX.
 * Without a password, that of the environment variable ATLOCK_REDIS_PASSWORD is used, which unlike the command line
 * only its owner can read.
 */
int redis_uri_parse(const char *text, struct redis_uri *out, char *error, size_t len);

/* Parts of one, for other addresses. -1 if they cannot be read or are too long. The first decodes %XX; `*port` stays if none is named. */
int redis_uri_part(const char *text, size_t n, char *out, size_t size);
int redis_uri_host(const char *text, size_t len, char host[static 256], int *port);

#endif
