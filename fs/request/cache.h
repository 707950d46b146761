/*
 * What the kernel may believe about a lock without asking, and for how long.
 *
 * Only the plain name of a lock that a session holds is worth it and safe: nobody can release it but by that name, so the
 * kernel sees it go. Everything else about it (expiry, transfer, waiters, an administrator) reaches us as a change, and what
 * the kernel has is invalidated: its attributes, and its name unless only waiters came or went. A thread of its own does that,
 * because the kernel answers an invalidation only when the directory is free, which a request that is just being answered may
 * still hold. Until then a lifetime of a second at most, and never beyond the lease, bounds what can be seen.
 *
 * A lookup reads the lock, then tells the kernel. A change in between would be missed, so:
 *
 *	stamp = cache_stamp(cache, name);	before the lock is read
 *	...
 *	cache_keep(cache, node, stamp)		after the node is known: true if the kernel may keep what was read
 */
#ifndef CACHE_H
#define CACHE_H

#include "kind.h"

/* `locks` is the row of the nodes that the manager tells changes of. */
struct cache *cache_new(struct fs *fs, const struct kind *locks);
void cache_free(struct cache *cache);

/* The session must be mounted; stop before it is destroyed. 0 or a negative errno. */
int cache_start(struct cache *cache);
void cache_stop(struct cache *cache);

struct cache_stamp cache_stamp(struct cache *cache, const struct atlock_name *name);
bool cache_keep(struct cache *cache, struct node *node, struct cache_stamp stamp);

/*
 * How long the plain name of a lock that `who` holds until `expires_at` and its attributes are good for; 0 for a name with
 * "@who".
 */
struct life cache_life(struct call *call, const struct atlock_name *name, const char *who, int64_t expires_at,
		       struct cache_stamp stamp);

/*
 * A request has changed the lock so often (atlock_request.own), and after it the kernel knows better anyway: create, unlink,
 * touch. A stamp from before is good if it counts those.
 */
void cache_own(struct cache *cache, const struct atlock_name *name, unsigned int changes);

/*
 * Seconds that the name of a directory of custom/ is good for, if everybody may search the one that it is in. Whoever removes
 * it does that through the kernel, which forgets it then. Whoever closes the one that it is in (chmod) makes true no more that
 * everybody may pass: cache_closed() is told after the change and before its answer, and for as long as the kernel may still
 * take somebody past it, cache_closed_lately() is true, and every directory on the way is looked at (permit_reach).
 */
#define CACHE_DIR_LIFE 1.0
void cache_closed(struct cache *cache);
bool cache_closed_lately(struct cache *cache);

/*
 * Whether the lock has not changed in the last moment. One that does all the time is looked up each time: a process that reads it has
 * a node of its own then (pages.h), which the next change cannot take away.
 */
bool cache_quiet(struct cache *cache, const struct atlock_name *name);

/* The kernel is to look this lock's name up again, and finds another node: for a moment one that it may not keep. */
void cache_renew(struct call *call, struct node *node);

/* For atlock_setup.on_change; `arg` is the struct fs. */
atlock_change_fn cache_change;

#endif
