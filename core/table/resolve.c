/* From a path to a lock's name and back, through the directories of custom/. */
#include <errno.h>
#include <string.h>

#include "dir_path.h"
#include "lock_name.h"
#include "table.h"
#include "why.h"

static const char custom[] = "custom/";

struct resolve {
	const char *path; /* after "custom/" */
	struct atlock_name out;
};

/* Moves from `*dir` to its subdirectory named by the first `len` bytes of `text`. */
static int resolve_step(struct op *op, uint64_t *dir, const char *text, size_t len)
{
	char component[ATLOCK_COMPONENT_MAX + 2]; /* one byte too many is kept, and refused later */
	struct atlock_name name;
	struct record_lock record;
	int rc;

	if (len > ATLOCK_COMPONENT_MAX)
		len = ATLOCK_COMPONENT_MAX + 1;
	memcpy(component, text, len);
	component[len] = '\0';
	rc = atlock_component_check(component, op->why);
	if (rc < 0)
		return rc;
	rc = dir_entry(op, *dir, (struct slice){ component, len }, dir);
	if (rc <= 0)
		return rc;
	dir_key(&name, *dir, (struct slice){ component, len });
	rc = table_lock_get(op, name_slice(&name), &record);
	if (rc < 0)
		return rc;
	if (rc == 0 && table_grant_is_held(op, &record.grant))
		return why_set(op->why, -ENOTDIR, ATLOCK_INVALID_REQUEST, "%s is a lock: nothing is below it",
			       component);
	return why_set(op->why, -ENOENT, ATLOCK_LOCK_NOT_FOUND, "there is no directory %s: make it first", component);
}

static int resolve_in_txn(struct op *op)
{
	struct resolve *resolve = op->arg;
	const char *at = resolve->path;
	const char *slash;
	uint64_t dir = 0;
	int rc;

	for (; (slash = strchr(at, '/')) != NULL; at = slash + 1) {
		rc = resolve_step(op, &dir, at, (size_t)(slash - at));
		if (rc < 0)
			return rc;
	}
	rc = atlock_name_custom(dir, at, &resolve->out, op->why);
	return rc < 0 ? rc : dir_check(op, name_slice(&resolve->out));
}

int atlock_resolve(struct atlock *al, const char *path, struct atlock_name *out, struct atlock_why *why)
{
	struct resolve resolve;
	struct op op;
	int rc;

	if (al == NULL || path == NULL || out == NULL)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no path given");
	if (strncmp(path, custom, strlen(custom)) != 0)
		return atlock_name_parse(path, out, why);
	if (strnlen(path, ATLOCK_PATH_MAX) == ATLOCK_PATH_MAX)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "a path has less than %d bytes",
			       ATLOCK_PATH_MAX);
	op_init(&op, al, NULL, why);
	resolve.path = path + strlen(custom);
	op.arg = &resolve;
	rc = op_view(&op, resolve_in_txn);
	if (rc == 0)
		*out = resolve.out;
	return rc;
}

struct print {
	int (*path)(struct op *op, struct slice lock, char *out, size_t len);
	struct slice lock;
	char *out;
	size_t len;
};

static int print_in_txn(struct op *op)
{
	const struct print *print = op->arg;
	int rc = print->path(op, print->lock, print->out, print->len);

	return rc < 0 ? rc : 0;
}

static int name_print(struct atlock *al, const struct atlock_name *name, struct print print)
{
	if (name_check(name) < 0 || print.out == NULL)
		return -EINVAL;
	if (atlock_name_tree(name) != ATLOCK_CUSTOM)
		return name_print_plain(name, print.out, print.len);
	if (al == NULL)
		return -EINVAL;
	print.lock = name_slice(name);
	return op_look(al, print_in_txn, &print, NULL);
}

int atlock_name_print(struct atlock *al, const struct atlock_name *name, char *out, size_t len)
{
	return name_print(al, name, (struct print){ .path = dir_path_whole, .out = out, .len = len });
}

int atlock_name_show(struct atlock *al, const struct atlock_name *name, char *out, size_t len)
{
	return name_print(al, name, (struct print){ .path = dir_path, .out = out, .len = len });
}
