/* Nodes by number: how long they live, and what a number that is not known any more finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>

#include "fs.h"
#include "inode.h"
#include "kind.h"

static const struct kind dir_kind = { .type = S_IFDIR };
static const struct kind file_kind = { .type = S_IFREG };

static int make(void **state)
{
	struct fs *fs = calloc(1, sizeof(*fs));

	fs->inodes = inodes_new(&dir_kind);
	*state = fs;
	return fs->inodes == NULL;
}

static int end(void **state)
{
	struct fs *fs = *state;

	inodes_free(fs->inodes);
	free(fs);
	return 0;
}

static struct node *look_up(struct fs *fs, const char *name)
{
	return node_intern(fs->inodes, node_of(fs, FUSE_ROOT_ID), name, &file_kind, NODE_NO_DIR);
}

static void forgotten_as_often_as_looked_up(void **state)
{
	struct fs *fs = *state;
	struct node *node = look_up(fs, "a");
	fuse_ino_t id = node_id(fs->inodes, node);

	assert_ptr_equal(look_up(fs, "a"), node);
	node_forget(fs->inodes, node, 1);
	assert_ptr_equal(node_of(fs, id), node);
	node_forget(fs->inodes, node, 1);
	assert_ptr_not_equal(node_of(fs, id), node);
}

/* More lookups than can be counted: however many the kernel forgets, the node stays, since it may have more. */
static void saturated_count_is_never_freed(void **state)
{
	struct fs *fs = *state;
	struct node *node = look_up(fs, "a");
	fuse_ino_t id = node_id(fs->inodes, node);

	node->lookups = UINT32_MAX - 1;
	for (int i = 0; i < 3; i++) {
		assert_ptr_equal(look_up(fs, "a"), node);
		assert_int_equal(node->lookups, UINT32_MAX);
	}
	node_forget(fs->inodes, node, 1);
	assert_ptr_equal(node_of(fs, id), node);
	node_forget(fs->inodes, node, UINT32_MAX);
	assert_ptr_equal(node_of(fs, id), node);
	node_forget(fs->inodes, node, UINT64_MAX);
	assert_ptr_equal(node_of(fs, id), node);
	assert_ptr_equal(look_up(fs, "a"), node);
	/* Its directory stays with it. */
	assert_int_equal(node_of(fs, FUSE_ROOT_ID)->children, 1);
}

/* One lookup less than that is still counted exactly. */
static void highest_count_is_forgotten(void **state)
{
	struct fs *fs = *state;
	struct node *node = look_up(fs, "a");
	fuse_ino_t id = node_id(fs->inodes, node);

	node->lookups = UINT32_MAX - 2;
	assert_ptr_equal(look_up(fs, "a"), node);
	node_forget(fs->inodes, node, UINT32_MAX - 2);
	assert_ptr_equal(node_of(fs, id), node);
	node_forget(fs->inodes, node, 1);
	assert_ptr_not_equal(node_of(fs, id), node);
}

/* A node of one process's own is counted in the same way, also where no lookup finds it any more. */
static void saturated_own_node_is_never_freed(void **state)
{
	struct fs *fs = *state;
	struct node *root = node_of(fs, FUSE_ROOT_ID);
	struct node *node = node_own(fs->inodes, root, "a", &file_kind, NODE_NO_DIR, 1, NULL);
	fuse_ino_t id = node_id(fs->inodes, node);

	node->lookups = UINT32_MAX - 1;
	assert_ptr_equal(node_own(fs->inodes, root, "a", &file_kind, NODE_NO_DIR, 1, NULL), node);
	node_unfind(fs->inodes, node);
	node_forget(fs->inodes, node, UINT64_MAX);
	assert_ptr_equal(node_of(fs, id), node);
}

/* Root included: the kernel is told to look the name up again, and nothing is opened, listed or changed. */
static void number_not_known_is_stale(void **state)
{
	struct fs *fs = *state;
	struct node *node = look_up(fs, "a");
	fuse_ino_t id = node_id(fs->inodes, node);
	const struct kind *stale;
	struct stat st;

	node_forget(fs->inodes, node, 1);
	node = node_of(fs, id);
	stale = node->kind;
	assert_int_equal(stale->stat(NULL, node, &st, NULL), -ESTALE);
	assert_int_equal(stale->open(NULL, node, NULL), -ESTALE);
	assert_int_equal(stale->lookup(NULL, node, "b", NULL), -ESTALE);
	assert_int_equal(stale->list(NULL, node, NULL), -ESTALE);
	assert_int_equal(stale->set(NULL, node, NULL, NULL, 0), -ESTALE);
	/* Forgetting it once more than it was looked up harms nothing. */
	node_forget(fs->inodes, node, 1);
	assert_ptr_equal(node_of(fs, id), node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(forgotten_as_often_as_looked_up, make, end),
		cmocka_unit_test_setup_teardown(saturated_count_is_never_freed, make, end),
		cmocka_unit_test_setup_teardown(highest_count_is_forgotten, make, end),
		cmocka_unit_test_setup_teardown(saturated_own_node_is_never_freed, make, end),
		cmocka_unit_test_setup_teardown(number_not_known_is_stale, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
