/* What is measured, made of the system calls that any program would use. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "moment.h"

#define PAUSE 500 /* microseconds before a lock is handed over, so that the waiter sleeps, as in real use */

static int root(const struct bench_worker *worker)
{
	return worker->place->mount->fd;
}

static void took(struct bench_worker *worker, int64_t begun, int64_t ended)
{
	histogram_count(&worker->tally->took, ended > begun ? (uint64_t)(ended - begun) : 0);
}

static int scratch_take(const struct bench_worker *worker)
{
	return mount_try(worker->place->mount, worker->path, O_CREAT | O_EXCL);
}

static int scratch_give(const struct bench_worker *worker)
{
	/* If this process was stopped for longer than the lease, there is nothing left to release. */
	return unlinkat(root(worker), worker->path, 0) == 0 || errno == ENOENT ? 0 : -errno;
}

static void own_end(struct bench_worker *worker)
{
	(void)scratch_give(worker);
}

/* --- Taking a lock and releasing it --- */

static void cycle_begin(struct bench_worker *worker)
{
	bench_path(worker->place, "", worker->number, worker->place->who, worker->path);
}

static int cycle_step(struct bench_worker *worker)
{
	int64_t begun = moment_steady();
	int err = scratch_take(worker);

	if (err == 0)
		err = scratch_give(worker);
	if (err == 0)
		took(worker, begun, moment_steady());
	return err;
}

const struct bench_work bench_cycle = {
	.name = "cycle",
	.title = "take a lock and give it back",
	.begin = cycle_begin,
	.step = cycle_step,
	.end = own_end,
};

/* --- Reading one that is held --- */

static int read_step(struct bench_worker *worker)
{
	int64_t begun = moment_steady();
	int fd = openat(root(worker), worker->path, O_RDONLY | O_CLOEXEC);
	char text[8192];
	ssize_t n;

	/* It is not held yet, or its lease has ended. */
	if (fd < 0 && errno == ENOENT)
		return scratch_take(worker);
	if (fd < 0)
		return -errno;
	do
		n = read(fd, text, sizeof(text));
	while (n > 0);
	if (n == 0)
		took(worker, begun, moment_steady());
	else
		n = -errno;
	close(fd);
	return (int)n;
}

const struct bench_work bench_read = {
	.name = "read",
	.title = "cat a lock that is held",
	.begin = cycle_begin,
	.step = read_step,
	.end = own_end,
};

/* --- Handing one over --- */

/* The first process takes the lock and releases it, the second waits for it. */
static void hand_begin(struct bench_worker *worker)
{
	bool first = worker->number == 0;

	bench_path(worker->place, "", 0, first ? "@one" : "@two", worker->path);
	bench_path(worker->place, first ? "" : "wait/", 0, first ? "" : "@two", worker->other);
}

static int link_wait(const struct bench_worker *worker)
{
	char byte;
	ssize_t n = read(worker->link[0], &byte, 1);

	return n == 1 ? 0 : n == 0 ? -EPIPE : -errno;
}

static int link_tell(const struct bench_worker *worker)
{
	return write(worker->link[1], "", 1) == 1 ? 0 : -errno;
}

/* Returns when the other process waits for the lock. That process may be gone, so a signal ends this, too. */
static int queue_await(const struct bench_worker *worker)
{
	char waiters[32];

	do {
		if (bench_signal() != 0)
			return -EINTR;
		if (!mount_field(worker->place->mount, worker->other, "waiters", waiters, sizeof(waiters)))
			return -errno;
		usleep(50);
	} while (strtol(waiters, NULL, 10) == 0);
	usleep(PAUSE);
	return 0;
}

static int hand_give(struct bench_worker *worker)
{
	int err = scratch_take(worker);
	int64_t begun;

	if (err == 0)
		err = link_tell(worker);
	if (err == 0)
		err = queue_await(worker);
	begun = moment_steady();
	if (err == 0)
		err = scratch_give(worker);
	if (err == 0)
		err = link_wait(worker);
	if (err == 0)
		took(worker, begun, atomic_load(worker->granted));
	return err;
}

static int hand_take(struct bench_worker *worker)
{
	char text[8192];
	int err = link_wait(worker);
	ssize_t n = -1;

	while (err == 0 && n < 0) {
		int fd = openat(root(worker), worker->other, O_RDONLY | O_CLOEXEC);

		n = fd < 0 ? -1 : read(fd, text, sizeof(text));
		atomic_store(worker->granted, moment_steady());
		err = n < 0 ? -errno : 0;
		if (fd >= 0)
			close(fd);
		if (err == -EAGAIN) {
			worker->tally->refused++;
			usleep(BENCH_PAUSE);
			err = 0;
		}
		/* SIGSTOP ends a wait; after SIGCONT it goes on. */
		if (err == -EINTR && bench_signal() == 0)
			err = 0;
	}
	if (err == 0)
		err = scratch_give(worker);
	return err == 0 ? link_tell(worker) : err;
}

static int hand_step(struct bench_worker *worker)
{
	return worker->number == 0 ? hand_give(worker) : hand_take(worker);
}

const struct bench_work bench_hand = {
	.name = "handover",
	.title = "hand a lock over to who waits",
	.pair = true,
	.begin = hand_begin,
	.step = hand_step,
	.end = own_end,
};
