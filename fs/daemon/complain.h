/* What goes wrong before and around mounting, in the one form that the terminal and the log both get. */
#ifndef COMPLAIN_H
#define COMPLAIN_H

/* Says "what: text" and returns -1. */
int complain(const char *what, const char *text);

#endif
