/*
 * Locks as files: the operations of directories of locks, and those of an open lock that have files of their own.
 * kind_lock.c has the row.
 */
#ifndef LOCK_FILE_H
#define LOCK_FILE_H

#include <stdio.h>

#include "kind.h"

/*
 * Finds a held lock by name; -ENOENT if it is free, or if the name says "@who" and another who holds it. An access by
 * its own "@" name takes up a lock that was granted to a waiting ticket.
 */
int lock_lookup(struct call *call, struct node *dir, const char *name, struct found *out);
int lock_found(struct call *call, struct node *dir, const struct atlock_name *lock, struct found *out);

/*
 * Takes the lock for a handle that may write, or with O_EXCL. A read-only handle is also made for a free lock (flock(1)
 * opens like that): it takes nothing.
 */
int lock_create(struct call *call, struct node *dir, const char *name, mode_t mode, struct handle *handle,
		struct found *out);

int lock_unlink(struct call *call, struct node *dir, const char *name);

/*
 * For a call that was refused because the lock is held: whether that is a flock whose file is closed. ENDING_OVER: try
 * again now. CALL_LATER: the call runs again when the flock has ended. 0: the lock stays held. See ending_then().
 */
int lock_ends(struct call *call, const struct atlock_name *name);

/* permit_mode() for a held lock that was reached by its name. */
int lock_may(struct call *call, const struct node *node, const struct atlock_view *view, int want);

/* Refuses because an open file is of a lock that has ended: -ESTALE. */
int lock_refuse_stale(struct call *call, const struct node *node);

/* Attributes of a lock, also of a free one: 0, 1 if it is free, or CALL_LATER. Without `sized` its size is 0. */
int lock_stat(struct call *call, const struct atlock_name *name, bool sized, struct stat *st, struct life *life);

/* lock_set.c: chmod, chown, utimensat, truncate */
int lock_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which);

/* lock_write.c: key=value lines */
int lock_write(struct call *call, struct node *node, struct handle *handle, const char *data, size_t len);
int lock_flush(struct call *call, struct node *node, struct handle *handle);

/* lock_flock.c: flock(2); and what closing a descriptor of the file, and the last one, does to its lock */
int lock_flock(struct call *call, struct node *node, struct handle *handle, int op);
void lock_flock_flush(struct call *call, struct handle *handle);
void lock_flock_end(struct call *call, struct node *node, struct handle *handle);

/* lock_xattr.c */
int lock_xattr_list(struct call *call, struct node *node, FILE *names);
int lock_xattr_get(struct call *call, struct node *node, const char *key, char *value, size_t len);
int lock_xattr_set(struct call *call, struct node *node, const char *key, const char *value, size_t len, int flags);
int lock_xattr_remove(struct call *call, struct node *node, const char *key);

#endif
