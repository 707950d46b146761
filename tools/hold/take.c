#include "take.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "moment.h"

#define ANEW_MAX 5  /* retries after EDEADLK; a deadlock that persists is not through these locks */
#define PAUSE_MS 50 /* before a retry: up to twice this */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

/* What the signal handler must release. */
static const struct take *volatile taking;

static int lock_order(const void *a, const void *b)
{
	return strcmp(((const struct taken *)a)->path, ((const struct taken *)b)->path);
}

int take_add(struct take *take, const char *text)
{
	struct taken *locks = reallocarray(take->locks, take->count + 1, sizeof(*locks));
	struct taken *lock;
	char path[ATLOCK_PATH_MAX];
	int code;

	if (locks == NULL)
		return tool_no_memory(take->tool);
	take->locks = locks;
	code = lockpath_take(take->tool, take->mount, text, path);
	if (code != EXIT_DONE)
		return code;
	if (take->who[0] != '\0' && strchr(path, '@') != NULL)
		return tool_usage(take->tool, "%s: who holds it is not to be chosen here: leave out what follows '@'",
				  path);
	lock = &locks[take->count++];
	*lock = (struct taken){ .path = strdup(path), .place = take->count };
	if (lock->path == NULL || asprintf(&lock->name, "%s%s", path, take->who) < 0)
		return tool_no_memory(take->tool);
	if (take->other != NULL && asprintf(&lock->other, "%s%s", path, take->other) < 0)
		return tool_no_memory(take->tool);
	return EXIT_DONE;
}

static void taken_free(struct taken *lock)
{
	free(lock->path);
	free(lock->name);
	free(lock->other);
}

/* Renumbers the places after duplicates were dropped. */
static void places_close(struct take *take)
{
	size_t place = 0;

	for (size_t old = 1; place < take->count; old++)
		for (size_t i = 0; i < take->count; i++)
			if (take->locks[i].place == old) {
				take->locks[i].place = ++place;
				break;
			}
}

/* Sorts the locks and drops duplicates. */
static void take_sort(struct take *take)
{
	size_t n = 0;

	if (take->count == 0)
		return;
	qsort(take->locks, take->count, sizeof(*take->locks), lock_order);
	for (size_t i = 0; i < take->count; i++) {
		struct taken *lock = &take->locks[i];

		if (n > 0 && strcmp(take->locks[n - 1].path, lock->path) == 0) {
			if (lock->place < take->locks[n - 1].place)
				take->locks[n - 1].place = lock->place;
			taken_free(lock);
		} else {
			take->locks[n++] = *lock;
		}
	}
	take->count = n;
	places_close(take);
}

/* Takes one lock; the write blocks if waiting is allowed. 0 or a negative errno. */
static int take_one(const struct take *take, const struct taken *lock, int64_t left)
{
	char file[ATLOCK_PATH_MAX + 16];
	char timeout[64] = "never";
	char *request;
	int err;

	/* Whole milliseconds, at least one: without any there would be no limit. */
	if (left != ATLOCK_NEVER)
		atlock_duration_print((left / 1000000 + 1) * 1000000, timeout, sizeof(timeout));
	if (asprintf(&request, "timeout=%s\n%s", timeout, take->text) < 0)
		return -ENOMEM;
	(void)snprintf(file, sizeof(file), "wait/%s", lock->name);
	err = mount_write(take->mount, file, take->wait == 0 ? O_NONBLOCK : 0, request);
	free(request);
	return err;
}

/* The same, and tells people what it waits for. */
static int take_one_aloud(struct take *take, const struct taken *lock, int64_t deadline, int64_t left)
{
	int err;

	if (take->wait != 0)
		waiting_begin(&take->waiting, lock->path, take->who, deadline);
	err = take_one(take, lock, left < 0 ? 0 : left);
	waiting_end(&take->waiting);
	return err;
}

static int take_each(struct take *take, int64_t deadline, size_t *failed)
{
	for (size_t i = 0; i < take->count; i++) {
		struct taken *lock = &take->locks[i];
		int64_t left = deadline == ATLOCK_NEVER ? ATLOCK_NEVER : deadline - moment_steady();
		int err = left < 0 && take->wait != 0 ? -ETIMEDOUT : 0;

		*failed = i;
		lock->before = !take->unique && lockpath_mine(take->mount, lock->name) == 0;
		if (err == 0)
			err = take_one_aloud(take, lock, deadline, left);
		if (err < 0)
			return err;
		lock->held = !lock->before;
	}
	return 0;
}

/* Runs in a signal handler: async-signal-safe calls only. */
static void take_give_back(const struct take *take, bool all)
{
	for (size_t i = take->count; i-- > 0;) {
		const struct taken *lock = &take->locks[i];

		/* LOCK@WHO releases that holder only; as root, a plain LOCK would release another holder. */
		if (lock->held || (all && !lock->before && take->who[0] != '\0'))
			(void)unlinkat(take->mount->fd, lock->name, 0);
	}
}

void take_back(const struct take *take)
{
	take_give_back(take, false);
}

static void on_signal(int number)
{
	const struct take *take = taking;
	int err = errno;

	if (take != NULL)
		take_give_back(take, true);
	signal(number, SIG_DFL);
	kill(getpid(), number);
	errno = err;
}

static void signals_catch(struct sigaction old[SIGNALS])
{
	struct sigaction action = { .sa_handler = on_signal };

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], NULL, &old[i]);
		/* Under nohup and in background jobs of a script some are ignored, and stay so. */
		if (old[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

static void signals_restore(const struct sigaction old[SIGNALS])
{
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &old[i], NULL);
}

/* Switches to the other who. The signal handler finds one name or the other, never a freed one. */
static void take_rename(struct take *take)
{
	take->who = take->other;
	take->other = NULL;
	for (size_t i = 0; i < take->count; i++) {
		struct taken *lock = &take->locks[i];
		char *name = lock->name;

		lock->name = lock->other;
		lock->other = name;
	}
}

/* A random length, so that two callers that gave way to each other do not collide again. */
static void pause_a_while(void)
{
	moment_sleep((PAUSE_MS + (int64_t)arc4random_uniform(PAUSE_MS)) * 1000000);
}

int take_timed_out(const struct tool *tool, const struct mount *mount, const char *path, const char *option)
{
	char holder[ATLOCK_OWNER_MAX + ATLOCK_WHO_MAX + sizeof("@ still has it")];

	lockpath_holder(mount, path, holder, sizeof(holder));
	return tool_fail(tool, EXIT_TRY_AGAIN, "%s: %s: wait again, or longer (%s)", path,
			 holder[0] == '\0' ? "not free in time" : strcat(holder, " still has it"), option);
}

/* Whether the same request can succeed later. */
static bool is_contended(int err)
{
	static const int errors[] = { EAGAIN, EBUSY, EACCES, EPERM, ETIMEDOUT, EDEADLK, EDQUOT };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (err == -errors[i])
			return true;
	return false;
}

/* Full jitter: any length up to one that doubles each time. */
static void retry_rest(const struct ask_again *again, int64_t round)
{
	int64_t most = again->most != 0 ? again->most : ASK_MOST;
	int64_t up_to = again->least != 0 ? again->least : ASK_LEAST;

	while (round-- > 0 && up_to < most)
		up_to *= 2;
	if (up_to > most)
		up_to = most;
	moment_sleep((int64_t)(arc4random() / (double)UINT32_MAX * (double)up_to));
}

static int take_refused(const struct take *take, const struct taken *lock, int err)
{
	char advice[64];

	(void)snprintf(advice, sizeof(advice), "%s TIME waits for it", take->option);
	if (err == ETIMEDOUT)
		return take_timed_out(take->tool, take->mount, lock->path, take->option);
	return lockpath_refused(take->tool, take->mount, lock->path, err, advice);
}

/* Releasing ends only a deadlock through the locks that are released; any other is reported. */
static bool take_holds(const struct take *take)
{
	for (size_t i = 0; i < take->count; i++)
		if (take->locks[i].held)
			return true;
	return false;
}

int take_all(struct take *take)
{
	int64_t deadline = take->wait == ATLOCK_NEVER ? ATLOCK_NEVER : moment_steady() + take->wait;
	struct sigaction old[SIGNALS];
	int code = EXIT_DONE;
	size_t failed = 0;
	int64_t tries = 0;
	int anew = 0;
	int err;

	take->waiting.tool = take->tool;
	take->waiting.mount = take->mount;
	take_sort(take);
	taking = take;
	signals_catch(old);
	err = take_each(take, deadline, &failed);
	if (err == -EINVAL && take->other != NULL) {
		take_rename(take);
		err = take_each(take, deadline, &failed);
	}
	while (err < 0) {
		bool again = err == -EDEADLK && anew++ < ANEW_MAX && take_holds(take) &&
			     (deadline == ATLOCK_NEVER || moment_steady() < deadline);

		bool retry = !again && tries < take->again.retries && is_contended(err);

		if (!again && !retry)
			code = take_refused(take, &take->locks[failed], -err);
		take_back(take);
		for (size_t i = 0; i < take->count; i++)
			take->locks[i].held = false;
		if (!again && !retry)
			break;
		if (retry) {
			retry_rest(&take->again, tries++);
			deadline = take->wait == ATLOCK_NEVER ? ATLOCK_NEVER : moment_steady() + take->wait;
		} else {
			pause_a_while();
		}
		err = take_each(take, deadline, &failed);
	}
	signals_restore(old);
	taking = NULL;
	return code;
}

void take_free(struct take *take)
{
	for (size_t i = 0; i < take->count; i++)
		taken_free(&take->locks[i]);
	free(take->locks);
	take->locks = NULL;
	take->count = 0;
}
