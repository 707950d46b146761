/* A commit as the arguments of the commit script: see redis_script.c. */
#ifndef STORE_REDIS_PACK_H
#define STORE_REDIS_PACK_H

#include "arena.h"
#include "remote_adapter.h"

struct redis_pack {
	struct arena arena; /* of everything here */
	struct slice *fields;
	size_t field_count;
	struct slice *values;
	size_t value_count;
	struct slice parts;
};

/* 0 or -ENOMEM. To be freed in either case. */
int redis_pack(struct redis_pack *pack, const struct remote_commit *commit);
void redis_pack_free(struct redis_pack *pack);

/* "k" and the key, in the arena. */
struct slice redis_field(struct arena *arena, struct slice key);

#endif
