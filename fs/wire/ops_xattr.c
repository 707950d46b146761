/*
 * Extended attributes: the fields of a lock as user.<key>. All others are "not supported"; ls(1) and the kernel
 * (security.capability before each write) ask for those often, so that reply must be cheap.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"
#include "reply.h"

#define XATTR_PREFIX "user."

/* The key after "user.", or NULL. */
static const char *xattr_key(const char *name)
{
	return strncmp(name, XATTR_PREFIX, sizeof(XATTR_PREFIX) - 1) == 0 ? name + sizeof(XATTR_PREFIX) - 1 : NULL;
}

/* A size of 0 asks how much space is needed. Returns what call_end() takes. */
static int reply_sized(struct call *call, const char *data, size_t len, size_t size)
{
	if (size > 0 && size < len)
		return -ERANGE;
	if (size == 0)
		fuse_reply_xattr(call->req, len);
	else
		fuse_reply_buf(call->req, data, len);
	return CALL_ANSWERED;
}

void op_getxattr(fuse_req_t req, fuse_ino_t id, const char *name, size_t size)
{
	const char *key = xattr_key(name);
	char value[ATLOCK_META_BYTES];
	struct node *node = node_of(fuse_req_userdata(req), id);
	struct call *call = call_begin(req, node, NULL, ACT_LOOK);
	int err;

	if (call == NULL)
		return;
	if (key == NULL)
		err = -EOPNOTSUPP;
	else
		err = node->kind->xattr_get == NULL ? -ENODATA
						    : node->kind->xattr_get(call, node, key, value, sizeof(value));
	call_end(call, err < 0 ? err : reply_sized(call, value, strlen(value), size));
}

static int xattr_list(struct call *call, size_t size)
{
	const struct kind *kind = call->node->kind;
	char *names = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&names, &len);
	int err = 0;

	if (out == NULL)
		return -ENOMEM;
	if (kind->xattr_list != NULL)
		err = kind->xattr_list(call, call->node, out);
	if (fclose(out) != 0 && err == 0)
		err = -ENOMEM;
	if (err == 0)
		err = reply_sized(call, names, len, size);
	free(names);
	return err;
}

void op_listxattr(fuse_req_t req, fuse_ino_t id, size_t size)
{
	struct call *call = call_begin(req, node_of(fuse_req_userdata(req), id), NULL, ACT_LOOK);

	if (call != NULL)
		call_end(call, xattr_list(call, size));
}

/* Sets an attribute, or removes it if `value` is NULL. */
static void xattr_change(fuse_req_t req, fuse_ino_t id, const char *name, const char *value, size_t size, int flags)
{
	const char *key = xattr_key(name);
	struct node *node = node_of(fuse_req_userdata(req), id);
	struct call *call = call_begin(req, node, NULL, ACT_CHANGE);
	int err;

	if (call == NULL)
		return;
	if (key == NULL || node->kind->xattr_set == NULL)
		err = call_refuse(call, -EOPNOTSUPP, ATLOCK_INVALID_REQUEST,
				  "only locks have attributes that can be set, and those begin with \"user.\"");
	else if (value == NULL)
		err = node->kind->xattr_remove(call, node, key);
	else
		err = node->kind->xattr_set(call, node, key, value, size, flags);
	call_end(call, err);
}

void op_setxattr(fuse_req_t req, fuse_ino_t id, const char *name, const char *value, size_t size, int flags)
{
	xattr_change(req, id, name, value, size, flags);
}

void op_removexattr(fuse_req_t req, fuse_ino_t id, const char *name)
{
	xattr_change(req, id, name, NULL, 0, 0);
}
