/* The options of a command, as its help tells about them. */
#ifndef TOOLS_CHOICE_H
#define TOOLS_CHOICE_H

#include <stdbool.h>

/* An option as a line of help has it: "  -w, --wait TIME      wait for them". */
struct choice {
	char letter; /* or NUL */
	char name[32];
	bool value;
	char help[128];
};

/* Reads the next option in a help text, which is left behind it; false if there is none. */
bool choice_next(const char **text, struct choice *out);

/* The help text of those that every command has. */
extern const char choice_common[];

#endif
