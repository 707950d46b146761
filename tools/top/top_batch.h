/* atlock top without a terminal: plain text, all of it, again and again. */
#ifndef TOOLS_TOP_BATCH_H
#define TOOLS_TOP_BATCH_H

#include "top.h"

/* Until it was printed as often as asked for, nobody reads it any more, or the mount is gone: an exit code. */
int top_batch(struct top *top);

#endif
