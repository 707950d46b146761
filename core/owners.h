/*
 * Which user has a Git URL: one claim a URL, and the references that it lives by. A claim without references, or a
 * reference without a claim, is a leftover: no operation makes one, and the sweep sets it right. Private to core/; all of
 * it runs inside an operation's transaction.
 */
#ifndef CORE_OWNERS_H
#define CORE_OWNERS_H

#include "table.h"

/* The claim of a URL: 0 or 1 (none). */
int owners_claim_get(struct op *op, struct slice url, struct record_claim *out);

/* The byte of a type in keys, and back (-1: none). Its count in a claim. The name of its directory. */
uint8_t owners_type_byte(enum atlock_reference_type type);
int owners_type_of(uint8_t byte);
uint64_t *owners_count(struct record_claim *claim, enum atlock_reference_type type);
const char *owners_type_name(enum atlock_reference_type type);

/* A reference as its key has it; what it points to is the key's. -EBADMSG for another shape. */
struct reference_key {
	struct slice url;
	enum atlock_reference_type type;
	struct slice id;
};
int owners_key_split(struct slice key, struct reference_key *out);

/* "owners/<url>[/-/<type>/<id>]": for events and refusals. `id` may be empty. */
#define OWNERS_PATH_MAX (ATLOCK_KEY_MAX + 64)
void owners_path_print(const struct reference_key *key, char out[OWNERS_PATH_MAX]);

/*
 * Sets the claim and the references of a URL right, and writes an event if something was wrong: 1, or 0 if nothing was.
 * Whoever has the claim keeps the URL; without one, the owner of the first reference gets it.
 */
int owners_settle(struct op *op, struct slice url);

#endif
