#include <bsd/string.h>
#include <errno.h>
#include <string.h>

#include "attr_of.h"
#include "call_user.h"
#include "link.h"
#include "listing.h"
#include "reach.h"
#include "rows.h"

/* The path of a lock as seen from `dir`: as many "../" as lead to the root, then its path. */
static int link_target(struct call *call, const struct node *dir, const struct atlock_name *name,
		       char out[ATLOCK_PATH_MAX])
{
	static const char up[] = "../";
	char path[ATLOCK_PATH_MAX];
	size_t at = 0;

	for (; dir->parent != NULL; dir = dir->parent, at += strlen(up)) {
		if (at + sizeof(up) > ATLOCK_PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(out + at, up, sizeof(up));
	}
	if (atlock_name_print(call->al, name, path, sizeof(path)) < 0 ||
	    strlcpy(out + at, path, ATLOCK_PATH_MAX - at) >= ATLOCK_PATH_MAX - at)
		return -ENAMETOOLONG;
	return 0;
}

static int link_may(struct call *call, const struct atlock_name *name)
{
	struct reach reach;
	int err = reach_begin(&reach, call);

	if (err == 0 && !reach_lock(&reach, name))
		err = -ENOENT;
	reach_end(&reach);
	return err;
}

/* The link belongs to the holder, and the kernel may cache nothing of it: it ends with the lock. */
static int link_read(struct call *call, struct node *dir, const char *name, char target[ATLOCK_PATH_MAX],
		     struct stat *st)
{
	struct atlock_view view = { 0 };
	int err = dir->kind->find(call, dir, name, &view);

	if (err == 0)
		err = link_may(call, &view.name);
	if (err == 0)
		err = link_target(call, dir, &view.name, target);
	if (err == 0 && st != NULL)
		attr_link(call, &view, strlen(target), st);
	atlock_view_clear(&view);
	return err;
}

int link_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	char target[ATLOCK_PATH_MAX];

	out->kind = &kind_link;
	out->life = (struct life){ 0 };
	return link_read(call, dir, name, target, &out->st);
}

int link_list(void *arg, const struct atlock_view *view)
{
	char id[ATLOCK_ID_MAX];

	atlock_by_id(view, id);
	return listing_add(arg, id, S_IFLNK);
}

int link_unlink(struct call *call, struct node *dir, const char *name)
{
	struct atlock_view view = { 0 };
	struct atlock_caller caller;
	int err = dir->kind->find(call, dir, name, &view);

	if (err == 0 && strlcpy(view.name.who, view.who, sizeof(view.name.who)) >= sizeof(view.name.who))
		err = -ENAMETOOLONG;
	if (err == 0)
		err = caller_naming(call, &view.name, &caller);
	if (err == 0)
		err = atlock_release(
			call->al,
			&(struct atlock_request){
				.name = &view.name, .caller = &caller, .token = view.token, .force = true },
			NULL, &call->why);
	atlock_view_clear(&view);
	return err == 1 ? -ENOENT : err;
}

static int link_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	char target[ATLOCK_PATH_MAX];

	*life = (struct life){ 0 };
	return link_read(call, node->parent, node->component, target, st);
}

static int link_readlink(struct call *call, struct node *node, char out[ATLOCK_PATH_MAX])
{
	return link_read(call, node->parent, node->component, out, NULL);
}

const struct kind kind_link = {
	.type = S_IFLNK,
	.hint = "a link shows that its lock is held: what can be changed is what it leads to",
	.stat = link_stat,
	.readlink = link_readlink,
};
