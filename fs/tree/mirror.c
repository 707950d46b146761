#include "mirror.h"

#include <errno.h>

#include "attr_of.h"

int mirror_stat(struct call *call, uint64_t id, mode_t mode, struct stat *st, struct life *life)
{
	struct atlock_dir found;
	int err;

	if (id == NODE_NO_DIR) {
		attr_virtual(call->fs, mode, st);
		*life = (struct life){ .entry = LIFE_STEADY, .attr = LIFE_STEADY };
		return 0;
	}
	err = atlock_dir_get(call->al, id, &found);
	if (err != 0)
		return err < 0 ? err : -ENOENT;
	attr_custom(&found, st);
	*life = (struct life){ 0 };
	return 0;
}
