#include "guards.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>

void guards_init(struct guards *guards)
{
	*guards = (struct guards){ .count = 0 };
	pthread_mutex_init(&guards->mutex, NULL);
}

void guards_destroy(struct guards *guards)
{
	while (guards->first != NULL) {
		struct guard_count *count = guards->first;

		guards->first = count->next;
		free(count);
	}
	pthread_mutex_destroy(&guards->mutex);
}

/* Where the resource is in the list, or would be. */
static struct guard_count **place_of(struct guards *guards, const char *resource)
{
	struct guard_count **at = &guards->first;

	while (*at != NULL && strcmp((*at)->resource, resource) < 0)
		at = &(*at)->next;
	return at;
}

static bool is_at(struct guard_count *const *at, const char *resource)
{
	return *at != NULL && strcmp((*at)->resource, resource) == 0;
}

void guards_add(struct guards *guards, const char *resource, enum atlock_guard_result result, uint64_t tries,
		uint64_t time)
{
	struct guard_count **at;
	struct guard_count *added;

	pthread_mutex_lock(&guards->mutex);
	at = place_of(guards, resource);
	if (!is_at(at, resource) && guards->count < GUARDS_MAX && (added = calloc(1, sizeof(*added))) != NULL) {
		strlcpy(added->resource, resource, sizeof(added->resource));
		added->next = *at;
		*at = added;
		guards->count++;
	}
	if (is_at(at, resource)) {
		(*at)->results[result]++;
		(*at)->tries += tries;
		(*at)->time += time;
	}
	pthread_mutex_unlock(&guards->mutex);
}

void guards_get(struct guards *guards, const char *resource, struct guard_count *out)
{
	struct guard_count **at;

	*out = (struct guard_count){ .next = NULL };
	pthread_mutex_lock(&guards->mutex);
	at = place_of(guards, resource);
	if (is_at(at, resource))
		*out = **at;
	pthread_mutex_unlock(&guards->mutex);
}

void guards_each(struct guards *guards, void (*fn)(FILE *out, const struct guard_count *count), FILE *out)
{
	pthread_mutex_lock(&guards->mutex);
	for (const struct guard_count *count = guards->first; count != NULL; count = count->next)
		fn(out, count);
	pthread_mutex_unlock(&guards->mutex);
}
