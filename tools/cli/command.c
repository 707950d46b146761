#include "command.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atlock.h>

#include "term.h"

const struct command *command_find(const struct command *commands, const char *name)
{
	for (; commands->name != NULL; commands++)
		if (strcmp(commands->name, name) == 0)
			return commands;
	return NULL;
}

static void tool_say(const struct tool *tool, const char *format, va_list list)
{
	fprintf(stderr, "atlock%s%s: ", tool->command == NULL ? "" : " ",
		tool->command == NULL ? "" : tool->command->name);
	term_vprint(stderr, format, list);
}

int tool_fail(const struct tool *tool, int code, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	tool_say(tool, format, list);
	va_end(list);
	fputc('\n', stderr);
	return code;
}

int tool_usage(const struct tool *tool, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	tool_say(tool, format, list);
	va_end(list);
	fprintf(stderr, "; try 'atlock%s%s --help'\n", tool->command == NULL ? "" : " ",
		tool->command == NULL ? "" : tool->command->name);
	return EXIT_USAGE;
}

int tool_version(const struct tool *tool)
{
	const char *bad = NULL;

	(void)strtonum(optarg, 1, INT64_MAX, &bad);
	return bad == NULL ? -1 : tool_usage(tool, "--if-version takes the number that a lock's version= shows");
}

int tool_duration(const struct tool *tool, const char *name, bool never, int64_t *out)
{
	if (atlock_duration_parse(optarg, never, out) == 0 && *out > 0)
		return -1;
	return tool_usage(tool, "--%s is a duration such as 10m, not \"%s\"", name, optarg);
}

static const struct tool_code usual[] = {
	{ ENOENT, EXIT_NO_INPUT },
	{ EISDIR, EXIT_NO_INPUT },
	{ EACCES, EXIT_PERMISSION },
	{ EPERM, EXIT_PERMISSION },
	{ EBADMSG, EXIT_DATA },
	{ EINVAL, EXIT_USAGE },
	{ EAGAIN, EXIT_TRY_AGAIN },
	{ ETIMEDOUT, EXIT_TRY_AGAIN },
	{ EBUSY, EXIT_TRY_AGAIN },
	{ ENOMEM, EXIT_SYSTEM },
	{ ENOTCONN, EXIT_UNAVAILABLE },
	{ ECONNABORTED, EXIT_UNAVAILABLE },
	{ EHOSTDOWN, EXIT_UNAVAILABLE },
	{ ECONNREFUSED, EXIT_UNAVAILABLE },
	{ .err = 0 },
};

int tool_exit_code_in(const struct tool_code *codes, int err)
{
	for (; codes->err != 0; codes++)
		if (codes->err == err)
			return codes->code;
	return codes == usual + sizeof(usual) / sizeof(usual[0]) - 1 ? EXIT_OUTPUT : tool_exit_code(err);
}

int tool_exit_code(int err)
{
	return tool_exit_code_in(usual, err);
}

int tool_fail_why(const struct tool *tool, int err, const struct atlock_why *why)
{
	return tool_fail(tool, tool_exit_code(-err), "%s", why->text);
}

void *tool_grow(void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room * 2 + 64;

	if (count < *room)
		return array;
	array = reallocarray(array, more, size);
	if (array != NULL)
		*room = more;
	return array;
}

int tool_no_memory(const struct tool *tool)
{
	return tool_fail(tool, EXIT_SYSTEM, "out of memory");
}
