/*
 * An open directory while it is read. It keeps the names of one step, a few KiB, and where in the store the next step
 * begins; a directory of a million entries takes as much memory as one of a hundred.
 *
 *	listing_seek()          makes the step that has the entry at an offset
 *	listing_at()            names of that step, from there on
 *
 * Offsets count entries since the directory was opened or rewound. What readers can rely on:
 * - Reading on returns every entry that stays exactly once, whatever is added or removed meanwhile (`rm -r`). The
 *   kernel may also go back to any entry of the current step, and does when a reader's buffer was full.
 * - seekdir(3) farther back begins at the right entry if nothing was added or removed around it since it was read.
 *   Otherwise it begins too early, by at most an eighth of what was read: entries come again, but none is left out.
 * - Offset 0 begins anew.
 */
#ifndef LISTING_H
#define LISTING_H

#include "fs.h"

struct listing;

/* Calls listing_add() for the entries after listing_place(), in a stable order, until that returns 1. 0 or an error. */
typedef int listing_fn(void *arg, struct listing *out);

struct listing *listing_new(void);
void listing_free(struct listing *listing);

/* 0 or a negative errno. */
int listing_seek(struct listing *listing, size_t offset, listing_fn *fn, void *arg);

/* The entry at an offset of the current step, or NULL after its last. */
const char *listing_at(const struct listing *listing, size_t offset, mode_t *type);

/* For a listing_fn: where to continue; set it to the place of the name that is added next. */
struct atlock_place *listing_place(struct listing *listing);

/* `type` is S_IFDIR, S_IFREG or S_IFLNK. 0, or 1: the step is full, and this name will be asked for again. */
int listing_add(struct listing *listing, const char *name, mode_t type);

/* For fixed tables: the index to continue at, and adding a name with its index as the place. */
size_t listing_index(const struct listing *listing);
int listing_add_index(struct listing *listing, size_t i, const char *name, mode_t type);

#endif
