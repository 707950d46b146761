/*
 * How many pages the next transaction of LMDB can take at most. That a layer becomes a transaction must not fail, so this
 * is counted for the worst tree that there can be, not for a usual one. It follows how LMDB changes its tree:
 *
 * Leaves. A changed page is written anew, one for one. A put may split its leaf in two; a removal may pull in the leaf
 * beside its own, to share or to join. So a write takes two leaves at most, and all of them together no more than there
 * are, and one for each split.
 *
 * Branches. The same again on each level above: two pages a level for a write. All of them together: each branch there is
 * once, once more where it is split, and then a split for every few keys that come from below. No key is longer than an
 * eighth of a page, so that a branch that was just split takes three keys before it is split again.
 *
 * Values that do not fit a leaf have pages of their own, which must lie side by side. Those that are free may be
 * scattered, but those ahead of the last used page are in one piece.
 *
 * The list of free pages is a tree too. It gets one record with the numbers of all pages that were given up, side by side if
 * it is long; those that were used are taken from the oldest records, and what is left of these is written anew. Twice,
 * because writing the list changes it.
 */
#include "lmdb_pages.h"

#define KEYS_TO_SPLIT 3

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What LMDB's largest node in a page may have: half of it, less two bytes. Its head is eight bytes, a page's sixteen. */
size_t lmdb_pages_of_value(size_t page, size_t key_len, size_t value_len)
{
	if (8 + key_len + value_len <= (page - 16) / 2 - 2)
		return 0;
	return (value_len + 16 + page - 1) / page;
}

struct lmdb_need lmdb_pages_needed(const struct lmdb_shape *shape, size_t page, uint64_t writes, uint64_t overflow)
{
	uint64_t numbers = page / sizeof(size_t) - 3; /* of free pages, in one page of their list */
	uint64_t all = writes + 1;                    /* with the engine's mark */
	uint64_t levels = shape->depth > 0 ? shape->depth : 1;
	uint64_t leaves = least(2 * all, shape->leaves + all);
	uint64_t splits = (shape->branches + all) / KEYS_TO_SPLIT * 3 / 2;
	uint64_t branches = least(2 * all * levels, 2 * shape->branches + splits) + levels + 1;
	uint64_t given_up = leaves + branches + shape->overflow;
	uint64_t record = given_up / numbers + 1;
	uint64_t list = 2 * (record + shape->pages / numbers + 1) + shape->list_pages + 2 * shape->list_depth + 4;

	return (struct lmdb_need){
		.pages = leaves + branches + overflow + list,
		.run = overflow + (given_up > numbers ? 2 * record : 0),
	};
}

/*
 * Where the one ends and the other begins changes nothing about the tree. So of its pages the second changes no more than
 * both would as one.
 */
struct lmdb_need lmdb_pages_needed_twice(const struct lmdb_shape *shape, size_t page, const struct lmdb_put *first,
					 const struct lmdb_put *second)
{
	struct lmdb_need one = lmdb_pages_needed(shape, page, first->writes, first->overflow);
	struct lmdb_shape later = *shape;

	later.overflow += first->overflow;
	later.pages += one.pages;
	later.list_pages += one.pages / (page / sizeof(size_t) - 3) + 4;
	later.list_depth++;
	struct lmdb_need two = lmdb_pages_needed(&later, page, first->writes + second->writes, second->overflow);
	return (struct lmdb_need){ .pages = one.pages + two.pages, .run = one.run + two.run };
}
