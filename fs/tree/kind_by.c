/*
 * by/: the held locks, by owner, by who and by host. Every valid owner, who and host is a directory; those that hold a
 * lock are listed, each with a symbolic link per lock, named by its id. Nothing here is stored: it is read on request.
 */
#include <errno.h>
#include <string.h>

#include "call_user.h"
#include "link.h"
#include "listing.h"
#include "reach.h"
#include "refuse.h"
#include "rows.h"
#include "steady.h"

static const char *const groups[] = {
	[ATLOCK_BY_OWNER] = "owner",
	[ATLOCK_BY_WHO] = "who",
	[ATLOCK_BY_HOST] = "host",
};

static const char by_hint[] =
	"by/ shows what is held: release a lock by removing what the link leads to; administrators may remove the link";

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static enum atlock_by group_of(const struct node *node)
{
	size_t i = 0;

	while (i < GROUPS - 1 && strcmp(groups[i], node->component) != 0)
		i++;
	return (enum atlock_by)i;
}

/* --- by/ --- */

static int root_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	(void)dir;
	for (size_t i = 0; i < GROUPS; i++)
		if (strcmp(groups[i], name) == 0)
			return steady_found(call, &kind_by_groups, out);
	return -ENOENT;
}

static int root_list(struct call *call, struct node *dir, struct listing *out)
{
	int full = 0;

	(void)call, (void)dir;
	for (size_t i = listing_index(out); full == 0 && i < GROUPS; i++)
		full = listing_add_index(out, i, groups[i], S_IFDIR);
	return 0;
}

/* --- by/owner/, by/who/, by/host/ --- */

static int groups_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	int err = atlock_by_check(name, &call->why);

	(void)dir;
	return err < 0 ? err : steady_found(call, &kind_by_group, out);
}

struct group_list {
	struct call *call;
	enum atlock_by by;
	struct reach reach;
	bool reached;
	struct listing *out;
};

/* Stops at the first lock that the caller may know of. */
static int find_reached(void *arg, const struct atlock_view *view)
{
	struct group_list *list = arg;

	list->reached = reach_lock(&list->reach, &view->name);
	return list->reached;
}

/* Leaves out a group whose locks the caller may not know of. */
static int list_group(void *arg, const char *component)
{
	struct group_list *list = arg;
	int err = 0;

	list->reached = list->reach.all;
	if (!list->reached)
		err = atlock_by_list(list->call->al, list->by, component, NULL, find_reached, list);
	return err < 0 || !list->reached ? err : listing_add(list->out, component, S_IFDIR);
}

static int groups_list(struct call *call, struct node *dir, struct listing *out)
{
	struct group_list list = { .call = call, .by = group_of(dir), .out = out };
	int err = reach_begin(&list.reach, call);

	if (err == 0)
		err = atlock_by_groups(call->al, list.by, listing_place(out), list_group, &list);
	reach_end(&list.reach);
	return err;
}

/* --- by/owner/alice/ --- */

static int group_find(struct call *call, struct node *group, const char *id, struct atlock_view *view)
{
	int err = atlock_by_find(call->al, group_of(group->parent), group->component, id, view);

	return err == 1 ? -ENOENT : err;
}

/*
 * Only for callers who may override: `rm -r` by a user who meant his own session would end the locks of his other jobs.
 */
static int group_unlink(struct call *call, struct node *group, const char *id)
{
	struct atlock_view view = { 0 };
	int err = group_find(call, group, id, &view);

	if (err == 0 && !caller_overrides(call, &view.name))
		err = refuse_lacking(call, -EACCES);
	atlock_view_clear(&view);
	return err < 0 ? err : link_unlink(call, group, id);
}

struct link_list {
	struct listing *out;
	struct reach reach;
};

static int list_lock(void *arg, const struct atlock_view *view)
{
	struct link_list *list = arg;

	return reach_lock(&list->reach, &view->name) ? link_list(list->out, view) : 0;
}

static int group_list(struct call *call, struct node *dir, struct listing *out)
{
	struct link_list list = { .out = out };
	int err = reach_begin(&list.reach, call);

	if (err == 0)
		err = atlock_by_list(call->al, group_of(dir->parent), dir->component, listing_place(out), list_lock,
				     &list);
	reach_end(&list.reach);
	return err;
}

const struct kind kind_by = {
	.type = S_IFDIR,
	.mode = 0555,
	.hint = by_hint,
	.plus = true,
	.stat = steady_stat,
	.lookup = root_lookup,
	.list = root_list,
};

const struct kind kind_by_groups = {
	.type = S_IFDIR,
	.mode = 0555,
	.hint = by_hint,
	.plus = true,
	.stat = steady_stat,
	.lookup = groups_lookup,
	.list = groups_list,
};

const struct kind kind_by_group = {
	.type = S_IFDIR,
	.mode = 0555,
	.hint = by_hint,
	.permits = true,
	.stat = steady_stat,
	.find = group_find,
	.lookup = link_lookup,
	.list = group_list,
	.unlink = group_unlink,
};
