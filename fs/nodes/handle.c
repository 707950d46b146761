#include "handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "flocked.h"
#include "listing.h"
#include "numbers.h"
#include "texts.h"

#define BUCKETS 1024
#define OPENED_MAX 16384 /* handles examined, with the mutex held, for one truncation */

LIST_HEAD(handle_list, handle);

struct handles {
	pthread_mutex_t mutex;
	struct numbers *numbers;             /* changed under the mutex */
	_Atomic size_t flocked;              /* changed under the mutex */
	struct handle_list buckets[BUCKETS]; /* by inode; protected by mutex */
};

static struct handle_list *bucket_of(struct handles *handles, uint64_t ino)
{
	return &handles->buckets[(uint32_t)ino % BUCKETS];
}

struct handles *handles_new(void)
{
	struct handles *handles = calloc(1, sizeof(*handles));

	if (handles == NULL)
		return NULL;
	pthread_mutex_init(&handles->mutex, NULL);
	handles->numbers = numbers_new();
	if (handles->numbers != NULL)
		return handles;
	handles_free(handles);
	return NULL;
}

static void content_free(const struct handle *handle, struct content *content)
{
	if (content == NULL)
		return;
	pthread_mutex_lock(&content->mutex);
	texts_leave(content);
	(void)texts_tail(handle, content, 0);
	pthread_mutex_unlock(&content->mutex);
	pthread_mutex_destroy(&content->mutex);
	free(content->caller);
	free(content->text);
	free(content->tail);
	free(content->cursor);
	listing_free(content->listing);
	free(content);
}

static void handle_free(struct handle *handle)
{
	content_free(handle, atomic_load(&handle->content));
	flocked_free(atomic_load(&handle->flocked));
	free(handle);
}

void handles_free(struct handles *handles)
{
	struct handle *handle;
	struct handle *next;

	if (handles == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_FOREACH_SAFE(handle, &handles->buckets[i], link, next)
			handle_free(handle);
	numbers_free(handles->numbers);
	pthread_mutex_destroy(&handles->mutex);
	free(handles);
}

struct handle *handle_new(const struct call *call, int flags, uint64_t ino)
{
	struct handle *handle = calloc(1, sizeof(*handle));
	struct fs *fs = call->fs;
	int err;

	if (handle == NULL)
		return NULL;
	atomic_init(&handle->holds, 1);
	handle->fs = fs;
	handle->flags = flags;
	handle->uid = call->ctx->uid;
	handle->gid = call->ctx->gid;
	handle->pid = call->ctx->pid;
	handle->ino = (uint32_t)ino;
	pthread_mutex_lock(&fs->handles->mutex);
	err = numbers_add(fs->handles->numbers, handle, &handle->slot);
	if (err == 0)
		LIST_INSERT_HEAD(bucket_of(fs->handles, ino), handle, link);
	pthread_mutex_unlock(&fs->handles->mutex);
	if (err == 0)
		return handle;
	free(handle);
	return NULL;
}

struct handle *handle_hold(struct handle *handle)
{
	if (handle != NULL)
		atomic_fetch_add(&handle->holds, 1);
	return handle;
}

uint64_t handle_id(const struct handle *handle)
{
	return numbers_id(handle->fs->handles->numbers, handle->slot);
}

struct handle *handle_of(const struct fs *fs, const struct fuse_file_info *fi)
{
	return fi == NULL ? NULL : numbers_get(fs->handles->numbers, fi->fh);
}

void handle_drop(struct handle *handle)
{
	if (handle == NULL || atomic_fetch_sub(&handle->holds, 1) > 1)
		return;
	pthread_mutex_lock(&handle->fs->handles->mutex);
	LIST_REMOVE(handle, link);
	numbers_remove(handle->fs->handles->numbers, handle->slot);
	handle->fs->handles->flocked -= atomic_load(&handle->flocked) != NULL;
	pthread_mutex_unlock(&handle->fs->handles->mutex);
	handle_free(handle);
}

void handles_each(struct handles *handles, uint64_t ino, bool (*fn)(void *arg, struct handle *handle), void *arg)
{
	struct handle *handle;

	pthread_mutex_lock(&handles->mutex);
	LIST_FOREACH(handle, bucket_of(handles, ino), link)
		if (handle->ino == (uint32_t)ino && !fn(arg, handle))
			break;
	pthread_mutex_unlock(&handles->mutex);
}

void handles_each_flocked(struct handles *handles, bool (*fn)(void *arg, struct handle *handle), void *arg)
{
	struct handle *handle;
	bool more = true;

	pthread_mutex_lock(&handles->mutex);
	for (size_t i = 0; i < BUCKETS && more; i++)
		LIST_FOREACH(handle, &handles->buckets[i], link)
			if (more && atomic_load(&handle->flocked) != NULL)
				more = fn(arg, handle);
	pthread_mutex_unlock(&handles->mutex);
}

/* The newest handle is first. */
struct handle *handle_opened(const struct call *call, uint64_t ino)
{
	struct handles *handles = call->fs->handles;
	struct handle *opened = NULL;
	struct handle *handle;
	int left = OPENED_MAX;

	pthread_mutex_lock(&handles->mutex);
	LIST_FOREACH(handle, bucket_of(handles, ino), link) {
		if (handle->ino == (uint32_t)ino && handle->pid == call->ctx->pid && handle->uid == call->ctx->uid &&
		    handle->gid == call->ctx->gid && handle_writes(handle))
			opened = handle_hold(handle);
		if (opened != NULL || --left == 0)
			break;
	}
	pthread_mutex_unlock(&handles->mutex);
	return opened;
}

void handle_flocks(struct handle *handle)
{
	struct handles *handles = handle->fs->handles;

	pthread_mutex_lock(&handles->mutex);
	handles->flocked++;
	pthread_mutex_unlock(&handles->mutex);
}

size_t handles_flocked(struct handles *handles)
{
	return atomic_load(&handles->flocked);
}

bool handle_writes(const struct handle *handle)
{
	return (handle->flags & O_ACCMODE) != O_RDONLY;
}

bool handle_reads(const struct handle *handle)
{
	return (handle->flags & O_ACCMODE) != O_WRONLY;
}

/* Two requests of one open file may both be the first: only one of them makes the content. */
struct content *handle_content(struct handle *handle)
{
	struct content *content = atomic_load(&handle->content);
	struct content *made = content != NULL ? NULL : calloc(1, sizeof(*made));

	if (made == NULL)
		return content;
	pthread_mutex_init(&made->mutex, NULL);
	made->replace = (handle->flags & O_TRUNC) != 0;
	if (atomic_compare_exchange_strong(&handle->content, &content, made))
		return made;
	content_free(handle, made);
	return content;
}

struct content *handle_lock(struct handle *handle)
{
	struct content *content = handle_content(handle);

	if (content != NULL)
		pthread_mutex_lock(&content->mutex);
	return content;
}

int handle_replace(struct handle *handle)
{
	struct content *content = handle == NULL ? NULL : handle_lock(handle);

	if (content == NULL)
		return handle == NULL ? 0 : -ENOMEM;
	content->replace = true;
	pthread_mutex_unlock(&content->mutex);
	return 0;
}

bool content_is_made(const struct content *content)
{
	return content->text != NULL || content->dropped;
}

bool content_is_told(const struct content *content)
{
	return content->sized && content_is_young(content);
}

bool content_is_young(const struct content *content)
{
	struct timespec now;
	int64_t passed;

	clock_gettime(CLOCK_REALTIME, &now);
	passed = (int64_t)(now.tv_sec - content->made.tv_sec) * ATLOCK_SECOND + now.tv_nsec - content->made.tv_nsec;
	return passed >= 0 && passed < ATLOCK_SECOND;
}

int handle_remember(struct handle *handle, const struct atlock_caller *caller)
{
	struct content *content = handle_content(handle);

	if (content != NULL)
		content->caller = malloc(sizeof(*caller));
	if (content == NULL || content->caller == NULL)
		return -ENOMEM;
	*content->caller = *caller;
	return 0;
}

const struct atlock_caller *handle_caller(const struct handle *handle)
{
	const struct content *content = handle == NULL ? NULL : atomic_load(&handle->content);

	return content == NULL ? NULL : content->caller;
}
