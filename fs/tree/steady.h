/* Directories that always exist and never change: they have the mode of their row, and the kernel may cache them. */
#ifndef STEADY_H
#define STEADY_H

#include "kind.h"

/* The stat operation of such a row. */
int steady_stat(struct call *call, struct node *node, struct stat *st, struct life *life);

/* For a lookup that found one: returns 0. */
int steady_found(struct call *call, const struct kind *kind, struct found *out);

#endif
