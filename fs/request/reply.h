/* The end of every request. */
#ifndef REPLY_H
#define REPLY_H

#include "fs.h"

/*
 * Ends a call: replies 0 or an error, unless it is CALL_ANSWERED, counts it as ended and frees it. CALL_LATER does
 * nothing. The reason of an error goes to the caller's `why`; a call that would have changed something always has one,
 * see refuse.h.
 */
void call_end(struct call *call, int err);

#endif
