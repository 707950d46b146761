#include "listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define STEP_BYTES 4096
#define STEP_NAMES 256
#define MARKS 16

/* Names one after the other, each after a letter for its type, and where each begins. */
struct step {
	uint16_t starts[STEP_NAMES];
	char names[STEP_BYTES];
};

/* Where a step began, and a checksum of the names from here to the next mark: equal sums mean equal names. */
struct mark {
	size_t offset;
	uint64_t sum;
	uint16_t len; /* of its place */
	unsigned char *place;
};

struct listing {
	struct atlock_place place; /* of the name being added */
	struct atlock_place end;   /* of the last name of the step */
	struct step *step;         /* NULL: not read yet */
	size_t first;              /* offset of its first name */
	size_t count;
	size_t used;
	bool full;                /* more names follow this step */
	size_t seen;              /* highest offset that was ever read and marked */
	size_t apart;             /* smallest distance between two marks, in offsets */
	struct mark marks[MARKS]; /* the first always exists; it is the start of the directory unless that was lost */
	size_t mark_count;
};

struct listing *listing_new(void)
{
	struct listing *listing = calloc(1, sizeof(*listing));

	if (listing != NULL)
		listing->mark_count = listing->apart = 1;
	return listing;
}

/* Forgets all but the first `count` marks. */
static void marks_cut(struct listing *listing, size_t count)
{
	while (listing->mark_count > count)
		free(listing->marks[--listing->mark_count].place);
}

void listing_free(struct listing *listing)
{
	if (listing == NULL)
		return;
	marks_cut(listing, 0);
	free(listing->step);
	free(listing);
}

struct atlock_place *listing_place(struct listing *listing)
{
	return &listing->place;
}

const char *listing_at(const struct listing *listing, size_t offset, mode_t *type)
{
	const char *entry;

	if (offset < listing->first || offset - listing->first >= listing->count)
		return NULL;
	entry = listing->step->names + listing->step->starts[offset - listing->first];
	*type = *entry == 'd' ? S_IFDIR : *entry == 'l' ? S_IFLNK : S_IFREG;
	return entry + 1;
}

/* --- Filling a step --- */

static void place_copy(struct atlock_place *to, uint16_t len, const unsigned char *data)
{
	to->len = len;
	if (len > 0)
		memcpy(to->data, data, len);
}

int listing_add(struct listing *listing, const char *name, mode_t type)
{
	struct step *step = listing->step;
	size_t len = strlen(name) + 2;

	if (listing->count == STEP_NAMES || len > sizeof(step->names) - listing->used) {
		listing->full = true;
		return 1;
	}
	step->starts[listing->count++] = (uint16_t)listing->used;
	step->names[listing->used] = (char)(type == S_IFDIR ? 'd' : type == S_IFLNK ? 'l' : '-');
	memcpy(step->names + listing->used + 1, name, len - 1);
	listing->used += len;
	place_copy(&listing->end, listing->place.len, listing->place.data);
	return 0;
}

size_t listing_index(const struct listing *listing)
{
	size_t i = 0;

	if (listing->place.len == sizeof(i))
		memcpy(&i, listing->place.data, sizeof(i));
	return i;
}

int listing_add_index(struct listing *listing, size_t i, const char *name, mode_t type)
{
	size_t next = i + 1;

	listing->place.len = sizeof(next);
	memcpy(listing->place.data, &next, sizeof(next));
	return listing_add(listing, name, type);
}

/* Sum of the hashes of all names up to an offset. */
static uint64_t step_sum(const struct listing *listing, size_t until)
{
	const char *name;
	uint64_t sum = 0;
	mode_t type;

	for (size_t i = listing->first; i < until && (name = listing_at(listing, i, &type)) != NULL; i++)
		sum += hash_bytes(HASH_START, name, strlen(name));
	return sum;
}

/* Removes every second mark to make space, and doubles the distance of later marks. */
static void marks_thin(struct listing *listing)
{
	struct mark *marks = listing->marks;

	for (size_t i = 0; i < MARKS / 2; i++) {
		marks[2 * i].sum += marks[2 * i + 1].sum;
		free(marks[2 * i + 1].place);
		marks[i] = marks[2 * i];
	}
	listing->mark_count = MARKS / 2;
	listing->apart *= 2;
}

/* Adds a mark where the step begins, if there is none yet. Without memory there are fewer marks. */
static void mark_add(struct listing *listing)
{
	struct mark *last = &listing->marks[listing->mark_count - 1];
	unsigned char *place;

	if (listing->first <= last->offset || listing->first - last->offset < listing->apart || listing->end.len == 0)
		return;
	if (listing->mark_count == MARKS) {
		listing->apart = listing->apart > 1 ? listing->apart : listing->first / MARKS;
		marks_thin(listing);
	}
	place = malloc(listing->end.len);
	if (place == NULL)
		return;
	memcpy(place, listing->end.data, listing->end.len);
	listing->marks[listing->mark_count++] = (struct mark){ .offset = listing->first,
							       .len = listing->end.len,
							       .place = place };
}

/* Makes the step that begins at an offset, after listing->end. */
static int step_fill(struct listing *listing, size_t first, listing_fn *fn, void *arg)
{
	int err;

	if (listing->step == NULL)
		listing->step = malloc(sizeof(*listing->step));
	if (listing->step == NULL)
		return -ENOMEM;
	listing->first = first;
	listing->count = listing->used = 0;
	listing->full = false;
	if (first == listing->seen)
		mark_add(listing);
	place_copy(&listing->place, listing->end.len, listing->end.data);
	if (first == 0) {
		listing_add(listing, ".", S_IFDIR);
		listing_add(listing, "..", S_IFDIR);
	}
	err = fn(arg, listing);
	if (err < 0) {
		free(listing->step);
		listing->step = NULL;
		listing->count = 0;
	} else if (first == listing->seen) {
		listing->marks[listing->mark_count - 1].sum += step_sum(listing, SIZE_MAX);
		listing->seen = first + listing->count;
	}
	return err;
}

static int step_next(struct listing *listing, listing_fn *fn, void *arg)
{
	return step_fill(listing, listing->first + listing->count, fn, arg);
}

/* --- Going back --- */

static int step_at(struct listing *listing, const struct mark *mark, size_t offset, listing_fn *fn, void *arg)
{
	place_copy(&listing->end, mark->len, mark->place);
	return step_fill(listing, offset, fn, arg);
}

/* Whether the names between a mark and the next are still the same: 0 or 1, or a negative errno. */
static int mark_check(struct listing *listing, const struct mark *mark, listing_fn *fn, void *arg)
{
	const struct mark *next = mark + 1;
	size_t until = next < listing->marks + listing->mark_count ? next->offset : listing->seen;
	int err = step_at(listing, mark, mark->offset, fn, arg);
	uint64_t sum = err < 0 ? 0 : step_sum(listing, until);

	while (err == 0 && listing->full && listing->first + listing->count < until) {
		err = step_next(listing, fn, arg);
		sum += step_sum(listing, until);
	}
	if (err < 0)
		return err;
	return sum != mark->sum || listing->first + listing->count < until;
}

/*
 * Goes to an offset outside the current step by counting from the mark before it. If entries after that mark came or
 * went, the offset is taken to be at the mark, and what was counted after it is dropped.
 */
static int seek_back(struct listing *listing, size_t offset, listing_fn *fn, void *arg)
{
	size_t i = listing->mark_count - 1;
	struct mark *mark;
	int err = 0;

	while (i > 0 && listing->marks[i].offset > offset)
		i--;
	mark = &listing->marks[i];
	if (offset < mark->offset)
		err = 1;
	else if (offset < listing->seen)
		err = mark_check(listing, mark, fn, arg);
	if (err == 1) {
		marks_cut(listing, i + 1);
		mark->offset = listing->seen = offset;
		mark->sum = 0;
		return step_at(listing, mark, offset, fn, arg);
	}
	if (err == 0)
		err = step_at(listing, mark, mark->offset, fn, arg);
	while (err == 0 && listing->full && listing->first + listing->count <= offset)
		err = step_next(listing, fn, arg);
	return err;
}

int listing_seek(struct listing *listing, size_t offset, listing_fn *fn, void *arg)
{
	size_t end = listing->first + listing->count;

	if (offset == 0) {
		marks_cut(listing, 1);
		free(listing->marks[0].place);
		listing->marks[0] = (struct mark){ 0 };
		listing->apart = 1;
		listing->seen = 0;
		listing->end.len = 0;
		return step_fill(listing, 0, fn, arg);
	}
	if (listing->step != NULL && offset >= listing->first && (offset < end || (offset == end && !listing->full)))
		return 0;
	if (listing->step != NULL && offset == end)
		return step_next(listing, fn, arg);
	return seek_back(listing, offset, fn, arg);
}
