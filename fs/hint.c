#include "hint.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HINT_SLOTS 65536 /* the newest ids; two places for each */

struct hint {
	uint16_t len;
	unsigned char data[]; /* the lock's key, then the id with its NUL */
};

struct hints {
	pthread_mutex_t mutex;
	struct hint *slots[HINT_SLOTS]; /* mutex */
};

struct hints *hints_new(void)
{
	struct hints *hints = calloc(1, sizeof(*hints));

	if (hints != NULL)
		pthread_mutex_init(&hints->mutex, NULL);
	return hints;
}

void hints_free(struct hints *hints)
{
	if (hints == NULL)
		return;
	for (size_t i = 0; i < HINT_SLOTS; i++)
		free(hints->slots[i]);
	pthread_mutex_destroy(&hints->mutex);
	free(hints);
}

static size_t hint_slot(const char *id)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *id != '\0'; id++)
		h = (h ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
	return (size_t)(h >> 40) % HINT_SLOTS;
}

static bool hint_is(const struct hint *hint, const char *id)
{
	return hint != NULL && strcmp((const char *)hint->data + hint->len, id) == 0;
}

void hint_set(struct hints *hints, const char *id, const struct atlock_name *name)
{
	size_t slot = hint_slot(id);
	size_t id_len = strlen(id) + 1;
	struct hint *hint = malloc(sizeof(*hint) + name->len + id_len);

	if (hint == NULL)
		return;
	hint->len = name->len;
	memcpy(hint->data, name->key, name->len);
	memcpy(hint->data + name->len, id, id_len);
	pthread_mutex_lock(&hints->mutex);
	/* Its own place, a free one, or that of an older one. */
	if (!hint_is(hints->slots[slot], id) && hints->slots[slot] != NULL &&
	    (hints->slots[slot ^ 1] == NULL || hint_is(hints->slots[slot ^ 1], id)))
		slot ^= 1;
	free(hints->slots[slot]);
	hints->slots[slot] = hint;
	pthread_mutex_unlock(&hints->mutex);
}

int hint_get(struct hints *hints, const char *id, struct atlock_name *out)
{
	size_t slot = hint_slot(id);
	const struct hint *hint;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&hints->mutex);
	hint = hint_is(hints->slots[slot], id) ? hints->slots[slot] : hints->slots[slot ^ 1];
	if (hint_is(hint, id)) {
		out->len = hint->len;
		memcpy(out->key, hint->data, hint->len);
	}
	pthread_mutex_unlock(&hints->mutex);
	return out->len == 0;
}
