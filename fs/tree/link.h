/*
 * Directories of symbolic links to locks, each named by its lock's id. Such a directory provides kind->find, which
 * finds that lock, uses link_lookup() as its lookup and lists with link_list(); attributes and targets of links are the
 * same everywhere.
 */
#ifndef LINK_H
#define LINK_H

#include "kind.h"

int link_lookup(struct call *call, struct node *dir, const char *name, struct found *out);

/* Gives back exactly that lock, as removing it by its holder's name does. */
int link_unlink(struct call *call, struct node *dir, const char *name);

/* Adds the link to a lock to `arg`, a struct listing; a callback for the manager's iterators over locks. */
int link_list(void *arg, const struct atlock_view *view);

#endif
