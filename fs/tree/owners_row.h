/* Shared by the files and directories of owners/: their path, with any spelling of the URL in it. */
#ifndef OWNERS_ROW_H
#define OWNERS_ROW_H

#include "kind.h"

#define OWNERS_HINT \
	"a URL is claimed by a reference, touch owners/<git url>/-/applications/<id>, and free when the last one is removed"

int owners_path(struct call *call, const struct node *dir, const char *name, struct atlock_owners_path *out);

/* kind_reference.c: the operations of their directory on references. -ENOENT if there is none. */
int reference_found(struct call *call, const struct atlock_owners_path *path, struct found *out);
int reference_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
		     struct found *out);
int reference_unlink(struct call *call, struct node *dir, const char *name);

#endif
