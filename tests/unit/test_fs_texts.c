/* Texts of open files: whose are dropped when memory runs short, and what the kernel was told of their sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "pages.h"
#include "texts.h"

#define ALICE 1000
#define BOB 1001
#define FILES 40

struct fixture {
	struct fs fs;
	struct content contents[FILES];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fs.texts = texts_new();
	f->fs.pages = pages_new();
	assert_non_null(f->fs.texts);
	assert_non_null(f->fs.pages);
	for (size_t i = 0; i < FILES; i++)
		pthread_mutex_init(&f->contents[i].mutex, NULL);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < FILES; i++) {
		texts_leave(&f->contents[i]);
		pthread_mutex_destroy(&f->contents[i].mutex);
		free(f->contents[i].text);
	}
	texts_free(f->fs.texts);
	pages_free(f->fs.pages);
	free(f);
	return 0;
}

/* An open file gets a text of `len` bytes, all `byte`. */
static void make(struct fixture *f, struct content *content, uid_t uid, char byte, size_t len)
{
	pthread_mutex_lock(&content->mutex);
	free(content->text);
	content->text = malloc(len);
	assert_non_null(content->text);
	memset(content->text, byte, len);
	content->len = len;
	texts_keep(f->fs.texts, content, uid, len);
	pthread_mutex_unlock(&content->mutex);
}

static void the_oldest_text_of_the_user_is_dropped(void **state)
{
	struct fixture *f = *state;

	make(f, &f->contents[0], BOB, 'b', TEXTS_OF_USER / 2);
	make(f, &f->contents[1], ALICE, '1', TEXTS_OF_USER / 2);
	make(f, &f->contents[2], ALICE, '2', TEXTS_OF_USER / 2);
	assert_non_null(f->contents[1].text);
	make(f, &f->contents[3], ALICE, '3', 1);
	assert_null(f->contents[1].text);
	assert_true(f->contents[1].dropped);
	assert_true(content_is_made(&f->contents[1]));
	assert_non_null(f->contents[2].text);
	assert_non_null(f->contents[0].text);
}

static void a_dropped_text_is_known_again(void **state)
{
	struct fixture *f = *state;
	struct content *content = &f->contents[0];

	make(f, content, ALICE, 'x', 3);
	pthread_mutex_lock(&content->mutex);
	texts_drop(content);
	pthread_mutex_unlock(&content->mutex);
	assert_true(texts_same(content, "xxx", 3));
	assert_false(texts_same(content, "xxy", 3));
	assert_false(texts_same(content, "xxxx", 4));
	make(f, content, ALICE, 'x', 3);
	assert_false(content->dropped);
}

static void a_text_that_is_read_stays(void **state)
{
	struct fixture *f = *state;

	make(f, &f->contents[0], ALICE, '0', TEXTS_OF_USER);
	pthread_mutex_lock(&f->contents[0].mutex);
	make(f, &f->contents[1], ALICE, '1', TEXTS_OF_USER);
	assert_non_null(f->contents[0].text);
	pthread_mutex_unlock(&f->contents[0].mutex);
	make(f, &f->contents[2], ALICE, '2', TEXTS_OF_USER);
	assert_null(f->contents[0].text);
	assert_null(f->contents[1].text);
	assert_non_null(f->contents[2].text);
}

static void users_with_most_give_way_when_all_have_too_much(void **state)
{
	struct fixture *f = *state;
	size_t users = TEXTS_IN_ALL / TEXTS_OF_USER;

	make(f, &f->contents[0], ALICE, 's', 100);
	for (size_t i = 1; i <= users; i++)
		make(f, &f->contents[i], (uid_t)(BOB + i), 'l', TEXTS_OF_USER);
	assert_non_null(f->contents[0].text);
	assert_null(f->contents[1].text);
}

static void unfinished_writes_have_a_budget(void **state)
{
	struct fixture *f = *state;
	struct handle alice = { .fs = &f->fs, .uid = ALICE };
	struct handle bob = { .fs = &f->fs, .uid = BOB };
	struct content *full = &f->contents[0];

	assert_int_equal(texts_tail(&alice, full, TAILS_OF_USER), 0);
	full->tail_len = TAILS_OF_USER;
	assert_int_equal(texts_tail(&alice, &f->contents[1], 1), -EDQUOT);
	assert_int_equal(texts_tail(&bob, &f->contents[2], 1), 0);
	f->contents[2].tail_len = 1;
	/* Fewer bytes are always possible, and make space. */
	assert_int_equal(texts_tail(&alice, full, TAILS_OF_USER - 1), 0);
	full->tail_len = TAILS_OF_USER - 1;
	assert_int_equal(texts_tail(&alice, &f->contents[1], 1), 0);
	f->contents[1].tail_len = 1;
	assert_int_equal(texts_tail(&alice, full, 0), 0);
	assert_int_equal(texts_tail(&alice, &f->contents[1], 0), 0);
	assert_int_equal(texts_tail(&bob, &f->contents[2], 0), 0);
}

static void pages_fit_the_one_size_that_was_told(void **state)
{
	struct node *node = calloc(1, sizeof(*node));

	(void)state;
	assert_non_null(node);
	assert_true(pages_fit(node, 0));
	assert_true(pages_fit(node, 7));
	pages_told(node, 7);
	assert_true(pages_fit(node, 7));
	assert_false(pages_fit(node, 8));
	pages_told(node, 7);
	assert_true(pages_fit(node, 7));
	/* Replies overtake each other: of two sizes, none is known. */
	pages_told(node, 8);
	assert_false(pages_fit(node, 7));
	assert_false(pages_fit(node, 8));
	free(node);
}

static void a_text_beyond_the_counter_never_fits(void **state)
{
	struct node *node = calloc(1, sizeof(*node));

	(void)state;
	assert_non_null(node);
	pages_told(node, (off_t)UINT32_MAX + 5);
	assert_false(pages_fit(node, (size_t)UINT32_MAX + 5));
	assert_false(pages_fit(node, 4));
	free(node);
}

static void truncating_spoils_only_what_is_not_read(void **state)
{
	struct fixture *f = *state;
	struct node *node = calloc(1, sizeof(*node));
	struct call *call = calloc(1, sizeof(*call));

	assert_non_null(node);
	assert_non_null(call);
	call->fs = &f->fs;
	pages_told(node, 7);
	node->readers = 1;
	pages_truncated(call, node);
	assert_true(pages_fit(node, 7));
	node->readers = 0;
	pages_truncated(call, node);
	assert_false(pages_fit(node, 7));
	free(call);
	free(node);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_oldest_text_of_the_user_is_dropped),
		TEST(a_dropped_text_is_known_again),
		TEST(a_text_that_is_read_stays),
		TEST(users_with_most_give_way_when_all_have_too_much),
		TEST(unfinished_writes_have_a_budget),
		TEST(pages_fit_the_one_size_that_was_told),
		TEST(a_text_beyond_the_counter_never_fits),
		TEST(truncating_spoils_only_what_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
