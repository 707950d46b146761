/*
 * What the commands of atlock(1) share: the table they stand in, how they end, how they say what is wrong.
 *
 * A command is one file, cmd_<name>.c, with one function; the header of its room declares it, and a row in atlock.c makes it
 * known. The function gets the words from its own name on, reads its options by choice_read(), and returns one of the exit
 * codes. Results go to standard output, everything else to standard error.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Scripts rely on these; atlock(1) lists them. Those from 64 to 77 are of sysexits.h, 126 and 127 those of shells. */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_REFUSED = 1,        /* the answer is no: held by another, a conflict, a difference */
	EXIT_USAGE = 64,         /* wrong words on the command line */
	EXIT_DATA = 65,          /* the input is damaged or not what it should be */
	EXIT_NO_INPUT = 66,      /* the input is not there or cannot be read */
	EXIT_UNAVAILABLE = 69,   /* no mount, a dead daemon, a server that does not answer */
	EXIT_SYSTEM = 71,        /* out of memory and the like */
	EXIT_OUTPUT = 74,        /* reading or writing failed */
	EXIT_TRY_AGAIN = 75,     /* not now, perhaps later: a timeout */
	EXIT_PERMISSION = 77,    /* for administrators only */
	EXIT_NOT_EXECUTED = 126, /* of run and guard: the command is there and cannot be executed */
	EXIT_NOT_FOUND = 127,    /* and: there is no such command */
};

struct tool;
typedef int command_fn(struct tool *tool, int argc, char **argv);

struct command {
	const char *name;
	const char *usage; /* what follows the name */
	const char *help;  /* one line */
	const char *more;  /* the rest of --help: options, a line each, from which choice_read() knows them */
	command_fn *run;
};

/* One run of the program. */
struct tool {
	const struct command *commands; /* all there are, by name; one without a name follows the last */
	const struct command *command;  /* the one that runs, or NULL */
	const char *mount;              /* -m, or NULL */
};

/* The command of that name, or NULL. */
const struct command *command_find(const struct command *commands, const char *name);

/* "atlock import: <text>" on standard error; returns `code`. */
int tool_fail(const struct tool *tool, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for wrong words, with a hint at --help; returns EXIT_USAGE. */
int tool_usage(const struct tool *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --<name> is a duration in optarg: -1, or EXIT_USAGE once it has said that it is none. */
int tool_duration(const struct tool *tool, const char *name, bool never, int64_t *out);

/* --if-version is a number in optarg: -1, or EXIT_USAGE once it has said that it is none. */
int tool_version(const struct tool *tool);

/* What a count's noun ends with: "1 lock", "2 locks". */
#define TOOL_S(count) ((count) == 1 ? "" : "s")

/* The exit code that fits an errno; and one that `codes`, up to an entry with err 0, may say otherwise. */
int tool_exit_code(int err);

struct tool_code {
	int err;
	int code;
};
int tool_exit_code_in(const struct tool_code *codes, int err);

/* Both say it and return the exit code: a negative errno of the library with its text; no memory. */
struct atlock_why;
int tool_fail_why(const struct tool *tool, int err, const struct atlock_why *why);
int tool_no_memory(const struct tool *tool);

/*
 * An array of `count` elements with space for one more: `array` itself if `*room` says that it has some, else a larger one in its
 * place, and `*room` grows. NULL without memory; then `array` stays.
 */
void *tool_grow(void *array, size_t count, size_t *room, size_t size);

#endif
