#include "missing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kind.h"
#include "refuse.h"
#include "tree.h"
#include "why.h"

/*
 * Sorted. Not in it are those that also read what they are given (cp, dd), that look at what they are about to make (mv, ln), and
 * to whom absence is as good (rm -f).
 */
static const char *const changers[] = {
	"chgrp", "chmod", "chown", "flock", "mkdir", "setfattr", "tee", "touch", "truncate",
};

static int compare(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

static bool changes(const struct call *call)
{
	struct atlock_caller caller = { .pid = call->ctx->pid };

	atlock_caller_look(call->al, &caller);
	return bsearch(caller.comm, changers, sizeof(changers) / sizeof(changers[0]), sizeof(changers[0]), compare) !=
	       NULL;
}

/* "@who" asks whether somebody still holds a lock, and nothing is ever below that. */
static bool asks_for_holder(const struct call *call)
{
	return strchr(call->name, '@') != NULL;
}

void missing_note(struct call *call)
{
	if (asks_for_holder(call) || !changes(call))
		return;
	call->act = ACT_CHANGE;
	refuse_explain(call, -ENOENT);
	why_suppose(call->fs->whys, call->ctx, &call->why, call->node, call->name);
}

void missing_take_back(struct call *call)
{
	why_take_back(call->fs->whys, call->ctx, call->node, call->name);
}
