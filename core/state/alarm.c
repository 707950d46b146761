#include "alarm.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ENDS_AFTER ATLOCK_SECOND

struct alarms {
	int epoll;
	int timers[ALARM_WATCH];
	pthread_mutex_t mutex; /* a leaf in the lock order: protects the fields below */
	int64_t armed;         /* lease time that ALARM_DUE is set to; ATLOCK_NEVER: unset */
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

void alarm_set(struct atlock *al, enum alarm what, int64_t in)
{
	if (al->alarms != NULL)
		timer_set(al->alarms->timers[what], in, 0);
}

void alarm_due(struct atlock *al, int64_t due)
{
	struct alarms *alarms = al->alarms;

	if (alarms == NULL)
		return;
	pthread_mutex_lock(&alarms->mutex);
	if (due < alarms->armed) {
		alarms->armed = due;
		/* A lease has expired only after its last nanosecond. */
		alarm_set(al, ALARM_DUE, due - clock_now(&al->clock) + 1);
	}
	pthread_mutex_unlock(&alarms->mutex);
}

void alarm_ends(struct atlock *al)
{
	struct alarms *alarms = al->alarms;

	if (alarms == NULL)
		return;
	pthread_mutex_lock(&alarms->mutex);
	/* Further ends do not postpone the retry. */
	if (!alarms->ends_armed)
		alarm_set(al, ALARM_ENDS, ENDS_AFTER);
	alarms->ends_armed = true;
	pthread_mutex_unlock(&alarms->mutex);
}

/* The timer is set far into the future: only a step of the wall clock ends a read of it, with ECANCELED. */
static void step_arm(const struct alarms *alarms)
{
	timer_set(alarms->timers[ALARM_STEP], INT64_MAX / 2, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
}

/* Whether the alarm has really gone off. Clears it, so that it can be set again. */
static bool alarm_take(struct alarms *alarms, enum alarm what)
{
	uint64_t count;
	ssize_t got;

	if (what == ALARM_WATCH)
		return true;
	got = read(alarms->timers[what], &count, sizeof(count));
	if (what == ALARM_STEP) {
		if (got >= 0 || errno != ECANCELED)
			return false;
		step_arm(alarms);
	}
	pthread_mutex_lock(&alarms->mutex);
	if (what == ALARM_DUE)
		alarms->armed = ATLOCK_NEVER;
	if (what == ALARM_ENDS)
		alarms->ends_armed = false;
	pthread_mutex_unlock(&alarms->mutex);
	return true;
}

int alarms_wait(struct alarms *alarms)
{
	struct epoll_event event;
	int n;

	for (;;) {
		n = epoll_wait(alarms->epoll, &event, 1, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 1 && alarm_take(alarms, (enum alarm)event.data.u32))
			return (int)event.data.u32;
	}
}

static int alarm_add(struct alarms *alarms, int fd, enum alarm what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = what };

	return fd < 0 || epoll_ctl(alarms->epoll, EPOLL_CTL_ADD, fd, &event) != 0 ? -errno : 0;
}

int alarms_new(struct alarms **out, int watch)
{
	struct alarms *alarms = calloc(1, sizeof(*alarms));
	int rc = 0;

	if (alarms == NULL)
		return -ENOMEM;
	pthread_mutex_init(&alarms->mutex, NULL);
	alarms->armed = ATLOCK_NEVER;
	alarms->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (alarms->epoll < 0)
		rc = -errno;
	for (unsigned int i = 0; i < ALARM_WATCH; i++) {
		int fd = timerfd_create(i == ALARM_STEP ? CLOCK_REALTIME : CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

		alarms->timers[i] = fd;
		if (rc == 0)
			rc = alarm_add(alarms, fd, (enum alarm)i);
	}
	if (rc == 0)
		rc = alarm_add(alarms, watch, ALARM_WATCH);
	if (rc < 0) {
		alarms_free(alarms);
		return rc;
	}
	step_arm(alarms);
	*out = alarms;
	return 0;
}

void alarms_free(struct alarms *alarms)
{
	if (alarms == NULL)
		return;
	for (unsigned int i = 0; i < ALARM_WATCH; i++)
		if (alarms->timers[i] >= 0)
			(void)close(alarms->timers[i]);
	if (alarms->epoll >= 0)
		(void)close(alarms->epoll);
	pthread_mutex_destroy(&alarms->mutex);
	free(alarms);
}
