/*
 * How many pages a transaction of LMDB takes: never more than lmdb_pages_needed() says. Trees of many kinds are changed in
 * many ways, each time in a map that has just so many pages and no more.
 */
#include "lmdb_pages.h"
#include "scratch.h"

#include <lmdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 60
#define SEEDS 12
#define VALUE_MAX ((size_t)20 * 1024)

/* What keys and values of one tree are like. */
struct kind {
	size_t key_max;
	size_t value_max;
	unsigned int keys;  /* how many different ones there are */
	unsigned int dense; /* one in so many is changed by a transaction */
};

static const struct kind kinds[] = {
	{ 24, 100, 3000, 50 },  { 24, 100, 3000, 2 },     { 510, 100, 2000, 30 },     { 510, 1500, 1000, 3 },
	{ 40, 400, 4000, 400 }, { 510, 2000, 1500, 100 }, { 60, VALUE_MAX, 300, 20 }, { 510, 0, 3000, 10 },
};

struct tree {
	const struct kind *kind;
	char *dir;
	MDB_env *env;
	MDB_dbi dbi;
	size_t page;
	unsigned int seed;
	unsigned char *there; /* by key */
};

static unsigned int chance(struct tree *tree, size_t most)
{
	return (unsigned int)rand_r(&tree->seed) % (unsigned int)most;
}

/* Keys in their order; long ones where they branch, so that branches hold few. */
static size_t key_make(const struct tree *tree, unsigned int i, char *out)
{
	size_t len = 8 + (i * 2654435761U >> 8) % (tree->kind->key_max - 7);

	memset(out, 'k', len);
	(void)snprintf(out, 9, "%08u", i % 100000000U);
	out[8] = 'k';
	return len < 9 ? 9 : len;
}

static struct tree *tree_new(const struct kind *kind, unsigned int seed)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	MDB_stat stat;
	MDB_txn *txn;

	assert_non_null(tree);
	tree->kind = kind;
	tree->seed = seed;
	tree->dir = scratch_new();
	tree->there = calloc(kind->keys, 1);
	assert_non_null(tree->there);
	assert_int_equal(mdb_env_create(&tree->env), 0);
	assert_int_equal(mdb_env_set_mapsize(tree->env, (size_t)64 * 1024), 0);
	assert_int_equal(mdb_env_open(tree->env, tree->dir, MDB_NOSYNC, 0600), 0);
	assert_int_equal(mdb_txn_begin(tree->env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &tree->dbi), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	assert_int_equal(mdb_env_stat(tree->env, &stat), 0);
	tree->page = stat.ms_psize;
	return tree;
}

static void tree_free(struct tree *tree)
{
	mdb_env_close(tree->env);
	scratch_remove(tree->dir);
	free(tree->there);
	free(tree);
}

/* The shape, and with it the pages that the next transaction can use again. */
static struct lmdb_shape tree_look(const struct tree *tree)
{
	MDB_cursor *cursor;
	MDB_envinfo info;
	MDB_stat data;
	MDB_stat list;
	MDB_txn *txn;
	MDB_val key;
	MDB_val value;

	assert_int_equal(mdb_env_info(tree->env, &info), 0);
	assert_int_equal(mdb_txn_begin(tree->env, NULL, MDB_RDONLY, &txn), 0);
	assert_int_equal(mdb_stat(txn, tree->dbi, &data), 0);
	assert_int_equal(mdb_stat(txn, 0, &list), 0);
	struct lmdb_shape shape = {
		.leaves = data.ms_leaf_pages,
		.branches = data.ms_branch_pages,
		.overflow = data.ms_overflow_pages,
		.depth = data.ms_depth,
		.pages = info.me_last_pgno + 1,
		.list_pages = list.ms_leaf_pages + list.ms_branch_pages,
		.list_depth = list.ms_depth,
	};
	assert_int_equal(mdb_cursor_open(txn, 0, &cursor), 0);
	while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
		size_t id;
		size_t pages;

		memcpy(&id, key.mv_data, sizeof(id));
		memcpy(&pages, value.mv_data, sizeof(pages));
		shape.free += id < mdb_txn_id(txn) ? pages : 0;
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	return shape;
}

/* What a transaction does to each key. */
enum change { NOTHING, PUT, REMOVE };

struct plan {
	unsigned char *change; /* enum change, by key */
	size_t *len;           /* of the value */
	uint64_t writes;
	uint64_t overflow;
};

static void plan_make(struct tree *tree, struct plan *plan)
{
	char key[512];
	bool mostly_removes = chance(tree, 2) == 0;
	unsigned int from = chance(tree, 3) == 0 ? chance(tree, tree->kind->keys) : 0;
	unsigned int dense = chance(tree, 8) == 0 ? 1 : tree->kind->dense;

	plan->writes = 0;
	plan->overflow = 0;
	for (unsigned int i = 0; i < tree->kind->keys; i++) {
		plan->change[i] = NOTHING;
		if (i < from || chance(tree, dense) != 0)
			continue;
		bool removes = tree->there[i] && chance(tree, 4) < (mostly_removes ? 3 : 1);
		plan->change[i] = removes ? REMOVE : PUT;
		plan->len[i] = removes ? 0 : chance(tree, tree->kind->value_max + 1);
		tree->there[i] = !removes;
		plan->writes++;
		plan->overflow += lmdb_pages_of_value(tree->page, key_make(tree, i, key), plan->len[i]);
	}
}

static int plan_apply(struct tree *tree, const struct plan *plan)
{
	static char bytes[VALUE_MAX] = "x";
	char text[512];
	MDB_txn *txn;
	int rc = mdb_txn_begin(tree->env, NULL, 0, &txn);

	assert_int_equal(rc, 0);
	for (unsigned int i = 0; i < tree->kind->keys && rc == 0; i++) {
		MDB_val key = { .mv_size = key_make(tree, i, text), .mv_data = text };
		MDB_val value = { .mv_size = plan->len[i], .mv_data = bytes };

		if (plan->change[i] == PUT)
			rc = mdb_put(txn, tree->dbi, &key, &value, 0);
		else if (plan->change[i] == REMOVE)
			rc = mdb_del(txn, tree->dbi, &key, NULL);
	}
	if (rc != 0) {
		mdb_txn_abort(txn);
		return rc;
	}
	return mdb_txn_commit(txn);
}

/* Makes the map as large as it is said that it must be. */
static void map_set(const struct tree *tree, const struct lmdb_shape *before, struct lmdb_need need)
{
	uint64_t ahead = need.pages > before->free ? need.pages - before->free : 0;

	ahead = ahead > need.run ? ahead : need.run;
	/* LMDB leaves the last page unused. */
	assert_int_equal(mdb_env_set_mapsize(tree->env, (before->pages + ahead + 1) * tree->page), 0);
}

static void plan_must_fit(struct tree *tree, const struct plan *plan, unsigned int round)
{
	int rc = plan_apply(tree, plan);

	if (rc != 0)
		fail_msg("kind %td, round %u: %s for %ju writes", tree->kind - kinds, round, mdb_strerror(rc),
			 (uintmax_t)plan->writes);
}

static void plan_check(struct tree *tree, struct plan *plan, unsigned int round)
{
	struct lmdb_shape before = tree_look(tree);

	plan_make(tree, plan);
	map_set(tree, &before, lmdb_pages_needed(&before, tree->page, plan->writes, plan->overflow));
	plan_must_fit(tree, plan, round);
}

/* The map does not grow in between, and there is a reader of the state before both. */
static void plans_check(struct tree *tree, struct plan plans[2], unsigned int round)
{
	struct lmdb_shape before = tree_look(tree);
	struct lmdb_put puts[2];
	MDB_txn *reader;

	for (int i = 0; i < 2; i++) {
		plan_make(tree, &plans[i]);
		puts[i] = (struct lmdb_put){ .writes = plans[i].writes, .overflow = plans[i].overflow };
	}
	map_set(tree, &before, lmdb_pages_needed_twice(&before, tree->page, &puts[0], &puts[1]));
	assert_int_equal(mdb_txn_begin(tree->env, NULL, MDB_RDONLY, &reader), 0);
	plan_must_fit(tree, &plans[0], round);
	plan_must_fit(tree, &plans[1], round);
	mdb_txn_abort(reader);
}

static void plan_new(struct plan *plan, const struct kind *kind)
{
	plan->change = calloc(kind->keys, 1);
	plan->len = calloc(kind->keys, sizeof(size_t));
	assert_non_null(plan->change);
	assert_non_null(plan->len);
}

static void plan_free(struct plan *plan)
{
	free(plan->change);
	free(plan->len);
}

static void kind_check(const struct kind *kind, unsigned int seed, bool two)
{
	struct tree *tree = tree_new(kind, seed);
	struct plan plans[2];

	plan_new(&plans[0], kind);
	plan_new(&plans[1], kind);
	for (unsigned int round = 0; round < (two ? ROUNDS / 2 : ROUNDS); round++) {
		if (two)
			plans_check(tree, plans, round);
		else
			plan_check(tree, &plans[0], round);
	}
	plan_free(&plans[0]);
	plan_free(&plans[1]);
	tree_free(tree);
}

static void a_transaction_takes_no_more_pages_than_it_is_said_to_need(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= SEEDS; seed++) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			kind_check(&kinds[k], seed, false);
	}
}

static void two_in_a_row_take_no_more_than_both_are_said_to_need(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= SEEDS; seed++) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			kind_check(&kinds[k], seed, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_transaction_takes_no_more_pages_than_it_is_said_to_need),
		cmocka_unit_test(two_in_a_row_take_no_more_than_both_are_said_to_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
