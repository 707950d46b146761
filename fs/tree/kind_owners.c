/*
 * owners/: virtual directories, as in repos/. Every component of every spelling of a URL is one, so that a URL can be
 * pasted in as it is; only the canonical spelling is listed. Nothing here quotes a name: it may be a password.
 */
#include <errno.h>

#include "attr_of.h"
#include "listing.h"
#include "owners_row.h"
#include "path.h"
#include "rows.h"
#include "steady.h"

int owners_path(struct call *call, const struct node *dir, const char *name, struct atlock_owners_path *out)
{
	char path[ATLOCK_PATH_MAX];
	int err = path_print(dir, name, path);

	return err < 0 ? err : atlock_owners_parse(path, out, &call->why);
}

/* --- The file `owner` --- */

static int owner_found(struct call *call, const char *url, struct stat *st, struct life *life)
{
	struct atlock_ownership ownership;
	int err = atlock_ownership_get(call->al, url, &ownership);

	*life = (struct life){ 0 };
	if (err != 0)
		return err < 0 ? err : -ENOENT;
	return attr_ownership(call, &ownership, st);
}

static int owner_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	struct atlock_owners_path path;
	int err = owners_path(call, node->parent, node->component, &path);

	return err < 0 ? err : owner_found(call, path.url, st, life);
}

static int owner_text(struct call *call, struct node *node, struct handle *handle, char **text, size_t *len)
{
	struct atlock_ownership ownership;
	struct atlock_owners_path path;
	int err = owners_path(call, node->parent, node->component, &path);

	(void)handle;
	if (err == 0)
		err = atlock_ownership_get(call->al, path.url, &ownership);
	if (err == 1)
		return call_refuse(call, -ESTALE, ATLOCK_LOCK_NOT_FOUND, "nobody owns this URL any more");
	if (err < 0)
		return err;
	*text = atlock_ownership_text(call->al, &ownership, len);
	return *text == NULL ? -ENOMEM : 0;
}

const struct kind kind_owner = {
	.type = S_IFREG,
	.secret = true,
	.hint = OWNERS_HINT,
	.stat = owner_stat,
	.text = owner_text,
};

/* --- Directories --- */

static int owners_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	struct atlock_owners_path path;
	int err = owners_path(call, dir, name, &path);

	if (err < 0)
		return err;
	if (path.kind == ATLOCK_OWNERS_REFERENCE)
		return reference_found(call, &path, out);
	if (path.kind == ATLOCK_OWNERS_OWNER) {
		out->kind = &kind_owner;
		return owner_found(call, path.url, &out->st, &out->life);
	}
	return steady_found(call, &kind_owners, out);
}

static int list_one(void *arg, const char *component, bool directory)
{
	return listing_add(arg, component, directory ? S_IFDIR : S_IFREG);
}

static int owners_list(struct call *call, struct node *dir, struct listing *out)
{
	struct atlock_owners_path path;
	int err = owners_path(call, dir, "", &path);

	return err < 0 ? err : atlock_owners_list(call->al, &path, listing_place(out), list_one, out);
}

/* A lookup has found no directory of this name, so it is the name of a file. */
static int owners_mkdir(struct call *call, struct node *dir, const char *name, mode_t mode, struct found *out)
{
	(void)dir, (void)name, (void)mode, (void)out;
	return call_refuse(call, -EPERM, ATLOCK_INVALID_REQUEST,
			   "directories of owners/ are there when they are named; references are files: touch them");
}

static int count_one(void *arg, const char *component, bool directory)
{
	(void)component, (void)directory;
	*(bool *)arg = true;
	return 1;
}

/* Removing a virtual directory changes nothing, but `rm -r` and tidy scripts expect it to work. */
static int owners_rmdir(struct call *call, struct node *dir, const char *name)
{
	struct atlock_owners_path path;
	bool any = false;
	int err = owners_path(call, dir, name, &path);

	if (err == 0)
		err = atlock_owners_list(call->al, &path, NULL, count_one, &any);
	if (err < 0)
		return err;
	return any ? -ENOTEMPTY : 0;
}

const struct kind kind_owners = {
	.type = S_IFDIR,
	.mode = 0777,
	.secret = true,
	.hint = OWNERS_HINT,
	.plus = true,
	.stat = steady_stat,
	.lookup = owners_lookup,
	.list = owners_list,
	.mkdir = owners_mkdir,
	.rmdir = owners_rmdir,
	.create = reference_create,
	.unlink = reference_unlink,
};
