/*
 * What a directory contained when it was opened or rewound. Offsets count entries of that picture, so they stay good while
 * others come and go: `rm -r` and friends see every name once.
 */
#ifndef LISTING_H
#define LISTING_H

#include "fs.h"

struct listing;

struct listing *listing_new(void);
void listing_free(struct listing *listing);
void listing_clear(struct listing *listing);

/* `type` is S_IFDIR, S_IFREG or S_IFLNK. 0 or -ENOMEM. */
int listing_add(struct listing *listing, const char *name, mode_t type);

/* As above unless the last name added was the same: for callers that hold sorted names. */
int listing_add_once(struct listing *listing, const char *name, mode_t type);

/* The i-th name, or NULL after the last. */
const char *listing_at(const struct listing *listing, size_t i, mode_t *type);

#endif
