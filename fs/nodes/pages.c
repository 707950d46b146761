#include "pages.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "cache.h"
#include "handle.h"

/* node->told is this if at most a size beyond any text was reported; else NODE_TOLD_SEVERAL or the size plus 1. */
#define TOLD_NOTHING 0

struct pages {
	pthread_mutex_t mutex; /* of every node's reader and readers */
};

struct pages *pages_new(void)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	if (pages != NULL)
		pthread_mutex_init(&pages->mutex, NULL);
	return pages;
}

void pages_free(struct pages *pages)
{
	if (pages == NULL)
		return;
	pthread_mutex_destroy(&pages->mutex);
	free(pages);
}

/* Replies overtake each other, so of several sizes it is unknown which one the kernel took. */
void pages_told(struct node *node, off_t size)
{
	uint32_t now = size < UINT32_MAX - 1 ? (uint32_t)size + 1 : NODE_TOLD_SEVERAL;
	uint32_t told = TOLD_NOTHING;

	if (!atomic_compare_exchange_strong(&node->told, &told, now) && told != now)
		atomic_store(&node->told, NODE_TOLD_SEVERAL);
}

void pages_written(struct node *node)
{
	atomic_store(&node->told, NODE_TOLD_SEVERAL);
}

void pages_truncated(struct call *call, struct node *node)
{
	struct pages *pages = call->fs->pages;

	pthread_mutex_lock(&pages->mutex);
	if (node->readers == 0)
		atomic_store(&node->told, NODE_TOLD_SEVERAL);
	pthread_mutex_unlock(&pages->mutex);
}

bool pages_fit(const struct node *node, size_t len)
{
	uint32_t told = atomic_load(&node->told);

	return told == TOLD_NOTHING || (told != NODE_TOLD_SEVERAL && told == (uint64_t)len + 1);
}

/*
 * Whether the current text is as long as the kernel was told: 0, -ESTALE. A process that opens its descriptor again
 * (/proc/self/fd) gains nothing by another lookup: there, at worst, the pages cannot be read.
 */
static int text_fits(struct call *call, struct node *node, struct handle *handle)
{
	char *text = NULL;
	size_t len = 0;
	int err;

	if (node->own && !node_is_looked_up(node, call->ctx->pid))
		return 0;
	if (node->kind->text == NULL || (node->own && atomic_load(&node->told) == TOLD_NOTHING))
		return 0;
	/* If a node whose attributes the kernel caches were invalidated, the kernel would ignore a short read. */
	if (atomic_load(&node->told) == TOLD_NOTHING)
		return -ESTALE;
	err = node->kind->text(call, node, handle, &text, &len);
	free(text);
	/* A lock may be opened for flock(2) alone: then each read is refused, too. */
	if (err == -EACCES) {
		call->why.text[0] = '\0';
		return 0;
	}
	return err < 0 ? err : pages_fit(node, len) ? 0 : -ESTALE;
}

static int reader_add(struct pages *pages, struct node *node, struct handle *handle)
{
	int err = 0;

	if (node->kind->constant)
		return 0;
	pthread_mutex_lock(&pages->mutex);
	if (!node->own && (node->readers > 0 || atomic_load(&node->told) == NODE_TOLD_SEVERAL))
		err = -ESTALE;
	else if (node->readers > 0 && node->reader_uid != handle->uid)
		err = -EACCES;
	else if (node->readers == UINT16_MAX)
		err = -ENFILE;
	if (err == 0) {
		node->readers++;
		node->reader = handle;
		node->reader_uid = handle->uid;
	}
	pthread_mutex_unlock(&pages->mutex);
	return err;
}

/* Hides the node, so that the next lookup finds another. */
static void node_renew(struct call *call, struct node *node)
{
	if (node->own)
		node_unfind(call->fs->inodes, node);
	else
		cache_renew(call, node);
}

int pages_open(struct call *call, struct node *node, struct handle *handle)
{
	int err = text_fits(call, node, handle);

	if (err == 0)
		err = reader_add(call->fs->pages, node, handle);
	if (err == 0 && node->own)
		node_unfind(call->fs->inodes, node);
	else if (err == -ESTALE)
		node_renew(call, node);
	if (err == -EACCES && call->why.text[0] == '\0')
		err = call_refuse(call, err, ATLOCK_PERMISSION_DENIED,
				  "another user has this descriptor open to read it: open the file by its name");
	return err;
}

void pages_close(struct call *call, struct node *node, const struct handle *handle)
{
	struct pages *pages = call->fs->pages;
	bool last;

	if (node->kind->constant)
		return;
	pthread_mutex_lock(&pages->mutex);
	last = --node->readers == 0;
	if (node->reader == handle)
		node->reader = NULL;
	pthread_mutex_unlock(&pages->mutex);
	if (last)
		node_refind(call->fs->inodes, node);
}

struct handle *pages_reader(struct call *call, const struct node *node)
{
	struct pages *pages = call->fs->pages;
	struct handle *reader = NULL;

	if (!node->own)
		return NULL;
	pthread_mutex_lock(&pages->mutex);
	if (node->reader != NULL)
		reader = handle_hold(node->reader);
	pthread_mutex_unlock(&pages->mutex);
	return reader;
}
