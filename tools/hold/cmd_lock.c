/* atlock lock: take locks and keep them. */
#include <atlock/program.h>
#include <getopt.h>
#include <string.h>

#include "ask.h"
#include "hold_commands.h"
#include "take.h"

#define REASON_MAX 700 /* bytes */

struct lock {
	struct tool *tool;
	struct ask ask;
	const char *reason;
	char who[ATLOCK_WHO_MAX + 2];
	char text[1024];
};

static int option_take(void *arg, int letter)
{
	struct lock *lock = arg;

	switch (letter) {
	case 'R':
		lock->reason = optarg;
		if (strchr(optarg, '\n') == NULL && strlen(optarg) <= REASON_MAX)
			return -1;
		return tool_usage(lock->tool, "--reason is one line of at most %d bytes", REASON_MAX);
	case 'W':
		(void)snprintf(lock->who, sizeof(lock->who), "@%s", optarg);
		if (optarg[0] != '\0' && strlen(optarg) <= ATLOCK_WHO_MAX)
			return -1;
		return tool_usage(lock->tool, "--who is a name such as build-17, of at most %d bytes", ATLOCK_WHO_MAX);
	default: return ask_option(lock->tool, &lock->ask, letter);
	}
}

/* The tokens, in the order in which the locks were named. */
static void tokens_print(const struct take *take)
{
	char token[32];

	for (size_t place = 1; place <= take->count; place++)
		for (size_t i = 0; i < take->count; i++)
			if (take->locks[i].place == place &&
			    mount_field(take->mount, take->locks[i].name, "token", token, sizeof(token)))
				puts(token);
}

static int lock_run(struct lock *lock, char *const *words)
{
	struct mount mount;
	struct take take = { .tool = lock->tool,
			     .mount = &mount,
			     .who = lock->who,
			     .text = lock->text,
			     .wait = lock->ask.wait,
			     .option = "--wait" };
	char more[REASON_MAX + 16] = "";
	int code = mount_open(lock->tool, &mount);

	if (code != EXIT_DONE)
		return code;
	if (lock->reason != NULL)
		(void)snprintf(more, sizeof(more), "reason=%s\n", lock->reason);
	ask_text(&lock->ask, more, lock->text, sizeof(lock->text));
	for (; code == EXIT_DONE && *words != NULL; words++)
		code = take_add(&take, *words);
	if (code == EXIT_DONE)
		code = take_all(&take);
	if (code == EXIT_DONE)
		tokens_print(&take);
	/* A caller that got no tokens does not know that it has the locks: release them. */
	if (code == EXIT_DONE && atlock_standard_flush() < 0)
		take_back(&take);
	take_free(&take);
	mount_close(&mount);
	return code;
}

int cmd_lock(struct tool *tool, int argc, char **argv)
{
	const struct choice_count words = { 1, INT_MAX, "which lock?" };
	struct lock lock = { .tool = tool };
	int code = choice_words(tool, argc, argv, words, option_take, &lock);

	return code >= 0 ? code : lock_run(&lock, argv + optind);
}
