#include "steady.h"

#include "attr.h"

static int steady_attr(struct call *call, const struct kind *kind, struct stat *st, struct life *life)
{
	attr_virtual(call->fs, kind->mode, st);
	*life = (struct life){ .entry = LIFE_STEADY, .attr = LIFE_STEADY };
	return 0;
}

int steady_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	return steady_attr(call, node->kind, st, life);
}

int steady_found(struct call *call, const struct kind *kind, struct found *out)
{
	out->kind = kind;
	return steady_attr(call, kind, &out->st, &out->life);
}
