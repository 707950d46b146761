#include "hook.h"

#include <bsd/string.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook_run.h"
#include "log.h"

#define RETRY_FIRST (ATLOCK_SECOND / 5)
#define RETRY_MAX (10 * ATLOCK_SECOND)
#define STOP_WAIT (2 * ATLOCK_SECOND)

#define PAUSE_MAX (60 * ATLOCK_SECOND) /* between trials of a command that fails, unless on_event_pause is longer */

/* One event and its command. Only the hook thread uses it. */
struct slot {
	char *line; /* NULL: the slot is free */
	size_t len;
	uint64_t seq;
	unsigned int tries;
	int64_t pause;  /* before the next try */
	int64_t resume; /* time of the next try */
	int64_t until;  /* time by which the command must have ended */
	struct hook_run run;
};

struct hook {
	_Atomic bool started;
	_Atomic bool awake;      /* was woken and has not looked yet */
	_Atomic int64_t stop_by; /* steady_now() by which all must end; 0: not stopping */
	int wake;                /* eventfd */
	pthread_t thread;
	struct slot slots[HOOK_SLOTS];
	char command[256]; /* the hook thread's: the command that was run last */
	struct log_limit log_failed;
	struct log_limit log_dropped;

	pthread_mutex_t mutex; /* a leaf: protects all fields below */
	struct breaker breaker;
	struct breaker_limits limits; /* of the breaker, from the options */
	uint64_t next;                /* next event to take */
	uint64_t ok, failed, timed_out, dropped;
	int64_t dropped_at; /* steady_now() of the last drop */
};

int hook_new(struct atlock *al)
{
	struct hook *hook = calloc(1, sizeof(*hook));

	if (hook == NULL)
		return -ENOMEM;
	hook->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (hook->wake < 0) {
		free(hook);
		return -errno;
	}
	pthread_mutex_init(&hook->mutex, NULL);
	hook->limits = (struct breaker_limits){ .failures = 1, .pause = ATLOCK_SECOND, .pause_max = PAUSE_MAX };
	breaker_init(&hook->breaker, &hook->limits);
	for (size_t i = 0; i < HOOK_SLOTS; i++)
		hook->slots[i].run.fd = -1;
	al->hook = hook;
	return 0;
}

void hook_free(struct atlock *al)
{
	if (al->hook == NULL)
		return;
	close(al->hook->wake);
	pthread_mutex_destroy(&al->hook->mutex);
	free(al->hook);
	al->hook = NULL;
}

static void wake_write(struct hook *hook)
{
	uint64_t one = 1;
	ssize_t wrote = write(hook->wake, &one, sizeof(one));

	(void)wrote;
}

void hook_wake(struct atlock *al)
{
	struct hook *hook = al->hook;

	if (hook != NULL && atomic_load_explicit(&hook->started, memory_order_acquire) &&
	    !atomic_exchange(&hook->awake, true))
		wake_write(hook);
}

/* --- Taking events --- */

static int take_line(void *arg, const struct atlock_event *event)
{
	struct slot *slot = arg;

	slot->line = malloc(event->line_len + 1);
	if (slot->line == NULL)
		return -ENOMEM;
	memcpy(slot->line, event->line, event->line_len);
	slot->line[event->line_len] = '\n';
	slot->len = event->line_len + 1;
	slot->seq = event->seq;
	return 1;
}

/* The number of the newest event. */
static uint64_t newest(struct atlock *al)
{
	struct atlock_status status;

	return atlock_status(al, &status) < 0 ? 0 : status.events;
}

/* Counts events that no command takes. The caller has the mutex. */
static void hook_drop(struct hook *hook, uint64_t count)
{
	hook->dropped += count;
	hook->dropped_at = steady_now();
}

/* The next event to take: without a command, the one after the last; at most HOOK_BACKLOG back, older ones are dropped. */
static uint64_t hook_position(struct atlock *al, const char *command, uint64_t last)
{
	struct hook *hook = al->hook;
	uint64_t dropped = 0;
	uint64_t next;

	pthread_mutex_lock(&hook->mutex);
	if (command[0] == '\0') {
		hook->next = last + 1;
	} else if (last >= hook->next + HOOK_BACKLOG) {
		dropped = last + 1 - HOOK_BACKLOG - hook->next;
		hook->next += dropped;
		hook_drop(hook, dropped);
	}
	next = hook->next;
	pthread_mutex_unlock(&hook->mutex);
	if (dropped > 0)
		log_limited(al, &hook->log_dropped, ATLOCK_LOG_WARNING,
			    "on_event cannot keep up: %ju events were not handed to it", (uintmax_t)dropped);
	return next;
}

static void slot_take(struct atlock *al, struct slot *slot, uint64_t next)
{
	struct hook *hook = al->hook;

	if (atlock_events(al, next, take_line, slot) < 0 || slot->line == NULL)
		return;
	slot->tries = 0;
	slot->pause = RETRY_FIRST;
	slot->resume = 0;
	pthread_mutex_lock(&hook->mutex);
	hook->next = slot->seq + 1;
	pthread_mutex_unlock(&hook->mutex);
}

/* The options may have changed. Caller holds the mutex. */
static void limits_read(struct atlock *al, struct hook *hook)
{
	const struct atlock_options *options = state_options(al);

	hook->limits.failures = (unsigned int)options->on_event_failures;
	hook->limits.pause = options->on_event_pause;
	hook->limits.pause_max = options->on_event_pause > PAUSE_MAX ? options->on_event_pause : PAUSE_MAX;
	if (hook->breaker.state == BREAKER_CLOSED)
		hook->breaker.pause = hook->limits.pause;
}

/* A new command gets a try at once: the failures were those of the old one. */
static void hook_command(struct hook *hook, const char *command)
{
	uint64_t opened;

	if (strcmp(hook->command, command) == 0)
		return;
	(void)strlcpy(hook->command, command, sizeof(hook->command));
	pthread_mutex_lock(&hook->mutex);
	opened = hook->breaker.opened;
	breaker_init(&hook->breaker, &hook->limits);
	hook->breaker.opened = opened;
	pthread_mutex_unlock(&hook->mutex);
	for (size_t i = 0; i < HOOK_SLOTS; i++)
		hook->slots[i].resume = 0;
}

static void hook_take(struct atlock *al)
{
	const char *command = state_options(al)->on_event;
	uint64_t last = newest(al);
	uint64_t next = hook_position(al, command, last);

	hook_command(al->hook, command);
	for (size_t i = 0; i < HOOK_SLOTS && next <= last && command[0] != '\0'; i++) {
		if (al->hook->slots[i].line != NULL)
			continue;
		slot_take(al, &al->hook->slots[i], next);
		if (al->hook->slots[i].line == NULL)
			return;
		next = al->hook->slots[i].seq + 1;
	}
}

/* --- Running commands --- */

static void slot_clear(struct slot *slot)
{
	free(slot->line);
	slot->line = NULL;
}

static void breaker_tell(struct atlock *al, enum breaker_state before, const struct breaker *breaker)
{
	if (before == breaker->state)
		return;
	if (breaker->state == BREAKER_OPEN)
		log_write(al, ATLOCK_LOG_WARNING, "on_event failed %u times in a row: it is tried again in %.1f s",
			  breaker->failed, (double)(breaker->until - steady_now()) / (double)ATLOCK_SECOND);
	else if (breaker->state == BREAKER_CLOSED)
		log_write(al, ATLOCK_LOG_INFO, "on_event works again");
}

/* Handles a command that has ended or could not be started. `why` is NULL after a success. */
static void slot_ended(struct atlock *al, struct slot *slot, const char *why, bool timed_out)
{
	struct hook *hook = al->hook;
	int64_t now = steady_now();
	bool last = ++slot->tries >= HOOK_TRIES;
	struct breaker breaker;
	enum breaker_state before;

	pthread_mutex_lock(&hook->mutex);
	limits_read(al, hook);
	before = hook->breaker.state;
	breaker_done(&hook->breaker, why == NULL, now, state_random(al));
	breaker = hook->breaker;
	hook->ok += why == NULL;
	hook->failed += why != NULL && !timed_out;
	hook->timed_out += timed_out;
	if (why != NULL && last)
		hook_drop(hook, 1);
	pthread_mutex_unlock(&hook->mutex);
	if (why != NULL)
		log_limited(al, &hook->log_failed, ATLOCK_LOG_WARNING, "on_event for event %ju: %s",
			    (uintmax_t)slot->seq, why);
	breaker_tell(al, before, &breaker);
	if (why == NULL || last)
		slot_clear(slot);
	else
		slot->resume = now + breaker_backoff(&slot->pause, RETRY_MAX, state_random(al));
}

static void slot_check(struct atlock *al, struct slot *slot)
{
	char why[64];
	int status = 0;

	if (hook_run_check(&slot->run, &status) == 0) {
		if (WIFEXITED(status))
			(void)snprintf(why, sizeof(why), "exit status %d", WEXITSTATUS(status));
		else
			(void)snprintf(why, sizeof(why), "killed by signal %d", WTERMSIG(status));
		slot_ended(al, slot, WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : why, false);
	} else if (steady_now() >= slot->until) {
		hook_run_kill(&slot->run);
		slot_ended(al, slot, "it took longer than on_event_timeout and was killed", true);
	}
}

static void slot_start(struct atlock *al, struct slot *slot)
{
	const struct atlock_options *options = state_options(al);
	struct hook *hook = al->hook;
	int64_t now = steady_now();
	bool admitted;
	int rc;

	if (options->on_event[0] == '\0') {
		slot_clear(slot);
		return;
	}
	if (now < slot->resume)
		return;
	pthread_mutex_lock(&hook->mutex);
	admitted = breaker_admit(&hook->breaker, now);
	pthread_mutex_unlock(&hook->mutex);
	if (!admitted)
		return;
	rc = hook_run_start(&slot->run, options->on_event, slot->line, slot->len);
	slot->until = now + options->on_event_timeout;
	if (rc < 0)
		slot_ended(al, slot, strerror(-rc), false);
}

/* --- The thread --- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The next time at which the thread must act: a command's timeout, the end of a pause. */
static int64_t hook_due(struct hook *hook)
{
	int64_t stop_by = atomic_load(&hook->stop_by);
	int64_t due = stop_by != 0 ? stop_by : ATLOCK_NEVER;
	int64_t open_until;

	pthread_mutex_lock(&hook->mutex);
	open_until = hook->breaker.state == BREAKER_OPEN ? hook->breaker.until : 0;
	if (hook->breaker.state == BREAKER_HALF_OPEN)
		open_until = ATLOCK_NEVER; /* the end of the trial command wakes us */
	pthread_mutex_unlock(&hook->mutex);
	for (size_t i = 0; i < HOOK_SLOTS; i++) {
		const struct slot *slot = &hook->slots[i];

		if (slot->line != NULL && slot->run.pid != 0)
			due = earlier(due, slot->until);
		else if (slot->line != NULL)
			due = earlier(due, slot->resume > open_until ? slot->resume : open_until);
	}
	return due;
}

static void hook_sleep(struct hook *hook)
{
	struct pollfd fds[HOOK_SLOTS + 1] = { { .fd = hook->wake, .events = POLLIN } };
	int64_t due = hook_due(hook);
	int64_t in = due == ATLOCK_NEVER ? -1 : due - steady_now();
	struct timespec timeout = { .tv_sec = 0, .tv_nsec = 0 };
	nfds_t count = 1;
	uint64_t ignored;
	ssize_t got;

	if (in > 0)
		timeout = (struct timespec){ .tv_sec = in / ATLOCK_SECOND, .tv_nsec = in % ATLOCK_SECOND };
	for (size_t i = 0; i < HOOK_SLOTS; i++)
		if (hook->slots[i].run.pid != 0)
			fds[count++] = (struct pollfd){ .fd = hook->slots[i].run.fd, .events = POLLIN };
	(void)ppoll(fds, count, due == ATLOCK_NEVER ? NULL : &timeout, NULL);
	got = read(hook->wake, &ignored, sizeof(ignored));
	(void)got;
	atomic_store(&hook->awake, false);
}

static bool hook_idle(const struct hook *hook)
{
	for (size_t i = 0; i < HOOK_SLOTS; i++)
		if (hook->slots[i].line != NULL)
			return false;
	return true;
}

/* Whether to end: it was told to, and either no event is left or the time is up. */
static bool hook_over(struct hook *hook)
{
	int64_t stop_by = atomic_load(&hook->stop_by);

	return stop_by != 0 && (hook_idle(hook) || steady_now() >= stop_by);
}

static void *hook_main(void *arg)
{
	struct atlock *al = arg;
	struct hook *hook = al->hook;

	for (;;) {
		for (size_t i = 0; i < HOOK_SLOTS; i++)
			if (hook->slots[i].run.pid != 0)
				slot_check(al, &hook->slots[i]);
		hook_take(al);
		for (size_t i = 0; i < HOOK_SLOTS; i++)
			if (hook->slots[i].line != NULL && hook->slots[i].run.pid == 0)
				slot_start(al, &hook->slots[i]);
		if (hook_over(hook))
			break;
		hook_sleep(hook);
	}
	for (size_t i = 0; i < HOOK_SLOTS; i++) {
		if (hook->slots[i].run.pid != 0)
			hook_run_kill(&hook->slots[i].run);
		slot_clear(&hook->slots[i]);
	}
	return NULL;
}

int hook_configured(struct atlock *al)
{
	struct hook *hook = al->hook;
	sigset_t all;
	sigset_t old;
	int rc;

	if (hook == NULL || atomic_load(&hook->started)) {
		hook_wake(al);
		return 0;
	}
	if (state_options(al)->on_event[0] == '\0')
		return 0;
	hook->next = newest(al);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&hook->thread, NULL, hook_main, al);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		atomic_store_explicit(&hook->started, true, memory_order_release);
	return rc;
}

void hook_stop(struct atlock *al)
{
	struct hook *hook = al->hook;

	if (hook == NULL || !atomic_load(&hook->started))
		return;
	atomic_store(&hook->stop_by, steady_now() + STOP_WAIT);
	wake_write(hook);
	(void)pthread_join(hook->thread, NULL);
	atomic_store(&hook->started, false);
}

/* --- Statistics --- */

static int first_wall(void *arg, const struct atlock_event *event)
{
	*(int64_t *)arg = event->wall;
	return 1;
}

void hook_stats(struct atlock *al, struct hook_stats *out)
{
	struct hook *hook = al->hook;
	uint64_t last = newest(al);
	int64_t now = steady_now();
	int64_t since = 0;
	int64_t lease;
	int64_t wall;
	uint64_t next;

	*out = (struct hook_stats){ .breaker = BREAKER_CLOSED, .drop_age = ATLOCK_NEVER };
	if (hook == NULL || !atomic_load(&hook->started))
		return;
	pthread_mutex_lock(&hook->mutex);
	next = hook->next;
	out->ok = hook->ok;
	out->failed = hook->failed;
	out->timed_out = hook->timed_out;
	out->dropped = hook->dropped;
	if (hook->dropped > 0)
		out->drop_age = now - hook->dropped_at;
	out->opened = hook->breaker.opened;
	out->breaker = hook->breaker.state;
	out->retry_in = out->breaker == BREAKER_OPEN && hook->breaker.until > now ? hook->breaker.until - now : 0;
	pthread_mutex_unlock(&hook->mutex);
	out->behind = last >= next ? last + 1 - next : 0;
	if (out->behind == 0 || atlock_events(al, next, first_wall, &since) < 0 || since == 0)
		return;
	clock_read(&al->clock, &lease, &wall);
	out->lag = wall > since ? wall - since : 0;
}
