/* From an outcome to a reply: the sign flips, and the reason is kept for the caller's `why`. */
#include "fs.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "caller.h"
#include "inode.h"
#include "refuse.h"
#include "why.h"

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

/* Most refusals were decided, and noted, by the manager. */
static void tell_log(struct call *call)
{
	struct atlock_why why = call->why;
	char subject[ATLOCK_PATH_MAX] = "";
	struct atlock_caller caller;
	struct atlock_name name;
	bool locks;

	if (why.noted || caller_user(call, &caller) < 0)
		return;
	locks = call->node != NULL && refuse_lock(call, &name) == 0;
	if (call->node != NULL && !locks && refuse_subject(call, subject) < 0)
		subject[0] = '\0';
	atlock_refused(call->al, &caller, locks ? &name : NULL, subject, &why);
}

void call_fail(struct call *call, int err)
{
	refuse_explain(call, err);
	if (call->why.text[0] != '\0') {
		why_record(call->fs, call->ctx, &call->why);
		tell_log(call);
	}
	fuse_reply_err(call->req, err < 0 ? -err : EIO);
}

void call_told(struct call *call)
{
	call->why.text[0] = '\0';
	call->act = ACT_LOOK;
}

void call_done(struct call *call, int err)
{
	if (err == CALL_PARKED)
		return;
	if (err < 0)
		call_fail(call, err);
	else
		fuse_reply_err(call->req, 0);
}

int call_refuse(struct call *call, int err, enum atlock_code code, const char *fmt, ...)
{
	va_list args;

	call->why = (struct atlock_why){ .code = code };
	va_start(args, fmt);
	vsnprintf(call->why.text, sizeof(call->why.text), fmt, args);
	va_end(args);
	/* It may quote a name as it was given. */
	atlock_tame(call->why.text, strlen(call->why.text));
	return err;
}
