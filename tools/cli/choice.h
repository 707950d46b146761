/*
 * The options of a command. They are written once, in its help text: getopt_long(3), suggestions for mistyped words and shell
 * completion all take them from there.
 */
#ifndef TOOLS_CHOICE_H
#define TOOLS_CHOICE_H

#include <stdbool.h>

#include "command.h"

/* An option as a line of help has it: "  -w, --wait TIME      wait for them". */
struct choice {
	char letter; /* or NUL */
	char name[32];
	bool value;
	char help[128];
};

/* Reads the next option of a help text and moves `*text` behind it; false if there is none. */
bool choice_next(const char **text, struct choice *out);

/* The help text of those that every command has. */
extern const char choice_common[];

/* Whether options end at the first other word, or may follow words. */
enum choice_order { CHOICE_FIRST, CHOICE_ANYWHERE };

/*
 * Takes one option, whose value is in optarg. `letter` is the option's letter. An option without one goes by a letter of its
 * name in upper case, the first that no other option of the command has: 'K' is --key-file, and beside -S, --store, 'V' is
 * --svg. -1: go on; CHOICE_UNKNOWN: it is another's; else the exit code, once it has
 * said what is wrong.
 */
typedef int choice_fn(void *arg, int letter);
#define CHOICE_UNKNOWN (-2)

/*
 * Reads the options of tool->command, or without one those of the program. It handles those that every command has; `fn`, or
 * NULL where there are no others, takes the rest. Leaves optind at the first other word. -1: go on; else the exit code.
 */
int choice_read(struct tool *tool, int argc, char **argv, enum choice_order order, choice_fn *fn, void *arg);

/* How many words a command takes beside its options. */
struct choice_count {
	int least;
	int most;
	const char *question; /* what to ask where words are missing */
};

/* The same with CHOICE_ANYWHERE, and it counts the words. */
int choice_words(struct tool *tool, int argc, char **argv, struct choice_count count, choice_fn *fn, void *arg);

#endif
