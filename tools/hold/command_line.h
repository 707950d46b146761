/* A command line as the reason for which a lock is held. Every user can read that, so secrets are left out. */
#ifndef TOOLS_COMMAND_LINE_H
#define TOOLS_COMMAND_LINE_H

#include <stddef.h>

/*
 * Writes the words with blanks between them, in one line, cut at `len`. "***" stands for the value of an option or variable
 * whose name tells a secret: --password=x, --token x, PGPASSWORD=x. User and password in URLs are left out by the file system.
 */
void command_line_print(char *const *argv, char *out, size_t len);

#endif
