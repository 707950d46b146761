#include "command.h"

#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <atlock.h>

#include "choice.h"
#include "help.h"
#include "nearest.h"
#include "term.h"

const struct command *command_find(const struct command *commands, const char *name)
{
	for (; commands->name != NULL; commands++)
		if (strcmp(commands->name, name) == 0)
			return commands;
	return NULL;
}

static void complain(const struct tool *tool, const char *format, va_list list)
{
	fprintf(stderr, "atlock%s%s: ", tool->command == NULL ? "" : " ",
		tool->command == NULL ? "" : tool->command->name);
	term_vprint(stderr, format, list);
}

int tool_fail(const struct tool *tool, int code, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	complain(tool, format, list);
	va_end(list);
	fputc('\n', stderr);
	return code;
}

int tool_usage(const struct tool *tool, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	complain(tool, format, list);
	va_end(list);
	fprintf(stderr, "; try 'atlock%s%s --help'\n", tool->command == NULL ? "" : " ",
		tool->command == NULL ? "" : tool->command->name);
	return EXIT_USAGE;
}

/* --- Options that are wrong --- */

/* Calls `fn` with the name of each option there is. */
typedef void choice_fn(void *arg, const char *name);
static void choices_each(const struct tool *tool, choice_fn *fn, void *arg)
{
	const char *texts[] = { tool->command == NULL ? "  -V, --version\n" : tool->command->more, choice_common };
	struct choice choice;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		while (choice_next(&texts[i], &choice))
			fn(arg, choice.name);
}

static void choice_near(void *arg, const char *name)
{
	nearest_try(arg, name);
}

/* The options that a word is the beginning of. */
struct beginnings {
	const char *word;
	size_t count;
	char names[256]; /* "--store or --status" */
};

static void choice_begins(void *arg, const char *name)
{
	struct beginnings *it = arg;

	if (strncmp(name, it->word, strlen(it->word)) != 0)
		return;
	strlcat(it->names, it->count++ == 0 ? "--" : " or --", sizeof(it->names));
	strlcat(it->names, name, sizeof(it->names));
}

static int option_unknown(const struct tool *tool, const char *word)
{
	struct beginnings beginnings = { .word = word };
	struct nearest nearest;

	choices_each(tool, choice_begins, &beginnings);
	if (beginnings.count > 1)
		return tool_usage(tool, "\"--%s\" may be %s", word, beginnings.names);
	nearest_begin(&nearest, word);
	choices_each(tool, choice_near, &nearest);
	if (nearest.found[0] == '\0')
		return tool_usage(tool, "there is no option \"--%s\"", word);
	return tool_fail(tool, EXIT_USAGE, "there is no option \"--%s\": did you mean \"--%s\"?", word, nearest.found);
}

/* A long option with one dash is read as letters, the first of which may well be some. */
static bool is_long(const struct tool *tool, const char *word)
{
	struct beginnings beginnings = { .word = word == NULL || word[0] != '-' ? "-" : word + 1 };

	choices_each(tool, choice_begins, &beginnings);
	return beginnings.count == 1 && strlen(beginnings.word) > 1;
}

static int option_wrong(const struct tool *tool, int option)
{
	const char *last = tool->argv[optind - 1];
	char word[NEAREST_MAX + 1];

	if (strncmp(last, "--", 2) == 0) {
		(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(last + 2, "="), last + 2);
		if (option != ':' && optopt == 0)
			return option_unknown(tool, word);
		return tool_usage(tool, "--%s %s", word, option == ':' ? "lacks its value" : "takes no value");
	}
	if (is_long(tool, tool->argv[optind]))
		last = tool->argv[optind];
	if (is_long(tool, last))
		return tool_fail(tool, EXIT_USAGE, "there is no option \"%s\": did you mean \"-%s\"?", last, last);
	return tool_usage(tool, option == ':' ? "-%c lacks its value" : "there is no option \"-%c\"", optopt);
}

int tool_option(struct tool *tool, int option)
{
	switch (option) {
	case 'm': tool->mount = optarg; return -1;
	case 'h':
		if (tool->command == NULL)
			help_short(stdout, tool->commands);
		else
			help_one(stdout, tool->command);
		return EXIT_DONE;
	default: return option_wrong(tool, option);
	}
}

int tool_words(struct tool *tool, int argc, char **argv, int least, int most, const char *question)
{
	static const struct option longs[] = { TOOL_LONG, { NULL, 0, NULL, 0 } };
	int code = -1;
	int c;

	while (code < 0 && (c = getopt_long(argc, argv, TOOL_ANYWHERE, longs, NULL)) != -1)
		code = tool_option(tool, c);
	if (code >= 0)
		return code;
	if (argc - optind < least)
		return tool_usage(tool, "%s", question);
	if (argc - optind > most)
		return tool_usage(tool, "\"%s\" is one word too many", argv[optind + most]);
	return -1;
}

int tool_duration(const struct tool *tool, const char *name, bool never, int64_t *out)
{
	if (atlock_duration_parse(optarg, never, out) == 0 && *out > 0)
		return -1;
	return tool_usage(tool, "--%s is a duration such as 10m, not \"%s\"", name, optarg);
}

int64_t tool_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (int64_t)ts.tv_sec * ATLOCK_SECOND + ts.tv_nsec;
}

static const struct {
	int err;
	int code;
} codes[] = {
	{ ENOENT, EXIT_NO_INPUT },       { EISDIR, EXIT_NO_INPUT },
	{ EACCES, EXIT_PERMISSION },     { EPERM, EXIT_PERMISSION },
	{ EBADMSG, EXIT_DATA },          { EINVAL, EXIT_USAGE },
	{ EAGAIN, EXIT_TRY_AGAIN },      { ETIMEDOUT, EXIT_TRY_AGAIN },
	{ EBUSY, EXIT_TRY_AGAIN },       { ENOMEM, EXIT_SYSTEM },
	{ ENOTCONN, EXIT_UNAVAILABLE },  { ECONNABORTED, EXIT_UNAVAILABLE },
	{ EHOSTDOWN, EXIT_UNAVAILABLE }, { ECONNREFUSED, EXIT_UNAVAILABLE },
};

int tool_exit_code(int err)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].err == err)
			return codes[i].code;
	return EXIT_OUTPUT;
}
