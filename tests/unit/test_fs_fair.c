/* Whose request is next: each user has a share of his own, whatever the remainder of his number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/fuse.h>

#include "fair.h"

static struct share *enter(struct fair *fair, uid_t uid, uint32_t opcode)
{
	struct fuse_in_header header = { .len = sizeof(header), .opcode = opcode, .uid = uid };
	struct fuse_buf buf = { .size = sizeof(header), .mem = &header };

	return fair_enter(fair, &buf);
}

#define THREADS 32

/* Half of the threads are left for a user who comes later, however long the requests of the first take. */
static void user_alone_has_half_of_the_threads(void **state)
{
	struct fair *fair = fair_new(THREADS);
	struct share *share = NULL;
	struct share *other;
	struct fuse_buf buf;

	(void)state;
	for (int i = 0; i < THREADS / 2; i++) {
		share = enter(fair, 1000, FUSE_GETATTR);
		assert_non_null(share);
	}
	assert_null(enter(fair, 1000, FUSE_GETATTR));
	assert_false(fair_waits(fair));
	other = enter(fair, 1001, FUSE_GETATTR);
	assert_non_null(other);
	fair_leave(fair, other);
	for (int i = 0; i < THREADS / 2; i++)
		fair_leave(fair, share);
	assert_ptr_equal(fair_next(fair, &buf), share);
	free(buf.mem);
	fair_leave(fair, share);
	fair_free(fair);
}

static void users_of_one_remainder_have_a_share_each(void **state)
{
	const uid_t flood = 1000;
	const uid_t other = flood + 256 * 1024;
	struct fair *fair = fair_new(THREADS);
	struct share *first = enter(fair, flood, FUSE_GETATTR);
	struct share *second = enter(fair, other, FUSE_GETATTR);
	struct fuse_buf buf;
	struct share *next;

	(void)state;
	assert_non_null(first);
	/* Not kept behind the other's. */
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	/* Now there are two, and each has one under way. */
	assert_null(enter(fair, flood, FUSE_GETATTR));
	assert_null(enter(fair, flood, FUSE_GETATTR));
	assert_null(fair_next(fair, &buf));
	fair_leave(fair, second);
	assert_null(fair_next(fair, &buf));
	fair_leave(fair, first);
	next = fair_next(fair, &buf);
	assert_ptr_equal(next, first);
	free(buf.mem);
	fair_leave(fair, next);
	fair_free(fair);
}

/* A request that is answered later counts until then, whatever its thread does meanwhile. */
static void what_is_answered_later_counts(void **state)
{
	struct fair *fair = fair_new(THREADS);
	struct share *read = enter(fair, 1000, FUSE_CREATE);
	struct share *other = enter(fair, 1001, FUSE_GETATTR);
	struct share *later = fair_hold(fair, 1000);
	struct fuse_buf buf;

	(void)state;
	assert_ptr_equal(later, read);
	fair_leave(fair, read);
	assert_null(enter(fair, 1000, FUSE_GETATTR));
	assert_false(fair_waits(fair));
	fair_leave(fair, later);
	assert_true(fair_waits(fair));
	assert_ptr_equal(fair_next(fair, &buf), later);
	free(buf.mem);
	fair_leave(fair, later);
	fair_leave(fair, other);
	fair_free(fair);
}

/* Others wait for the directory that the kernel has locked for it. */
static void what_holds_a_directory_is_served_before_the_rest(void **state)
{
	struct fair *fair = fair_new(THREADS);
	struct share *flood = enter(fair, 1000, FUSE_GETATTR);
	struct share *other = enter(fair, 1001, FUSE_GETATTR);
	struct fuse_buf buf;
	const struct fuse_in_header *header;

	(void)state;
	assert_null(enter(fair, 1000, FUSE_GETATTR));
	assert_null(enter(fair, 1000, FUSE_READ));
	assert_null(enter(fair, 1000, FUSE_CREATE));
	fair_leave(fair, flood);
	assert_ptr_equal(fair_next(fair, &buf), flood);
	header = buf.mem;
	assert_int_equal(header->opcode, FUSE_CREATE);
	free(buf.mem);
	fair_leave(fair, flood);
	fair_leave(fair, other);
	fair_free(fair);
}

/* The kernel does not say whose a RELEASE is. */
static void closes_are_in_nobodys_way(void **state)
{
	struct fair *fair = fair_new(THREADS);
	struct share *share = enter(fair, 0, FUSE_RELEASE);
	struct share *user = enter(fair, 1000, FUSE_GETATTR);
	struct share *root = enter(fair, 0, FUSE_GETATTR);

	(void)state;
	assert_non_null(share);
	assert_non_null(user);
	assert_non_null(root);
	fair_leave(fair, root);
	fair_leave(fair, user);
	fair_leave(fair, share);
	fair_free(fair);
}

/* The sanitizer sees what is left; what is kept of users who went is bounded. */
static void many_users_come_and_go(void **state)
{
	struct fair *fair = fair_new(THREADS);

	(void)state;
	for (uid_t uid = 0; uid < 100000; uid++) {
		struct share *share = enter(fair, uid, FUSE_GETATTR);

		assert_non_null(share);
		fair_leave(fair, share);
	}
	fair_free(fair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(user_alone_has_half_of_the_threads),
		cmocka_unit_test(users_of_one_remainder_have_a_share_each),
		cmocka_unit_test(what_is_answered_later_counts),
		cmocka_unit_test(what_holds_a_directory_is_served_before_the_rest),
		cmocka_unit_test(closes_are_in_nobodys_way),
		cmocka_unit_test(many_users_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
