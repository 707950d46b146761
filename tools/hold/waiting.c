#include "waiting.h"

#include <bsd/string.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "moment.h"
#include "term.h"

#define FIRST (ATLOCK_SECOND / 4) /* a shorter wait is not worth a word */
#define MINUTE (60 * ATLOCK_SECOND)
#define COLUMNS 80 /* of a terminal that does not say */

/* --- What is said --- */

__attribute__((format(printf, 3, 4))) static void add(char *text, size_t len, const char *format, ...)
{
	size_t used = strlen(text);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text + used, len - used, format, list);
	va_end(list);
}

/* ", held by root@build-17 for 3m12s (hotfix)"; nothing for a lock that is free, as in the moment of a hand-over. */
static void holder_add(const struct waiting *waiting, char *text, size_t len)
{
	const struct mount *mount = waiting->mount;
	char owner[ATLOCK_OWNER_MAX + 1];
	char who[ATLOCK_WHO_MAX + 1];
	char since[64];
	char reason[256];
	char age[MOMENT_AGE_MAX];

	if (!mount_field(mount, waiting->path, "owner", owner, sizeof(owner)) ||
	    !mount_field(mount, waiting->path, "who", who, sizeof(who)) ||
	    !mount_field(mount, waiting->path, "acquired_at", since, sizeof(since)))
		return;
	moment_age(moment_wall() - moment_parse(since), age);
	add(text, len, ", held by %s@%s for %s", owner, who, age);
	if (mount_field(mount, waiting->path, "reason", reason, sizeof(reason)) && reason[0] != '\0')
		add(text, len, " (%s)", reason);
}

/* "; place 2 of 5, expected wait 4m". */
static void place_add(const struct waiting *waiting, char *text, size_t len)
{
	char position[32];
	char waiters[32];
	char expected[64];

	if (waiting->ticket[0] == '\0' ||
	    !mount_value(waiting->mount, waiting->ticket, "position", position, sizeof(position)) ||
	    !mount_field(waiting->mount, waiting->path, "waiters", waiters, sizeof(waiters)))
		return;
	add(text, len, "; place %s of %s", position, waiters);
	if (mount_value(waiting->mount, waiting->ticket, "expected_wait", expected, sizeof(expected)) &&
	    strcmp(expected, "unknown") != 0)
		add(text, len, ", expected wait %s", expected);
}

static void waiting_text(const struct waiting *waiting, char *text, size_t len)
{
	int64_t now = moment_steady();
	char age[MOMENT_AGE_MAX];

	moment_age(now - waiting->began, age);
	add(text, len, "waiting %s for %s", age, waiting->path);
	holder_add(waiting, text, len);
	place_add(waiting, text, len);
	if (waiting->deadline == ATLOCK_NEVER) {
		add(text, len, "; no time limit");
		return;
	}
	moment_age(waiting->deadline - now, age);
	add(text, len, "; %s left", age);
}

/* --- How --- */

/* Cuts a text after so many columns. Characters of double width make a line longer than it should be, and it wraps. */
static void text_cut(char *text, size_t columns)
{
	if (term_width(text) <= columns)
		return;
	while (term_width(text) >= columns)
		text[strlen(text) - 1] = '\0';
	while (((unsigned char)text[strlen(text) - 1] & 0xc0) == 0x80)
		text[strlen(text) - 1] = '\0';
}

static void waiting_say(const struct waiting *waiting, bool live)
{
	char text[ATLOCK_PATH_MAX + 1024] = "";
	struct winsize size = { .ws_col = 0 };

	if (!live)
		add(text, sizeof(text), "atlock %s: ", waiting->tool->command->name);
	waiting_text(waiting, text, sizeof(text));
	(void)strlcpy(text, term_text(text), sizeof(text));
	if (!live) {
		fprintf(stderr, "%s\n", text);
		return;
	}
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		size.ws_col = COLUMNS;
	text_cut(text, size.ws_col - 1U);
	fprintf(stderr, "\r%s\033[K", text);
	fflush(stderr);
}

/* Waits until it is over, or for so long; whether it is over. */
static bool waiting_pause(struct waiting *waiting, int64_t time)
{
	struct timespec until;
	bool over;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until = moment_timespec((int64_t)until.tv_sec * ATLOCK_SECOND + until.tv_nsec + time);
	pthread_mutex_lock(&waiting->mutex);
	while (!waiting->over && err == 0)
		err = pthread_cond_timedwait(&waiting->changed, &waiting->mutex, &until);
	over = waiting->over;
	pthread_mutex_unlock(&waiting->mutex);
	return over;
}

static void *waiting_main(void *arg)
{
	struct waiting *waiting = arg;
	bool live = term_live(stderr);
	int64_t every = live ? ATLOCK_SECOND : waiting->every == 0 ? MINUTE : waiting->every;
	bool over = waiting_pause(waiting, FIRST);
	bool said = !over;

	while (!over) {
		waiting_say(waiting, live);
		over = waiting_pause(waiting, every);
	}
	if (said && live)
		fputs("\r\033[K", stderr);
	return NULL;
}

/* --- Begin and end --- */

static void ticket_name(struct waiting *waiting, const char *who)
{
	waiting->ticket[0] = '\0';
	if (who != NULL)
		(void)snprintf(waiting->ticket, sizeof(waiting->ticket), "queue/%s/%s%s", waiting->path,
			       waiting->priority == NULL ? "normal" : waiting->priority, who);
}

/* Signals are for the thread that waits: it has what they must release. */
static int thread_start(struct waiting *waiting)
{
	sigset_t all;
	sigset_t before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&waiting->thread, NULL, waiting_main, waiting);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

void waiting_begin(struct waiting *waiting, const char *path, const char *who, int64_t deadline)
{
	pthread_condattr_t attr;

	waiting->running = false;
	if (waiting->every == ATLOCK_NEVER)
		return;
	waiting->path = path;
	waiting->began = moment_steady();
	waiting->deadline = deadline;
	waiting->over = false;
	ticket_name(waiting, who);
	pthread_mutex_init(&waiting->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&waiting->changed, &attr);
	pthread_condattr_destroy(&attr);
	waiting->running = thread_start(waiting) == 0;
}

void waiting_end(struct waiting *waiting)
{
	if (!waiting->running)
		return;
	pthread_mutex_lock(&waiting->mutex);
	waiting->over = true;
	pthread_cond_signal(&waiting->changed);
	pthread_mutex_unlock(&waiting->mutex);
	pthread_join(waiting->thread, NULL);
	pthread_cond_destroy(&waiting->changed);
	pthread_mutex_destroy(&waiting->mutex);
	waiting->running = false;
}
