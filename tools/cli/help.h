/* What people are told about the commands: a screen of 24 lines of 80 columns about all of them, one about each. */
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

/* The known word that a mistyped one is probably meant to be. One longer than this is like no other. */
#define NEAREST_MAX ATLOCK_WORD_MAX

struct nearest {
	const char *word;
	size_t distance;
	char found[NEAREST_MAX + 1]; /* "" none is near */
};

/* Looks for what `word` may be meant to be among all that is tried then: the first of those that are nearest to it. */
void nearest_begin(struct nearest *nearest, const char *word);
void nearest_try(struct nearest *nearest, const char *known);

#endif
