#include "handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "listing.h"

struct handles {
	pthread_mutex_t mutex;
	LIST_HEAD(, handle) list; /* mutex */
};

struct handles *handles_new(void)
{
	struct handles *handles = calloc(1, sizeof(*handles));

	if (handles != NULL)
		pthread_mutex_init(&handles->mutex, NULL);
	return handles;
}

static void handle_free(struct handle *handle)
{
	pthread_mutex_destroy(&handle->mutex);
	free(handle->caller);
	free(handle->flock);
	free(handle->text);
	free(handle->tail);
	free(handle->cursor);
	listing_free(handle->listing);
	free(handle);
}

void handles_free(struct handles *handles)
{
	struct handle *handle;
	struct handle *next;

	if (handles == NULL)
		return;
	LIST_FOREACH_SAFE(handle, &handles->list, link, next)
		handle_free(handle);
	pthread_mutex_destroy(&handles->mutex);
	free(handles);
}

struct handle *handle_new(struct handles *handles, int flags)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (handle == NULL)
		return NULL;
	atomic_init(&handle->holds, 1);
	pthread_mutex_init(&handle->mutex, NULL);
	handle->handles = handles;
	handle->flags = flags;
	handle->replace = (flags & O_TRUNC) != 0;
	pthread_mutex_lock(&handles->mutex);
	LIST_INSERT_HEAD(&handles->list, handle, link);
	pthread_mutex_unlock(&handles->mutex);
	return handle;
}

struct handle *handle_hold(struct handle *handle)
{
	atomic_fetch_add(&handle->holds, 1);
	return handle;
}

void handle_drop(struct handle *handle)
{
	if (handle == NULL || atomic_fetch_sub(&handle->holds, 1) > 1)
		return;
	pthread_mutex_lock(&handle->handles->mutex);
	LIST_REMOVE(handle, link);
	pthread_mutex_unlock(&handle->handles->mutex);
	handle_free(handle);
}

bool handle_writes(const struct handle *handle)
{
	return (handle->flags & O_ACCMODE) != O_RDONLY;
}

int handle_remember(struct handle *handle, const struct atlock_caller *caller)
{
	handle->caller = malloc(sizeof(*caller));
	if (handle->caller == NULL)
		return -ENOMEM;
	*handle->caller = *caller;
	return 0;
}
