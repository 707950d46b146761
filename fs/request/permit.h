/*
 * Who may do what to a node, by its owner, group and mode, as on any file system.
 *
 * The kernel would do this with the mount option default_permissions, at the price of a GETATTR of the directory after
 * each change in it: twice for every lock taken and given back. Without that option it checks nothing, and every
 * request checks here. What the kernel answers from its caches it answers to every user. So entries of a directory that
 * not all users may search never get a lifetime (permit_limit_life), and after a directory is closed, all directories
 * above are checked for a while (permit_reach).
 *
 * A kind that checks permissions itself (kind->permits) is skipped here. Root may do everything.
 */
#ifndef PERMIT_H
#define PERMIT_H

#include "kind.h"

/* 0 if the caller may `want` (R_OK, W_OK, X_OK bits) an object of this owner and mode; else -EACCES. */
int permit_mode(struct call *call, mode_t mode, uid_t uid, gid_t gid, int want);

/* The same for a node, whose attributes are read first; also returns errors of that. */
int permit(struct call *call, struct node *node, int want);

/* The attributes that permissions depend on: all but a size for which a text would have to be made. */
int permit_attr(struct call *call, struct node *node, struct stat *st);

/* The access that open(2) with these flags needs. */
int permit_want(int flags);

/*
 * Whether the caller may set these attributes: -EPERM, -EACCES, -EISDIR for the times of a directory. Clears the
 * set-group-ID bit of a mode if the caller is not in the group. `handle` is as in kind->set.
 */
int permit_set(struct call *call, struct node *node, const struct handle *handle, struct stat *want, int which);

/* Whether the caller may chgrp something of his to this group. */
bool permit_group(struct call *call, gid_t gid);

/* --- Directories of custom/, the only ones that have a mode of their own; callers may do anything to the others --- */

/* Whether the caller may `want` (R_OK, W_OK, X_OK bits) a directory of custom/; all users may all others. -EACCES. */
int permit_dir(struct call *call, const struct node *dir, int want);

/*
 * Whether the caller may search all directories above a node that is open: no lookup has checked that, and one of them
 * may have been closed since. -EACCES.
 */
int permit_see(struct call *call, const struct node *node);

/*
 * Whether the caller may search every directory above `dir`, if the kernel may have passed through one by its cache
 * that was closed a moment ago; see cache.h. At other times the lookup of each has checked that. -EACCES.
 */
int permit_reach(struct call *call, const struct node *dir);

/*
 * The kernel answers from its cache without a permission check: so the entries of a directory that not all users may
 * search get no lifetime and are looked up each time.
 */
void permit_limit_life(struct call *call, const struct node *dir, struct life *life);

/* Whether the caller may add to and remove from `dir`: only directories of custom/ refuse that. */
int permit_change(struct call *call, const struct node *dir);

/* The same for removing an entry of user `uid`: in a sticky directory only its owner or the directory's may. -EPERM. */
int permit_remove(struct call *call, const struct node *dir, uid_t uid);

#endif
