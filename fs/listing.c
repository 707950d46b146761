#include "listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names one after the other, each behind a letter for its type, and where each begins. */
struct listing {
	char *names;
	size_t used;
	size_t size;
	size_t *starts;
	size_t count;
	size_t room;
};

struct listing *listing_new(void)
{
	return calloc(1, sizeof(struct listing));
}

void listing_clear(struct listing *listing)
{
	free(listing->names);
	free(listing->starts);
	*listing = (struct listing){ 0 };
}

void listing_free(struct listing *listing)
{
	if (listing == NULL)
		return;
	listing_clear(listing);
	free(listing);
}

static int listing_reserve(struct listing *listing, size_t len)
{
	if (listing->count == listing->room) {
		size_t room = listing->room == 0 ? 64 : listing->room * 2;
		size_t *starts = reallocarray(listing->starts, room, sizeof(*starts));

		if (starts == NULL)
			return -ENOMEM;
		listing->starts = starts;
		listing->room = room;
	}
	if (listing->names == NULL || listing->size - listing->used < len) {
		size_t size = (listing->size + len) * 2;
		char *names = realloc(listing->names, size);

		if (names == NULL)
			return -ENOMEM;
		listing->names = names;
		listing->size = size;
	}
	return 0;
}

int listing_add(struct listing *listing, const char *name, mode_t type)
{
	size_t len = strlen(name) + 2;
	int err = listing_reserve(listing, len);

	if (err < 0)
		return err;
	listing->starts[listing->count++] = listing->used;
	listing->names[listing->used] = (char)(type == S_IFDIR ? 'd' : type == S_IFLNK ? 'l' : '-');
	memcpy(listing->names + listing->used + 1, name, len - 1);
	listing->used += len;
	return 0;
}

int listing_add_once(struct listing *listing, const char *name, mode_t type)
{
	mode_t last_type;
	const char *last = listing->count == 0 ? NULL : listing_at(listing, listing->count - 1, &last_type);

	return last != NULL && strcmp(last, name) == 0 ? 0 : listing_add(listing, name, type);
}

const char *listing_at(const struct listing *listing, size_t i, mode_t *type)
{
	char letter;

	if (i >= listing->count)
		return NULL;
	letter = listing->names[listing->starts[i]];
	*type = letter == 'd' ? S_IFDIR : letter == 'l' ? S_IFLNK : S_IFREG;
	return listing->names + listing->starts[i] + 1;
}
