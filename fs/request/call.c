/* One request while it is processed: what it is about and, if it is refused, why. */
#include <atlock/program.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fs.h"

void call_begin(struct call *call, fuse_req_t req, struct node *node, const char *name, enum act act)
{
	call->fs = fuse_req_userdata(req);
	call->al = call->fs->al;
	call->req = req;
	call->ctx = fuse_req_ctx(req);
	call->node = node;
	call->name = name;
	call->act = act;
	call->paged = false;
	call->groups = NULL;
	call->group_count = 0;
	call->why.code = ATLOCK_OK;
	call->why.noted = false;
	call->why.text[0] = '\0';
}

void call_told(struct call *call)
{
	call->why.text[0] = '\0';
	call->act = ACT_LOOK;
}

int call_refuse(struct call *call, int err, enum atlock_code code, const char *fmt, ...)
{
	va_list args;

	call->why = (struct atlock_why){ .code = code };
	va_start(args, fmt);
	vsnprintf(call->why.text, sizeof(call->why.text), fmt, args);
	va_end(args);
	/* The text may quote a name as the caller gave it. */
	atlock_tame(call->why.text, strlen(call->why.text));
	return err;
}
