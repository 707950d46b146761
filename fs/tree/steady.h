/* Directories that are always there and never change: they have the mode that their row says, and the kernel may keep them. */
#ifndef STEADY_H
#define STEADY_H

#include "kind.h"

/* For such a row. */
int steady_stat(struct call *call, struct node *node, struct stat *st, struct life *life);

/* For lookups that found one: returns 0. */
int steady_found(struct call *call, const struct kind *kind, struct found *out);

#endif
