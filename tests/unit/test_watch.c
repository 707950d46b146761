#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "child.h"
#include "process.h"
#include "watch.h"

#define MANY 20

static uint64_t start_of(pid_t pid)
{
	struct process out;

	assert_int_equal(process_read(pid, &out), 0);
	return out.start;
}

static int is_ready(int fd, int timeout)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, timeout);
}

static int setup(void **state)
{
	return watch_new((struct watch **)state);
}

static int teardown(void **state)
{
	watch_free(*state);
	return 0;
}

static void killed_process_is_reaped_once(void **state)
{
	struct watch *watch = *state;
	struct child child = child_start(NULL, NULL);
	uint64_t start = start_of(child.pid);
	uint64_t start_out;
	pid_t pid;

	assert_int_equal(watch_add(watch, child.pid, start), 0);
	assert_int_equal(watch_add(watch, child.pid, start), 0);
	assert_int_equal(is_ready(watch_fd(watch), 0), 0);
	assert_int_equal(watch_reap(watch, &pid, &start_out), 1);
	child_kill(&child);
	assert_int_equal(is_ready(watch_fd(watch), -1), 1);
	assert_int_equal(watch_reap(watch, &pid, &start_out), 0);
	assert_int_equal(pid, child.pid);
	assert_true(start_out == start);
	assert_int_equal(watch_reap(watch, &pid, &start_out), 1);
	assert_int_equal(is_ready(watch_fd(watch), 0), 0);
	assert_int_equal(watch_remove(watch, child.pid, start), 1);
	child_wait(&child);
}

/* What ends with it may have to be tried again. */
static void reaped_process_is_left_until_it_is_forgotten(void **state)
{
	struct watch *watch = *state;
	struct child child = child_start(NULL, NULL);
	uint64_t start = start_of(child.pid);
	uint64_t start_out;
	pid_t pid;

	assert_int_equal(watch_add(watch, child.pid, start), 0);
	assert_int_equal(watch_left(watch, &pid, &start_out), 1);
	child_kill(&child);
	assert_int_equal(is_ready(watch_fd(watch), -1), 1);
	assert_int_equal(watch_reap(watch, &pid, &start_out), 0);
	assert_int_equal(watch_left_count(watch), 1);
	for (int i = 0; i < 2; i++) {
		pid = 0;
		assert_int_equal(watch_left(watch, &pid, &start_out), 0);
		assert_int_equal(pid, child.pid);
		assert_true(start_out == start);
	}
	watch_forget(watch, pid, start);
	assert_int_equal(watch_left_count(watch), 0);
	assert_int_equal(watch_left(watch, &pid, &start_out), 1);
	assert_int_equal(watch_bind(watch, pid, start), -ESRCH);
	assert_int_equal(watch_left_count(watch), 1);
	child_wait(&child);
}

/* The limit of open files is reached: it is watched as soon as there is a descriptor, and not taken for gone meanwhile. */
static void process_that_cannot_be_watched_now_is_later(void **state)
{
	struct watch *watch = *state;
	struct child child = child_start(NULL, NULL);
	uint64_t start = start_of(child.pid);
	struct rlimit limit;
	struct rlimit none;
	uint64_t start_out;
	pid_t pid;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(watch_bind(watch, child.pid, start), -EMFILE);
	assert_int_equal(watch_left(watch, &pid, &start_out), 1);
	assert_int_equal(watch_left_count(watch), 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(watch_left(watch, &pid, &start_out), 1);
	assert_int_equal(watch_left_count(watch), 0);
	child_kill(&child);
	assert_int_equal(is_ready(watch_fd(watch), -1), 1);
	assert_int_equal(watch_reap(watch, &pid, &start_out), 0);
	assert_int_equal(pid, child.pid);
	child_wait(&child);
}

static void gone_or_recycled_process_is_not_watched(void **state)
{
	struct watch *watch = *state;
	struct child child = child_start(NULL, NULL);
	uint64_t start = start_of(child.pid);

	assert_int_equal(watch_add(watch, child.pid, start - 1), -ESRCH);
	assert_int_equal(watch_add(watch, child.pid, start + 1), -ESRCH);
	child_kill(&child);
	assert_int_equal(watch_add(watch, child.pid, start), -ESRCH);
	child_wait(&child);
	assert_int_equal(watch_add(watch, child.pid, start), -ESRCH);
	assert_int_equal(watch_add(watch, 0, start), -ESRCH);
	assert_int_equal(is_ready(watch_fd(watch), 0), 0);
}

static void removed_process_is_not_reaped(void **state)
{
	struct watch *watch = *state;
	struct child child = child_start(NULL, NULL);
	uint64_t start = start_of(child.pid);
	pid_t pid;

	assert_int_equal(watch_remove(watch, child.pid, start), 1);
	assert_int_equal(watch_add(watch, child.pid, start), 0);
	assert_int_equal(watch_remove(watch, child.pid, start + 1), 1);
	assert_int_equal(watch_remove(watch, child.pid, start), 0);
	child_kill(&child);
	assert_int_equal(is_ready(watch_fd(watch), 0), 0);
	assert_int_equal(watch_reap(watch, &pid, &start), 1);
	child_wait(&child);
}

static void removed_while_gone_is_forgotten(void **state)
{
	struct watch *watch = *state;
	struct child child = child_start(NULL, NULL);
	uint64_t start = start_of(child.pid);
	pid_t pid;

	assert_int_equal(watch_add(watch, child.pid, start), 0);
	child_kill(&child);
	assert_int_equal(is_ready(watch_fd(watch), -1), 1);
	assert_int_equal(watch_remove(watch, child.pid, start), 0);
	assert_int_equal(watch_reap(watch, &pid, &start), 1);
	child_wait(&child);
}

static void set_can_be_part_of_another_epoll(void **state)
{
	struct watch *watch = *state;
	struct child child = child_start(NULL, NULL);
	uint64_t start = start_of(child.pid);
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 7 };
	int outer = epoll_create1(EPOLL_CLOEXEC);
	pid_t pid;

	assert_true(outer >= 0);
	assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, watch_fd(watch), &event), 0);
	assert_int_equal(watch_add(watch, child.pid, start), 0); /* after it was nested */
	assert_int_equal(epoll_wait(outer, &event, 1, 0), 0);
	child_kill(&child);
	assert_int_equal(epoll_wait(outer, &event, 1, -1), 1);
	assert_int_equal(event.data.u32, 7);
	assert_int_equal(watch_reap(watch, &pid, &start), 0);
	assert_int_equal(epoll_wait(outer, &event, 1, 0), 0);
	close(outer);
	child_wait(&child);
}

static void each_of_many_is_reaped_once(void **state)
{
	struct watch *watch = *state;
	struct child children[MANY];
	int seen[MANY] = { 0 };
	uint64_t start;
	pid_t pid;

	for (int i = 0; i < MANY; i++) {
		children[i] = child_start(NULL, NULL);
		assert_int_equal(watch_add(watch, children[i].pid, start_of(children[i].pid)), 0);
	}
	for (int i = 0; i < MANY; i += 2)
		child_kill(&children[i]);
	while (watch_reap(watch, &pid, &start) == 0)
		for (int i = 0; i < MANY; i++)
			seen[i] += children[i].pid == pid;
	for (int i = 0; i < MANY; i++)
		assert_int_equal(seen[i], i % 2 == 0);
	/* The others end while they are watched, and the set is freed with them in it. */
	for (int i = 0; i < MANY; i++)
		child_wait(&children[i]);
}

struct race {
	struct watch *watch;
	pid_t pid;
	uint64_t start;
	int removed;
};

static void *add_and_remove(void *arg)
{
	struct race *race = arg;

	for (int i = 0; i < 200; i++) {
		watch_add(race->watch, race->pid, race->start);
		race->removed += watch_remove(race->watch, race->pid, race->start) == 0;
	}
	return NULL;
}

static void threads_may_share_the_set(void **state)
{
	struct child child = child_start(NULL, NULL);
	struct race race = { .watch = *state, .pid = child.pid, .start = start_of(child.pid) };
	struct race races[2] = { race, race };
	pthread_t ids[2];
	uint64_t start;
	pid_t pid;

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, add_and_remove, &races[i]), 0);
	for (int i = 0; i < 200; i++)
		assert_int_equal(watch_reap(*state, &pid, &start), 1);
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	assert_true(races[0].removed + races[1].removed >= 200);
	child_wait(&child);
}

static void freeing_nothing_is_fine(void **state)
{
	(void)state;
	watch_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_process_is_reaped_once, setup, teardown),
		cmocka_unit_test_setup_teardown(reaped_process_is_left_until_it_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(process_that_cannot_be_watched_now_is_later, setup, teardown),
		cmocka_unit_test_setup_teardown(gone_or_recycled_process_is_not_watched, setup, teardown),
		cmocka_unit_test_setup_teardown(removed_process_is_not_reaped, setup, teardown),
		cmocka_unit_test_setup_teardown(removed_while_gone_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(set_can_be_part_of_another_epoll, setup, teardown),
		cmocka_unit_test_setup_teardown(each_of_many_is_reaped_once, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_may_share_the_set, setup, teardown),
		cmocka_unit_test(freeing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
