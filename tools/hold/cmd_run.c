/*
 * atlock run: run a command while locks are held. The keeper (front.h) holds them as "@pid:" of its own, so that they end with
 * it, also if it is killed; while the command runs it renews them, and ends the command if one is lost.
 */
#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask.h"
#include "command_line.h"
#include "front.h"
#include "hold_commands.h"
#include "moment.h"
#include "run_child.h"
#include "take.h"

#define GRACE (10 * ATLOCK_SECOND)
#define LOOK ATLOCK_SECOND /* how often to see whether the locks are still there */
#define RENEWALS 4         /* within one lease */

struct run {
	struct tool *tool;
	struct mount mount;
	char *const *command;
	char **locks; /* as given */
	size_t count;
	const char *guard;   /* --command */
	const char *on_lost; /* "kill", "warn", or a command */
	struct ask ask;
	int64_t grace;
	struct take take;
	char process[32]; /* the who of this process */
	char name[64];
	char reason[ASK_REASON_MAX + 1];
	char *text;
	int64_t lease;   /* the shortest; ATLOCK_NEVER if they have none */
	int64_t renewed; /* when the last renewal that succeeded began */
	int64_t patience; /* of a store that several hosts share: how long the locks may not be seen; else ATLOCK_NEVER */
	int64_t seen;     /* when they were last */
	bool lost;
};

/* --- While it runs --- */

static int64_t run_interval(const struct run *run)
{
	return run->lease / RENEWALS < LOOK ? run->lease / RENEWALS : LOOK;
}

/* --on-lost with a shell command: runs it beside the command. */
static void lost_command(const struct run *run)
{
	pid_t pid = fork();

	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execl("/bin/sh", "sh", "-c", run->on_lost, (char *)NULL);
		_exit(127);
	}
	if (pid < 0)
		(void)tool_fail(run->tool, 0, "%s: %s", run->on_lost, strerror(errno));
}

static bool run_lost(struct run *run, const char *name)
{
	bool kill = strcmp(run->on_lost, "kill") == 0;

	if (run->lost)
		return true;
	run->lost = true;
	(void)tool_fail(run->tool, 0, "%s is lost: %s", name,
			kill ? "the command is told to end" : "the command goes on without it");
	if (kill)
		return false;
	setenv("ATLOCK_LOST", name, 1);
	if (strcmp(run->on_lost, "warn") != 0)
		lost_command(run);
	return true;
}

/* 0 or an errno. LOCK@WHO exists only while WHO holds the lock: ENOENT says that it is lost. */
static int lock_look(const struct run *run, const char *name, bool renew)
{
	struct stat st;
	int rc = renew ? utimensat(run->mount.fd, name, NULL, 0) : fstatat(run->mount.fd, name, &st, 0);

	return rc == 0 ? 0 : errno;
}

/*
 * Locks of processes end with their host, in a store that several hosts share: after host_timeout without a word from it the others go on. Its last
 * word may have come a fifth of that before the locks were last seen here, and the command needs time to end.
 */
static void run_patience(struct run *run)
{
	char store[PATH_MAX] = "";
	char text[64] = "";
	int64_t timeout;

	run->patience = ATLOCK_NEVER;
	run->seen = moment_steady();
	mount_line(&run->mount, "config/store", store, sizeof(store));
	mount_line(&run->mount, "config/host_timeout", text, sizeof(text));
	if (strstr(store, "://") != NULL && atlock_duration_parse(text, false, &timeout) == 0)
		run->patience = timeout / 10 * 6;
}

/*
 * While no daemon answers, no other caller can take the locks, but their lease goes on. Other hosts can, if they share the store.
 */
static bool run_check(void *arg)
{
	struct run *run = arg;
	int64_t now = moment_steady();
	bool renew = run->lease != ATLOCK_NEVER && now - run->renewed >= run->lease / RENEWALS;
	int err = 0;

	for (size_t i = 0; i < run->take.count; i++) {
		const char *name = run->take.locks[i].name;

		err = lock_look(run, name, renew);
		if (err == ENOENT || err == EPERM || err == EACCES || (err != 0 && now - run->renewed >= run->lease) ||
		    (err != 0 && now - run->seen >= run->patience))
			return run_lost(run, name);
		if (err != 0)
			break;
	}
	if (err == 0)
		run->seen = now;
	if (err == 0 && renew)
		run->renewed = now;
	if (err == ENOTCONN || err == ECONNABORTED)
		(void)mount_reopen(&run->mount); /* a new daemon watches our process again */
	return true;
}

/* --- Before --- */

/* While another holds global/<command>, no such command may run. */
static int guard_check(const struct run *run)
{
	char path[ATLOCK_PATH_MAX];
	char advice[ATLOCK_PATH_MAX + 64];
	int err;

	if (run->guard == NULL)
		return EXIT_DONE;
	(void)snprintf(path, sizeof(path), "global/%s", run->guard);
	(void)snprintf(advice, sizeof(advice), "'atlock wait --free %s' waits until it is free", path);
	err = lockpath_mine(&run->mount, path);
	return err == 0 || err == -ENOENT ? EXIT_DONE : lockpath_refused(run->tool, &run->mount, path, -err, advice);
}

/* Sets a variable to the first lock's value, and its plural to all values, a line each. */
static int export_field(const struct run *run, const char *variable, const char *key)
{
	const struct take *take = &run->take;
	char value[ATLOCK_PATH_MAX];
	char name[32];
	char *all = NULL;
	size_t len = 0;
	FILE *lines = open_memstream(&all, &len);

	if (lines == NULL)
		return -1;
	for (size_t place = 1; place <= take->count; place++)
		for (size_t i = 0; i < take->count; i++) {
			const struct taken *lock = &take->locks[i];

			if (lock->place != place)
				continue;
			if (key == NULL)
				(void)snprintf(value, sizeof(value), "%s", lock->path);
			else
				(void)mount_field(&run->mount, lock->name, key, value, sizeof(value));
			fprintf(lines, "%s%s", place == 1 ? "" : "\n", value);
			if (place == 1)
				setenv(variable, value, 1);
		}
	fclose(lines);
	(void)snprintf(name, sizeof(name), "%sS", variable);
	setenv(name, all, 1);
	free(all);
	return 0;
}

static void run_export(struct run *run)
{
	setenv("ATLOCKFS", run->mount.path, 1);
	if (run->take.count == 0)
		return;
	(void)export_field(run, "ATLOCK_LOCK", NULL);
	(void)export_field(run, "ATLOCK_TOKEN", "token");
	(void)export_field(run, "ATLOCK_ID", "id");
	setenv("ATLOCK_WHO", run->take.who + 1, 1);
}

static void run_lease(struct run *run)
{
	char ttl[64];
	int64_t lease;

	run->lease = ATLOCK_NEVER;
	for (size_t i = 0; i < run->take.count; i++)
		if (mount_field(&run->mount, run->take.locks[i].name, "ttl", ttl, sizeof(ttl)) &&
		    atlock_duration_parse(ttl, true, &lease) == 0 && lease < run->lease)
			run->lease = lease;
}

/* --- The keeper --- */

/* The daemon sees no processes of other pid namespaces: a container uses a unique name and a lease instead. */
static int locks_take(struct run *run)
{
	bool named = run->ask.who[0] != '\0';

	(void)snprintf(run->process, sizeof(run->process), "@pid:%jd", (intmax_t)getpid());
	(void)snprintf(run->name, sizeof(run->name), "@run-%jd-%08x", (intmax_t)getpid(), arc4random());
	run->text = ask_text(&run->ask);
	if (run->text == NULL)
		return tool_no_memory(run->tool);
	run->take = (struct take){ .tool = run->tool,
				   .mount = &run->mount,
				   .who = named ? run->ask.who : run->process,
				   .other = named ? NULL : run->name,
				   .unique = !named,
				   .text = run->text,
				   .wait = run->ask.wait,
				   .again = run->ask.again,
				   .option = "--wait",
				   .waiting = { .every = run->ask.every, .priority = run->ask.priority } };
	for (size_t i = 0; i < run->count; i++) {
		int code = take_add(&run->take, run->locks[i]);

		if (code != EXIT_DONE)
			return code;
	}
	return take_all(&run->take);
}

/* The lease of the first lock may have ended while others were waited for. */
static int locks_keep(struct run *run)
{
	run->renewed = moment_steady();
	for (size_t i = 0; i + 1 < run->take.count; i++) {
		const char *name = run->take.locks[i].name;
		int err = lock_look(run, name, run->lease != ATLOCK_NEVER);

		if (err != 0)
			return tool_fail(run->tool, EXIT_TRY_AGAIN, "%s was lost while others were waited for: %s",
					 name, err == ENOENT ? "its lease ended" : strerror(err));
	}
	return EXIT_DONE;
}

/* The daemon of a shared store ends processes whose locks are over by SIGTERM (lost_signal), and may be quicker than run_check(). */
static bool run_ended_by_daemon(struct run *run, int code)
{
	return code == 128 + SIGTERM && !run_check(run);
}

static int keeper(const struct front *front, void *arg)
{
	struct run *run = arg;
	struct run_child child = { .tool = run->tool,
				   .argv = run->command,
				   .check = run_check,
				   .arg = run,
				   .grace = run->grace,
				   .home = front->home,
				   .parent = front->pid,
				   .group = front->group };
	int code;

	code = guard_check(run);
	if (code == EXIT_DONE)
		code = locks_take(run);
	if (code != EXIT_DONE)
		return code;
	run_child_prepare(&child);
	run_lease(run);
	run_patience(run);
	run_export(run);
	child.interval = run_interval(run);
	code = locks_keep(run);
	/* Waiting may have taken long: check again. */
	if (code == EXIT_DONE)
		code = guard_check(run);
	if (code == EXIT_DONE)
		code = run_child(&child);
	if (!child.ended_by_us && run_ended_by_daemon(run, code))
		child.ended_by_us = true;
	take_back(&run->take);
	run_child_pass_on(&child);
	return child.ended_by_us ? EXIT_TRY_AGAIN : code;
}

/* --- The words --- */

static int lock_option(struct run *run, char *text)
{
	char **locks = reallocarray(run->locks, run->count + 1, sizeof(*locks));

	if (locks == NULL)
		return tool_no_memory(run->tool);
	run->locks = locks;
	locks[run->count++] = text;
	return -1;
}

static int command_take(struct run *run)
{
	char path[ATLOCK_PATH_MAX];
	struct atlock_name name;

	(void)snprintf(path, sizeof(path), "global/%s", optarg);
	if (atlock_name_parse(path, &name, NULL) < 0 || name.who[0] != '\0')
		return tool_usage(run->tool, "--command is a name in global/ such as apply, not \"%s\"", optarg);
	run->guard = optarg;
	return -1;
}

static int option_take(void *arg, int letter)
{
	struct run *run = arg;

	switch (letter) {
	case 'l': return lock_option(run, optarg);
	case 'k': return tool_duration(run->tool, "kill-after", true, &run->grace);
	case 'c': return command_take(run);
	case 'O': run->on_lost = optarg; return -1;
	default: return ask_option(run->tool, &run->ask, letter);
	}
}

static int words_take(struct run *run, int argc, char **argv)
{
	int code;

	code = choice_read(run->tool, argc, argv, CHOICE_FIRST, option_take, run);
	if (code >= 0)
		return code;
	if (run->count == 0 && run->guard == NULL)
		return tool_usage(run->tool, "which lock is to be held? --lock says so");
	if (optind >= argc)
		return tool_usage(run->tool, "which command is to run? It stands after --");
	run->command = argv + optind;
	if (run->ask.reason == NULL) {
		command_line_print(run->command, run->reason, sizeof(run->reason));
		run->ask.reason = run->reason;
	}
	return -1;
}

int cmd_run(struct tool *tool, int argc, char **argv)
{
	struct run run = { .tool = tool, .on_lost = "kill", .grace = GRACE, .lease = ATLOCK_NEVER };
	int code = words_take(&run, argc, argv);

	if (code < 0) {
		code = mount_open(tool, &run.mount);
		if (code == EXIT_DONE) {
			code = front_start(tool, keeper, &run);
			mount_close(&run.mount);
		}
	}
	free(run.locks);
	ask_free(&run.ask);
	return code;
}
