#include "call_user.h"

#include <errno.h>
#include <stdlib.h>

#include "handle.h"
#include "why_lines.h"

bool caller_overrides(struct call *call, const struct atlock_name *name)
{
	struct atlock_why why = call->why;
	struct atlock_caller caller;
	bool may = caller_user(call, &caller) == 0 && (caller.admin || atlock_lends(call->al, &caller, "force", name) ||
						       atlock_lends(call->al, &caller, "transfer", name));

	call->why = why;
	return may;
}

bool caller_continues(struct call *call, const struct atlock_name *name)
{
	struct atlock_why why = call->why;
	struct atlock_caller caller;
	bool is = caller_identify(call, name->who, &caller) == 0 && caller.pull_user &&
		  atlock_holds(call->al, name, &caller, NULL, NULL) == 0;

	call->why = why;
	return is;
}

int caller_naming(struct call *call, const struct atlock_name *name, struct atlock_caller *out)
{
	int err = caller_identify(call, name->who, out);

	if (name->who[0] == '\0' || (err != -EINVAL && err != -EPERM) || !caller_overrides(call, name))
		return err;
	return caller_user(call, out);
}

int caller_opener(struct call *call, const struct handle *handle, struct atlock_caller *out)
{
	const struct atlock_caller *opener = handle_caller(handle);

	if (opener == NULL)
		return caller_user(call, out);
	*out = *opener;
	return 0;
}

int caller_keep(struct call *call, struct handle *handle)
{
	struct atlock_caller caller;
	int err;

	if (!handle_writes(handle))
		return 0;
	err = caller_user(call, &caller);
	return err < 0 ? err : handle_remember(handle, &caller);
}

void caller_act_as_opener(struct call *call, const struct handle *handle)
{
	if (handle->uid == call->ctx->uid && handle->gid == call->ctx->gid)
		return;
	call->opener = *call->ctx;
	call->opener.uid = handle->uid;
	call->opener.gid = handle->gid;
	call->ctx = &call->opener;
}

int caller_opened(struct call *call, const struct handle *handle)
{
	const struct fuse_ctx *user = fuse_req_ctx(call->req);
	struct fuse_ctx opener = *user;
	int err;

	if (handle->uid == user->uid && handle->gid == user->gid)
		return 0;
	call->ctx = user;
	err = call_refuse(call, -EACCES, ATLOCK_PERMISSION_DENIED,
			  "uid %u, gid %u opened this file and uid %u, gid %u uses it: nobody takes a lock for another "
			  "user; open it as the user who shall have the lock",
			  handle->uid, handle->gid, user->uid, user->gid);
	opener.uid = handle->uid;
	opener.gid = handle->gid;
	why_record(call->fs, &opener, &call->why);
	return err;
}

int caller_view(struct call *call, const struct atlock_view *view, struct atlock_view *shown, char **own)
{
	struct atlock_caller caller;
	int err;

	*shown = *view;
	*own = NULL;
	if (!atlock_hides(call->al))
		return 0;
	err = caller_user(call, &caller);
	if (err == 0)
		err = atlock_view_hide(call->al, &caller, view, own, &shown->meta_len);
	if (err == 0)
		shown->meta = *own;
	return err == 1 ? 0 : err;
}

char *caller_text(struct call *call, const struct atlock_view *view, size_t *len)
{
	struct atlock_view shown;
	char *own;
	char *text;

	if (caller_view(call, view, &shown, &own) < 0)
		return NULL;
	text = atlock_view_text(call->al, &shown, len);
	free(own);
	return text;
}
