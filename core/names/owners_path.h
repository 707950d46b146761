/*
 * Paths below owners/: any spelling of a URL, "-", and a reference to it; and the keys of references. Private to core/.
 */
#ifndef CORE_OWNERS_PATH_H
#define CORE_OWNERS_PATH_H

#include "atlock.h"
#include "store.h"

/* A type's byte in keys; the name of a type's directory. */
uint8_t owners_type_byte(enum atlock_reference_type type);
const char *owners_type_name(enum atlock_reference_type type);

/* The parts of a reference's key, pointing into it. -EBADMSG for a malformed key. */
struct reference_key {
	struct slice url;
	enum atlock_reference_type type;
	struct slice id;
};
int owners_key_split(struct slice key, struct reference_key *out);

/* Prints "owners/<url>[/-/<type>/<id>]" for events and refusals. `id` may be empty. */
#define OWNERS_PATH_MAX (ATLOCK_KEY_MAX + 64)
void owners_path_print(const struct reference_key *key, char out[OWNERS_PATH_MAX]);

#endif
