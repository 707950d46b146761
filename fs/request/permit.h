/*
 * Who may do what to a node, by its owner, group and mode, as on any file system.
 *
 * The kernel would do this with the mount option default_permissions, at the price of a GETATTR of the directory after each
 * change in it: twice for every lock taken and given back. Without, it checks nothing, and every request does here. What the
 * kernel answers from its caches it answers to everybody; so nothing that is found in a directory which not everybody may
 * search is ever given a lifetime (permit_limit_life), and when a directory is closed, those above are looked at for a while
 * (permit_reach).
 *
 * A kind that decides by itself (kind->permits) is not looked at. Root may do everything.
 */
#ifndef PERMIT_H
#define PERMIT_H

#include "kind.h"

/* 0 if the caller may `want` (R_OK, W_OK, X_OK bits) something of this owner and mode; else -EACCES. */
int permit_mode(struct call *call, mode_t mode, uid_t uid, gid_t gid, int want);

/* The same for a node, whose attributes are asked for. Errors of that, too. */
int permit(struct call *call, struct node *node, int want);

/* Attributes to decide by: all but the size of what would have to be made for that. */
int permit_attr(struct call *call, struct node *node, struct stat *st);

/* What open(2) with these flags wants, and whether the caller may. */
int permit_want(int flags);
int permit_open(struct call *call, struct node *node, int flags);

/*
 * Whether the caller may set these attributes: -EPERM, -EACCES, -EISDIR for the times of a directory. Takes the set-group-ID bit off
 * a mode if the caller is not in the group. `handle` is as in kind->set.
 */
int permit_set(struct call *call, struct node *node, const struct handle *handle, struct stat *want, int which);

/* Whether the caller may give something of his to this group. */
bool permit_group(struct call *call, gid_t gid);

/* --- Directories of custom/, which are the only ones that keep a mode; callers may do anything to the others --- */

/* Whether the caller may `want` (R_OK, W_OK, X_OK bits) a directory of custom/; everybody may all others. -EACCES. */
int permit_dir(struct call *call, const struct node *dir, int want);

/*
 * Whether the caller may search all directories above a node, which no look-up has checked: it is open, and one of them may have been
 * closed since. -EACCES.
 */
int permit_see(struct call *call, const struct node *node);

/*
 * Whether the caller may search every directory above `dir`, where the kernel may have passed through one that was closed a
 * moment ago; see cache.h. At other times the lookup of each has checked that. -EACCES.
 */
int permit_reach(struct call *call, const struct node *dir);

/*
 * What the kernel finds in its cache it does not ask us for, so nobody would check who asks: what stands in a directory that
 * not everybody may search is looked up each time.
 */
void permit_limit_life(struct call *call, const struct node *dir, struct life *life);

/* Whether the caller may add to and remove from `dir`: only directories of custom/ have an opinion. */
int permit_change(struct call *call, const struct node *dir);

/* The same for removing something of this user's: the sticky bit leaves that to its owner or the directory's. -EPERM. */
int permit_remove(struct call *call, const struct node *dir, uid_t uid);

#endif
