/*
 * The way of an acquire, of a release, of joining a long queue and of a release that grants the lock to the first of it through
 * the core, again and again, for counting its instructions: the clock, the ids and the names are the same in every run, and
 * nothing runs beside it.
 *
 *	bench_path DIRECTORY [custom]
 *
 * The store is made in DIRECTORY, which must be empty. Locks are below repos/, or in a directory of custom/.
 * tests/bench/check counts what is below path_acquire(), path_release(), path_join() and path_grant(), PATH_ROUNDS of each.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_side.h"

#define PATH_LOCKS 64U
#define PATH_ROUNDS 4U /* of all locks, after one that is not counted */
#define PATH_WAITERS 1024U

static struct atlock *al;
static struct atlock_name names[PATH_LOCKS];
static struct atlock_name hot;
static struct atlock_caller caller;
static struct atlock_setup setup;
static const char *store;

/* A microsecond passes between any two looks at it. */
static void clock_read(void *arg, struct atlock_time *out)
{
	struct atlock_time *now = arg;

	now->steady += 1000;
	now->wall += 1000;
	*out = *now;
}

static void lock_take(const struct atlock_name *name)
{
	struct atlock_request req = { .name = name, .caller = &caller, .exclusive = true };
	struct atlock_grant grant;
	struct atlock_why why;

	side_check(atlock_acquire(al, &req, &grant, &why), &why);
}

static void lock_free(const struct atlock_name *name)
{
	struct atlock_request req = { .name = name, .caller = &caller };
	struct atlock_why why;

	side_check(atlock_release(al, &req, NULL, &why), &why);
}

__attribute__((noinline)) static void path_acquire(void)
{
	for (unsigned int i = 0; i < PATH_LOCKS; i++)
		lock_take(&names[i]);
}

__attribute__((noinline)) static void path_release(void)
{
	for (unsigned int i = 0; i < PATH_LOCKS; i++)
		lock_free(&names[i]);
}

/* Names in a directory that is made for them. */
static void names_custom(void)
{
	struct atlock_why why;
	struct atlock_dir dir;
	char text[32];

	side_check(atlock_dir_make(al, 0, "bench", &caller, 0755, 1000, &dir, &why), &why);
	for (unsigned int i = 0; i < PATH_LOCKS; i++) {
		(void)snprintf(text, sizeof(text), "path-%07u", i);
		side_check(atlock_name_custom(dir.id, text, &names[i], &why), &why);
	}
}

static void queue_join(unsigned int waiter)
{
	struct atlock_caller who;
	struct atlock_request req = { .name = &hot, .caller = &who, .priority = ATLOCK_NORMAL };
	struct atlock_why why;
	uint64_t ticket;

	side_caller(&who, waiter);
	side_check(atlock_enqueue(al, &req, &ticket, NULL, &why), &why);
}

/* `holder` gives the lock to the next. */
static void queue_grant(unsigned int holder)
{
	struct atlock_caller who;
	struct atlock_request req = { .name = &hot, .caller = &who };
	struct atlock_why why;

	side_caller(&who, holder);
	side_check(atlock_release(al, &req, NULL, &why), &why);
}

__attribute__((noinline)) static void path_join(unsigned int first)
{
	for (unsigned int i = 0; i < PATH_LOCKS; i++)
		queue_join(first + i);
}

__attribute__((noinline)) static void path_grant(unsigned int first)
{
	for (unsigned int i = 0; i < PATH_LOCKS; i++)
		queue_grant(first + i);
}

static void path_open(void)
{
	struct atlock_why why;

	side_check(atlock_open(&al, store, &setup, &why), &why);
}

/*
 * Caller 1 holds the lock, those behind it wait in their order. One round of grants before those that are counted. The store is
 * opened again before them: its log is empty then, and it depends on no other thread whether the counted calls have to flush it.
 */
static void queue_run(void)
{
	unsigned int last = 1;

	side_name(&hot, 0, "hot");
	lock_take(&hot);
	while (last < PATH_WAITERS)
		queue_join(++last);
	for (unsigned int round = 0; round < PATH_ROUNDS; round++)
		path_join(last + 1 + round * PATH_LOCKS);
	atlock_close(al);
	path_open();
	for (unsigned int i = 0; i < PATH_LOCKS; i++)
		queue_grant(1 + i);
	for (unsigned int round = 1; round <= PATH_ROUNDS; round++)
		path_grant(1 + round * PATH_LOCKS);
}

int main(int argc, char **argv)
{
	struct atlock_time now = { .steady = ATLOCK_SECOND, .wall = 1000000000 * ATLOCK_SECOND };
	struct atlock_options options;

	setup = (struct atlock_setup){
		.options = &options,
		.host = "bench-host",
		.clock = clock_read,
		.clock_arg = &now,
		.manual = true,
		.seed = 1,
	};
	if (argc != 2 && (argc != 3 || strcmp(argv[2], "custom") != 0))
		errx(2, "usage: bench_path DIRECTORY [custom]");
	atlock_options_init(&options);
	options.sync = ATLOCK_SYNC_OFF;
	options.max_queue = 2 * PATH_WAITERS;
	options.queue_share = 100;
	options.rate_limit = 1000000000; /* its clock runs slowly; but the limit is looked at, as usual */
	store = argv[1];
	path_open();
	side_caller(&caller, 1);
	if (argc == 3)
		names_custom();
	else
		for (unsigned int i = 0; i < PATH_LOCKS; i++)
			side_name(&names[i], i, "path");
	for (unsigned int i = 0; i < PATH_LOCKS; i++) {
		lock_take(&names[i]);
		lock_free(&names[i]);
	}
	for (unsigned int round = 0; round < PATH_ROUNDS; round++) {
		path_acquire();
		path_release();
	}
	queue_run();
	atlock_close(al);
	printf("%u\n", PATH_ROUNDS * PATH_LOCKS);
	return 0;
}
