/* What a mistyped option of the command line may be meant to be. */
#ifndef SUGGEST_H
#define SUGGEST_H

#include <getopt.h>

/* Asks on standard error whether "--name" or "--name=value" is meant to be the one of `longs` that is like it, if one is. */
void suggest_long(const struct option *longs, const char *word);

#endif
