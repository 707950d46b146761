#include "path.h"

#include <errno.h>
#include <string.h>

/* Writes the path below `top` backwards from the end of `out`, then moves it to the front. */
static int path_write(const struct node *top, const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX])
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

int path_print(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX])
{
	const struct node *top = dir;

	while (top->parent != NULL && !(top->kind->mirror && top->parent->parent == NULL))
		top = top->parent;
	return path_write(top, dir, name, out);
}

int path_show(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX])
{
	const struct node *top = dir;

	while (top->parent != NULL)
		top = top->parent;
	return path_write(top, dir, name, out);
}

/* path_kind() below custom/. */
static int custom_kind(struct call *call, uint64_t dir, const char *name, uint64_t *id, struct atlock_name *lock)
{
	struct atlock_dir found;
	int err = atlock_dir_find(call->al, dir, name, &found);

	if (err == 0) {
		*id = found.id;
		return ATLOCK_PATH_DIR;
	}
	/* No directory can have such a name, but a lock may: "a@b" is the lock "a". */
	if (err != -EINVAL && err != -ENOENT)
		return err;
	err = lock == NULL ? 0 : atlock_name_custom(dir, name, lock, &call->why);
	return err < 0 ? err : ATLOCK_PATH_LOCK;
}

static int kind_find(struct call *call, const struct node *dir, const char *name, uint64_t *id,
		     struct atlock_name *lock)
{
	char path[ATLOCK_PATH_MAX];
	int err;

	*id = NODE_NO_DIR;
	if (dir->dir != NODE_NO_DIR)
		return custom_kind(call, dir->dir, name, id, lock);
	err = path_print(dir, name, path);
	if (err < 0)
		return err;
	if (strcmp(path, "custom") == 0) {
		*id = 0;
		return ATLOCK_PATH_DIR;
	}
	return atlock_path_kind(path, lock, &call->why);
}

int path_kind(struct call *call, const struct node *dir, const char *name, uint64_t *id, struct atlock_name *lock)
{
	int kind = kind_find(call, dir, name, id, lock);
	int err = kind == ATLOCK_PATH_LOCK && lock != NULL ? atlock_who_outer(call->ctx->pid, lock->who, &call->why)
							   : 0;

	return err < 0 ? err : kind;
}

int path_lock(struct call *call, const struct node *dir, const char *name, struct atlock_name *out)
{
	char path[ATLOCK_PATH_MAX];
	int err;

	if (dir->dir != NODE_NO_DIR) {
		err = atlock_name_custom(dir->dir, name, out, &call->why);
	} else {
		err = path_print(dir, name, path);
		if (err == 0)
			err = atlock_name_parse(path, out, &call->why);
	}
	return err < 0 ? err : atlock_who_outer(call->ctx->pid, out->who, &call->why);
}

int path_node_lock(struct call *call, const struct node *node, struct atlock_name *out)
{
	int err = call->named == node ? 0 : path_lock(call, node->parent, node->component, &call->node_lock);

	call->named = err < 0 ? NULL : node;
	if (err == 0)
		*out = call->node_lock;
	return err;
}
