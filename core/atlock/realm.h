/*
 * Realms: stores that several hosts share. Making one and looking at it, without joining it. For our own tools: no promise.
 *
 *	atlock_realm_create("redis://redis.example:6379/0?realm=ci", &why);
 *	atlock_realm_read(&realm, "redis://redis.example:6379/0?realm=ci", &why);
 *	...
 *	atlock_realm_clear(&realm);
 */
#ifndef ATLOCK_REALM_H
#define ATLOCK_REALM_H

#include "atlock/base.h"

/* A host that mounts the realm, or did. */
struct atlock_realm_host {
	uint16_t chain;       /* its number in the realm, for ever */
	uint64_t incarnation; /* one life of it: what is bound to processes of an earlier one is void */
	char name[65];
	int64_t timeout; /* without a word from it, until it counts as gone */
	bool gone;
	int64_t heard; /* since its last word; ATLOCK_NEVER: not known */
};

struct atlock_realm {
	char id[33]; /* hex */
	uint64_t epoch;
	uint64_t revision; /* of the last commit */
	bool opened;       /* false: its server was started anew, and waits for the hosts to report */
	struct atlock_realm_host *hosts;
	size_t count;
};

/* Whether a store's name is the address of a realm. */
bool atlock_realm_is(const char *uri);

/* Makes a realm that is not there. -EEXIST, -EINVAL, -EACCES, -EHOSTDOWN. */
int atlock_realm_create(const char *uri, struct atlock_why *why);

/* -ENOENT, and as above. Free it with atlock_realm_clear(). */
int atlock_realm_read(struct atlock_realm *out, const char *uri, struct atlock_why *why);
void atlock_realm_clear(struct atlock_realm *realm);

/* Writes a realm in use, as of one moment, to the new file `path`. `*keys`: how many records it has. -EEXIST, and as above. */
int atlock_realm_backup(const char *uri, const char *path, uint64_t *keys, struct atlock_why *why);

/*
 * Makes a realm that is not there from such a file, and compares the two. May be called again after it was interrupted. Hosts that mount it
 * begin a new epoch, in which no token comes again. -EEXIST, -EBADMSG, and as above.
 */
int atlock_realm_restore(const char *uri, const char *path, uint64_t *keys, struct atlock_why *why);

#endif
