/*
 * What the kernel may cache of a lock, and for how long.
 *
 * Caching is worth it and safe only for the plain name of a lock that a session holds: it is released only through that
 * name, so the kernel sees it go. Every other change (expiry, transfer, waiters, an administrator) reaches us through
 * cache_change(), which invalidates what the kernel has: the attributes, and the name unless only waiters came or went.
 * A thread of its own does that, because the kernel processes an invalidation only when the directory is unlocked, and
 * a request that is being answered may still hold that lock. Until then, a lifetime of at most a second, and never
 * beyond the lease, bounds what is stale. Attributes are invalidated at once, before the change is answered: so stat(2)
 * asks for them, and is told (lock_node_stat()) to look the name of a lock that has ended up again.
 *
 * Of a store that several hosts write to the kernel caches nothing.
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

/* `locks` is the kind of the nodes whose changes the manager reports. */
struct cache *cache_new(struct fs *fs, const struct kind *locks);
void cache_free(struct cache *cache);

/* Call start once the session is mounted, and stop before it is destroyed. 0 or a negative errno. */
int cache_start(struct cache *cache);
void cache_stop(struct cache *cache);

struct cache_stamp cache_stamp(struct cache *cache, const struct atlock_name *name);
bool cache_keep(struct cache *cache, struct node *node, struct cache_stamp stamp);

/*
 * Lifetimes of the plain name and of the attributes of a lock that `who` holds until `expires_at`; 0 for a name with
 * "@who".
 */
struct life cache_life(struct call *call, const struct atlock_name *name, const char *who, int64_t expires_at,
		       struct cache_stamp stamp);

/*
 * A request has itself changed the lock `changes` times (atlock_request.own), and the kernel knows the result: create,
 * unlink, touch. A stamp taken before is valid if it counts those.
 */
void cache_own(struct cache *cache, const struct atlock_name *name, unsigned int changes);

/*
 * Lifetime in seconds of the name of a directory of custom/, if all users may search its parent. Removing the directory
 * goes through the kernel, which then forgets the name. A chmod that closes the parent makes the cached name wrong: the
 * caller must call cache_closed() after the change and before its reply. For as long as the kernel may still pass a
 * user through by its cache, cache_closed_lately() is true, and permit_reach() checks every directory on the path.
 */
#define CACHE_DIR_LIFE 1.0
void cache_closed(struct cache *cache);
bool cache_closed_lately(struct cache *cache);

/*
 * Whether the lock has not changed in the last QUIET milliseconds. A lock that changes all the time is looked up each
 * time: a process that reads it then has a node of its own (pages.h), which the next change cannot take away.
 */
bool cache_quiet(struct cache *cache, const struct atlock_name *name);

/* Makes the kernel look this lock's name up again and find another node, which for a moment it may not cache. */
void cache_renew(struct call *call, struct node *node);

/* For atlock_setup.on_change; `arg` is the struct fs. */
atlock_change_fn cache_change;

#endif
