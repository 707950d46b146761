/* Help: a screen of 24 lines of 80 columns about the program, and a text about each command. */
#ifndef TOOLS_HELP_H
#define TOOLS_HELP_H

#include <atlock/program.h>
#include <stdio.h>

#include "command.h"

/* Of the program: what there is, in groups. */
void help_short(FILE *out, const struct command *commands);

/* Of the program: every command, with a line about it. */
void help_all(FILE *out, const struct command *commands);

/* Of one command. */
void help_one(FILE *out, const struct command *command);

/* There is no such command: says which may have been meant, and returns EXIT_USAGE. */
int help_unknown(const struct command *commands, const char *name);

/* The known word that a mistyped one probably stands for. A word longer than this has none. */
#define NEAREST_MAX ATLOCK_WORD_MAX

struct nearest {
	const char *word;
	size_t distance;
	char found[NEAREST_MAX + 1]; /* "" none is near */
};

/* Begin with `word`, then try every known word: `found` is the first of those nearest to it. */
void nearest_begin(struct nearest *nearest, const char *word);
void nearest_try(struct nearest *nearest, const char *known);

#endif
