/* From a node below pulls/ to the pull request it belongs to, and writes that may come in pieces. */
#ifndef PULL_ROW_H
#define PULL_ROW_H

#include "kind.h"

/* The pull request that a node is, or is below. */
int pull_of(struct call *call, const struct node *node, struct atlock_pull_name *out);

/* The path of `name` below projects/, as atlock_project_parse() reads it; `dir` may be projects/ itself, `name` empty. */
int pull_project_path(const struct node *dir, const char *name, char out[ATLOCK_PATH_MAX]);

/* For rmdir of virtual directories: sets the flag `arg` at the first entry listed. */
int pull_seen(void *arg, const char *component, bool directory);

/* kind_pull_file.c: the files by name, for their directory. */
int pull_file_stat(struct call *call, struct node *dir, const char *name, struct stat *st, struct life *life);
int pull_file_unlink(struct call *call, struct node *dir, const char *name);

#endif
