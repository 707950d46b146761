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

static void user_alone_has_all(void **state)
{
	struct fair *fair = fair_new();
	struct share *share = NULL;

	(void)state;
	for (int i = 0; i < 10; i++) {
		share = enter(fair, 1000, FUSE_GETATTR);
		assert_non_null(share);
	}
	for (int i = 0; i < 10; i++)
		fair_leave(fair, share);
	fair_free(fair);
}

static void users_of_one_remainder_have_a_share_each(void **state)
{
	const uid_t flood = 1000;
	const uid_t other = flood + 256 * 1024;
	struct fair *fair = fair_new();
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

/* A process with many flocks was killed: a few of their ends are under way, and another user's request waits for none. */
static void ends_of_locks_are_few_at_a_time(void **state)
{
	struct fuse_in_header header = { .len = sizeof(header), .opcode = FUSE_RELEASE };
	struct fuse_buf end = { .size = sizeof(header), .mem = &header };
	struct fair *fair = fair_new();
	struct share *ends = fair_enter_end(fair, &end);
	struct share *other;
	struct fuse_buf buf;
	size_t under_way = 1;
	size_t kept = 0;

	(void)state;
	assert_non_null(ends);
	for (size_t i = 1; i < 1000; i++)
		*(fair_enter_end(fair, &end) == ends ? &under_way : &kept) += 1;
	assert_in_range(under_way, 2, 16);
	assert_null(fair_next(fair, &buf));
	other = enter(fair, 1001, FUSE_CREATE);
	assert_non_null(other);
	fair_leave(fair, other);
	/* Each that is done makes room for one. */
	for (; kept > 0; kept--) {
		fair_leave(fair, ends);
		assert_ptr_equal(fair_next(fair, &buf), ends);
		free(buf.mem);
		assert_null(fair_next(fair, &buf));
	}
	for (; under_way > 0; under_way--)
		fair_leave(fair, ends);
	fair_free(fair);
}

/* Others wait for the directory that the kernel has locked for it. */
static void what_holds_a_directory_is_served_before_the_rest(void **state)
{
	struct fair *fair = fair_new();
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
	struct fair *fair = fair_new();
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
	struct fair *fair = fair_new();

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
		cmocka_unit_test(user_alone_has_all),
		cmocka_unit_test(users_of_one_remainder_have_a_share_each),
		cmocka_unit_test(ends_of_locks_are_few_at_a_time),
		cmocka_unit_test(what_holds_a_directory_is_served_before_the_rest),
		cmocka_unit_test(closes_are_in_nobodys_way),
		cmocka_unit_test(many_users_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
