/* Paths of nodes: what users see, what names a lock, and that a request parses the name of its node once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>

#include "path.h"
#include "stage.h"

static const struct kind plain_kind = { .type = S_IFDIR };
static const struct kind queue_kind = { .type = S_IFDIR, .mirror = true };
static const struct kind file_kind = { .type = S_IFREG };

struct fixture {
	struct stage *stage;
	struct fs fs;
	struct fuse_ctx ctx;
	struct call call;
	char path[ATLOCK_PATH_MAX];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	void *stage;

	assert_non_null(f);
	assert_int_equal(stage_setup(&stage), 0);
	f->stage = stage;
	f->fs.inodes = inodes_new(&plain_kind);
	assert_non_null(f->fs.inodes);
	f->call.fs = &f->fs;
	f->call.al = f->stage->al;
	f->ctx.pid = getpid();
	f->call.ctx = &f->ctx;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *stage = f->stage;

	inodes_free(f->fs.inodes);
	free(f);
	return stage_teardown(&stage);
}

/* The node of a path from the root; components are of the kind `kind`, the last is `last`. */
static struct node *node_at(struct fixture *f, const struct kind *kind, const struct kind *last, const char *path)
{
	struct node *node = node_of(&f->fs, FUSE_ROOT_ID);
	char *copy = strdup(path);
	char *rest = copy;
	const char *name;

	while ((name = strsep(&rest, "/")) != NULL) {
		node = node_intern(f->fs.inodes, node, name, rest == NULL ? last : kind, NODE_NO_DIR);
		assert_non_null(node);
	}
	free(copy);
	return node;
}

static struct node *dir_at(struct fixture *f, const char *path)
{
	return node_at(f, &plain_kind, &plain_kind, path);
}

static void shown_from_the_root_of_the_mount(void **state)
{
	struct fixture *f = *state;
	struct node *dir = node_at(f, &queue_kind, &queue_kind, "queue/repos/acme/-");

	assert_int_equal(path_show(dir, "prod", f->path), 0);
	assert_string_equal(f->path, "queue/repos/acme/-/prod");
	assert_int_equal(path_show(dir, "", f->path), 0);
	assert_string_equal(f->path, "queue/repos/acme/-");
	assert_int_equal(path_show(node_of(&f->fs, FUSE_ROOT_ID), "", f->path), 0);
	assert_string_equal(f->path, "");
}

static void a_mirror_names_the_same_lock(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(path_print(node_at(f, &queue_kind, &queue_kind, "queue/repos/acme/-"), "prod", f->path), 0);
	assert_string_equal(f->path, "repos/acme/-/prod");
	assert_int_equal(path_print(dir_at(f, "repos/acme/-"), "prod", f->path), 0);
	assert_string_equal(f->path, "repos/acme/-/prod");
	/* Only a mirror that is in the root. */
	assert_int_equal(path_print(node_at(f, &plain_kind, &queue_kind, "repos/queue"), "x", f->path), 0);
	assert_string_equal(f->path, "repos/queue/x");
}

static void the_longest_path_fits_and_no_longer_one(void **state)
{
	struct fixture *f = *state;
	struct node *dir = node_of(&f->fs, FUSE_ROOT_ID);
	char name[ATLOCK_COMPONENT_MAX + 1];
	char rest[ATLOCK_PATH_MAX + 1];
	size_t len = 0;

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	while (len + sizeof(name) < ATLOCK_PATH_MAX) {
		dir = node_intern(f->fs.inodes, dir, name, &plain_kind, NODE_NO_DIR);
		len += sizeof(name);
	}
	memset(rest, 'b', sizeof(rest));
	rest[ATLOCK_PATH_MAX - len - 1] = '\0';
	assert_int_equal(path_show(dir, rest, f->path), 0);
	assert_int_equal(strlen(f->path), ATLOCK_PATH_MAX - 1);
	rest[ATLOCK_PATH_MAX - len - 1] = 'b';
	rest[ATLOCK_PATH_MAX - len] = '\0';
	assert_int_equal(path_show(dir, rest, f->path), -ENAMETOOLONG);
	rest[ATLOCK_PATH_MAX - len] = 'b';
	rest[ATLOCK_PATH_MAX] = '\0';
	assert_int_equal(path_show(dir, rest, f->path), -ENAMETOOLONG);
}

static void kind_comes_with_the_name(void **state)
{
	struct fixture *f = *state;
	struct node *dir = dir_at(f, "repos/acme/-/vpc/-");
	struct atlock_name want = stage_name("repos/acme/-/vpc/-/prod");
	struct atlock_name lock;
	uint64_t id = 1;

	assert_int_equal(path_kind(&f->call, dir, "prod@ci", &id, &lock), ATLOCK_PATH_LOCK);
	assert_true(atlock_name_equal(&lock, &want));
	assert_string_equal(lock.who, "ci");
	assert_int_equal(id, NODE_NO_DIR);
	assert_int_equal(path_kind(&f->call, dir, "prod", &id, NULL), ATLOCK_PATH_LOCK);
	assert_int_equal(path_kind(&f->call, dir_at(f, "repos/acme"), "-", &id, &lock), ATLOCK_PATH_DIR);
	assert_int_equal(path_kind(&f->call, dir, "a%zz", &id, &lock), -EINVAL);
	assert_int_equal(path_kind(&f->call, node_of(&f->fs, FUSE_ROOT_ID), "custom", &id, &lock), ATLOCK_PATH_DIR);
	assert_int_equal(id, 0);
}

static void below_custom_the_directories_decide(void **state)
{
	struct fixture *f = *state;
	struct atlock_caller alice = stage_caller("alice@x");
	struct atlock_name lock, want;
	struct atlock_dir made;
	struct node *custom = node_intern(f->fs.inodes, node_of(&f->fs, FUSE_ROOT_ID), "custom", &plain_kind, 0);
	uint64_t id;

	assert_int_equal(atlock_dir_make(f->call.al, 0, "team", &alice, 0755, alice.gid, &made, NULL), 0);
	assert_int_equal(path_kind(&f->call, custom, "team", &id, &lock), ATLOCK_PATH_DIR);
	assert_int_equal(id, made.id);
	assert_int_equal(path_kind(&f->call, custom, "other@ci", &id, &lock), ATLOCK_PATH_LOCK);
	assert_int_equal(id, NODE_NO_DIR);
	assert_int_equal(atlock_name_custom(0, "other@ci", &want, NULL), 0);
	assert_true(atlock_name_equal(&lock, &want));
	assert_int_equal(path_lock(&f->call, custom, "other@ci", &lock), 0);
	assert_true(atlock_name_equal(&lock, &want));
	assert_int_equal(path_kind(&f->call, custom, "@ci", &id, &lock), -EINVAL);
}

static void a_nodes_name_is_parsed_once(void **state)
{
	struct fixture *f = *state;
	struct node *prod = node_at(f, &plain_kind, &file_kind, "repos/acme/-/vpc/-/prod");
	struct node *test = node_at(f, &plain_kind, &file_kind, "repos/acme/-/vpc/-/test");
	struct node *bad = node_at(f, &plain_kind, &file_kind, "repos/acme/-/vpc/-/a%zz");
	struct atlock_name want = stage_name("repos/acme/-/vpc/-/prod");
	struct atlock_name lock;

	assert_int_equal(path_node_lock(&f->call, prod, &lock), 0);
	assert_true(atlock_name_equal(&lock, &want));
	/* What it has kept, it returns without another look at the path. */
	f->call.node_lock = stage_name("global/kept");
	assert_int_equal(path_node_lock(&f->call, prod, &lock), 0);
	assert_true(atlock_name_equal(&lock, &f->call.node_lock));
	/* But not for another node, nor after an error. */
	want = stage_name("repos/acme/-/vpc/-/test");
	assert_int_equal(path_node_lock(&f->call, test, &lock), 0);
	assert_true(atlock_name_equal(&lock, &want));
	assert_int_equal(path_node_lock(&f->call, bad, &lock), -EINVAL);
	assert_int_equal(path_node_lock(&f->call, test, &lock), 0);
	assert_true(atlock_name_equal(&lock, &want));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shown_from_the_root_of_the_mount),        TEST(a_mirror_names_the_same_lock),
		TEST(the_longest_path_fits_and_no_longer_one), TEST(kind_comes_with_the_name),
		TEST(below_custom_the_directories_decide),     TEST(a_nodes_name_is_parsed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
