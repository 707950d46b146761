/* atlock wait: waits for a lock and takes it, or with --free waits until it is not held. */
#include <atlock/program.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ask.h"
#include "hold_commands.h"
#include "moment.h"
#include "take.h"
#include "term.h"

#define LOOK (ATLOCK_SECOND / 5)

/* Polls: the file system wakes only callers that ask for the lock. 0, or the errno that ended it: ENOENT says that it is free. */
static int free_poll(const struct mount *mount, const char *path, int64_t deadline)
{
	struct stat st;

	while (fstatat(mount->fd, path, &st, 0) == 0) {
		if (moment_steady() >= deadline)
			return 0;
		moment_sleep(LOOK);
	}
	return errno;
}

static int wait_free(const struct tool *tool, const struct mount *mount, const char *word, const struct ask *ask)
{
	int64_t deadline = ask->wait == ATLOCK_NEVER ? ATLOCK_NEVER : moment_steady() + ask->wait;
	struct waiting waiting = { .tool = tool, .mount = mount, .every = ask->every };
	char path[ATLOCK_PATH_MAX];
	int code = lockpath_take(tool, mount, word, path);
	int err;

	if (code != EXIT_DONE)
		return code;
	waiting_begin(&waiting, path, NULL, deadline);
	err = free_poll(mount, path, deadline);
	waiting_end(&waiting);
	if (err == 0)
		return take_timed_out(tool, mount, path, "--timeout");
	return err == ENOENT ? EXIT_DONE : lockpath_refused(tool, mount, path, err, NULL);
}

static int lock_print(const struct tool *tool, const struct mount *mount, const char *path)
{
	FILE *file = mount_read(mount, path);

	if (file == NULL)
		return lockpath_refused(tool, mount, path, errno, NULL);
	term_copy(file, stdout);
	fclose(file);
	return EXIT_DONE;
}

static int wait_own(const struct tool *tool, const struct mount *mount, const char *word, const struct ask *ask)
{
	char *text = ask_text(ask);
	struct take take = { .tool = tool,
			     .mount = mount,
			     .who = "",
			     .text = text,
			     .wait = ask->wait,
			     .option = "--timeout",
			     .waiting = { .every = ask->every, .priority = ask->priority } };
	int code;

	if (text == NULL)
		return tool_no_memory(tool);
	code = take_add(&take, word);
	if (code == EXIT_DONE)
		code = take_all(&take);
	if (code == EXIT_DONE)
		code = lock_print(tool, mount, take.locks[0].name);
	if (code == EXIT_DONE && atlock_standard_flush() < 0)
		take_back(&take);
	take_free(&take);
	free(text);
	return code;
}

struct options {
	const struct tool *tool;
	struct ask ask;
	bool until_free;
};

static int option_take(void *arg, int letter)
{
	struct options *options = arg;

	switch (letter) {
	case 'F': options->until_free = true; return -1;
	case 'T': return tool_duration(options->tool, "timeout", true, &options->ask.wait);
	default: return ask_option(options->tool, &options->ask, letter);
	}
}

int cmd_wait(struct tool *tool, int argc, char **argv)
{
	struct options options = { .tool = tool, .ask = { .wait = ATLOCK_NEVER } };
	struct mount mount;
	int code = choice_words(tool, argc, argv, (struct choice_count){ 1, 1, "which lock?" }, option_take, &options);

	if (code >= 0)
		return code;
	code = mount_open(tool, &mount);
	if (code != EXIT_DONE)
		return code;
	code = options.until_free ? wait_free(tool, &mount, argv[optind], &options.ask)
				  : wait_own(tool, &mount, argv[optind], &options.ask);
	mount_close(&mount);
	return code;
}
