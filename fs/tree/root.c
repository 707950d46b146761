/* The root of the tree: one row for each name that `ls` shows there. */
#include <errno.h>
#include <string.h>

#include "attr.h"
#include "listing.h"
#include "rows.h"
#include "steady.h"

/* In the order in which they are listed. */
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

/*
 * The name of a directory never changes. Files are looked up each time (pages.h), except a constant one, and report
 * their size only when asked.
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
	/* A stat operation needs a node, which is made after the lookup: one on the stack stands in for it. */
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
	.mode = 0755,
	.hint = "the root has what ls shows and nothing else; locks are made below repos/, custom/ and global/",
	.plus = true,
	.stat = steady_stat,
	.lookup = root_lookup,
	.list = root_list,
};
