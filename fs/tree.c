#include "tree.h"

#include <bsd/string.h>
#include <errno.h>
#include <unistd.h>

#include "attr.h"
#include "cache.h"
#include "caller.h"
#include "door.h"
#include "listing.h"
#include "permit.h"

/* The root of the tree, in the order in which it is listed. */
static const struct {
	const char *name;
	const struct kind *kind;
	uint64_t dir;
} roots[] = {
	{ "repos", &kind_virtual, NODE_NO_DIR },
	{ "custom", &kind_custom, 0 },
	{ "global", &kind_virtual, NODE_NO_DIR },
	{ "queue", &kind_queue_dir, NODE_NO_DIR },
	{ "wait", &kind_wait_dir, NODE_NO_DIR },
	{ "pulls", &kind_pull_dir, NODE_NO_DIR },
	{ "owners", &kind_owners, NODE_NO_DIR },
	{ "shared", &kind_shared_root, NODE_NO_DIR },
	{ "by", &kind_by, NODE_NO_DIR },
	{ "config", &kind_config, NODE_NO_DIR },
	{ "events", &kind_events, NODE_NO_DIR },
	{ "locks.jsonl", &kind_locks_jsonl, NODE_NO_DIR },
	{ "metrics", &kind_metrics_dir, NODE_NO_DIR },
	{ "health", &kind_health, NODE_NO_DIR },
	{ "why", &kind_why, NODE_NO_DIR },
	{ "README", &kind_readme, NODE_NO_DIR },
};

#define ROOTS (sizeof(roots) / sizeof(roots[0]))

static int root_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	(void)node;
	attr_virtual(call->fs, 0755, st);
	*life = (struct life){ .entry = LIFE_STEADY, .attr = LIFE_STEADY };
	return 0;
}

/*
 * What a directory is called does not change. Files are looked up each time (pages.h), but for one that never changes, and say how
 * long they are only when they are asked.
 */
static int root_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	size_t i = 0;
	int err;

	while (i < ROOTS && strcmp(roots[i].name, name) != 0)
		i++;
	if (i == ROOTS)
		return -ENOENT;
	out->kind = roots[i].kind;
	out->dir = roots[i].dir;
	if (out->kind->type == S_IFREG && !out->kind->constant) {
		attr_telling(call->fs, 0444, 0, &out->st);
		return 0;
	}
	/* A node's stat needs the node, which is made after the lookup: one on the stack stands in for it. */
	struct node self = { .parent = dir, .kind = roots[i].kind, .dir = roots[i].dir };

	err = out->kind->stat(call, &self, &out->st, &out->life);
	out->life.entry = LIFE_STEADY;
	out->sized = true;
	return err;
}

static int root_list(struct call *call, struct node *dir, struct listing *out)
{
	int full = 0;

	(void)call, (void)dir;
	for (size_t i = listing_index(out); full == 0 && i < ROOTS; i++)
		full = listing_add_index(out, i, roots[i].name, roots[i].kind->type);
	return 0;
}

const struct kind kind_root = {
	.type = S_IFDIR,
	.hint = "the root has what ls shows and nothing else; locks are made below repos/, custom/ and global/",
	.plus = true,
	.stat = root_stat,
	.lookup = root_lookup,
	.list = root_list,
};

/* Writes the path from below `top` on backwards from the end of `out`, then moves it to the front. */
static int path_print(const struct node *top, const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX])
{
	size_t at = ATLOCK_PATH_MAX;
	size_t len = strlen(name);

	if (len >= at)
		return -ENAMETOOLONG;
	at -= len + 1;
	memcpy(out + at, name, len + 1);
	for (; dir != top; dir = dir->parent) {
		len = strlen(dir->component);
		if (len + 1 > at)
			return -ENAMETOOLONG;
		if (out[at] != '\0')
			out[--at] = '/';
		at -= len;
		memcpy(out + at, dir->component, len);
	}
	memmove(out, out + at, ATLOCK_PATH_MAX - at);
	return 0;
}

int tree_path(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX])
{
	const struct node *top = dir;

	while (top->parent != NULL && !(top->kind->mirror && top->parent->parent == NULL))
		top = top->parent;
	return path_print(top, dir, name, out);
}

int tree_show(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX])
{
	const struct node *top = dir;

	while (top->parent != NULL)
		top = top->parent;
	return path_print(top, dir, name, out);
}

int tree_kind(struct call *call, const struct node *dir, const char *name, uint64_t *id)
{
	char path[ATLOCK_PATH_MAX];
	struct atlock_dir found;
	int err;

	*id = NODE_NO_DIR;
	if (dir->dir != NODE_NO_DIR) {
		err = atlock_dir_find(call->al, dir->dir, name, &found);
		if (err == 0)
			*id = found.id;
		/* No directory can have such a name, but a lock may: "a@b" is the lock "a". */
		return err == 0 ? ATLOCK_PATH_DIR : err == -EINVAL || err == -ENOENT ? ATLOCK_PATH_LOCK : err;
	}
	err = tree_path(dir, name, path);
	if (err < 0)
		return err;
	if (strcmp(path, "custom") == 0) {
		*id = 0;
		return ATLOCK_PATH_DIR;
	}
	return atlock_path_kind(path, &call->why);
}

int tree_lock(struct call *call, const struct node *dir, const char *name, struct atlock_name *out)
{
	char path[ATLOCK_PATH_MAX];
	int err;

	if (dir->dir != NODE_NO_DIR)
		return atlock_name_custom(dir->dir, name, out, &call->why);
	err = tree_path(dir, name, path);
	return err < 0 ? err : atlock_name_parse(path, out, &call->why);
}

static int dir_may(struct call *call, const struct node *dir, int want)
{
	struct atlock_dir found;
	struct door door;
	int err = door_get(call, dir->dir, &door);

	if (err < 0 || permit_mode(call, door.mode, door.uid, door.gid, want) == 0)
		return err;
	/* The reason names it. */
	err = atlock_dir_get(call->al, dir->dir, &found);
	return err < 0 ? err : caller_may(call, &found, want);
}

/* Whether the caller may search all directories above this one. */
static int dir_reach(struct call *call, const struct node *dir)
{
	int err = 0;

	for (dir = dir->parent; err == 0 && dir != NULL && dir->dir != NODE_NO_DIR; dir = dir->parent)
		err = dir_may(call, dir, X_OK);
	/* Whoever stands in a directory that was removed is not kept from it by what is above. */
	return err == -ENOENT ? 0 : err;
}

int tree_reach(struct call *call, const struct node *dir)
{
	if (dir->dir == NODE_NO_DIR || call->ctx->uid == 0 || !cache_closed_lately(call->fs->cache))
		return 0;
	return dir_reach(call, dir);
}

int tree_may(struct call *call, const struct node *dir, int want)
{
	int err;

	if (dir->dir == NODE_NO_DIR || call->ctx->uid == 0)
		return 0;
	err = dir_may(call, dir, want);
	return err == 0 ? tree_reach(call, dir) : err;
}

int tree_may_see(struct call *call, const struct node *node)
{
	const struct node *dir = node->parent;
	int err;

	/* A queue is as open as the directory of its lock. */
	if (dir != NULL && dir->kind == &kind_queue)
		dir = dir->parent;
	if (dir == NULL || dir->dir == NODE_NO_DIR || call->ctx->uid == 0)
		return 0;
	err = dir_may(call, dir, X_OK);
	if (err == 0)
		err = dir_reach(call, dir);
	return err == -ENOENT ? 0 : err;
}

int tree_may_change(struct call *call, const struct node *dir)
{
	return tree_may(call, dir, W_OK | X_OK);
}

int tree_may_remove(struct call *call, const struct node *dir, uid_t uid)
{
	struct door door;
	int err = tree_may_change(call, dir);

	if (err != 0 || dir->dir == NODE_NO_DIR || call->ctx->uid == 0 || call->ctx->uid == uid)
		return err;
	err = door_get(call, dir->dir, &door);
	if (err < 0 || (door.mode & S_ISVTX) == 0 || door.uid == call->ctx->uid)
		return err;
	return call_refuse(call, -EPERM, ATLOCK_PERMISSION_DENIED,
			   "the directory is sticky: only its owner or the owner of what is in it may remove that");
}

void tree_limit_life(struct call *call, const struct node *dir, struct life *life)
{
	struct door door;

	if (dir->dir == NODE_NO_DIR || life->entry <= 0)
		return;
	if (door_get(call, dir->dir, &door) < 0 || (door.mode & 0111U) != 0111U)
		life->entry = 0;
}

int tree_mirror_stat(struct call *call, uint64_t id, mode_t mode, struct stat *st, struct life *life)
{
	struct atlock_dir found;
	int err;

	if (id == NODE_NO_DIR) {
		attr_virtual(call->fs, mode, st);
		*life = (struct life){ .entry = LIFE_STEADY, .attr = LIFE_STEADY };
		return 0;
	}
	err = atlock_dir_get(call->al, id, &found);
	if (err != 0)
		return err < 0 ? err : -ENOENT;
	attr_custom(&found, st);
	*life = (struct life){ 0 };
	return 0;
}
