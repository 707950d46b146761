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

/* A child that is not watched yet. */
struct subject {
	struct watch *watch;
	struct child child;
	uint64_t start;
};

static struct subject subject_start(void **state)
{
	struct subject subject = { .watch = *state, .child = child_start(NULL, NULL) };

	subject.start = start_of(subject.child.pid);
	return subject;
}

static void subject_add(const struct subject *subject)
{
	assert_int_equal(watch_add(subject->watch, subject->child.pid, subject->start, WATCH_ANY), 0);
}

/* Kills it, and waits until the set knows. */
static void subject_ends(struct subject *subject)
{
	child_kill(&subject->child);
	assert_int_equal(is_ready(watch_fd(subject->watch), -1), 1);
}

/* It is what the set has to tell next. */
static void subject_is_reaped(const struct subject *subject)
{
	uint64_t start;
	pid_t pid;

	assert_int_equal(watch_reap(subject->watch, &pid, &start), 0);
	assert_int_equal(pid, subject->child.pid);
	assert_true(start == subject->start);
}

static void nothing_is_reaped(struct watch *watch)
{
	uint64_t start;
	pid_t pid;

	assert_int_equal(watch_reap(watch, &pid, &start), 1);
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
	struct subject subject = subject_start(state);
	struct watch *watch = subject.watch;

	subject_add(&subject);
	subject_add(&subject);
	assert_int_equal(is_ready(watch_fd(watch), 0), 0);
	nothing_is_reaped(watch);
	subject_ends(&subject);
	subject_is_reaped(&subject);
	nothing_is_reaped(watch);
	assert_int_equal(is_ready(watch_fd(watch), 0), 0);
	assert_false(watch_has(watch, subject.child.pid, subject.start));
	child_wait(&subject.child);
}

/* What ends with it may have to be tried again. */
static void reaped_process_is_left_until_it_is_forgotten(void **state)
{
	struct subject subject = subject_start(state);
	struct watch *watch = subject.watch;
	uint64_t start;
	pid_t pid;

	subject_add(&subject);
	assert_int_equal(watch_left(watch, &pid, &start), 1);
	subject_ends(&subject);
	subject_is_reaped(&subject);
	assert_int_equal(watch_left_count(watch), 1);
	for (int i = 0; i < 2; i++) {
		pid = 0;
		assert_int_equal(watch_left(watch, &pid, &start), 0);
		assert_int_equal(pid, subject.child.pid);
		assert_true(start == subject.start);
	}
	watch_forget(watch, pid, start);
	assert_int_equal(watch_left_count(watch), 0);
	assert_int_equal(watch_left(watch, &pid, &start), 1);
	assert_int_equal(watch_bind(watch, subject.child.pid, subject.start), -ESRCH);
	assert_int_equal(watch_left_count(watch), 1);
	child_wait(&subject.child);
}

/* The limit of open files is reached: it is watched as soon as there is a descriptor, and not taken for gone meanwhile. */
static void process_that_cannot_be_watched_now_is_later(void **state)
{
	struct subject subject = subject_start(state);
	struct watch *watch = subject.watch;
	struct rlimit limit;
	struct rlimit none;
	uint64_t start;
	pid_t pid;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(watch_bind(watch, subject.child.pid, subject.start), -EMFILE);
	assert_int_equal(watch_left(watch, &pid, &start), 1);
	assert_int_equal(watch_left_count(watch), 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(watch_left(watch, &pid, &start), 1);
	assert_int_equal(watch_left_count(watch), 0);
	subject_ends(&subject);
	subject_is_reaped(&subject);
	child_wait(&subject.child);
}

static void gone_or_recycled_process_is_not_watched(void **state)
{
	struct subject subject = subject_start(state);
	struct watch *watch = subject.watch;
	pid_t pid = subject.child.pid;

	assert_int_equal(watch_add(watch, pid, subject.start - 1, WATCH_ANY), -ESRCH);
	assert_int_equal(watch_add(watch, pid, subject.start + 1, WATCH_ANY), -ESRCH);
	child_kill(&subject.child);
	assert_int_equal(watch_add(watch, pid, subject.start, WATCH_ANY), -ESRCH);
	child_wait(&subject.child);
	assert_int_equal(watch_add(watch, pid, subject.start, WATCH_ANY), -ESRCH);
	assert_int_equal(watch_add(watch, 0, subject.start, WATCH_ANY), -ESRCH);
	assert_int_equal(is_ready(watch_fd(watch), 0), 0);
}

static void set_can_be_part_of_another_epoll(void **state)
{
	struct subject subject = subject_start(state);
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 7 };
	int outer = epoll_create1(EPOLL_CLOEXEC);

	assert_true(outer >= 0);
	assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, watch_fd(subject.watch), &event), 0);
	subject_add(&subject); /* after it was nested */
	assert_int_equal(epoll_wait(outer, &event, 1, 0), 0);
	child_kill(&subject.child);
	assert_int_equal(epoll_wait(outer, &event, 1, -1), 1);
	assert_int_equal(event.data.u32, 7);
	subject_is_reaped(&subject);
	assert_int_equal(epoll_wait(outer, &event, 1, 0), 0);
	close(outer);
	child_wait(&subject.child);
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
		assert_int_equal(watch_add(watch, children[i].pid, start_of(children[i].pid), WATCH_ANY), 0);
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

static void a_user_has_a_quarter_of_the_descriptors(void **state)
{
	enum { SHARE = 16 };
	struct watch *watch = *state;
	struct child children[SHARE + 2];
	struct rlimit before;
	struct rlimit few;
	uint64_t start;
	pid_t pid;

	for (int i = 0; i < SHARE + 2; i++)
		children[i] = child_start(NULL, NULL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ .rlim_cur = 4 * SHARE, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < SHARE; i++)
		assert_int_equal(watch_add(watch, children[i].pid, start_of(children[i].pid), 1000), 0);
	assert_int_equal(watch_add(watch, children[0].pid, start_of(children[0].pid), 1000), 0);
	assert_int_equal(watch_add(watch, children[SHARE].pid, start_of(children[SHARE].pid), 1000), -EDQUOT);
	child_kill(&children[0]);
	assert_int_equal(watch_reap(watch, &pid, &start), 0);
	assert_int_equal(pid, children[0].pid);
	assert_int_equal(watch_add(watch, children[SHARE].pid, start_of(children[SHARE].pid), 1000), 0);
	assert_int_equal(watch_add(watch, children[SHARE + 1].pid, start_of(children[SHARE + 1].pid), 1000), -EDQUOT);
	assert_int_equal(watch_add(watch, children[SHARE + 1].pid, start_of(children[SHARE + 1].pid), 1064), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (int i = 0; i < SHARE + 2; i++)
		child_wait(&children[i]);
}

struct race {
	struct watch *watch;
	pid_t pid;
	uint64_t start;
	int added;
	int seen;
};

static void *add_and_look(void *arg)
{
	struct race *race = arg;

	for (int i = 0; i < 200; i++) {
		race->added += watch_add(race->watch, race->pid, race->start, WATCH_ANY) == 0;
		race->seen += watch_has(race->watch, race->pid, race->start);
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
		assert_int_equal(pthread_create(&ids[i], NULL, add_and_look, &races[i]), 0);
	for (int i = 0; i < 200; i++)
		assert_int_equal(watch_reap(*state, &pid, &start), 1);
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(races[i].added, 200);
		assert_int_equal(races[i].seen, 200);
	}
	child_kill(&child);
	assert_int_equal(watch_reap(*state, &pid, &start), 0);
	assert_int_equal(watch_reap(*state, &pid, &start), 1);
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
		cmocka_unit_test_setup_teardown(set_can_be_part_of_another_epoll, setup, teardown),
		cmocka_unit_test_setup_teardown(each_of_many_is_reaped_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_user_has_a_quarter_of_the_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_may_share_the_set, setup, teardown),
		cmocka_unit_test(freeing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
