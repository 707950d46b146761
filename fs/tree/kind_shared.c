/*
 * shared/ and its directories: a resource is made and removed as a whole; it contains apps/, the verdict and, while it
 * is held, the lock. All are 0777 and not sticky: the manager decides who may change them.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "attr_of.h"
#include "handle.h"
#include "listing.h"
#include "lock_file.h"
#include "rows.h"
#include "shared_row.h"
#include "steady.h"

static const char apps[] = "apps";
static const char stop[] = "stop";
static const char verdict[] = "verdict";
static const char guard[] = "guard"; /* is there, and not listed: nothing that a user of the resource needs */

/* "stop" or "stop@app". */
static bool is_stop(const char *name)
{
	size_t len = sizeof(stop) - 1;

	return strncmp(name, stop, len) == 0 && (name[len] == '\0' || name[len] == '@');
}

/* --- shared/ --- */

static int root_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	(void)dir;
	out->kind = &kind_shared;
	return shared_dir_stat(call, name, &out->st);
}

static int list_resource(void *arg, const struct atlock_shared *shared)
{
	return listing_add(arg, shared->name, S_IFDIR);
}

static int root_list(struct call *call, struct node *dir, struct listing *out)
{
	(void)dir;
	return atlock_shared_list(call->al, listing_place(out), list_resource, out);
}

static int root_mkdir(struct call *call, struct node *dir, const char *name, mode_t mode, struct found *out)
{
	struct atlock_caller caller;
	int err = caller_user(call, &caller);

	(void)mode;
	if (err == 0)
		err = atlock_shared_make(call->al, name, &caller, &call->why);
	return err < 0 ? err : root_lookup(call, dir, name, out);
}

static int root_rmdir(struct call *call, struct node *dir, const char *name)
{
	struct atlock_caller caller;
	int err = caller_user(call, &caller);

	(void)dir;
	return err < 0 ? err : atlock_shared_remove(call->al, name, &caller, &call->why);
}

static int root_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
		       struct found *out)
{
	(void)dir, (void)mode, (void)handle, (void)out;
	return call_refuse(call, -EPERM, ATLOCK_INVALID_REQUEST,
			   "\"%s\" would be a shared resource, which is a directory: mkdir it", name);
}

const struct kind kind_shared_root = {
	.type = S_IFDIR,
	.mode = 0777,
	.hint = "mkdir shared/<resource> makes a resource, and rmdir removes one that has no apps",
	.stat = steady_stat,
	.lookup = root_lookup,
	.list = root_list,
	.mkdir = root_mkdir,
	.rmdir = root_rmdir,
	.create = root_create,
};

/* --- A resource --- */

int shared_dir_stat(struct call *call, const char *resource, struct stat *st)
{
	struct atlock_shared shared;
	int err = atlock_shared_get(call->al, resource, &shared);

	if (err == 0)
		attr_shared(call, &shared, st);
	return err;
}

static int resource_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	*life = (struct life){ 0 };
	return shared_dir_stat(call, node->component, st);
}

static int resource_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	const char *app;

	if (strcmp(name, apps) == 0) {
		out->kind = &kind_apps;
		return shared_dir_stat(call, dir->component, &out->st);
	}
	if (shared_is_verdict(name, &app)) {
		out->kind = &kind_verdict;
		return shared_verdict_stat(call, dir->component, name, &out->st);
	}
	if (strcmp(name, guard) == 0) {
		out->kind = &kind_guard;
		return shared_guard_stat(call, dir->component, &out->st);
	}
	return is_stop(name) ? lock_lookup(call, dir, name, out) : -ENOENT;
}

/* The lock comes first: `rm -r` gives it back before it removes the app that holds it. */
static int resource_list(struct call *call, struct node *dir, struct listing *out)
{
	struct found found = { .dir = NODE_NO_DIR };
	size_t shown = listing_index(out);
	int err = shown > 0 ? -ENOENT : lock_lookup(call, dir, stop, &found);

	if (err < 0 && err != -ENOENT)
		return err;
	if ((err == 0 && listing_add_index(out, 0, stop, S_IFREG) != 0) ||
	    (shown <= 1 && listing_add_index(out, 1, apps, S_IFDIR) != 0))
		return 0;
	if (shown <= 2)
		(void)listing_add_index(out, 2, verdict, S_IFREG);
	return 0;
}

static int resource_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
			   struct found *out)
{
	return is_stop(name) ? lock_create(call, dir, name, mode, handle, out) : -EPERM;
}

/* The parts of a resource go with it. Removing one before, as `rm -r` does, needs the right to remove the resource. */
static int resource_may_remove(struct call *call, const struct node *dir)
{
	struct atlock_shared shared;
	struct atlock_caller caller;
	int err = caller_user(call, &caller);

	if (err == 0)
		err = atlock_shared_get(call->al, dir->component, &shared);
	if (err != 0 || caller.admin || caller.uid == shared.uid)
		return err;
	return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED, "this is part of the resource: rmdir that");
}

static int resource_unlink(struct call *call, struct node *dir, const char *name)
{
	const char *app;

	if (is_stop(name))
		return lock_unlink(call, dir, name);
	return shared_is_verdict(name, &app) ? resource_may_remove(call, dir) : -ENOENT;
}

static int resource_rmdir(struct call *call, struct node *dir, const char *name)
{
	struct atlock_shared shared;
	int err = strcmp(name, apps) == 0 ? resource_may_remove(call, dir) : -ENOENT;

	if (err == 0)
		err = atlock_shared_get(call->al, dir->component, &shared);
	if (err == 0 && shared.apps > 0)
		err = call_refuse(call, -ENOTEMPTY, ATLOCK_IN_USE, "not empty: there are apps in it");
	return err;
}

const struct kind kind_shared = {
	.type = S_IFDIR,
	.hint = "a shared resource has apps/<app>, stop@<app> and verdict, and nothing else",
	.stat = resource_stat,
	.lookup = resource_lookup,
	.list = resource_list,
	.rmdir = resource_rmdir,
	.create = resource_create,
	.unlink = resource_unlink,
};

/* --- apps/ --- */

static int apps_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	*life = (struct life){ 0 };
	return shared_dir_stat(call, node->parent->component, st);
}

static int apps_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	out->kind = &kind_app;
	return shared_app_stat(call, dir->parent->component, name, &out->st);
}

static int list_app(void *arg, const struct atlock_app *app)
{
	return listing_add(arg, app->name, S_IFREG);
}

static int apps_list(struct call *call, struct node *dir, struct listing *out)
{
	return atlock_app_list(call->al, dir->parent->component, listing_place(out), list_app, out);
}

/* Creating the file registers the app, even if nothing is written: so a file opened for reading only is not created. */
static int apps_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
		       struct found *out)
{
	struct atlock_caller caller;
	int err = caller_user(call, &caller);

	(void)mode;
	if (err == 0 && !handle_writes(handle))
		err = call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST, "write to \"%s\" to register it", name);
	if (err == 0)
		err = atlock_app_add(call->al, dir->parent->component, name, &caller, (handle->flags & O_EXCL) != 0,
				     &call->why);
	if (err >= 0)
		err = handle_remember(handle, &caller);
	return err < 0 ? err : apps_lookup(call, dir, name, out);
}

static int apps_unlink(struct call *call, struct node *dir, const char *name)
{
	struct atlock_caller caller;
	int err = caller_user(call, &caller);

	return err < 0 ? err : atlock_app_remove(call->al, dir->parent->component, name, &caller, &call->why);
}

const struct kind kind_apps = {
	.type = S_IFDIR,
	.hint = "apps are files: echo UP > apps/<app> registers one, rm ends that",
	.stat = apps_stat,
	.lookup = apps_lookup,
	.list = apps_list,
	.create = apps_create,
	.unlink = apps_unlink,
};
