/* Directories that always exist and never change: they have the mode of their row, and the kernel may cache them. */
#ifndef STEADY_H
#define STEADY_H

#include "kind.h"

/* The stat operation of such a row. */
int steady_stat(struct call *call, struct node *node, struct stat *st, struct life *life);

/* For a lookup that found one: returns 0. */
int steady_found(struct call *call, const struct kind *kind, struct found *out);

/*
 * Attributes of a directory of queue/ or wait/: those of the directory of custom/ it mirrors, so that custom/'s modes
 * hold there too, or of a directory that never changes.
 */
int mirror_stat(struct call *call, uint64_t id, mode_t mode, struct stat *st, struct life *life);

#endif
