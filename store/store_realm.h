/*
 * Realms: stores that several hosts share, by their address, without joining them. Making one is a request of its own: a realm that is
 * missing may be one that was lost, and a new one in its place would grant every lock a second time.
 *
 * Errors are negative errnos with a line for people in `why`.
 */
#ifndef STORE_REALM_H
#define STORE_REALM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slice.h"

#define STORE_REALM_ID 16

struct store_realm_host {
	uint16_t chain;       /* its number in the realm, for ever */
	uint64_t incarnation; /* one life of it */
	char name[65];
	uint32_t timeout; /* ms without a word from it until it counts as gone */
	bool gone;
	int64_t heard; /* s since its last commit or heartbeat; -1: not known */
};

struct store_realm {
	unsigned char id[STORE_REALM_ID];
	uint64_t epoch;
	uint64_t revision;
	bool opened; /* false: the server was restarted, and waits for the hosts to report */
	struct store_realm_host *hosts;
	size_t count;
};

/* Whether `uri` is the address of a realm. */
bool store_realm_is(const char *uri);

/* -EEXIST, -EINVAL, -EACCES, -EHOSTDOWN, ... */
int store_realm_create(const char *uri, char *why, size_t whylen);

/* -ENOENT, and as above. Free it with store_realm_clear(). */
int store_realm_read(const char *uri, struct store_realm *out, char *why, size_t whylen);
void store_realm_clear(struct store_realm *realm);

/* --- All keys, for moving them --- */

struct store_realm_keys;

int store_realm_keys_new(struct store_realm_keys **out);
void store_realm_keys_free(struct store_realm_keys *keys);

/* In the order of the keys; both are copied. -ENOMEM. */
int store_realm_keys_add(struct store_realm_keys *keys, struct slice key, struct slice value);

/* Calls `fn` with each from the i-th on, until it returns non-zero; returns that. */
typedef int store_realm_key_fn(void *arg, struct slice key, struct slice value);
int store_realm_keys_each(const struct store_realm_keys *keys, size_t i, store_realm_key_fn *fn, void *arg);

/* Reads all keys of a realm, as of one moment. As store_realm_backup(). */
int store_realm_take(const char *uri, struct store_realm_keys *keys, char *why, size_t whylen);

/*
 * Makes a realm that is not there from keys, and reads it again to compare. `name` is unlike that of any other keys: what an interrupted call
 * with it has left is continued. 1: such a call has made it. -EEXIST: another realm is there.
 */
#define STORE_REALM_NAME (STORE_REALM_ID + 8)
int store_realm_fill(const char *uri, struct store_realm_keys *keys, const unsigned char name[STORE_REALM_NAME],
		     char *why, size_t whylen);

/* --- Copies --- */

/*
 * Writes the realm, as of one moment, to the new file `path`; others go on meanwhile. `*keys`: how many it has. -EEXIST, -EAGAIN if so much was
 * changed meanwhile that the server dropped some of it from the history.
 */
int store_realm_backup(const char *uri, const char *path, uint64_t *keys, char *why, size_t whylen);

/*
 * Makes a realm that is not there from such a file, and reads it again to compare. What an interrupted call has left is continued. The first
 * host that mounts it begins a new epoch. -EEXIST, -EBADMSG.
 */
int store_realm_restore(const char *uri, const char *path, uint64_t *keys, char *why, size_t whylen);

#endif
