/*
 * atlock guard: run a command that stops a shared resource, only if every other app that uses it is down, and only as long
 * as that is so. The file system has the rules; this asks the apps, takes the lock stop@app, renews it and releases it.
 */
#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "choice.h"
#include "hold_commands.h"
#include "moment.h"
#include "mount.h"
#include "probe.h"
#include "run_child.h"
#include "term.h"

#define TIMEOUT (3 * ATLOCK_SECOND)
#define TRIES 3 /* where another app is stopping the resource */
#define BACKOFF_FIRST (ATLOCK_SECOND / 5)
#define LEASE (60 * ATLOCK_SECOND)
#define RENEWALS 4 /* within one lease */

struct guard {
	struct tool *tool;
	struct mount mount;
	const char *resource;
	const char *app;
	char *const *command;
	struct probe *probes;
	size_t count;
	int64_t timeout;
	struct probe_codes codes;
	int64_t ttl;   /* --ttl; 0: as the file system gives it */
	int64_t tries; /* where the lock is another's */
	int64_t tried; /* how often the lock was asked for, and how long that took */
	int64_t tried_for;
	bool dry;
	bool off;
	char stop[2 * ATLOCK_COMPONENT_MAX + 32]; /* path of the lock below the root */
	int64_t interval;                         /* between two renewals */
};

/* --- What the apps say --- */

static int status_write(const struct guard *guard, const struct probe *probe)
{
	const char *word = atlock_app_status_name(probe->status);
	char path[2 * ATLOCK_COMPONENT_MAX + 32];

	(void)snprintf(path, sizeof(path), "shared/%s/apps/%s", guard->resource, probe->app);
	return mount_write(&guard->mount, path, 0, word);
}

/*
 * Asks all apps and writes their status. Where another user owns an app, that is refused, and the status that the app wrote
 * itself counts; but an app that is not down when asked is never taken as down.
 */
static int guard_ask(const struct guard *guard)
{
	int err = probe_all(guard->probes, guard->count, guard->timeout, &guard->codes);
	int code = EXIT_DONE;

	if (err < 0)
		return tool_fail(guard->tool, EXIT_UNAVAILABLE, "curl cannot be run: %s", strerror(-err));
	for (size_t i = 0; i < guard->count; i++) {
		const struct probe *probe = &guard->probes[i];

		err = status_write(guard, probe);
		if (err == -ENOENT)
			return tool_fail(guard->tool, EXIT_NO_INPUT, "%s is no app of shared/%s", probe->app,
					 guard->resource);
		if (err < 0 && err != -EACCES && err != -EPERM)
			return tool_fail(guard->tool, tool_exit_code(-err), "shared/%s/apps/%s: %s", guard->resource,
					 probe->app, strerror(-err));
		if (probe->status != ATLOCK_APP_DOWN && strcmp(probe->app, guard->app) != 0)
			code = tool_fail(guard->tool, EXIT_TRY_AGAIN, "%s is %s at %s", probe->app,
					 atlock_app_status_name(probe->status), probe->url);
	}
	return code;
}

/* Tells the file system how the run ended, for its counters. An older one has none. */
static void guard_tell(const struct guard *guard, enum atlock_guard_result result)
{
	char path[ATLOCK_COMPONENT_MAX + 32];
	char text[ATLOCK_WHO_MAX + 96];

	if (guard->dry)
		return;
	(void)snprintf(path, sizeof(path), "shared/%s/guard", guard->resource);
	(void)snprintf(text, sizeof(text), "%s %s %" PRId64 " %" PRId64, guard->app, atlock_guard_result_name(result),
		       guard->tried, guard->tried_for / (ATLOCK_SECOND / 1000));
	(void)mount_write(&guard->mount, path, 0, text);
}

/* --- The lock --- */

/* Says who is stopping the resource: EEXIST is the kernel's answer, and `why` may have another call's reason. */
static int guard_contended(const struct guard *guard)
{
	char path[2 * ATLOCK_COMPONENT_MAX + 32];
	char who[ATLOCK_WHO_MAX + 1];

	(void)snprintf(path, sizeof(path), "shared/%s/stop", guard->resource);
	if (!mount_field(&guard->mount, path, "who", who, sizeof(who)))
		return tool_fail(guard->tool, EXIT_TRY_AGAIN, "skipped: shared/%s was being stopped a moment ago",
				 guard->resource);
	return tool_fail(guard->tool, EXIT_TRY_AGAIN,
			 "skipped: %s is stopping shared/%s already, tried %" PRId64 " time%s", who, guard->resource,
			 guard->tries, TOOL_S(guard->tries));
}

/* The names were checked before: EINVAL says that the app is not registered. */
static int guard_refused(const struct guard *guard, int err)
{
	int code = err == EINVAL ? EXIT_NO_INPUT : tool_exit_code(err);

	if (err == EEXIST)
		return guard_contended(guard);
	return mount_complain(guard->tool, &guard->mount, code, guard->stop, err);
}

static void stop_release(const struct guard *guard)
{
	if (unlinkat(guard->mount.fd, guard->stop, 0) != 0 && errno != ENOENT)
		(void)tool_fail(guard->tool, 0, "%s: %s", guard->stop, strerror(errno));
}

/* Doubles from a fifth of a second on, at random within: two that collided do not meet again. */
static void backoff_rest(int64_t round)
{
	int64_t most = BACKOFF_FIRST << (round < 8 ? round : 8);
	const struct timespec ts = moment_timespec(1 + (int64_t)arc4random_uniform((uint32_t)(most / 1000)) * 1000);

	(void)nanosleep(&ts, NULL);
}

/* O_EXCL: two runs for the same app must not share the lock. */
static int stop_take(struct guard *guard)
{
	char ttl[64];
	int64_t lease = LEASE;
	int64_t began = moment_steady();
	int err = -EEXIST;

	for (guard->tried = 0; guard->tried < guard->tries && err == -EEXIST; guard->tried++) {
		if (guard->tried > 0)
			backoff_rest(guard->tried);
		err = mount_try(&guard->mount, guard->stop, O_CREAT | O_EXCL);
	}
	guard->tried_for = moment_steady() - began;
	if (err == 0 || err == -EEXIST || err == -EBUSY)
		guard_tell(guard, err == 0        ? ATLOCK_GUARD_STOPPED
				  : err == -EBUSY ? ATLOCK_GUARD_IN_USE
						  : ATLOCK_GUARD_CONTENDED);
	if (err < 0)
		return guard_refused(guard, -err);
	if (guard->ttl != 0) {
		char length[32];

		atlock_duration_print(guard->ttl, length, sizeof(length));
		(void)snprintf(ttl, sizeof(ttl), "ttl=%s\n", length);
		err = mount_write(&guard->mount, guard->stop, O_APPEND, ttl);
		if (err < 0) {
			int code = guard_refused(guard, -err);

			stop_release(guard);
			return code;
		}
	}
	if (mount_field(&guard->mount, guard->stop, "ttl", ttl, sizeof(ttl)))
		(void)atlock_duration_parse(ttl, false, &lease);
	guard->interval = lease / RENEWALS;
	return EXIT_DONE;
}

/* --- The command --- */

/* Asks again and renews. Once it is refused, the command must end. */
static bool guard_renew(void *arg)
{
	const struct guard *guard = arg;
	int code = guard_ask(guard);

	if (code == EXIT_DONE && utimensat(guard->mount.fd, guard->stop, NULL, 0) != 0)
		code = guard_refused(guard, errno);
	if (code == EXIT_DONE)
		return true;
	(void)tool_fail(guard->tool, code, "shared/%s may not be stopped any more: the command is told to end",
			guard->resource);
	return false;
}

static int guard_run(struct guard *guard)
{
	struct run_child child = {
		.tool = guard->tool, .argv = guard->command, .check = guard_renew, .arg = guard, .grace = ATLOCK_NEVER
	};
	int code;

	run_child_prepare(&child);
	code = stop_take(guard);
	if (code != EXIT_DONE)
		return code;
	child.interval = guard->interval;
	code = run_child(&child);
	stop_release(guard);
	run_child_pass_on(&child);
	return child.ended_by_us ? EXIT_TRY_AGAIN : code;
}

/* --dry-run: says what the file system would answer. */
static int verdict_say(const struct guard *guard)
{
	char path[2 * ATLOCK_COMPONENT_MAX + 32];
	char verdict[512] = "";

	(void)snprintf(path, sizeof(path), "shared/%s/verdict@%s", guard->resource, guard->app);
	(void)mount_line(&guard->mount, path, verdict, sizeof(verdict));
	printf("%s\n", term_text(verdict));
	return strcmp(verdict, "stop") == 0 ? EXIT_DONE : EXIT_TRY_AGAIN;
}

static bool nothing_to_renew(void *arg)
{
	(void)arg;
	return true;
}

/* Runs the command without a lock: nothing is guarded. */
static int guard_free(struct guard *guard, const char *why)
{
	struct run_child child = { .tool = guard->tool,
				   .argv = guard->command,
				   .check = nothing_to_renew,
				   .interval = LEASE,
				   .grace = ATLOCK_NEVER };
	int code;

	(void)tool_fail(guard->tool, 0, "%s: %s", why, guard->dry ? "the command would run" : "the command runs");
	if (guard->dry)
		return EXIT_DONE;
	run_child_prepare(&child);
	code = run_child(&child);
	run_child_pass_on(&child);
	return code;
}

/* An app that is not down decides it. The lock is asked for all the same: its refusal is an event, and is counted. */
static int guard_skip(struct guard *guard, int code)
{
	int err = guard->dry ? 0 : mount_try(&guard->mount, guard->stop, O_CREAT | O_EXCL);

	if (err == 0 && !guard->dry)
		stop_release(guard);
	guard->tried = 1;
	guard_tell(guard, ATLOCK_GUARD_IN_USE);
	return code;
}

static int guard_decide(struct guard *guard)
{
	const char *off = getenv("ATLOCK_GUARD");
	char path[ATLOCK_COMPONENT_MAX + 32];
	char text[ATLOCK_COMPONENT_MAX + 96];
	int code;

	if (guard->off || (off != NULL && strcmp(off, "off") == 0))
		return guard_free(guard, "the guard is switched off");
	(void)snprintf(path, sizeof(path), "shared/%s", guard->resource);
	if (faccessat(guard->mount.fd, path, F_OK, 0) != 0 && errno == ENOENT) {
		(void)snprintf(text, sizeof(text), "%s is dedicated, no app is registered as its user", path);
		return guard_free(guard, text);
	}
	code = guard_ask(guard);
	if (code == EXIT_TRY_AGAIN)
		return guard_skip(guard, code);
	if (code != EXIT_DONE)
		return code;
	if (guard->dry)
		return verdict_say(guard);
	return guard_run(guard);
}

/* --- The words --- */

static int probe_add(struct guard *guard, char *text)
{
	char *equals = strchr(text, '=');
	struct probe *probes;

	if (equals == NULL || equals == text || equals[1] == '\0')
		return tool_usage(guard->tool, "--probe is APP=URL, not \"%s\"", text);
	*equals = '\0';
	if (atlock_app_check(text, NULL) < 0)
		return tool_usage(guard->tool, "\"%s\" cannot be the name of an app", text);
	probes = reallocarray(guard->probes, guard->count + 1, sizeof(*probes));
	if (probes == NULL)
		return tool_no_memory(guard->tool);
	guard->probes = probes;
	probes[guard->count++] = (struct probe){ .app = text, .url = equals + 1 };
	return -1;
}

static int codes_check(const struct guard *guard)
{
	return probe_codes_check(optarg)
		       ? -1
		       : tool_usage(guard->tool, "answers are given as 200,204 or 5xx, not \"%s\"", optarg);
}

static int option_take(void *arg, int letter)
{
	struct guard *guard = arg;
	const char *bad = NULL;

	switch (letter) {
	case 'A': guard->app = optarg; return -1;
	case 'P': return probe_add(guard, optarg);
	case 'T': return tool_duration(guard->tool, "timeout", false, &guard->timeout);
	case 't': return tool_duration(guard->tool, "ttl", false, &guard->ttl);
	case 'U': guard->codes.up = optarg; return codes_check(guard);
	case 'D': guard->codes.down = optarg; return codes_check(guard);
	case 'R':
		guard->tries = strtonum(optarg, 0, 1000, &bad) + 1;
		return bad == NULL ? -1 : tool_usage(guard->tool, "--retries is a number up to 1000");
	case 'Y': guard->dry = true; return -1;
	case 'O': guard->off = true; return -1;
	default: return CHOICE_UNKNOWN;
	}
}

/* Options may stand on both sides of the resource; the command begins after "--", or with the first word that is none. */
static int words_take(struct guard *guard, int argc, char **argv)
{
	int code = choice_read(guard->tool, argc, argv, CHOICE_FIRST, option_take, guard);

	if (code < 0 && optind < argc) {
		guard->resource = argv[optind];
		argc -= optind;
		argv += optind;
		code = choice_read(guard->tool, argc, argv, CHOICE_FIRST, option_take, guard);
	}
	if (code >= 0)
		return code;
	guard->command = argv + optind;
	if (guard->resource == NULL || atlock_component_check(guard->resource, NULL) < 0)
		return tool_usage(guard->tool, "which resource? A name in shared/ comes first");
	if (guard->app == NULL || atlock_app_check(guard->app, NULL) < 0)
		return tool_usage(guard->tool, "for which app? --app says so");
	if (optind >= argc)
		return tool_usage(guard->tool, "which command is to run? It stands after --");
	(void)snprintf(guard->stop, sizeof(guard->stop), "shared/%s/stop@%s", guard->resource, guard->app);
	return -1;
}

int cmd_guard(struct tool *tool, int argc, char **argv)
{
	struct guard guard = { .tool = tool, .timeout = TIMEOUT, .tries = TRIES, .codes = { "200", "" } };
	int code = words_take(&guard, argc, argv);

	if (code < 0) {
		code = mount_open(tool, &guard.mount);
		if (code == EXIT_DONE) {
			code = guard_decide(&guard);
			mount_close(&guard.mount);
		}
	}
	free(guard.probes);
	return code;
}
