#include "inode.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "kind.h"
#include "numbers.h"

#define BUCKETS_MIN 1024
#define PEAK_MIN 16384 /* nodes, about 2 MB */

LIST_HEAD(bucket, node);

struct inodes {
	pthread_mutex_t mutex;
	struct bucket *buckets; /* protected by mutex, as all below */
	size_t mask;
	size_t count;
	struct bucket fresh;     /* nodes that no lookup finds */
	size_t peak;             /* largest count since memory was last given back */
	struct numbers *numbers; /* read without the mutex */
	struct node *root;
	struct node *stale; /* child of the root, in no bucket */
};

static int stale_stat(struct call *call, struct node *node, struct stat *st, struct life *life)
{
	(void)call, (void)node, (void)st, (void)life;
	return -ESTALE;
}

/* The kernel looks the name up again, and opens what it finds. Without this, root, who needs no stat, would open it. */
static int stale_open(struct call *call, struct node *node, struct handle *handle)
{
	(void)call, (void)node, (void)handle;
	return -ESTALE;
}

static int stale_lookup(struct call *call, struct node *dir, const char *name, struct found *out)
{
	(void)call, (void)dir, (void)name, (void)out;
	return -ESTALE;
}

static int stale_list(struct call *call, struct node *node, struct listing *out)
{
	(void)call, (void)node, (void)out;
	return -ESTALE;
}

static int stale_set(struct call *call, struct node *node, struct handle *handle, const struct stat *want, int which)
{
	(void)call, (void)node, (void)handle, (void)want, (void)which;
	return -ESTALE;
}

static const struct kind kind_stale = {
	.type = S_IFREG,
	.hint = "it is not known any more: look it up again",
	.stat = stale_stat,
	.set = stale_set,
	.lookup = stale_lookup,
	.list = stale_list,
	.open = stale_open,
};

static struct node *node_make(struct node *parent, const char *component, const struct kind *kind, uint64_t dir)
{
	size_t len = strlen(component) + 1;
	size_t size = offsetof(struct node, component) + len;
	struct node *node = calloc(1, size > sizeof(*node) ? size : sizeof(*node));

	if (node == NULL)
		return NULL;
	node->parent = parent;
	node->kind = kind;
	node->dir = dir;
	node->ino = parent == NULL ? FUSE_ROOT_ID : node_ino(parent, component);
	memcpy(node->component, component, len);
	return node;
}

/* Call with the mutex held. */
static struct node *node_new(struct inodes *inodes, struct node *parent, const char *component, const struct kind *kind,
			     uint64_t dir)
{
	struct node *node = node_make(parent, component, kind, dir);

	if (node == NULL || numbers_add(inodes->numbers, node, &node->slot) == 0)
		return node;
	free(node);
	return NULL;
}

struct inodes *inodes_new(const struct kind *root)
{
	struct inodes *inodes = calloc(1, sizeof(*inodes));

	if (inodes == NULL)
		return NULL;
	pthread_mutex_init(&inodes->mutex, NULL);
	inodes->buckets = calloc(BUCKETS_MIN, sizeof(*inodes->buckets));
	inodes->mask = BUCKETS_MIN - 1;
	inodes->numbers = numbers_new();
	inodes->root = node_make(NULL, "", root, NODE_NO_DIR);
	if (inodes->root != NULL)
		inodes->stale = node_make(inodes->root, "", &kind_stale, NODE_NO_DIR);
	if (inodes->buckets == NULL || inodes->numbers == NULL || inodes->stale == NULL) {
		inodes_free(inodes);
		return NULL;
	}
	inodes->stale->lookups = UINT32_MAX; /* never forgotten */
	return inodes;
}

static void bucket_free(struct bucket *bucket)
{
	struct node *node;
	struct node *next;

	LIST_FOREACH_SAFE(node, bucket, link, next)
		free(node);
}

/* When a mount ends, the kernel does not send a FORGET for every node. */
void inodes_free(struct inodes *inodes)
{
	if (inodes == NULL)
		return;
	for (size_t i = 0; inodes->buckets != NULL && i <= inodes->mask; i++)
		bucket_free(&inodes->buckets[i]);
	bucket_free(&inodes->fresh);
	free(inodes->buckets);
	free(inodes->stale);
	free(inodes->root);
	numbers_free(inodes->numbers);
	pthread_mutex_destroy(&inodes->mutex);
	free(inodes);
}

struct node *node_of(struct fs *fs, fuse_ino_t id)
{
	const struct inodes *inodes = fs->inodes;
	struct node *node = id == FUSE_ROOT_ID ? inodes->root : numbers_get(inodes->numbers, id);

	return node != NULL ? node : inodes->stale;
}

fuse_ino_t node_id(const struct inodes *inodes, const struct node *node)
{
	return node->parent == NULL ? FUSE_ROOT_ID : numbers_id(inodes->numbers, node->slot);
}

/* The hash of the parent's number and the name, mixed so that similar names differ in all bits. */
uint64_t node_ino(const struct node *parent, const char *component)
{
	uint64_t h = hash_bytes(HASH_START, &parent->ino, sizeof(parent->ino));

	h = hash_bytes(h, component, strlen(component));
	h ^= h >> 33;
	h *= UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	return h <= FUSE_ROOT_ID ? h + 2 : h;
}

/* Without memory the old buckets stay. */
static void buckets_resize(struct inodes *inodes, size_t size)
{
	struct bucket *resized = calloc(size, sizeof(*resized));

	if (resized == NULL)
		return;
	for (size_t i = 0; i <= inodes->mask; i++) {
		struct node *node;

		while ((node = LIST_FIRST(&inodes->buckets[i])) != NULL) {
			LIST_REMOVE(node, link);
			LIST_INSERT_HEAD(&resized[node->ino & (size - 1)], node, link);
		}
	}
	free(inodes->buckets);
	inodes->buckets = resized;
	inodes->mask = size - 1;
}

/* `kind` NULL matches any kind. */
static struct node *node_seek(struct inodes *inodes, const struct node *parent, const char *component,
			      const struct kind *kind, uint64_t dir)
{
	uint64_t ino = node_ino(parent, component);
	struct node *node;

	LIST_FOREACH(node, &inodes->buckets[ino & inodes->mask], link)
		if (node->ino == ino && node->parent == parent && node->hashed &&
		    strcmp(node->component, component) == 0 &&
		    (kind == NULL || (node->kind == kind && node->dir == dir)))
			return node;
	return NULL;
}

/* Call with the mutex held. Puts the node into its bucket or, if no lookup is to find it, into `fresh`. */
static void node_hash(struct inodes *inodes, struct node *node)
{
	if (inodes->count++ / 2 > inodes->mask)
		buckets_resize(inodes, (inodes->mask + 1) * 2);
	if (inodes->count > inodes->peak)
		inodes->peak = inodes->count;
	node->hashed = true;
	LIST_INSERT_HEAD(&inodes->buckets[node->ino & inodes->mask], node, link);
}

static void node_unhash(struct inodes *inodes, struct node *node)
{
	if (!node->hashed)
		return;
	node->hashed = false;
	if (!node->own)
		return;
	LIST_REMOVE(node, link);
	inodes->count--;
	LIST_INSERT_HEAD(&inodes->fresh, node, link);
}

/*
 * Counts one more lookup; call with the mutex held. A user can cause more lookups than fit into the counter: a node
 * whose count is saturated is never freed, or it would be freed while the kernel has it.
 */
static void node_count(struct node *node)
{
	if (node->lookups < UINT32_MAX)
		node->lookups++;
}

struct node *node_intern(struct inodes *inodes, struct node *parent, const char *component, const struct kind *kind,
			 uint64_t dir)
{
	struct node *node;

	pthread_mutex_lock(&inodes->mutex);
	node = node_seek(inodes, parent, component, kind, dir);
	if (node == NULL || node->own) {
		if (node != NULL)
			node_unhash(inodes, node);
		node = node_new(inodes, parent, component, kind, dir);
		if (node == NULL)
			goto done;
		node_hash(inodes, node);
		parent->children++;
	}
	node_count(node);
done:
	pthread_mutex_unlock(&inodes->mutex);
	return node;
}

static bool node_is_for(const struct node *node, pid_t thread, const unsigned int *changes)
{
	bool again = changes != NULL && (uint16_t)*changes == node->changes;
	uint32_t told = atomic_load(&node->told);

	return node->own && (told == 0 || (again && told != NODE_TOLD_SEVERAL)) &&
	       (atomic_load(&node->landed) || (thread != 0 && atomic_load(&node->maker) == thread));
}

struct node *node_own(struct inodes *inodes, struct node *parent, const char *component, const struct kind *kind,
		      uint64_t dir, pid_t thread, const unsigned int *changes)
{
	struct node *node;

	pthread_mutex_lock(&inodes->mutex);
	node = node_seek(inodes, parent, component, kind, dir);
	if (node == NULL || !node_is_for(node, thread, changes)) {
		if (node != NULL)
			node_unhash(inodes, node);
		node = node_new(inodes, parent, component, kind, dir);
		if (node == NULL)
			goto done;
		node->own = true;
		node_hash(inodes, node);
		parent->children++;
	}
	atomic_store(&node->maker, thread);
	atomic_store(&node->landed, false);
	node->changes = changes == NULL ? 0 : (uint16_t)*changes;
	node_count(node);
done:
	pthread_mutex_unlock(&inodes->mutex);
	return node;
}

void node_land(struct node *node, pid_t thread)
{
	if (node->own && atomic_load(&node->maker) == thread)
		atomic_store(&node->landed, true);
}

bool node_is_looked_up(const struct node *node, pid_t thread)
{
	return atomic_load(&node->maker) == thread && !atomic_load(&node->landed);
}

void node_unfind(struct inodes *inodes, struct node *node)
{
	pthread_mutex_lock(&inodes->mutex);
	node_unhash(inodes, node);
	pthread_mutex_unlock(&inodes->mutex);
}

void node_refind(struct inodes *inodes, struct node *node)
{
	pthread_mutex_lock(&inodes->mutex);
	if (!node->hashed && node->own &&
	    node_seek(inodes, node->parent, node->component, node->kind, node->dir) == NULL) {
		LIST_REMOVE(node, link);
		node_hash(inodes, node);
		atomic_store(&node->landed, true);
	}
	pthread_mutex_unlock(&inodes->mutex);
}

struct node *node_hold(struct inodes *inodes, struct node *node)
{
	pthread_mutex_lock(&inodes->mutex);
	node_count(node);
	pthread_mutex_unlock(&inodes->mutex);
	return node;
}

/* Frees a node that is not in use any more, then its parent if that is not either. */
static void node_prune(struct inodes *inodes, struct node *node)
{
	struct node *parent;

	while (node->parent != NULL && node->lookups == 0 && node->children == 0) {
		parent = node->parent;
		LIST_REMOVE(node, link);
		inodes->count -= !node->own || node->hashed;
		numbers_remove(inodes->numbers, node->slot);
		free(node);
		parent->children--;
		node = parent;
	}
}

/* Whether so many nodes were freed that their memory is worth giving back. */
static bool inodes_shrink(struct inodes *inodes)
{
	size_t size = inodes->mask + 1;

	if (inodes->peak < PEAK_MIN || inodes->count > inodes->peak / 4)
		return false;
	while (size > BUCKETS_MIN && inodes->count < size / 4)
		size /= 2;
	buckets_resize(inodes, size);
	inodes->peak = inodes->count;
	return true;
}

/* The C library keeps memory that was freed between other blocks until malloc_trim(3). */
void node_forget(struct inodes *inodes, struct node *node, uint64_t count)
{
	bool trim;

	pthread_mutex_lock(&inodes->mutex);
	if (node->lookups < UINT32_MAX)
		node->lookups -= count < node->lookups ? (uint32_t)count : node->lookups;
	node_prune(inodes, node);
	trim = inodes_shrink(inodes);
	pthread_mutex_unlock(&inodes->mutex);
	if (trim)
		malloc_trim(0);
}

void node_retire(struct inodes *inodes, struct node *parent, const char *component)
{
	struct node *node;

	pthread_mutex_lock(&inodes->mutex);
	while ((node = node_seek(inodes, parent, component, NULL, 0)) != NULL)
		node_unhash(inodes, node);
	pthread_mutex_unlock(&inodes->mutex);
}

static bool node_unmark(struct node *node, enum node_kept what)
{
	unsigned char taken = what == NODE_KEPT_ATTR ? NODE_HAS_ATTR : NODE_HAS_ATTR | NODE_HAS_NAME;
	unsigned char kept = atomic_fetch_and(&node->kept, (unsigned char)~taken);

	if (what == NODE_KEPT_ATTR)
		return (kept & NODE_HAS_ATTR) != 0;
	return what == NODE_KEPT ? (kept & NODE_HAS_NAME) != 0 : node->lookups > 0;
}

int node_find_kept(struct inodes *inodes, const char *path, const struct kind *kind, enum node_kept what,
		   fuse_ino_t *parent, fuse_ino_t *node)
{
	char component[ATLOCK_COMPONENT_MAX + 1];
	struct node *up = NULL;
	struct node *at;
	bool kept;

	pthread_mutex_lock(&inodes->mutex);
	at = inodes->root;
	while (at != NULL && *path != '\0') {
		size_t len = strcspn(path, "/");

		if (len >= sizeof(component)) {
			at = NULL;
			break;
		}
		memcpy(component, path, len);
		component[len] = '\0';
		path += len + (path[len] == '/');
		up = at;
		at = node_seek(inodes, up, component, *path == '\0' ? kind : NULL, NODE_NO_DIR);
	}
	kept = at != NULL && up != NULL && node_unmark(at, what);
	if (kept) {
		*parent = node_id(inodes, up);
		*node = node_id(inodes, at);
		node_count(at);
	}
	pthread_mutex_unlock(&inodes->mutex);
	return kept ? 0 : 1;
}
