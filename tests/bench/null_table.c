#include "null_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUCKETS (1U << 16)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, node) buckets[BUCKETS];
static struct node *root;
static uint64_t last_ino = 1;

static size_t bucket_of(const struct node *parent, const char *name)
{
	uint64_t hash = (uint64_t)(uintptr_t)parent;

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return (size_t)((hash ^ (hash >> 32)) % BUCKETS);
}

static struct node *node_new(const char *name, const struct stat *like)
{
	size_t len = strlen(name) + 1;
	struct node *node = calloc(1, sizeof(*node) + len);

	if (node == NULL)
		return NULL;
	memcpy(node->name, name, len);
	TAILQ_INIT(&node->children);
	node->st = *like;
	node->st.st_nlink = 1;
	clock_gettime(CLOCK_REALTIME_COARSE, &node->st.st_mtim);
	node->st.st_atim = node->st.st_ctim = node->st.st_mtim;
	return node;
}

/* With the mutex held. */
static void node_drop(struct node *node, uint64_t count)
{
	node->refs -= count;
	if (node->refs > 0 || node->parent != NULL || node == root)
		return;
	free(node->data);
	free(node);
}

static struct node *node_find(const struct node *parent, const char *name)
{
	struct node *node;

	LIST_FOREACH(node, &buckets[bucket_of(parent, name)], bucket) {
		if (node->parent == parent && strcmp(node->name, name) == 0)
			return node;
	}
	return NULL;
}

int table_init(void)
{
	root = node_new("", &(struct stat){ .st_mode = S_IFDIR | 0777, .st_ino = 1 });
	return root == NULL ? -ENOMEM : 0;
}

struct node *table_root(void)
{
	return root;
}

struct node *table_find(struct node *parent, const char *name, struct stat *st)
{
	struct node *node;

	pthread_mutex_lock(&mutex);
	node = node_find(parent, name);
	if (node != NULL) {
		node->refs++;
		*st = node->st;
	}
	pthread_mutex_unlock(&mutex);
	return node;
}

/* With the mutex held; takes the node over. */
static int node_link(struct node *parent, struct node *node)
{
	if (parent != root && parent->parent == NULL)
		return -ENOENT;
	if (node_find(parent, node->name) != NULL)
		return -EEXIST;
	node->parent = parent;
	node->refs = 1;
	node->st.st_ino = ++last_ino;
	parent->entries++;
	LIST_INSERT_HEAD(&buckets[bucket_of(parent, node->name)], node, bucket);
	TAILQ_INSERT_TAIL(&parent->children, node, sibling);
	return 0;
}

struct node *table_make(struct node *parent, const char *name, const struct stat *like, struct stat *st)
{
	struct node *node = node_new(name, like);
	int rc;

	if (node == NULL)
		return NULL;
	pthread_mutex_lock(&mutex);
	rc = node_link(parent, node);
	if (rc == 0)
		*st = node->st;
	pthread_mutex_unlock(&mutex);
	if (rc == 0)
		return node;
	free(node);
	errno = -rc;
	return NULL;
}

/* With the mutex held. */
static int node_unlink(struct node *parent, struct node *node, mode_t type)
{
	if (node == NULL)
		return -ENOENT;
	if ((node->st.st_mode & S_IFMT) != type)
		return type == S_IFDIR ? -ENOTDIR : -EISDIR;
	if (node->entries > 0)
		return -ENOTEMPTY;
	LIST_REMOVE(node, bucket);
	TAILQ_REMOVE(&parent->children, node, sibling);
	parent->entries--;
	node->parent = NULL;
	node_drop(node, 0);
	return 0;
}

int table_remove(struct node *parent, const char *name, mode_t type)
{
	int rc;

	pthread_mutex_lock(&mutex);
	rc = node_unlink(parent, node_find(parent, name), type);
	pthread_mutex_unlock(&mutex);
	return rc;
}

bool table_again(struct node *node, struct stat *st)
{
	bool there;

	pthread_mutex_lock(&mutex);
	there = node->parent != NULL;
	if (there) {
		node->refs++;
		*st = node->st;
	}
	pthread_mutex_unlock(&mutex);
	return there;
}

void table_forget(struct node *node, uint64_t count)
{
	pthread_mutex_lock(&mutex);
	node_drop(node, node == root ? 0 : count);
	pthread_mutex_unlock(&mutex);
}

void table_stat(struct node *node, struct stat *st)
{
	pthread_mutex_lock(&mutex);
	*st = node->st;
	pthread_mutex_unlock(&mutex);
}

void table_set(struct node *node, const struct stat *st)
{
	pthread_mutex_lock(&mutex);
	node->st = *st;
	pthread_mutex_unlock(&mutex);
}

ptrdiff_t table_read(struct node *node, char *buf, size_t size, size_t off)
{
	size_t len;

	pthread_mutex_lock(&mutex);
	len = off < (size_t)node->st.st_size ? (size_t)node->st.st_size - off : 0;
	if (len > size)
		len = size;
	if (len > 0 && node->data != NULL)
		memcpy(buf, node->data + off, len);
	else
		memset(buf, 0, len);
	pthread_mutex_unlock(&mutex);
	return (ptrdiff_t)len;
}

ptrdiff_t table_write(struct node *node, const char *buf, size_t size, size_t off)
{
	ptrdiff_t rc = (ptrdiff_t)size;

	if (off + size > FILE_MAX)
		return -EFBIG;
	pthread_mutex_lock(&mutex);
	if (node->data == NULL)
		node->data = calloc(1, FILE_MAX);
	if (node->data == NULL)
		rc = -ENOMEM;
	else
		memcpy(node->data + off, buf, size);
	if (rc > 0 && (off_t)(off + size) > node->st.st_size)
		node->st.st_size = (off_t)(off + size);
	pthread_mutex_unlock(&mutex);
	return rc;
}

struct node **table_list(struct node *dir, size_t *count)
{
	struct node **nodes;
	struct node *node;

	pthread_mutex_lock(&mutex);
	*count = 0;
	nodes = malloc((dir->entries + 1) * sizeof(struct node *));
	if (nodes != NULL) {
		TAILQ_FOREACH(node, &dir->children, sibling) {
			node->refs++;
			nodes[(*count)++] = node;
		}
	}
	pthread_mutex_unlock(&mutex);
	return nodes;
}
