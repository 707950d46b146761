/*
 * Directories of symbolic links to locks, each called by its lock's id. Such a directory says with kind->find which lock that is,
 * has link_lookup() as its lookup and lists with link_list(); what a link shows and where it leads is the same everywhere.
 */
#ifndef LINK_H
#define LINK_H

#include "kind.h"

int link_lookup(struct call *call, struct node *dir, const char *name, struct found *out);

/* Gives back that very lock, as removing it by its holder's name does. */
int link_unlink(struct call *call, struct node *dir, const char *name);

/* Adds the link to a lock to a struct listing, for calls of the manager that go through locks. */
int link_list(void *arg, const struct atlock_view *view);

#endif
