#include "steady.h"

#include <errno.h>

#include "attr_of.h"

static int steady_attr(struct call *call, mode_t mode, struct stat *st, struct life *life)
{
	attr_virtual(call->fs, mode, st);
	*life = (struct life){ .entry = LIFE_STEADY, .attr = LIFE_STEADY };
	return 0;
}

int steady_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	return steady_attr(call, node->kind->mode, st, life);
}

int steady_found(struct call *call, const struct kind *kind, struct found *out)
{
	out->kind = kind;
	return steady_attr(call, kind->mode, &out->st, &out->life);
}

int mirror_stat(struct call *call, uint64_t id, mode_t mode, struct stat *st, struct life *life)
{
	struct atlock_dir found;
	int err;

	if (id == NODE_NO_DIR)
		return steady_attr(call, mode, st, life);
	err = atlock_dir_recent(call->al, id, &found);
	if (err != 0)
		return err < 0 ? err : -ENOENT;
	attr_custom(&found, st);
	*life = (struct life){ 0 };
	return 0;
}
