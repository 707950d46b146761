/*
 * The users' own texts at rest: the lines of locks, of tickets and about pull requests. With a key (option key_file) they
 * are sealed: encrypted, and bound to the key of the store they stand under, so that none can be read, changed or moved to
 * another lock. Whoever reads or writes such a text goes through here. Private to core/.
 *
 *	seal_load(al, why)		the key files, before the store is opened
 *	seal_start(al, why)		refuses a store whose texts these keys do not open; has changed nothing
 *	seal_renew(al, why)		brings every text to the key in use: nothing to do unless that is another than before
 *	seal_get(), seal_put(), ...	inside operations
 *	seal_free(al)
 *
 * A text that is not sealed is read as it is, whatever the key: they are told apart by the first byte.
 */
#ifndef CORE_SEAL_H
#define CORE_SEAL_H

#include "op.h"

#define SEAL_ID 8     /* bytes that tell a key from others: a hash of it, no secret */
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

/* A key file: -ENOENT, -EACCES if others may read it, -EINVAL if it is none. */
int seal_key_read(const char *path, struct seal_key *out, struct atlock_why *why);

/* A key's id in hex. */
void seal_id_print(struct slice id, char out[ATLOCK_KEY_ID_MAX]);

/* A text that was read. Free it in any case. */
struct seal_text {
	struct slice text; /* empty if there is none */
	char *opened;      /* the text's own memory, NULL while it points into the store */
};

/* The text at `key`: 0, 1 (none), or -EIO, said with the key's name, if it is damaged or sealed with another key. */
int seal_get(struct op *op, const struct record_key *key, struct seal_text *out);
void seal_text_free(struct seal_text *text);

/* Writes it; an empty one is removed. */
int seal_put(struct op *op, const struct record_key *key, struct slice text);

/* Writes `lines` merged with those that are there, or in their place. As meta_merge(). */
int seal_merge(struct op *op, const struct record_key *key, struct slice lines, bool replace);

/*
 * The text at `from` is from now on that at `to`; if there is none, then there neither. One that cannot be read stays so:
 * whoever hands a lock over must not fail for what nobody can read any more.
 */
int seal_move(struct op *op, const struct record_key *from, const struct record_key *to);

/* Whether a value of the store can be read: 0, or as seal_unwrap(). */
int seal_check(struct op *op, struct slice key, struct slice value);

/*
 * One value, without a store. `*out` is malloc'ed; `at` is the key it stands under. Opening it fails with -EBADMSG if it is
 * damaged, -ENOKEY if it is another key's, -EPROTONOSUPPORT if a newer version made it.
 */
int seal_wrap(const struct seal_key *key, struct slice at, struct slice text, unsigned char **out, size_t *len);
int seal_unwrap(const struct seal *seal, struct slice at, struct slice value, char **out, size_t *len);

/* Whether a value is sealed, and with which key: the id points into it. */
bool seal_is(struct slice value);
struct slice seal_value_id(struct slice value);

#endif
