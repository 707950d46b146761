/* Suggests what a mistyped command line option was meant to be. */
#ifndef SUGGEST_H
#define SUGGEST_H

#include <getopt.h>

/* If one of `longs` is similar to "--name" or "--name=value", asks on standard error whether that one is meant. */
void suggest_long(const struct option *longs, const char *word);

#endif
