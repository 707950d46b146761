/*
 * Names that were not found on the way to a change. The kernel asks for each part of a path before it says what it is for, and
 * ends a call by itself at the first that is not there: `touch custom/a/b` is a lookup of "a" to us, as `test -e custom/a` is.
 * Only the program tells them apart. One that does nothing but change things is told what is missing; of all others nothing is
 * said, and whoever goes on to make what he did not find was not refused anything.
 */
#ifndef MISSING_H
#define MISSING_H

#include "fs.h"

/* The name that the call looks up is not there. */
void missing_note(struct call *call);

/* The call is to make what it names: it was not missed. */
void missing_take_back(struct call *call);

#endif
