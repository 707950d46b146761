/* atlock top without a terminal: plain text, all of it, again and again. */
#ifndef TOOLS_TOP_BATCH_H
#define TOOLS_TOP_BATCH_H

#include "top.h"

/* Prints until it was printed as often as asked for, standard output is closed, or the mount is gone. An exit code. */
int top_batch(struct top *top);

#endif
