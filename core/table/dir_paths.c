#include "dir_paths.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 64

struct dir_paths {
	pthread_mutex_t mutex;
	struct {
		uint64_t dir; /* 0, which is custom/ itself: none */
		char *path;
		size_t len;
	} slots[SLOTS];
};

int dir_paths_new(struct dir_paths **out)
{
	struct dir_paths *paths = calloc(1, sizeof(*paths));

	if (paths == NULL)
		return -ENOMEM;
	pthread_mutex_init(&paths->mutex, NULL);
	*out = paths;
	return 0;
}

void dir_paths_free(struct dir_paths *paths)
{
	if (paths == NULL)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		free(paths->slots[i].path);
	pthread_mutex_destroy(&paths->mutex);
	free(paths);
}

size_t dir_paths_get(struct dir_paths *paths, uint64_t dir, char *out, size_t len)
{
	size_t found = 0;

	pthread_mutex_lock(&paths->mutex);
	if (paths->slots[dir % SLOTS].dir == dir && paths->slots[dir % SLOTS].len <= len) {
		found = paths->slots[dir % SLOTS].len;
		memcpy(out, paths->slots[dir % SLOTS].path, found);
	}
	pthread_mutex_unlock(&paths->mutex);
	return found;
}

void dir_paths_put(struct dir_paths *paths, uint64_t dir, struct slice path)
{
	char *copy = malloc(path.len);
	char *old;

	if (copy == NULL)
		return;
	memcpy(copy, path.data, path.len);
	pthread_mutex_lock(&paths->mutex);
	old = paths->slots[dir % SLOTS].path;
	paths->slots[dir % SLOTS].dir = dir;
	paths->slots[dir % SLOTS].path = copy;
	paths->slots[dir % SLOTS].len = path.len;
	pthread_mutex_unlock(&paths->mutex);
	free(old);
}
