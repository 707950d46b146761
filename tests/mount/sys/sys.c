/*
 * System calls for shell scripts: `mount-sys open F rdonly,creat + flock ex,nb + mark READY + pause`.
 *
 * Steps are separated by "+" and share one current file, the one opened last. The first that fails ends the program with
 * status 1 and "<step>: <ERRNO>" on stderr. What is read goes to stdout.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sys.h"

int sys_fd = -1;

static const struct sys_step *const tables[] = { sys_file_steps, sys_read_steps, sys_path_steps, sys_process_steps };

_Noreturn void sys_usage(const char *what, const char *text)
{
	fprintf(stderr, "mount-sys: %s: %s\n", what, text);
	exit(2);
}

int sys_words(const struct sys_word *table, const char *text)
{
	int sum = 0;

	for (;;) {
		size_t len = strcspn(text, ",");
		const struct sys_word *word = table;

		while (word->name != NULL && (strlen(word->name) != len || strncmp(word->name, text, len) != 0))
			word++;
		if (word->name == NULL)
			sys_usage(text, "unknown word");
		sum |= word->value;
		if (text[len] == '\0')
			return sum;
		text += len + 1;
	}
}

long long sys_number(const char *text)
{
	char *end;
	long long value = strtoll(text, &end, 0);

	if (end == text || *end != '\0')
		sys_usage(text, "not a number");
	return value;
}

mode_t sys_mode(const char *text, mode_t otherwise)
{
	return text[0] == '\0' ? otherwise : (mode_t)strtoul(text, NULL, 8);
}

struct timespec sys_time(const char *text)
{
	struct timespec at = { .tv_nsec = UTIME_NOW };

	if (strcmp(text, "omit") == 0)
		at.tv_nsec = UTIME_OMIT;
	else if (text[0] == '+') {
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_sec += (time_t)sys_number(text + 1);
	} else if (strcmp(text, "now") != 0)
		at = (struct timespec){ .tv_sec = (time_t)sys_number(text) };
	return at;
}

static const struct sys_step *step_find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct sys_step *step = tables[i]; step->name != NULL; step++)
			if (strcmp(step->name, name) == 0)
				return step;
	sys_usage(name, "no such step");
}

/* Runs the step at argv[0] and returns where the next one begins. */
static char **step_run(char **argv)
{
	static char empty[] = "";
	char *args[SYS_ARGS_MAX] = { empty, empty, empty, empty };
	const struct sys_step *step = step_find(*argv++);
	int n = 0;

	while (*argv != NULL && strcmp(*argv, "+") != 0) {
		if (n == SYS_ARGS_MAX)
			sys_usage(step->name, "too many arguments");
		args[n++] = *argv++;
	}
	if (n < step->least)
		sys_usage(step->name, "arguments are missing");
	if (step->run(args) < 0) {
		fprintf(stderr, "%s: %s\n", step->name, strerrorname_np(errno));
		exit(1);
	}
	return *argv == NULL ? argv : argv + 1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		sys_usage("steps", "which?");
	for (argv++; *argv != NULL;)
		argv = step_run(argv);
	return 0;
}
