/* Ends of flocks: a few at a time, the ones that a call waits for first, and no call waits for what does not end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <linux/fuse.h>

#include "ending.h"

#define GRANTS 1000

struct fixture {
	struct fs fs;
	struct ending endings[GRANTS + 1]; /* by token */
	unsigned int alarms;
	unsigned int runs;
	unsigned int later;
};

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the headers' names are reserved. */

/* In place of the C library's: each look at the clock is a millisecond later, however busy the machine is. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static _Atomic int64_t looks;
	int64_t ms = atomic_fetch_add(&looks, 1);

	(void)clock;
	*ts = (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	return 0;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static struct share *later(struct fs *fs, uid_t uid)
{
	(void)uid;
	((struct fixture *)fs)->later++;
	return (struct share *)fs;
}

static void again(struct fs *fs, struct call *call)
{
	(void)fs;
	call->again(call);
}

static void catch_up(struct fs *fs)
{
	(void)fs;
}

static void alarm_set(struct fs *fs)
{
	((struct fixture *)fs)->alarms++;
}

static const struct wire wire = { .later = later, .again = again, .catch_up = catch_up, .alarm = alarm_set };

/* Called by call_later(), which needs no more of libfuse than this. */
void call_later(struct call *call)
{
	if (call->share == NULL)
		call->share = call->fs->wire->later(call->fs, 0);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->fs.wire = &wire;
	fixture->fs.endings = endings_new();
	for (uint64_t token = 1; token <= GRANTS; token++)
		endings_add(fixture->fs.endings, &fixture->endings[token], token);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	endings_free(fixture->fs.endings);
	free(fixture);
	return 0;
}

/* Whether the RELEASE is to be processed now. */
static bool begin(struct fixture *fixture, uint64_t token)
{
	struct fuse_in_header header = { .len = sizeof(header), .opcode = FUSE_RELEASE, .unique = token };
	struct fuse_buf buf = { .size = sizeof(header), .mem = &header };

	return endings_begin(fixture->fs.endings, &fixture->endings[token], &buf);
}

/* The token of the next RELEASE whose turn has come, or 0. */
static uint64_t next(struct fixture *fixture)
{
	struct fuse_in_header header;
	struct fuse_buf buf;

	if (!endings_next(fixture->fs.endings, &buf))
		return 0;
	assert_int_equal(buf.size, sizeof(header));
	memcpy(&header, buf.mem, sizeof(header));
	free(buf.mem);
	return header.unique;
}

static void end(struct fixture *fixture, uint64_t token)
{
	endings_end(fixture->fs.endings, &fixture->endings[token]);
}

static void ran(struct call *call)
{
	((struct fixture *)call->fs)->runs++;
}

static struct call call_of(struct fixture *fixture)
{
	return (struct call){ .fs = &fixture->fs, .again = ran };
}

static void few_at_a_time(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now = 0;
	uint64_t token;

	for (token = 1; token <= GRANTS; token++)
		now += begin(fixture, token);
	assert_in_range(now, 2, 16);
	assert_int_equal(next(fixture), 0);
	/* Each that is done makes room for one, in the order of closing. */
	for (token = 1; token <= GRANTS - now; token++) {
		end(fixture, token);
		assert_int_equal(next(fixture), token + now);
		assert_int_equal(next(fixture), 0);
	}
	for (; token <= GRANTS; token++)
		end(fixture, token);
}

/* A request about one of many locks that end does not wait for all of them, and is not told that it is held. */
static void awaited_comes_first(void **state)
{
	struct fixture *fixture = *state;
	struct call call = call_of(fixture);
	uint64_t token;

	for (token = 1; token <= GRANTS; token++)
		(void)begin(fixture, token);
	assert_int_equal(ending_then(&call, GRANTS), CALL_LATER);
	assert_int_equal(fixture->alarms, 1);
	assert_int_equal(fixture->later, 1);
	end(fixture, 1);
	assert_int_equal(next(fixture), GRANTS);
	assert_int_equal(fixture->runs, 0);
	end(fixture, GRANTS);
	assert_int_equal(fixture->runs, 1);
	/* It is put aside only once, and looks again at what has ended. */
	assert_int_equal(ending_then(&call, GRANTS), ENDING_OVER);
	assert_int_equal(ending_then(&call, 2), 0);
	while ((token = next(fixture)) != 0)
		end(fixture, token);
}

static void held_is_held(void **state)
{
	struct fixture *fixture = *state;
	struct call call = call_of(fixture);
	struct call once = call_of(fixture);

	assert_int_equal(ending_then(&call, 1), 0);
	endings_expect(fixture->fs.endings, &fixture->endings[1]);
	assert_int_equal(ending_then(&call, 1), 0);
	assert_int_equal(ending_then_all(&call), 0);
	assert_int_equal(fixture->later, 0);
	/* One that cannot run again is answered with what is there. */
	once.again = NULL;
	assert_true(begin(fixture, 1));
	assert_int_equal(ending_then(&once, 1), 0);
	assert_int_equal(ending_then_all(&once), 0);
	end(fixture, 1);
	assert_int_equal(ending_then(&call, 1), ENDING_OVER);
}

static void list_waits_for_those_before_it(void **state)
{
	struct fixture *fixture = *state;
	struct call call = call_of(fixture);

	assert_true(begin(fixture, 1));
	assert_true(begin(fixture, 2));
	assert_int_equal(ending_then_all(&call), CALL_LATER);
	assert_true(begin(fixture, 3));
	end(fixture, 2);
	assert_int_equal(fixture->runs, 0);
	end(fixture, 1);
	assert_int_equal(fixture->runs, 1);
	end(fixture, 3);
	assert_int_equal(fixture->runs, 1);
}

/* As long as grants end, the wait goes on; when none does, it ends. */
static void patience(void **state)
{
	struct fixture *fixture = *state;
	struct endings *endings = fixture->fs.endings;
	struct call call = call_of(fixture);
	int64_t due;

	assert_true(endings_expire(endings) == INT64_MAX);
	assert_true(begin(fixture, 1));
	assert_true(begin(fixture, 2));
	assert_int_equal(ending_then(&call, 1), CALL_LATER);
	due = endings_expire(endings);
	assert_true(due < INT64_MAX);
	end(fixture, 2);
	assert_true(endings_expire(endings) > due);
	while (endings_expire(endings) != INT64_MAX)
		assert_int_equal(fixture->runs, 0);
	assert_int_equal(fixture->runs, 1);
	end(fixture, 1);
	assert_int_equal(fixture->runs, 1);
}

/* Thousands of grants may end for seconds, and most are of no interest to one who lists a directory. */
static void list_has_less_patience(void **state)
{
	struct fixture *fixture = *state;
	struct endings *endings = fixture->fs.endings;
	struct call list = call_of(fixture);
	struct call look = call_of(fixture);
	int64_t due;

	assert_true(begin(fixture, 1));
	assert_true(begin(fixture, 2));
	assert_int_equal(ending_then(&look, 1), CALL_LATER);
	assert_int_equal(ending_then_all(&list), CALL_LATER);
	due = endings_expire(endings);
	while (fixture->runs == 0) {
		endings_add(endings, &fixture->endings[2], 2);
		end(fixture, 2);
		(void)endings_expire(endings);
	}
	assert_true(list.waited);
	assert_int_equal(fixture->runs, 1);
	assert_true(endings_expire(endings) > due);
	end(fixture, 1);
	assert_int_equal(fixture->runs, 2);
}

static void close_runs_all(void **state)
{
	struct fixture *fixture = *state;
	struct call first = call_of(fixture);
	struct call second = call_of(fixture);
	struct call late = call_of(fixture);

	assert_true(begin(fixture, 1));
	assert_int_equal(ending_then(&first, 1), CALL_LATER);
	assert_int_equal(ending_then_all(&second), CALL_LATER);
	endings_close(fixture->fs.endings);
	assert_int_equal(fixture->runs, 2);
	assert_int_equal(ending_then(&late, 1), 0);
	end(fixture, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(few_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(awaited_comes_first, setup, teardown),
		cmocka_unit_test_setup_teardown(held_is_held, setup, teardown),
		cmocka_unit_test_setup_teardown(list_waits_for_those_before_it, setup, teardown),
		cmocka_unit_test_setup_teardown(patience, setup, teardown),
		cmocka_unit_test_setup_teardown(list_has_less_patience, setup, teardown),
		cmocka_unit_test_setup_teardown(close_runs_all, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
