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

/* Whether a part adds more keys than it removes. A release removes more, a renewal adds none. */
bool redis_part_takes(const struct remote_part *part);

/* 0 or -ENOMEM. To be freed in either case. With `full` the parts that take memory get a compare that never holds. */
int redis_pack(struct redis_pack *pack, const struct remote_commit *commit, bool full);
void redis_pack_free(struct redis_pack *pack);

/* "k" and the key, in the arena. */
struct slice redis_field(struct arena *arena, struct slice key);

#endif
