/*
 * One lock has one name. A path is walked once, component by component. Each must be in its one spelling, so that the
 * text itself becomes the key.
 */
#include "lock_name.h"

#include <errno.h>
#include <string.h>

#include "escape.h"
#include "why.h"

/* The field of a repos/ path that the next component belongs to. */
enum stage { STAGE_REPO, STAGE_DIR, STAGE_LEAF, STAGE_LOCK };

struct walk {
	enum stage stage;
	unsigned int depth; /* components of that field so far */
	bool dot;           /* the directory is the raw "." that a script passed: it adds nothing to the key */
	bool said_dot;      /* the directory is "%2E" */
	struct atlock_name *out;
	struct atlock_why *why;
};

static const char separator[] = "-";

static bool component_is(const char *text, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(text, what, len) == 0;
}

static int key_add(struct atlock_name *name, const char *text, size_t len, struct atlock_why *why)
{
	if (len > sizeof(name->key) - name->len)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST,
			       "a name may have %d bytes after its tree: this one is longer", ATLOCK_KEY_MAX - 1);
	memcpy(name->key + name->len, text, len);
	name->len = (uint16_t)(name->len + len);
	return 0;
}

static int key_add_component(struct atlock_name *name, const char *text, size_t len, struct atlock_why *why)
{
	int err = name->len > 1 ? key_add(name, "/", 1, why) : 0;

	return err ? err : key_add(name, text, len, why);
}

static void key_begin(struct atlock_name *name, char tree)
{
	memset(name, 0, sizeof(*name));
	name->key[0] = (unsigned char)tree;
	name->len = 1;
}

static int component_size_check(const char *text, size_t len, struct atlock_why *why)
{
	if (len == 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "an empty component: a name has no '/' at its ends and no two in a row");
	if (len > ATLOCK_COMPONENT_MAX)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "\"%.60s...\" is longer than %d bytes", text,
			       ATLOCK_COMPONENT_MAX);
	return 0;
}

/* Splits "@who" off the last component; sets `*len` to the length before it. */
static int who_take(const char *text, size_t *len, struct atlock_name *out, struct atlock_why *why)
{
	const char *at = memchr(text, '@', *len);
	const char *who;
	size_t n;
	int err;

	if (!at)
		return 0;
	who = at + 1;
	n = *len - (size_t)(who - text);
	if (n == 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "nothing follows the '@': write name@who, or %%40 for an '@' in the name itself");
	if (n > ATLOCK_WHO_MAX)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "what follows '@' may have %d bytes",
			       ATLOCK_WHO_MAX);
	err = escape_check(ESCAPE_WHO, false, who, n, why);
	if (err)
		return err;
	memcpy(out->who, who, n);
	out->who[n] = '\0';
	*len = (size_t)(at - text);
	return 0;
}

/* A lock's last component below custom/ or global/: "name" or "name@who". */
static int leaf_take_plain(const char *text, size_t len, struct atlock_name *out, struct atlock_why *why)
{
	int err;

	if (*text == '@')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "nothing stands before the '@'");
	err = who_take(text, &len, out, why);
	if (!err)
		err = escape_check(ESCAPE_NAME, true, text, len, why);
	return err ? err : key_add(out, text, len, why);
}

/* A lock's last component below repos/: "workspace", ":project" and "@who" after it. */
static int leaf_take(const char *text, size_t len, struct atlock_name *out, struct atlock_why *why)
{
	const char *colon;
	size_t workspace;
	int err = who_take(text, &len, out, why);

	if (err)
		return err;
	colon = memchr(text, ':', len);
	workspace = colon ? (size_t)(colon - text) : len;
	if (workspace == 0)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "a lock needs a workspace: workspace[:project][@who]");
	if (colon && workspace + 1 == len)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "no project follows the ':': leave it out for an unnamed project");
	err = escape_check(ESCAPE_LABEL, !colon, text, workspace, why);
	if (!err && colon)
		err = escape_check(ESCAPE_LABEL, false, colon + 1, len - workspace - 1, why);
	return err ? err : key_add_component(out, text, len, why);
}

/* A "-" by itself ends the repository or the directory. */
static int walk_separator(struct walk *walk)
{
	if (walk->stage == STAGE_REPO && walk->depth == 0)
		return why_set(walk->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "no repository before the '-': repos/<repo>/-/<dir>/-/<workspace>");
	if (walk->said_dot && walk->depth == 1)
		return why_set(
			walk->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			"the repository's root directory is spelled \".\" or left out: repos/<repo>/-/-/<workspace>");
	walk->stage++;
	walk->depth = 0;
	return key_add_component(walk->out, separator, strlen(separator), walk->why);
}

static int walk_repos(struct walk *walk, const char *text, size_t len)
{
	bool dot = component_is(text, len, ".");
	int err;

	if (walk->stage == STAGE_LOCK)
		return why_set(walk->why, -ENOTDIR, ATLOCK_INVALID_REQUEST, "nothing is below a lock");
	if (walk->stage == STAGE_LEAF) {
		walk->stage = STAGE_LOCK;
		return leaf_take(text, len, walk->out, walk->why);
	}
	if (component_is(text, len, separator))
		return walk_separator(walk);
	if (walk->stage == STAGE_DIR && walk->depth == 0 && dot) {
		walk->dot = true;
		walk->depth = 1;
		return 0;
	}
	if (walk->stage == STAGE_DIR && walk->dot)
		return why_set(walk->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "leave out the \".\" in front of a directory");
	err = escape_check(ESCAPE_PATH, true, text, len, walk->why);
	if (err)
		return err;
	if (walk->stage == STAGE_DIR && walk->depth == 0)
		walk->said_dot = component_is(text, len, "%2E");
	walk->depth++;
	return key_add_component(walk->out, text, len, walk->why);
}

static int walk_global(struct walk *walk, const char *text, size_t len)
{
	if (walk->stage == STAGE_LOCK)
		return why_set(walk->why, -ENOTDIR, ATLOCK_INVALID_REQUEST, "nothing is below a lock");
	walk->stage = STAGE_LOCK;
	return leaf_take_plain(text, len, walk->out, walk->why);
}

/* A shared resource has one lock, "stop". */
static int walk_shared(struct walk *walk, const char *text, size_t len)
{
	int err;

	if (walk->stage == STAGE_LOCK)
		return why_set(walk->why, -ENOTDIR, ATLOCK_INVALID_REQUEST, "nothing is below a lock");
	if (walk->depth++ == 0) {
		err = escape_check(ESCAPE_NAME, true, text, len, walk->why);
		return err ? err : key_add_component(walk->out, text, len, walk->why);
	}
	walk->stage = STAGE_LOCK;
	err = who_take(text, &len, walk->out, walk->why);
	if (!err && !component_is(text, len, NAME_STOP))
		return why_set(walk->why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "the lock of a shared resource is called %s@<app>", NAME_STOP);
	return err ? err : key_add_component(walk->out, text, len, walk->why);
}

static int walk_custom(struct walk *walk, const char *text, size_t len)
{
	(void)text;
	(void)len;
	return why_set(walk->why, -EINVAL, ATLOCK_INVALID_REQUEST,
		       "what a path below custom/ is depends on what was made there");
}

static const struct tree {
	const char *name;
	char key;
	enum atlock_tree tree;
	int (*step)(struct walk *walk, const char *text, size_t len);
} trees[] = {
	{ "repos", NAME_TREE_REPOS, ATLOCK_REPOS, walk_repos },
	{ "global", NAME_TREE_GLOBAL, ATLOCK_GLOBAL, walk_global },
	{ "custom", NAME_TREE_CUSTOM, ATLOCK_CUSTOM, walk_custom },
	{ "shared", NAME_TREE_SHARED, ATLOCK_SHARED, walk_shared },
};

static const struct tree *tree_named(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		if (component_is(text, len, trees[i].name))
			return &trees[i];
	return NULL;
}

static const struct tree *tree_of(const struct atlock_name *name)
{
	for (size_t i = 0; name && name->len > 0 && i < sizeof(trees) / sizeof(trees[0]); i++)
		if (name->key[0] == (unsigned char)trees[i].key)
			return &trees[i];
	return NULL;
}

/* Walks a whole path into `out`. Returns an enum atlock_path, or a negative errno. */
static int path_walk(const char *path, struct atlock_name *out, struct atlock_why *why)
{
	struct walk walk = { .out = out, .why = why };
	const struct tree *tree;
	size_t len;
	int err;

	if (!path || !*path || *path == '/')
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST,
			       "a name begins with repos/, custom/, global/ or shared/");
	if (strnlen(path, ATLOCK_PATH_MAX) == ATLOCK_PATH_MAX)
		return why_set(why, -ENAMETOOLONG, ATLOCK_INVALID_REQUEST, "a path has less than %d bytes",
			       ATLOCK_PATH_MAX);
	len = strcspn(path, "/");
	tree = tree_named(path, len);
	if (!tree)
		return why_set(why, -ENOENT, ATLOCK_LOCK_NOT_FOUND,
			       "there are no locks in \"%.*s\": try repos, custom, global or shared", (int)len, path);
	key_begin(out, tree->key);
	for (path += len; *path == '/'; path += len) {
		path++;
		len = strcspn(path, "/");
		err = component_size_check(path, len, why);
		if (!err)
			err = tree->step(&walk, path, len);
		if (err)
			return err;
	}
	return walk.stage == STAGE_LOCK ? ATLOCK_PATH_LOCK : ATLOCK_PATH_DIR;
}

int atlock_path_kind(const char *path, struct atlock_name *out, struct atlock_why *why)
{
	struct atlock_name name;
	int kind = path_walk(path, &name, why);

	if (kind == ATLOCK_PATH_LOCK && out)
		*out = name;
	return kind;
}

int atlock_name_parse(const char *path, struct atlock_name *out, struct atlock_why *why)
{
	int kind = out ? atlock_path_kind(path, out, why) : -EINVAL;

	if (kind == ATLOCK_PATH_DIR)
		return why_set(why, -EISDIR, ATLOCK_INVALID_REQUEST, "%s is a directory: a lock is below it", path);
	return kind < 0 ? kind : 0;
}

int name_prefix(const char *dir, struct atlock_name *out, struct atlock_why *why)
{
	int kind = path_walk(dir, out, why);

	if (kind < 0)
		return kind;
	if (kind == ATLOCK_PATH_LOCK)
		return why_set(why, -ENOTDIR, ATLOCK_INVALID_REQUEST, "%s is a lock, not a directory", dir);
	return out->len > 1 ? key_add(out, "/", 1, why) : 0;
}

bool atlock_name_dir(const struct atlock_name *name, uint64_t *dir)
{
	if (name->len < 1 + sizeof(*dir) || name->key[0] != NAME_TREE_CUSTOM)
		return false;
	*dir = 0;
	for (size_t i = 1; i <= sizeof(*dir); i++)
		*dir = *dir << 8 | name->key[i];
	return true;
}

int atlock_name_custom(uint64_t dir, const char *leaf, struct atlock_name *out, struct atlock_why *why)
{
	size_t len = leaf ? strnlen(leaf, ATLOCK_PATH_MAX) : 0;
	struct atlock_name name;
	int err;

	if (!leaf || !out)
		return why_set(why, -EINVAL, ATLOCK_INVALID_REQUEST, "no name given");
	key_begin(&name, NAME_TREE_CUSTOM);
	for (int shift = 56; shift >= 0; shift -= 8)
		name.key[name.len++] = (unsigned char)(dir >> shift);
	err = component_size_check(leaf, len, why);
	if (!err)
		err = leaf_take_plain(leaf, len, &name, why);
	if (err)
		return err;
	*out = name;
	return 0;
}

int atlock_component_check(const char *text, struct atlock_why *why)
{
	size_t len = text ? strnlen(text, ATLOCK_PATH_MAX) : 0;
	int err = component_size_check(text, len, why);

	return err ? err : escape_check(ESCAPE_NAME, true, text, len, why);
}

int name_check(const struct atlock_name *name)
{
	const struct tree *tree = tree_of(name);
	size_t least = tree && tree->tree == ATLOCK_CUSTOM ? 1 + sizeof(uint64_t) : 1;

	return tree && name->len > least && name->len <= sizeof(name->key) ? 0 : -EINVAL;
}

int name_shared(struct slice lock, struct slice *resource)
{
	const unsigned char *key = lock.data;
	size_t tail = strlen("/" NAME_STOP);

	if (lock.len < 2 + tail || key[0] != NAME_TREE_SHARED)
		return -EINVAL;
	*resource = (struct slice){ key + 1, lock.len - 1 - tail };
	return 0;
}

bool atlock_name_equal(const struct atlock_name *a, const struct atlock_name *b)
{
	return a && b && a->len == b->len && a->len <= sizeof(a->key) && memcmp(a->key, b->key, a->len) == 0;
}

enum atlock_tree atlock_name_tree(const struct atlock_name *name)
{
	const struct tree *tree = tree_of(name);

	return tree ? tree->tree : ATLOCK_REPOS;
}

int name_print_plain(const struct atlock_name *name, char *out, size_t len)
{
	const struct tree *tree = tree_of(name);
	size_t head;

	if (name_check(name) || tree->tree == ATLOCK_CUSTOM || !out)
		return -EINVAL;
	head = strlen(tree->name);
	if (head + name->len >= len)
		return -ERANGE;
	memcpy(out, tree->name, head);
	out[head] = '/';
	memcpy(out + head + 1, name->key + 1, name->len - 1U);
	out[head + name->len] = '\0';
	return 0;
}

bool name_in_repo(struct slice lock, struct slice repo)
{
	/* No repository has a component "-" in its spelling, so the first one ends it. */
	static const char end[] = "/-/";
	const char *text = lock.data;

	return lock.len > 1 + repo.len + strlen(end) && text[0] == NAME_TREE_REPOS &&
	       memcmp(text + 1, repo.data, repo.len) == 0 && memcmp(text + 1 + repo.len, end, strlen(end)) == 0;
}

void name_from_key(struct atlock_name *name, struct slice key)
{
	name->len = (uint16_t)(key.len > sizeof(name->key) ? sizeof(name->key) : key.len);
	memcpy(name->key, key.data, name->len);
	name->who[0] = '\0';
}

struct slice name_slice(const struct atlock_name *name)
{
	return (struct slice){ name->key, name->len };
}
