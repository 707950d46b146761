/*
 * Files below shared/<resource>/: the status that an app reports of itself, one word; and the verdict. A status older
 * than status_ttl reads UNKNOWN from that moment on, so the kernel may cache neither.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attr_of.h"
#include "call_user.h"
#include "handle.h"
#include "rows.h"
#include "shared_row.h"

#define SET_OWNER (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)
#define SET_NOW (FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)

static const char *app_resource(const struct node *node)
{
	return node->parent->parent->component;
}

int shared_app_stat(struct call *call, const char *resource, const char *app, struct stat *st)
{
	struct atlock_app found;
	int err = atlock_app_get(call->al, resource, app, &found);

	if (err == 0)
		attr_app(call, &found, st);
	return err;
}

static int app_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	int err = shared_app_stat(call, app_resource(node), node->component, st);

	*life = (struct life){ 0 };
	if (err != -ENOENT)
		return err;
	/* The app is gone: only an open file still refers to it. */
	attr_free_lock(call, st);
	st->st_nlink = 0;
	return 0;
}

static int app_open(struct call *call, struct node *node, struct handle *handle)
{
	struct atlock_app app;
	int err = atlock_app_get(call->al, app_resource(node), node->component, &app);

	return err < 0 ? err : caller_keep(call, handle);
}

static int app_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	struct atlock_app app;
	int err = atlock_app_get(call->al, app_resource(node), node->component, &app);
	int n;

	(void)handle;
	if (err < 0)
		return err == -ENOENT ? -ESTALE : err;
	n = asprintf(text, "%s\n", atlock_app_status_name(app.status));
	*len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -ENOMEM : 0;
}

static int app_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	const struct atlock_caller *caller = handle_caller(handle);

	if (caller == NULL)
		return -EBADF;
	return atlock_app_write(call->al, app_resource(node), node->component, caller, data, len, &call->why);
}

/* `chown service app` by an administrator, who registers apps for others. */
static int app_give(struct call *call, struct node *node, const struct atlock_caller *caller, const struct stat *want,
		    int which)
{
	struct atlock_caller to;
	struct atlock_app app;
	int err = atlock_app_get(call->al, app_resource(node), node->component, &app);

	if (err == 0)
		err = atlock_identify(call->al, call->ctx->pid, (which & FUSE_SET_ATTR_UID) ? want->st_uid : app.uid,
				      (which & FUSE_SET_ATTR_GID) ? want->st_gid : app.gid, "x", &to, &call->why);
	if (err < 0)
		return err;
	return atlock_app_give(call->al, app_resource(node), node->component, caller, &to, &call->why);
}

/* touch(1) reports the current status again. Truncating alone does nothing: in `> f` the word follows. */
static int app_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	struct atlock_caller caller;
	int err = caller_opener(call, handle, &caller);

	if (err == 0 && (which & FUSE_SET_ATTR_MODE))
		err = call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
				  "the mode of an app's file cannot be changed");
	if (err == 0 && (which & FUSE_SET_ATTR_SIZE) && want->st_size != 0)
		err = call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST, "write UP, DOWN or UNKNOWN");
	if (err == 0 && (which & SET_OWNER))
		err = app_give(call, node, &caller, want, which);
	if (err == 0 && (which & SET_NOW))
		err = atlock_app_write(call->al, app_resource(node), node->component, &caller, NULL, 0, &call->why);
	else if (err == 0 && (which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)))
		err = call_refuse(call, -EINVAL, ATLOCK_INVALID_REQUEST,
				  "a status is as old as it is: its time can only be set to now");
	return err;
}

/* --- Extended attributes --- */

static void value_status(struct atlock *al, const struct atlock_app *app, char *out, size_t len)
{
	(void)al;
	(void)snprintf(out, len, "%s", atlock_app_status_name(app->status));
}

static void value_said(struct atlock *al, const struct atlock_app *app, char *out, size_t len)
{
	(void)al;
	(void)snprintf(out, len, "%s", atlock_app_status_name(app->said));
}

static void value_written(struct atlock *al, const struct atlock_app *app, char *out, size_t len)
{
	atlock_instant_print(al, app->written_at, out, len);
}

static void value_age(struct atlock *al, const struct atlock_app *app, char *out, size_t len)
{
	(void)al;
	(void)snprintf(out, len, "%jds", (intmax_t)(app->age / ATLOCK_SECOND));
}

static void value_owner(struct atlock *al, const struct atlock_app *app, char *out, size_t len)
{
	(void)al;
	(void)snprintf(out, len, "%s", app->owner);
}

static const struct {
	const char *key;
	void (*value)(struct atlock *al, const struct atlock_app *app, char *out, size_t len);
} values[] = {
	{ "status", value_status }, { "said", value_said },   { "written_at", value_written },
	{ "age", value_age },       { "owner", value_owner },
};

#define VALUES (sizeof(values) / sizeof(values[0]))

static int app_xattr_list(struct call *call, struct node *node, FILE *names)
{
	(void)call, (void)node;
	for (size_t i = 0; i < VALUES; i++)
		(void)fprintf(names, "user.%s%c", values[i].key, '\0');
	return 0;
}

static int app_xattr_get(struct call *call, struct node *node, const char *key, char *value, size_t len)
{
	struct atlock_app app;
	int err = atlock_app_get(call->al, app_resource(node), node->component, &app);

	for (size_t i = 0; err == 0 && i < VALUES; i++) {
		if (strcmp(values[i].key, key) != 0)
			continue;
		values[i].value(call->al, &app, value, len);
		return 0;
	}
	return err < 0 ? err : -ENODATA;
}

const struct kind kind_app = {
	.type = S_IFREG,
	.hint = "who registered an app writes UP, DOWN or UNKNOWN to it; an administrator may chown it",
	.stat = app_stat,
	.set = app_set,
	.open = app_open,
	.text = app_text,
	.write = app_write,
	.xattr_list = app_xattr_list,
	.xattr_get = app_xattr_get,
};

/* --- The verdict --- */

bool shared_is_verdict(const char *name, const char **app)
{
	static const char verdict[] = "verdict";
	size_t len = sizeof(verdict) - 1;

	if (strncmp(name, verdict, len) != 0 || (name[len] != '\0' && name[len] != '@'))
		return false;
	*app = name[len] == '@' ? name + len + 1 : NULL;
	return true;
}

static int verdict_make(struct call *call, const char *resource, const char *name, char **text, size_t *len)
{
	const char *app;

	if (!shared_is_verdict(name, &app))
		return -ENOENT;
	return atlock_verdict(call->al, resource, app, text, len);
}

int shared_verdict_stat(struct call *call, const char *resource, const char *name, struct stat *st)
{
	char *text = NULL;
	size_t len = 0;
	int err = verdict_make(call, resource, name, &text, &len);

	if (err == 0)
		attr_file(call->fs, 0444, len, st);
	free(text);
	return err;
}

static int verdict_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	*life = (struct life){ 0 };
	return shared_verdict_stat(call, node->parent->component, node->component, st);
}

static int verdict_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	int err = verdict_make(call, node->parent->component, node->component, text, len);

	(void)handle;
	return err == -ENOENT ? -ESTALE : err;
}

const struct kind kind_verdict = {
	.type = S_IFREG,
	.hint = "a verdict follows from what the apps say: write that to apps/<app>",
	.stat = verdict_stat,
	.text = verdict_text,
};

/* --- What atlock guard did: shared/<resource>/guard --- */

int shared_guard_stat(struct call *call, const char *resource, struct stat *st)
{
	char *text = NULL;
	size_t len = 0;
	int err = atlock_guard_text(call->al, resource, &text, &len);

	if (err == 0)
		attr_file(call->fs, 0666, len, st);
	free(text);
	return err;
}

static int guard_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	*life = (struct life){ 0 };
	return shared_guard_stat(call, node->parent->component, st);
}

static int guard_open(struct call *call, struct node *node, struct handle *handle)
{
	(void)node;
	return handle_writes(handle) ? caller_keep(call, handle) : 0;
}

static int guard_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	int err = atlock_guard_text(call->al, node->parent->component, text, len);

	(void)handle;
	return err == -ENOENT ? -ESTALE : err;
}

static int guard_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len)
{
	const struct atlock_caller *caller = handle_caller(handle);

	if (caller == NULL)
		return -EBADF;
	return atlock_guard_note(call->al, node->parent->component, caller, data, len, &call->why);
}

const struct kind kind_guard = {
	.type = S_IFREG,
	.hint = "it is written by atlock guard alone",
	.stat = guard_stat,
	.open = guard_open,
	.text = guard_text,
	.write = guard_write,
};
