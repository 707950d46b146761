/* projects/ of a pull request: a file per project, named as its lock is, with its status as content. */
#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attr.h"
#include "call_user.h"
#include "handle.h"
#include "listing.h"
#include "path.h"
#include "pull_row.h"
#include "rows.h"
#include "steady.h"

int pull_project_path(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX])
{
	const struct node *top = dir;
	char above[ATLOCK_PATH_MAX];
	char path[ATLOCK_PATH_MAX];
	size_t skip;
	int err = path_print(dir, name, path);

	while (top->parent->kind != &kind_pull)
		top = top->parent;
	if (err == 0)
		err = path_print(top, "", above);
	if (err < 0)
		return err;
	skip = strlen(above) + (path[strlen(above)] == '/');
	(void)strlcpy(out, path + skip, ATLOCK_PATH_MAX);
	return 0;
}

/* Whether `name` below `dir` is a project (0) or a directory (1). */
static int project_find(struct call *call, struct node *dir, const char *name, struct atlock_pull_name *pull,
			struct atlock_name *project)
{
	char path[ATLOCK_PATH_MAX];
	int err = pull_of(call, dir, pull);

	if (err == 0)
		err = pull_project_path(dir, name, path);
	return err < 0 ? err : atlock_project_parse(pull, path, project, &call->why);
}

/* The status of a project: 0, or 1 and "" if it has none. */
static int project_text(struct call *call, struct node *dir, const char *name, char out[40])
{
	enum atlock_project_status status = ATLOCK_PLANNED;
	struct atlock_pull_name pull;
	struct atlock_name project;
	int err = project_find(call, dir, name, &pull, &project);

	out[0] = '\0';
	if (err == 1)
		return -EISDIR;
	if (err == 0)
		err = atlock_project_get(call->al, &pull, &project, &status);
	if (err == 0)
		(void)snprintf(out, 40, "%s\n", atlock_project_status_name(status));
	return err;
}

static int project_fill(struct call *call, struct node *dir, const char *name, struct stat *st, struct life *life)
{
	char text[40];
	int err = project_text(call, dir, name, text);

	attr_file(call->fs, 0666, strlen(text), st);
	*life = (struct life){ 0 };
	return err;
}

/* --- Directories --- */

static int projects_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	struct atlock_pull_name pull;
	struct atlock_name project;
	int err = project_find(call, dir, name, &pull, &project);

	if (err < 0)
		return err;
	if (err == 1)
		return steady_found(call, &kind_pull_projects, out);
	out->kind = &kind_pull_project;
	err = project_fill(call, dir, name, &out->st, &out->life);
	return err == 1 ? -ENOENT : err;
}

static int list_child(void *arg, const char *component, bool directory)
{
	return listing_add(arg, component, directory ? S_IFDIR : S_IFREG);
}

static int projects_children(struct call *call, struct node *dir, const char *name, struct atlock_place *place,
			     atlock_pull_child_fn *fn, void *arg)
{
	char path[ATLOCK_PATH_MAX];
	struct atlock_pull_name pull;
	int err = pull_of(call, dir, &pull);

	if (err == 0)
		err = pull_project_path(dir, name, path);
	return err < 0 ? err : atlock_project_children(call->al, &pull, path, place, fn, arg);
}

static int projects_list(struct call *call, struct node *dir, struct listing *out)
{
	return projects_children(call, dir, "", listing_place(out), list_child, out);
}

static int projects_rmdir(struct call *call, struct node *dir, const char *name)
{
	bool any = false;
	int err = projects_children(call, dir, name, NULL, pull_seen, &any);

	return err < 0 ? err : any ? -ENOTEMPTY : 0;
}

/* The first write makes the project: until then only the open file exists. */
static int projects_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
			   struct found *out)
{
	struct atlock_caller caller;
	int err;

	(void)mode;
	out->kind = &kind_pull_project;
	err = project_fill(call, dir, name, &out->st, &out->life);
	if (err >= 0)
		err = caller_user(call, &caller);
	return err < 0 ? err : handle_remember(handle, &caller);
}

static int projects_unlink(struct call *call, struct node *dir, const char *name)
{
	struct atlock_pull_name pull;
	struct atlock_name project;
	struct atlock_caller caller;
	int err = project_find(call, dir, name, &pull, &project);

	if (err == 0)
		err = caller_user(call, &caller);
	if (err != 0)
		return err < 0 ? err : -EISDIR;
	err = atlock_project_drop(call->al, &caller, &pull, &project, &call->why);
	return err == 1 ? -ENOENT : err;
}

/* --- A project --- */

static int project_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	int err = project_fill(call, node->parent, node->component, st, life);

	return err == 1 ? 0 : err;
}

static int project_open(struct call *call, struct node *node, struct handle *handle)
{
	(void)node;
	return caller_keep(call, handle);
}

static int project_read(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	char status[40];
	int err = project_text(call, node->parent, node->component, status);

	(void)handle;
	if (err < 0)
		return err;
	*text = strdup(status);
	*len = strlen(status);
	return *text == NULL ? -ENOMEM : 0;
}

static int project_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	const struct atlock_caller *caller = handle_caller(handle);
	struct atlock_pull_name pull;
	struct atlock_name project;
	int err = project_find(call, node->parent, node->component, &pull, &project);

	if (err != 0)
		return err < 0 ? err : -EISDIR;
	if (caller == NULL)
		return -EBADF;
	return atlock_project_set(call->al, caller, &pull, &project, data, len, &call->why);
}

static int project_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	(void)handle;
	if ((which & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0)
		return -EPERM;
	if ((which & FUSE_SET_ATTR_SIZE) != 0 && want->st_size == 0)
		return 0;
	return call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST, "write a status into it: echo planned > %s",
			   node->component);
}

const struct kind kind_pull_projects = {
	.type = S_IFDIR,
	.mode = 0777,
	.hint = "echo planned > projects/<directory>/-/<workspace> gives a project its status",
	.stat = steady_stat,
	.lookup = projects_lookup,
	.list = projects_list,
	.rmdir = projects_rmdir,
	.create = projects_create,
	.unlink = projects_unlink,
};

const struct kind kind_pull_project = {
	.type = S_IFREG,
	.hint = "its status is changed by writing another to it: echo planned > projects/<directory>/-/<workspace>",
	.stat = project_stat,
	.set = project_set,
	.open = project_open,
	.text = project_read,
	.write = project_write,
};
