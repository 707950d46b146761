/* Reports errors before and around mounting, in one form for both the terminal and the log. */
#ifndef COMPLAIN_H
#define COMPLAIN_H

/* Prints "what: text" and returns -1. */
int complain(const char *what, const char *text);

#endif
