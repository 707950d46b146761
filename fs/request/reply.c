/* The end of every request: the reply, and the reason of a refusal for the caller's `why` and the log. */
#include "reply.h"

#include <errno.h>

#include "refuse.h"
#include "why_lines.h"

/* The manager has decided, and logged, most refusals itself. */
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

static void call_fail(struct call *call, int err)
{
	refuse_explain(call, err);
	if (call->why.text[0] != '\0') {
		why_record(call->fs, call->ctx, &call->why);
		tell_log(call);
	}
	fuse_reply_err(call->req, -err);
}

void call_end(struct call *call, int err)
{
	if (err == CALL_LATER)
		return;
	if (err < 0)
		call_fail(call, err);
	else if (err != CALL_ANSWERED)
		fuse_reply_err(call->req, 0);
	call_free(call);
}
