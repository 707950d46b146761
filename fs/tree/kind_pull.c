/*
 * pulls/: for every pull request a directory with the locks it holds and the status of its projects. Every valid one
 * exists; those with something written to them are listed. Removing one closes it.
 */
#include <errno.h>
#include <string.h>

#include "link.h"
#include "listing.h"
#include "path.h"
#include "pull_row.h"
#include "rows.h"
#include "steady.h"

int pull_of(struct call *call, const struct node *node, struct atlock_pull_name *out)
{
	char path[ATLOCK_PATH_MAX];
	int err;

	while (node->kind != &kind_pull)
		node = node->parent;
	err = path_print(node->parent, node->component, path);
	if (err == 0)
		err = atlock_pull_parse(path, out, &call->why);
	return err == 1 ? -ENOENT : err;
}

int pull_seen(void *arg, const char *component, bool directory)
{
	(void)component, (void)directory;
	*(bool *)arg = true;
	return 1;
}

/* --- pulls/ and below, down to the '-' --- */

static int dir_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	char path[ATLOCK_PATH_MAX];
	struct atlock_pull_name pull;
	int err = path_print(dir, name, path);

	if (err == 0)
		err = atlock_pull_parse(path, &pull, &call->why);
	if (err < 0)
		return err;
	return steady_found(call, err == 1 ? &kind_pull_dir : &kind_pull, out);
}

/* Numbers are directories too. */
static int list_dir(void *arg, const char *component, bool directory)
{
	(void)directory;
	return listing_add(arg, component, S_IFDIR);
}

static int dir_list(struct call *call, struct node *dir, struct listing *out)
{
	char path[ATLOCK_PATH_MAX];
	int err = path_print(dir, "", path);

	return err < 0 ? err : atlock_pull_children(call->al, path, listing_place(out), list_dir, out);
}

static int dir_rmdir(struct call *call, struct node *dir, const char *name)
{
	char path[ATLOCK_PATH_MAX];
	struct atlock_pull_name pull;
	struct atlock_caller caller;
	bool any = false;
	int err = path_print(dir, name, path);

	if (err == 0)
		err = atlock_pull_parse(path, &pull, &call->why);
	if (err == 1) {
		err = atlock_pull_children(call->al, path, NULL, pull_seen, &any);
		return err < 0 ? err : any ? -ENOTEMPTY : 0;
	}
	if (err == 0)
		err = caller_user(call, &caller);
	return err < 0 ? err : atlock_pull_close(call->al, &caller, &pull, NULL, &call->why);
}

/* --- One pull request --- */

static const struct {
	const char *name;
	const struct kind *kind;
} parts[] = {
	{ "head", &kind_pull_file },         { "locks", &kind_pull_locks },       { "meta", &kind_pull_file },
	{ "projects", &kind_pull_projects }, { "projects.tsv", &kind_pull_file }, { "summary", &kind_pull_file },
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static const struct kind *part_kind(const char *name)
{
	for (size_t i = 0; i < PARTS; i++)
		if (strcmp(parts[i].name, name) == 0)
			return parts[i].kind;
	return NULL;
}

static int pull_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	out->kind = part_kind(name);
	if (out->kind == NULL)
		return -ENOENT;
	if (out->kind == &kind_pull_file)
		return pull_file_stat(call, dir, name, &out->st, &out->life);
	return steady_found(call, out->kind, out);
}

static int pull_list(struct call *call, struct node *dir, struct listing *out)
{
	int full = 0;

	(void)call, (void)dir;
	for (size_t i = listing_index(out); full == 0 && i < PARTS; i++)
		full = listing_add_index(out, i, parts[i].name, parts[i].kind->type);
	return 0;
}

static int count_lock(void *arg, const struct atlock_view *view)
{
	(void)view;
	return pull_seen(arg, NULL, false);
}

/*
 * The parts exist as long as the pull request can be named, so removing an empty one changes nothing; `rm -r` does that
 * on its way.
 */
static int pull_rmdir(struct call *call, struct node *dir, const char *name)
{
	struct atlock_pull_name pull;
	bool any = false;
	int err = pull_of(call, dir, &pull);

	if (err < 0)
		return err;
	if (part_kind(name) == &kind_pull_locks)
		err = atlock_pull_locks(call->al, &pull, NULL, count_lock, &any);
	else if (part_kind(name) == &kind_pull_projects)
		err = atlock_project_children(call->al, &pull, "", NULL, pull_seen, &any);
	else
		err = -ENOTDIR;
	return err < 0 ? err : any ? -ENOTEMPTY : 0;
}

/* --- locks/ --- */

static int locks_find(struct call *call, struct node *dir, const char *id, struct atlock_view *view)
{
	struct atlock_pull_name pull;
	int err = pull_of(call, dir, &pull);

	if (err == 0)
		err = atlock_pull_lock(call->al, &pull, id, view);
	return err == 1 ? -ENOENT : err;
}

static int locks_list(struct call *call, struct node *dir, struct listing *out)
{
	struct atlock_pull_name pull;
	int err = pull_of(call, dir, &pull);

	return err < 0 ? err : atlock_pull_locks(call->al, &pull, listing_place(out), link_list, out);
}

const struct kind kind_pull_dir = {
	.type = S_IFDIR,
	.mode = 0777,
	.hint = "pull requests are there when they are named, pulls/<host>/<repository>/-/<number>/; rmdir closes one",
	.plus = true,
	.stat = steady_stat,
	.lookup = dir_lookup,
	.list = dir_list,
	.rmdir = dir_rmdir,
};

const struct kind kind_pull = {
	.type = S_IFDIR,
	.mode = 0777,
	.hint = "a pull request has head, meta, projects.tsv and summary, and projects/ and locks/",
	.stat = steady_stat,
	.lookup = pull_lookup,
	.list = pull_list,
	.rmdir = pull_rmdir,
	.unlink = pull_file_unlink,
};

const struct kind kind_pull_locks = {
	.type = S_IFDIR,
	.mode = 0777,
	.hint = "locks/ shows what the pull request holds: touch <lock>@pr:<number> adds to that, rm of a link gives a lock back",
	.stat = steady_stat,
	.find = locks_find,
	.lookup = link_lookup,
	.list = locks_list,
	.unlink = link_unlink,
};
