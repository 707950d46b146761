/*
 * Extended attributes: the fields of a lock as user.<key>. All others are "not supported"; ls(1) and the kernel
 * (security.capability before each write) ask for those often, so that reply must be cheap.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

#define XATTR_PREFIX "user."

/* The key after "user.", or NULL. */
static const char *xattr_key(const char *name)
{
	return strncmp(name, XATTR_PREFIX, sizeof(XATTR_PREFIX) - 1) == 0 ? name + sizeof(XATTR_PREFIX) - 1 : NULL;
}

/* A size of 0 asks how much space is needed. */
static void reply_sized(struct call *call, const char *data, size_t len, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(call->req, len);
	else if (size < len)
		call_fail(call, -ERANGE);
	else
		fuse_reply_buf(call->req, data, len);
}

void op_getxattr(fuse_req_t req, fuse_ino_t id, const char *name, size_t size)
{
	const char *key = xattr_key(name);
	char value[ATLOCK_META_BYTES];
	struct node *node;
	struct call call;
	int err;

	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, ACT_LOOK);
	if (key == NULL)
		err = -EOPNOTSUPP;
	else
		err = node->kind->xattr_get == NULL ? -ENODATA
						    : node->kind->xattr_get(&call, node, key, value, sizeof(value));
	if (err < 0)
		call_fail(&call, err);
	else
		reply_sized(&call, value, strlen(value), size);
}

void op_listxattr(fuse_req_t req, fuse_ino_t id, size_t size)
{
	struct node *node;
	struct call call;
	char *names = NULL;
	size_t len = 0;
	FILE *out;
	int err = 0;

	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, ACT_LOOK);
	out = open_memstream(&names, &len);
	if (out == NULL) {
		call_fail(&call, -ENOMEM);
		return;
	}
	if (node->kind->xattr_list != NULL)
		err = node->kind->xattr_list(&call, node, out);
	if (fclose(out) != 0 && err == 0)
		err = -ENOMEM;
	if (err < 0)
		call_fail(&call, err);
	else
		reply_sized(&call, names, len, size);
	free(names);
}

/* Sets an attribute, or removes it if `value` is NULL. */
static void xattr_change(fuse_req_t req, fuse_ino_t id, const char *name, const char *value, size_t size, int flags)
{
	const char *key = xattr_key(name);
	struct node *node;
	struct call call;
	int err;

	node = node_of(fuse_req_userdata(req), id);
	call_begin(&call, req, node, NULL, ACT_CHANGE);
	if (key == NULL || node->kind->xattr_set == NULL)
		err = call_refuse(&call, -EOPNOTSUPP, ATLOCK_INVALID_REQUEST,
				  "only locks have attributes that can be set, and those begin with \"user.\"");
	else if (value == NULL)
		err = node->kind->xattr_remove(&call, node, key);
	else
		err = node->kind->xattr_set(&call, node, key, value, size, flags);
	call_done(&call, err);
}

void op_setxattr(fuse_req_t req, fuse_ino_t id, const char *name, const char *value, size_t size, int flags)
{
	xattr_change(req, id, name, value, size, flags);
}

void op_removexattr(fuse_req_t req, fuse_ino_t id, const char *name)
{
	xattr_change(req, id, name, NULL, 0, 0);
}
