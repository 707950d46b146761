/*
 * The users' own texts at rest: the lines of locks, of tickets and about pull requests. With a key (option key_file)
 * they are sealed: encrypted, and bound to their key in the store, so that none can be read, changed or moved to
 * another lock. All reads and writes of such texts go through here. Private to core/.
 *
 *	seal_load(al, why)		reads the key files, before the store is opened
 *	seal_start(al, why)		refuses a store whose texts these keys do not open; changes nothing
 *	seal_renew(al, why)		re-encrypts every text with the key in use; does nothing if that is unchanged
 *	seal_get(), seal_put(), ...	inside operations
 *	seal_free(al)
 *
 * A text that is not sealed is read as it is, with any key: the first byte tells them apart.
 */
#ifndef CORE_SEAL_H
#define CORE_SEAL_H

#include "op.h"

#define SEAL_ID 8     /* bytes of the id of a key: a hash, no secret */
#define SEAL_BYTES 32 /* bytes of a key */
#define SEAL_OVERHEAD (1 + SEAL_ID + 24 + 16)

struct seal_key {
	unsigned char id[SEAL_ID];
	unsigned char bytes[SEAL_BYTES];
};

/* The keys in use, in memory that is neither swapped out nor dumped. Constant once the manager is open. */
struct seal {
	bool writes; /* texts are sealed with keys[0]; else they are written plain */
	size_t count;
	struct seal_key keys[2];
};

int seal_load(struct atlock *al, struct atlock_why *why);
int seal_start(struct atlock *al, struct atlock_why *why);
int seal_renew(struct atlock *al, struct atlock_why *why);
void seal_free(struct atlock *al);

/* Reads a key file: -ENOENT, -EACCES if other users may read it, -EINVAL if it is malformed. */
int seal_key_read(const char *path, struct seal_key *out, struct atlock_why *why);

/* A key's id in hex. */
void seal_id_print(struct slice id, char out[ATLOCK_KEY_ID_MAX]);

/* A text that was read. Free it in any case. */
struct seal_text {
	struct slice text; /* empty if there is none */
	char *opened;      /* malloc'ed text; NULL while `text` points into the store */
};

/*
 * The text at `key`: 0, 1 (none), or -EIO, explained with the key's name, if it is damaged or sealed with another key.
 */
int seal_get(struct op *op, const struct record_key *key, struct seal_text *out);
void seal_text_free(struct seal_text *text);

/* Writes a text; removes it if it is empty. */
int seal_put(struct op *op, const struct record_key *key, struct slice text);

/* Merges `lines` into the present text, or replaces it. Errors as meta_merge(). */
int seal_merge(struct op *op, const struct record_key *key, struct slice lines, bool replace);

/*
 * Moves the text at `from` to `to`; if there is none, removes the one at `to`. An unreadable text stays unreadable: a
 * hand-over must not fail because of a text that no key opens.
 */
int seal_move(struct op *op, const struct record_key *from, const struct record_key *to);

/* Whether a value of the store can be read: 0, or an error of seal_unwrap(). */
int seal_check(struct op *op, struct slice key, struct slice value);

/*
 * Seals or opens one value, without a store. `*out` is malloc'ed; `at` is its key in the store. Opening fails with
 * -EBADMSG if the value is damaged, -ENOKEY if it is sealed with another key, -EPROTONOSUPPORT if a newer version made
 * it.
 */
int seal_wrap(const struct seal_key *key, struct slice at, struct slice text, unsigned char **out, size_t *len);
int seal_unwrap(const struct seal *seal, struct slice at, struct slice value, char **out, size_t *len);

/* Whether a value is sealed; the id of its key, which points into the value. */
bool seal_is(struct slice value);
struct slice seal_value_id(struct slice value);

#endif
