#include "refuse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flocked.h"
#include "path.h"

#define SHOWN 160 /* bytes of a path: the rest of the reason must fit, too */

static const char *const done[ACTS] = {
	[ACT_LOOK] = "looked at", [ACT_MAKE] = "made",     [ACT_MKDIR] = "made",
	[ACT_REMOVE] = "removed", [ACT_RMDIR] = "removed", [ACT_MOVE] = "moved",
	[ACT_CHANGE] = "changed", [ACT_WRITE] = "written", [ACT_FLOCK] = "locked with flock",
};

/* What is wrong with the path, by errno; "%s" before it is the path. For any other errno the hint explains. */
static const struct {
	int err;
	enum atlock_code code;
	const char *text;
} faults[] = {
	{ ENOTEMPTY, ATLOCK_IN_USE, "is not empty: remove what ls shows in it first" },
	{ ENOTDIR, ATLOCK_INVALID_REQUEST, "is no directory: rm removes it" },
	{ EISDIR, ATLOCK_INVALID_REQUEST, "is a directory: rmdir removes it" },
	{ EEXIST, ATLOCK_LOCK_EXISTS, "is there already" },
	{ ENODATA, ATLOCK_LOCK_NOT_FOUND, "has no such attribute" },
	{ ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "is too long: each part of a path has at most 255 bytes" },
};

#define FAULTS (sizeof(faults) / sizeof(faults[0]))

/* The whole path, or its end if it is too long. */
static void subject_show(const struct node *dir, const char *name, char out[SHOWN])
{
	char path[ATLOCK_PATH_MAX];
	size_t len;

	if (dir->kind->secret) {
		(void)snprintf(out, SHOWN, "this");
		return;
	}
	if (path_show(dir, name == NULL ? "" : name, path) < 0)
		(void)snprintf(path, sizeof(path), "%s", name == NULL ? dir->component : name);
	len = strlen(path);
	if (len == 0)
		(void)snprintf(out, SHOWN, "the root");
	else if (len < SHOWN)
		(void)snprintf(out, SHOWN, "%s", path);
	else
		(void)snprintf(out, SHOWN, "...%s", path + len - (SHOWN - 4));
}

static int refuse_act(struct call *call, int err, const char *path)
{
	return call_refuse(call, err, ATLOCK_PERMISSION_DENIED, "%s cannot be %s: %s", path, done[call->act],
			   call->node->kind->hint);
}

/* Tells the removals of different processes and names apart, most of the time. */
static uint64_t removal_sum(const struct call *call)
{
	uint64_t sum = (uint64_t)call->ctx->pid << 32;

	for (const char *at = call->name; *at != '\0'; at++)
		sum = sum * 31 + (unsigned char)*at;
	return sum;
}

/*
 * rm(1) of a free lock ends with the lookup: the kernel sends no UNLINK for what is not there, and a LOOKUP does not say what it is for. The
 * program's name does. It is counted and not logged: nothing was held.
 */
static void explain_removal(struct call *call)
{
	char path[SHOWN];

	if (call->node == NULL || call->name == NULL || call->node->kind->missing == NULL ||
	    call->why.text[0] != '\0' || !atlock_is_removing(call->al, call->ctx->pid))
		return;
	subject_show(call->node, call->name, path);
	(void)call_refuse(call, -ENOENT, ATLOCK_LOCK_NOT_FOUND, "there is no %s: %s", path, call->node->kind->missing);
	/* It looks twice, once to ask for its type. */
	if (atomic_exchange(&call->fs->removal, removal_sum(call)) == removal_sum(call))
		call->why.noted = true;
	else
		atlock_refused_count(call->al, &call->why);
}

void refuse_explain(struct call *call, int err)
{
	char path[SHOWN];

	if (call->act == ACT_LOOK && err == -ENOENT)
		explain_removal(call);
	/*
	 * Any other lookup is explained only if the store failed and no flock(2) before it has reported that. A caller that
	 * gave up itself (EINTR), or that the kernel makes look again (ESTALE), was not refused anything.
	 */
	if ((call->act == ACT_LOOK && (err != -EIO || flocked_failed(call))) || call->node == NULL ||
	    call->why.text[0] != '\0' || err >= 0 || err == -EINTR || err == -ESTALE)
		return;
	subject_show(call->node, call->name, path);
	for (size_t i = 0; i < FAULTS; i++)
		if (faults[i].err == -err) {
			call_refuse(call, err, faults[i].code, "%s %s", path, faults[i].text);
			return;
		}
	if (err == -ENOENT)
		call_refuse(call, err, ATLOCK_LOCK_NOT_FOUND, "there is no %s: %s",
			    call->node->kind->secret ? "such name" : path,
			    call->node->kind->missing != NULL ? call->node->kind->missing : call->node->kind->hint);
	else if (err == -EPERM || err == -EACCES || err == -EOPNOTSUPP)
		refuse_act(call, err, path);
	else
		call_refuse(call, err, ATLOCK_BACKEND_ERROR, "%s could not be %s: %s%s", path, done[call->act],
			    strerror(-err), err == -EIO ? ": cat health says more" : "");
}

int refuse_lacking(struct call *call, int err)
{
	char path[SHOWN];

	if (err != 0 && err != -EACCES)
		return err;
	subject_show(call->node, call->name, path);
	return refuse_act(call, err == 0 ? -EPERM : err, path);
}

int refuse_touch(struct call *call, const struct node *node)
{
	char path[SHOWN];

	subject_show(node, NULL, path);
	return call_refuse(call, -EISDIR, ATLOCK_INVALID_REQUEST,
			   "%s is a directory, not a lock: nothing was taken or renewed; %s", path, node->kind->hint);
}

int refuse_mode(struct call *call, const struct node *node, const struct stat *st)
{
	char path[SHOWN];

	subject_show(node, NULL, path);
	return call_refuse(call, -EACCES, ATLOCK_PERMISSION_DENIED,
			   "%s belongs to uid %u and gid %u, and its mode %03o does not let you: %s", path, st->st_uid,
			   st->st_gid, st->st_mode & 07777U, node->kind->hint);
}

int refuse_owner(struct call *call, const struct node *node, const struct stat *st)
{
	char path[SHOWN];

	subject_show(node, NULL, path);
	return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED, "%s belongs to uid %u: %s", path, st->st_uid,
			   node->kind->hint);
}

/* A directory is no lock, whatever its name. */
int refuse_lock(struct call *call, struct atlock_name *out)
{
	struct atlock_why why = call->why; /* a parse error must not become the call's reason */
	const struct node *dir = call->name != NULL ? call->node : call->node->parent;
	const char *name = call->name != NULL ? call->name : call->node->component;
	uint64_t id;
	int err;

	if (call->act == ACT_MKDIR || call->act == ACT_RMDIR || dir == NULL)
		return 1;
	if (call->node->kind->lock != NULL)
		err = call->node->kind->lock(call, call->node, out);
	else
		err = path_kind(call, dir, name, &id, out) == ATLOCK_PATH_LOCK ? 0 : 1;
	call->why = why;
	return err == 0 ? 0 : 1;
}

int refuse_subject(const struct call *call, char out[ATLOCK_PATH_MAX])
{
	const struct node *node = call->node;

	if (!node->kind->secret)
		return path_show(node, call->name == NULL ? "" : call->name, out);
	while (node->parent->parent != NULL)
		node = node->parent;
	return path_show(node, "", out);
}
