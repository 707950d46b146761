#include "background.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bound.h"
#include "ends.h"
#include "health.h"
#include "lease.h"
#include "log.h"
#include "watch.h"

#define OWNERS_EVERY (3600 * ATLOCK_SECOND) /* leftovers in owners/ are rare, and a look at all of it is not free */
#define REFUSED_AFTER (ATLOCK_SECOND / 10)  /* others may come meanwhile, and share a commit */
#define RETRY_AFTER ATLOCK_SECOND           /* what failed (disk full, say) is tried again */

struct background {
	pthread_t thread;
	int epoll;
	int stop;              /* eventfd: time to end */
	int due;               /* timerfd: the next lease, ticket or claim */
	int graph;             /* timerfd: the next look for deadlocks */
	int owners;            /* timerfd: the next look for leftovers in owners/ */
	int step;              /* timerfd: fires when the wall clock is set */
	int ends;              /* timerfd: when ends that could not be written are tried again */
	int refused;           /* timerfd: when refusals are written that were noted */
	int probe;             /* eventfd: somebody asks how things are */
	pthread_mutex_t mutex; /* a leaf: protects what follows */
	int64_t armed;         /* lease time `due` is set to; ATLOCK_NEVER: not */
	bool ends_armed;
};

static void timer_set(int fd, int64_t in, int flags)
{
	struct itimerspec spec = { .it_value = { 0, 0 } };

	if (in < 1)
		in = 1;
	spec.it_value.tv_sec = in / ATLOCK_SECOND;
	spec.it_value.tv_nsec = in % ATLOCK_SECOND;
	(void)timerfd_settime(fd, flags, &spec, NULL);
}

void background_arm(struct atlock *al, int64_t due)
{
	struct background *bg = al->background;

	if (bg == NULL)
		return;
	pthread_mutex_lock(&bg->mutex);
	if (due < bg->armed) {
		bg->armed = due;
		/* A lease is over only after its last nanosecond. */
		timer_set(bg->due, due - clock_now(&al->clock) + 1, 0);
	}
	pthread_mutex_unlock(&bg->mutex);
}

void background_refused(struct atlock *al)
{
	if (al->background != NULL)
		timer_set(al->background->refused, REFUSED_AFTER, 0);
}

bool background_probe(struct atlock *al)
{
	uint64_t one = 1;

	return al->background != NULL && write(al->background->probe, &one, sizeof(one)) == (ssize_t)sizeof(one);
}

void background_ends(struct atlock *al)
{
	struct background *bg = al->background;

	if (bg == NULL)
		return;
	pthread_mutex_lock(&bg->mutex);
	/* Not put off by each that is added. */
	if (!bg->ends_armed)
		timer_set(bg->ends, RETRY_AFTER, 0);
	bg->ends_armed = true;
	pthread_mutex_unlock(&bg->mutex);
}

static void background_retry(struct atlock *al)
{
	struct background *bg = al->background;
	int rc;

	pthread_mutex_lock(&bg->mutex);
	bg->ends_armed = false;
	pthread_mutex_unlock(&bg->mutex);
	rc = atlock_run_ends(al);
	if (ends_count(al) > 0)
		background_ends(al);
	else if (rc > 0)
		log_write(al, ATLOCK_LOG_WARNING, "all ends are written that the store could not write before");
}

/* The process is gone: ends what lives and dies with it, now or later. */
static void background_gone(struct atlock *al, pid_t pid, uint64_t start)
{
	int rc = bound_release(al, pid, start);

	if (rc == 0) {
		watch_forget(al->watch, pid, start);
		return;
	}
	log_write(al, ATLOCK_LOG_ERROR, "process %jd is gone and its locks could not be released: %s; tried again",
		  (intmax_t)pid, strerror(-rc));
	background_ends(al);
}

void background_bind(struct atlock *al, pid_t pid, uint64_t start)
{
	int rc = al->watch != NULL ? watch_bind(al->watch, pid, start) : 0;

	if (rc == -ESRCH)
		background_gone(al, pid, start);
	else if (rc < 0)
		background_ends(al);
}

/* Runs what is due, then sleeps until the next. */
static void background_sweep(struct atlock *al)
{
	struct background *bg = al->background;
	int64_t due = ATLOCK_NEVER;
	int rc;

	pthread_mutex_lock(&bg->mutex);
	bg->armed = ATLOCK_NEVER;
	pthread_mutex_unlock(&bg->mutex);
	rc = atlock_run_due(al);
	if (rc > 0)
		log_write(al, ATLOCK_LOG_DEBUG, "%d leases, tickets or claims have ended", rc);
	if (rc >= 0)
		rc = lease_next_due(al, &due);
	background_arm(al, rc < 0 ? clock_now(&al->clock) + RETRY_AFTER : due);
}

static void background_arm_graph(struct atlock *al)
{
	timer_set(al->background->graph, state_options(al)->deadlock_interval, 0);
}

void background_configured(struct atlock *al)
{
	if (al->background != NULL)
		background_arm_graph(al);
}

/* The timer is set to a time far away: it is read only when the clock is set, which ends the read with ECANCELED. */
static void background_arm_step(struct background *bg)
{
	timer_set(bg->step, INT64_MAX / 2, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
}

static void background_event(struct atlock *al, int fd)
{
	struct background *bg = al->background;
	uint64_t count;
	uint64_t start;
	pid_t pid;
	ssize_t got;
	int rc;

	if (fd == watch_fd(al->watch)) {
		while (watch_reap(al->watch, &pid, &start) == 0)
			background_gone(al, pid, start);
		return;
	}
	got = read(fd, &count, sizeof(count));
	if (fd == bg->due) {
		background_sweep(al);
	} else if (fd == bg->graph) {
		rc = atlock_run_deadlock(al);
		if (rc > 0)
			log_write(al, ATLOCK_LOG_INFO, "%d waits were ended that waited for each other in a circle",
				  rc);
		rc = atlock_run_prune(al);
		if (rc > 0)
			log_write(al, ATLOCK_LOG_INFO, "%d events older than events_keep were removed", rc);
		/* So that a copy of the store's main file is never much older than its time. */
		(void)store_settle(al->store);
		background_arm_graph(al);
	} else if (fd == bg->ends) {
		background_retry(al);
	} else if (fd == bg->refused) {
		(void)atlock_run_refused(al);
	} else if (fd == bg->probe) {
		health_run(al);
	} else if (fd == bg->owners) {
		rc = atlock_run_owners(al);
		if (rc > 0)
			log_write(al, ATLOCK_LOG_WARNING, "%d URLs below owners/ had leftovers that were set right",
				  rc);
		timer_set(bg->owners, OWNERS_EVERY, 0);
	} else if (fd == bg->step && got < 0 && errno == ECANCELED) {
		log_write(al, ATLOCK_LOG_WARNING, "somebody set the wall clock; leases go on as they were");
		(void)lease_note_clock(al);
		background_arm_step(bg);
	}
}

static void *background_main(void *arg)
{
	struct atlock *al = arg;
	struct background *bg = al->background;
	struct epoll_event event;
	int n;

	for (;;) {
		n = epoll_wait(bg->epoll, &event, 1, -1);
		if (n < 0 && errno != EINTR)
			return NULL;
		if (n == 1 && event.data.fd == bg->stop)
			return NULL;
		if (n == 1)
			background_event(al, event.data.fd);
	}
}

static int background_add(struct background *bg, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (fd < 0 || epoll_ctl(bg->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		return -errno;
	return 0;
}

static void background_free(struct background *bg)
{
	const int fds[] = { bg->epoll, bg->stop, bg->due,     bg->graph, bg->owners,
			    bg->step,  bg->ends, bg->refused, bg->probe };
	size_t i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	pthread_mutex_destroy(&bg->mutex);
	free(bg);
}

static int background_open(struct background *bg, int watch)
{
	int rc;

	bg->epoll = epoll_create1(EPOLL_CLOEXEC);
	bg->stop = eventfd(0, EFD_CLOEXEC);
	bg->due = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	bg->graph = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	bg->owners = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	bg->ends = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	bg->refused = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	bg->step = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	bg->probe = eventfd(0, EFD_CLOEXEC);
	if (bg->epoll < 0)
		return -errno;
	rc = background_add(bg, bg->stop);
	if (rc == 0)
		rc = background_add(bg, bg->due);
	if (rc == 0)
		rc = background_add(bg, bg->graph);
	if (rc == 0)
		rc = background_add(bg, bg->owners);
	if (rc == 0)
		rc = background_add(bg, bg->ends);
	if (rc == 0)
		rc = background_add(bg, bg->refused);
	if (rc == 0)
		rc = background_add(bg, bg->step);
	if (rc == 0)
		rc = background_add(bg, bg->probe);
	return rc == 0 ? background_add(bg, watch) : rc;
}

int background_start(struct atlock *al)
{
	struct background *bg = calloc(1, sizeof(*bg));
	sigset_t all;
	sigset_t old;
	int rc;

	if (bg == NULL)
		return -ENOMEM;
	pthread_mutex_init(&bg->mutex, NULL);
	bg->armed = ATLOCK_NEVER;
	rc = background_open(bg, watch_fd(al->watch));
	if (rc < 0) {
		background_free(bg);
		return rc;
	}
	al->background = bg;
	background_arm_graph(al);
	timer_set(bg->owners, 0, 0);
	background_arm_step(bg);
	background_arm(al, atlock_next_due(al));
	if (ends_count(al) > 0)
		background_ends(al);
	/* Signals are the business of whoever embeds the manager. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&bg->thread, NULL, background_main, al);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc < 0) {
		al->background = NULL;
		background_free(bg);
	}
	return rc;
}

void background_stop(struct atlock *al)
{
	struct background *bg = al->background;
	uint64_t one = 1;

	if (bg == NULL)
		return;
	if (write(bg->stop, &one, sizeof(one)) == (ssize_t)sizeof(one))
		(void)pthread_join(bg->thread, NULL);
	al->background = NULL;
	background_free(bg);
}
