/* shared/: the resource and the app that a node names. */
#ifndef SHARED_ROW_H
#define SHARED_ROW_H

#include "kind.h"

/* Attributes of an app's file, of a resource's directory, and of its verdict as of now. -ENOENT. */
int shared_app_stat(struct call *call, const char *resource, const char *app, struct stat *st);
int shared_dir_stat(struct call *call, const char *resource, struct stat *st);
int shared_verdict_stat(struct call *call, const char *resource, const char *name, struct stat *st);

/* Attributes of shared/<resource>/guard. -ENOENT. */
int shared_guard_stat(struct call *call, const char *resource, struct stat *st);

/* Whether a name is "verdict" or "verdict@app"; `*app` gets what follows the '@', or NULL. */
bool shared_is_verdict(const char *name, const char **app);

#endif
