/*
 * A reference to a repository as a file. The user who makes one owns the URL. Other users are refused by the manager,
 * which says who owns it; so the mode lets every user through: 0666, as the directories are 0777.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "attr_of.h"
#include "handle.h"
#include "owners_row.h"
#include "rows.h"

int reference_found(struct call *call, const struct atlock_owners_path *path, struct found *out)
{
	struct atlock_reference reference;
	int err = atlock_reference_get(call->al, path, &reference);

	if (err != 0)
		return err < 0 ? err : -ENOENT;
	out->kind = &kind_reference;
	out->life = (struct life){ 0 };
	return attr_reference(call, &reference, &out->st);
}

/*
 * A shell that redirects a text to the file, `echo owner=alice > ...`, may name another owner than the caller in it, who may have the
 * URL already. touch(1) is for the caller alone.
 */
static int refer(struct call *call, const struct atlock_owners_path *path, const struct atlock_caller *caller,
		 bool exclusive, int flags)
{
	if ((flags & (O_TRUNC | O_APPEND)) != 0)
		return atlock_refer_behalf(call->al, path, caller, exclusive, &call->why);
	return atlock_refer(call->al, path, caller, exclusive, &call->why);
}

int reference_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
		     struct found *out)
{
	struct atlock_owners_path path;
	struct atlock_caller caller;
	int err = owners_path(call, dir, name, &path);

	(void)mode;
	if (err < 0)
		return err;
	if (path.kind != ATLOCK_OWNERS_REFERENCE)
		return call_refuse(call, -EPERM, ATLOCK_INVALID_REQUEST,
				   "only references are made here: owners/<git url>/-/applications/<id>");
	err = caller_user(call, &caller);
	if (err == 0)
		err = refer(call, &path, &caller, (handle->flags & O_EXCL) != 0, handle->flags);
	return err < 0 ? err : reference_found(call, &path, out);
}

int reference_unlink(struct call *call, struct node *dir, const char *name)
{
	struct atlock_owners_path path;
	struct atlock_caller caller;
	int err = owners_path(call, dir, name, &path);

	if (err < 0)
		return err;
	if (path.kind != ATLOCK_OWNERS_REFERENCE)
		return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
				   "who owns a URL ends with its last reference: remove those");
	err = caller_user(call, &caller);
	return err < 0 ? err : atlock_unrefer(call->al, &path, &caller, &call->why);
}

static int reference_read(struct call *call, const struct node *node, struct atlock_reference *out)
{
	struct atlock_owners_path path;
	int err = owners_path(call, node->parent, node->component, &path);

	return err < 0 ? err : atlock_reference_get(call->al, &path, out);
}

/* After its removal, only an open file refers to it. */
static int reference_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	struct atlock_reference reference;
	int err = reference_read(call, node, &reference);

	*life = (struct life){ 0 };
	if (err == 0)
		return attr_reference(call, &reference, st);
	if (err < 0)
		return err;
	attr_free_lock(call, st);
	st->st_nlink = 0;
	return 0;
}

static int reference_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	struct atlock_reference reference;
	int err = reference_read(call, node, &reference);

	(void)handle;
	if (err < 0)
		return err;
	if (err == 1)
		return call_refuse(call, -ESTALE, ATLOCK_LOCK_NOT_FOUND, "this reference has been removed");
	*text = atlock_reference_text(call->al, &reference, len);
	return *text == NULL ? -ENOMEM : 0;
}

/* Reads a reference that the caller is to change. If it is gone, ESTALE makes the kernel look again. */
static int reference_change(struct call *call, const struct node *node, struct atlock_reference *reference,
			    struct atlock_caller *caller)
{
	int err = reference_read(call, node, reference);

	if (err == 1)
		return -ESTALE;
	return err < 0 ? err : caller_user(call, caller);
}

/* Opening one for writing makes it once more, as touch(1) does. */
static int reference_again(struct call *call, struct node *node, int flags)
{
	struct atlock_reference reference;
	struct atlock_caller caller;
	int err = reference_change(call, node, &reference, &caller);

	return err < 0 ? err : refer(call, &reference.path, &caller, false, flags);
}

static int reference_open(struct call *call, struct node *node, struct handle *handle)
{
	int err = handle_writes(handle) ? reference_again(call, node, handle->flags) : 0;

	return err < 0 ? err : 0;
}

/* Gives the URL, with this and its other references, to a user. */
static int reference_give(struct call *call, const struct node *node, const char *owner)
{
	struct atlock_reference reference;
	struct atlock_caller caller;
	int err = reference_change(call, node, &reference, &caller);

	return err < 0 ? err : atlock_refer_give(call->al, &reference.path, &caller, owner, &call->why);
}

/* touch(1) on one's own reference has nothing to do; on another's it must fail, even after a failed open. */
static int reference_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want,
			 int which)
{
	struct atlock_caller to;
	int err;

	(void)handle;
	if ((which & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_GID)) != 0)
		return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
				   "a reference has no mode to change, and belongs to whom the URL belongs to");
	if ((which & FUSE_SET_ATTR_UID) != 0) {
		err = atlock_identify(call->al, call->ctx->pid, want->st_uid, want->st_gid, "x", &to, &call->why);
		return err < 0 ? err : reference_give(call, node, to.owner);
	}
	err = reference_again(call, node, (which & FUSE_SET_ATTR_SIZE) != 0 ? O_TRUNC : 0);
	return err < 0 ? err : 0;
}

static int reference_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	char owner[ATLOCK_OWNER_MAX + 2];
	size_t key = strlen("owner=");

	(void)handle;
	if (len > 0 && data[len - 1] == '\n')
		len--;
	if (len <= key || strncmp(data, "owner=", key) != 0 || len - key >= sizeof(owner))
		return call_refuse(
			call, -EPERM, ATLOCK_INVALID_REQUEST,
			"a reference takes no text, that it is there says it all; but owner=USER from those who "
			"may claim a URL for another user");
	memcpy(owner, data + key, len - key);
	owner[len - key] = '\0';
	return reference_give(call, node, owner);
}

const struct kind kind_reference = {
	.type = S_IFREG,
	.secret = true,
	.hint = OWNERS_HINT,
	.stat = reference_stat,
	.set = reference_set,
	.open = reference_open,
	.text = reference_text,
	.write = reference_write,
};
