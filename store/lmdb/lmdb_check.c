/*
 * Checks a data file before LMDB walks it. LMDB trusts every byte of its pages: in a damaged one it reads out of
 * bounds, or for ever.
 *
 * The check covers all that LMDB relies on: both meta pages, then the trees of the newest, each page once. A page has
 * the number and the kind that its parent expects; its nodes fill it without a gap; keys are in order and within the
 * bounds of the page above; values are inside the page or in pages of their own; counts are right; and no page is in
 * two places, or both in use and free. So the walk ends, at the latest when all pages of the file have been seen. LMDB
 * does not interpret values, and records have checksums.
 *
 * The whole file is read only if it is not as the last daemon left it (lmdb_stamp_fits()) or the caller asks for that;
 * otherwise only the meta pages and the roots.
 *
 * The layout is that of LMDB 0.9 on 64 bits, in the machine's byte order.
 */
#include "lmdb_check.h"

#include "engine_refuse.h"
#include "lmdb_engine.h"
#include "lmdb_readers.h"
#include "writes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT32_C(0xBEEFC0DE)
#define VERSION 1
#define PAGE_MIN 512
#define PAGE_MAX 65536
#define HEAD 16 /* of a page */
#define NODE 8  /* head of a node */
#define KEY_MAX 511
#define DEPTH_MAX 32 /* LMDB's cursors have no more levels */
#define NONE UINT64_MAX
#define TRIES 100

enum { BRANCH = 1, LEAF = 2, OVERFLOW = 4, META = 8 };
enum { LISTS_FREE, MAIN };
enum { BIG = 1 }; /* flag of a leaf's node: the value is in pages of its own */
enum { TREE_FLAGS = 0x7f, INTEGER_KEY = 0x08 };

struct tree {
	uint32_t pad; /* of the first page: the page size */
	uint16_t flags;
	uint16_t depth;
	uint64_t branches;
	uint64_t leaves;
	uint64_t overflow;
	uint64_t entries;
	uint64_t root;
};

struct meta {
	uint64_t number; /* the page's header */
	uint16_t unused;
	uint16_t kind;
	uint32_t unused2;
	uint32_t magic;
	uint32_t version;
	uint64_t address;
	uint64_t map_size;
	struct tree trees[2];
	uint64_t last_page;
	uint64_t txn;
};

struct head {
	uint64_t number;
	uint16_t unused;
	uint16_t kind;
	uint16_t lower; /* end of the list of nodes; in an overflow page, `lower` and `upper` are the number of pages */
	uint16_t upper; /* where nodes begin */
};

struct node {
	uint16_t low;
	uint16_t high;
	uint16_t flags;
	uint16_t key_len;
};

struct check {
	int fd;
	size_t page;
	uint64_t pages; /* in use or free: higher numbers are not in the file */
	bool whole;
	unsigned char *seen; /* a bit for each of them */
	unsigned char *level[DEPTH_MAX];
	uint16_t tiles[PAGE_MAX / 2]; /* of the current page: size of the node that begins at each place */
	struct tree found;            /* the counts so far */
	uint64_t at;                  /* the current page */
	const char *what;             /* what is wrong */
};

static int bad(struct check *check, uint64_t page, const char *what)
{
	check->at = page;
	check->what = what;
	return -EUCLEAN;
}

static int page_read(struct check *check, uint64_t number, void *out, size_t len)
{
	ssize_t n = pread(check->fd, out, len, (off_t)(number * check->page));

	if (n < 0)
		return -errno;
	return n == (ssize_t)len ? 0 : bad(check, number, "is cut short");
}

/* --- Meta pages --- */

static int tree_check(struct check *check, const struct tree *tree, uint64_t page, unsigned int flags)
{
	bool empty = tree->root == NONE;

	if ((tree->flags & TREE_FLAGS) != flags)
		return bad(check, page, "has a tree of another kind");
	if (empty != (tree->depth == 0) || empty != (tree->entries == 0) || tree->depth > DEPTH_MAX)
		return bad(check, page, "has a tree of no possible depth");
	return empty || (tree->root >= 2 && tree->root < check->pages) ? 0
								       : bad(check, page, "has a tree without a root");
}

static int meta_read(struct check *check, unsigned int which, struct meta *out)
{
	int rc = page_read(check, which, out, sizeof(*out));

	if (rc < 0)
		return rc;
	if (out->magic != MAGIC || (out->kind & META) == 0)
		return bad(check, which, "is not LMDB's");
	if (out->version != VERSION) {
		(void)bad(check, which, "is another version of LMDB's");
		return -EPROTO;
	}
	size_t page = out->trees[LISTS_FREE].pad;
	if (page < PAGE_MIN || page > PAGE_MAX || (page & (page - 1)) != 0 || (check->page != 0 && page != check->page))
		return bad(check, which, "has no possible size of a page");
	check->page = page;
	return out->txn == 0 || out->txn % 2 == which ? 0 : bad(check, which, "has another's transaction");
}

/* Transactions use the two meta pages alternately. */
static int metas_read(struct check *check, struct meta *newest)
{
	struct meta metas[2];

	check->page = 0;
	int rc = meta_read(check, 0, &metas[0]);
	if (rc == 0)
		rc = meta_read(check, 1, &metas[1]);
	if (rc < 0)
		return rc;
	uint64_t ahead = metas[0].txn > metas[1].txn ? metas[0].txn - metas[1].txn : metas[1].txn - metas[0].txn;
	if (ahead > 1)
		return bad(check, 0, "and the other meta page have transactions that do not follow each other");
	*newest = metas[metas[0].txn < metas[1].txn];
	return 0;
}

static int meta_check(struct check *check, const struct meta *meta)
{
	uint64_t which = meta->txn % 2;
	struct stat st;

	if (fstat(check->fd, &st) < 0)
		return -errno;
	check->pages = meta->last_page + 1;
	if (meta->last_page < 1 || meta->last_page >= (uint64_t)st.st_size / check->page)
		return bad(check, which, "has more pages than the file: it is cut short");
	int rc = tree_check(check, &meta->trees[LISTS_FREE], which, INTEGER_KEY);
	return rc == 0 ? tree_check(check, &meta->trees[MAIN], which, 0) : rc;
}

/* --- Pages --- */

static int pages_claim(struct check *check, uint64_t first, uint64_t count)
{
	if (first < 2 || first >= check->pages || count > check->pages - first)
		return bad(check, first, "is not in the file");
	for (uint64_t page = first; page < first + count; page++) {
		unsigned char bit = (unsigned char)(1U << page % 8);

		if ((check->seen[page / 8] & bit) != 0)
			return bad(check, page, "is in two places");
		check->seen[page / 8] |= bit;
	}
	return 0;
}

static struct node node_at(const unsigned char *page, size_t i, const unsigned char **at)
{
	struct node node;
	uint16_t offset;

	memcpy(&offset, page + HEAD + 2 * i, sizeof(offset));
	memcpy(&node, page + offset, sizeof(node));
	*at = page + offset;
	return node;
}

static uint64_t value_len(const struct node *node)
{
	return node->low | (uint64_t)node->high << 16;
}

static uint64_t node_child(const struct node *node)
{
	return value_len(node) | (uint64_t)node->flags << 32;
}

/* The bytes that a node takes in its page. LMDB rounds up to an even number. */
static uint64_t node_size(const struct node *node, bool leaf)
{
	uint64_t value = !leaf ? 0 : (node->flags & BIG) != 0 ? sizeof(uint64_t) : value_len(node);

	return (NODE + node->key_len + value + 1) / 2 * 2;
}

/* Whether the nodes of a page lie one after the other, up to its end. */
static bool nodes_fill(struct check *check, const unsigned char *page, const struct head *head, size_t count)
{
	size_t at = head->upper;

	memset(check->tiles, 0, check->page);
	for (size_t i = 0; i < count; i++) {
		const unsigned char *node;
		uint16_t offset;

		memcpy(&offset, page + HEAD + 2 * i, sizeof(offset));
		if (offset % 2 != 0 || offset < head->upper || offset > check->page - NODE ||
		    check->tiles[offset / 2] != 0)
			return false;
		struct node found = node_at(page, i, &node);
		uint64_t size = node_size(&found, head->kind == LEAF);
		if (found.key_len > KEY_MAX || size > check->page - offset)
			return false;
		check->tiles[offset / 2] = (uint16_t)size;
	}
	for (size_t i = 0; i < count && at < check->page; i++) {
		if (check->tiles[at / 2] == 0)
			return false;
		at += check->tiles[at / 2];
	}
	return at == check->page;
}

/* Reads and checks a page of a tree, so that its nodes can be read. */
static int tree_page(struct check *check, uint64_t number, unsigned int kind, unsigned char *page, size_t *count)
{
	struct head head = { .number = 0 };
	int rc = pages_claim(check, number, 1);

	if (rc == 0)
		rc = page_read(check, number, page, check->page);
	if (rc < 0)
		return rc;
	memcpy(&head, page, sizeof(head));
	if (head.number != number || head.kind != kind)
		return bad(check, number, "is another kind of page");
	if (head.lower < HEAD || head.lower % 2 != 0 || head.lower > head.upper || head.upper > check->page)
		return bad(check, number, "has bounds that cannot be");
	*count = (size_t)(head.lower - HEAD) / 2;
	if (*count == 0 || !nodes_fill(check, page, &head, *count))
		return bad(check, number, "has nodes that do not fill it");
	return 0;
}

/* --- Values --- */

static int overflow_check(struct check *check, uint64_t number, uint64_t len)
{
	uint64_t count = (HEAD - 1 + len) / check->page + 1;
	struct head head = { .number = 0 };
	int rc = pages_claim(check, number, count);

	if (rc == 0)
		rc = page_read(check, number, &head, sizeof(head));
	if (rc < 0)
		return rc;
	check->found.overflow += count;
	uint64_t pages = head.lower | (uint64_t)head.upper << 16;
	return head.number == number && head.kind == OVERFLOW && pages == count
		       ? 0
		       : bad(check, number, "is not the pages of a long value");
}

/* Checks a list of free pages: how many, then their numbers, the greatest first. */
static int list_check(struct check *check, uint64_t number, const unsigned char *bytes, uint64_t len)
{
	uint64_t count;
	uint64_t before = NONE;

	if (len < sizeof(count))
		return bad(check, number, "has a list of free pages that is cut short");
	memcpy(&count, bytes, sizeof(count));
	if (count > len / sizeof(count) - 1)
		return bad(check, number, "has a list of free pages that is cut short");
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t page;

		memcpy(&page, bytes + i * sizeof(page), sizeof(page));
		if (page >= before)
			return bad(check, number, "has a list of free pages in disorder");
		int rc = pages_claim(check, page, 1);
		if (rc < 0)
			return rc;
		before = page;
	}
	return 0;
}

/* Reads and checks such a list in pages of its own. */
static int list_read(struct check *check, uint64_t number, uint64_t first, uint64_t len)
{
	unsigned char *bytes = len <= check->pages * sizeof(uint64_t) + check->page ? malloc(len) : NULL;

	if (bytes == NULL)
		return bad(check, number, "has a list of free pages that is too long");
	ssize_t n = pread(check->fd, bytes, len, (off_t)(first * check->page + HEAD));
	int rc = n != (ssize_t)len ? bad(check, number, "is cut short") : list_check(check, number, bytes, len);
	free(bytes);
	return rc;
}

static int value_check(struct check *check, uint64_t number, bool main, const struct node *node,
		       const unsigned char *at)
{
	const unsigned char *value = at + NODE + node->key_len;
	uint64_t first;

	if ((node->flags & ~BIG) != 0)
		return bad(check, number, "has a value of another kind");
	if ((node->flags & BIG) == 0)
		return main ? 0 : list_check(check, number, value, value_len(node));
	memcpy(&first, value, sizeof(first));
	int rc = overflow_check(check, first, value_len(node));
	return rc < 0 || main ? rc : list_read(check, number, first, value_len(node));
}

/* --- Trees --- */

/* The smallest key that a page may have, and the first that it may not; NULL: no such bound. */
struct bounds {
	struct slice from;
	struct slice to;
};

static int key_order(bool main, struct slice a, struct slice b)
{
	uint64_t x;
	uint64_t y;

	if (main)
		return slice_compare(a, b);
	memcpy(&x, a.data, sizeof(x));
	memcpy(&y, b.data, sizeof(y));
	return x < y ? -1 : x > y;
}

/* LMDB does not read the first key of a branch, and it may be missing: the page's own lower bound stands in for it. */
static int key_check(struct check *check, uint64_t number, bool main, bool leaf, size_t i, struct slice key,
		     const struct bounds *bounds)
{
	if (!leaf && i == 0)
		return 0;
	if (key.len == 0 || (!main && key.len != sizeof(uint64_t)))
		return bad(check, number, "has a key of no possible length");
	bool before = bounds->from.data != NULL && key_order(main, key, bounds->from) < (leaf && i == 0 ? 0 : 1);
	bool behind = bounds->to.data != NULL && key_order(main, key, bounds->to) >= 0;
	return before || behind ? bad(check, number, "has keys in disorder") : 0;
}

static int leaf_check(struct check *check, bool main, uint64_t number, const unsigned char *page, size_t count,
		      struct bounds bounds)
{
	int rc = 0;

	check->found.leaves++;
	check->found.entries += count;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const unsigned char *at;
		struct node node = node_at(page, i, &at);
		struct slice key = { at + NODE, node.key_len };

		rc = key_check(check, number, main, true, i, key, &bounds);
		if (rc == 0)
			rc = value_check(check, number, main, &node, at);
		bounds.from = key;
	}
	return rc;
}

static int branch_check(struct check *check, bool main, uint64_t number, unsigned int depth, struct bounds bounds);

static int subtree_check(struct check *check, bool main, uint64_t number, unsigned int depth, struct bounds bounds)
{
	unsigned char *page = check->level[depth - 1];
	size_t count;

	if (depth > 1)
		return branch_check(check, main, number, depth, bounds);
	int rc = tree_page(check, number, LEAF, page, &count);
	return rc < 0 ? rc : leaf_check(check, main, number, page, count, bounds);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the tree, which is at most DEPTH_MAX. */
static int branch_check(struct check *check, bool main, uint64_t number, unsigned int depth, struct bounds bounds)
{
	const unsigned char *page = check->level[depth - 1];
	size_t count;
	int rc = tree_page(check, number, BRANCH, check->level[depth - 1], &count);

	if (rc == 0 && main && count < 2)
		rc = bad(check, number, "has one child only");
	check->found.branches++;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct bounds child = bounds;
		const unsigned char *at;
		struct node node = node_at(page, i, &at);
		struct slice key = { at + NODE, node.key_len };

		rc = key_check(check, number, main, false, i, key, &bounds);
		if (rc < 0)
			return rc;
		if (i > 0)
			child.from = bounds.from = key;
		if (i + 1 < count) {
			const unsigned char *next;
			struct node after = node_at(page, i + 1, &next);

			if (!main && after.key_len != sizeof(uint64_t))
				return bad(check, number, "has a key of no possible length");
			child.to = (struct slice){ next + NODE, after.key_len };
		}
		if (check->whole)
			rc = subtree_check(check, main, node_child(&node), depth - 1, child);
	}
	return rc;
}

static int tree_walk(struct check *check, const struct tree *tree, uint64_t meta, bool main)
{
	const struct bounds none = { { NULL, 0 }, { NULL, 0 } };

	if (tree->root == NONE)
		return 0;
	check->found = (struct tree){ .entries = 0 };
	int rc = subtree_check(check, main, tree->root, tree->depth, none);
	if (rc < 0 || !check->whole)
		return rc;
	const struct tree *found = &check->found;
	if (found->branches != tree->branches || found->leaves != tree->leaves || found->entries != tree->entries ||
	    found->overflow != tree->overflow)
		return bad(check, meta, "counts what is not there");
	return 0;
}

/* --- All of it --- */

static int walk(struct check *check, const struct meta *meta)
{
	int rc = meta_check(check, meta);

	if (rc < 0)
		return rc;
	check->seen = calloc(1, check->pages / 8 + 1);
	unsigned char *buffers = malloc(DEPTH_MAX * check->page);
	for (size_t i = 0; buffers != NULL && i < DEPTH_MAX; i++)
		check->level[i] = buffers + i * check->page;
	rc = check->seen == NULL || buffers == NULL ? -ENOMEM : 0;
	if (rc == 0)
		rc = tree_walk(check, &meta->trees[LISTS_FREE], meta->txn % 2, false);
	if (rc == 0)
		rc = tree_walk(check, &meta->trees[MAIN], meta->txn % 2, true);
	free(buffers);
	free(check->seen);
	return rc;
}

/* Beside a running daemon: locks what is walked, as a view would. */
static int walk_beside(struct check *check, const struct engine *engine)
{
	struct meta meta;
	struct meta again;
	int rc = -EAGAIN;

	for (int i = 0; rc == -EAGAIN && i < TRIES; i++) {
		rc = metas_read(check, &meta);
		/* The daemon may have written to the pages in between. */
		if (rc == -EUCLEAN && i < TRIES / 10) {
			rc = -EAGAIN;
			continue;
		}
		if (rc == 0)
			rc = -lmdb_readers_lock(engine, meta.txn);
		if (rc == 0)
			rc = metas_read(check, &again);
		if (rc == 0)
			rc = memcmp(&again, &meta, sizeof(meta)) == 0 ? walk(check, &meta) : -EAGAIN;
		lmdb_readers_unlock(engine);
	}
	return rc;
}

int lmdb_check(const struct engine *engine, bool whole, const char *path, char *why, size_t whylen)
{
	struct meta meta;

	if (sizeof(size_t) != sizeof(uint64_t))
		return 0;
	struct check *check = calloc(1, sizeof(*check));
	if (check == NULL)
		return store_refuse(why, whylen, -ENOMEM, "out of memory");
	check->fd = engine->dir.data;
	check->whole = whole;
	int rc = engine->readonly ? walk_beside(check, engine) : metas_read(check, &meta);
	if (rc == 0 && !engine->readonly)
		rc = walk(check, &meta);
	if (rc < 0 && check->what != NULL)
		(void)store_refuse(
			why, whylen, rc,
			"store %s: %s is damaged (page %llu %s): restore it from a copy, or use another --store", path,
			LMDB_DATA_FILE, (unsigned long long)check->at, check->what);
	else if (rc < 0)
		(void)store_refuse(why, whylen, rc, "store %s: %s: %s", path, LMDB_DATA_FILE, strerror(-rc));
	free(check);
	return rc;
}
