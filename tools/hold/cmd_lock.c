/* atlock lock: take locks and keep them. */
#include <atlock/program.h>
#include <getopt.h>
#include <stdlib.h>

#include "ask.h"
#include "hold_commands.h"
#include "take.h"

struct lock {
	struct tool *tool;
	struct ask ask;
};

static int option_take(void *arg, int letter)
{
	struct lock *lock = arg;

	return ask_option(lock->tool, &lock->ask, letter);
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

static int lock_run(struct lock *lock, const char *text, char *const *words)
{
	struct mount mount;
	struct take take = { .tool = lock->tool,
			     .mount = &mount,
			     .who = lock->ask.who,
			     .text = text,
			     .wait = lock->ask.wait,
			     .again = lock->ask.again,
			     .option = "--wait",
			     .waiting = { .every = lock->ask.every, .priority = lock->ask.priority } };
	int code = mount_open(lock->tool, &mount);

	if (code != EXIT_DONE)
		return code;
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

	if (code < 0) {
		char *text = ask_text(&lock.ask);

		code = text == NULL ? tool_no_memory(tool) : lock_run(&lock, text, argv + optind);
		free(text);
	}
	ask_free(&lock.ask);
	return code;
}
