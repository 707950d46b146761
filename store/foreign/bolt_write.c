/*
 * Writes a new Bolt file: both meta pages, an empty free list, and a tree of full pages for each bucket. Nothing is ever changed in
 * such a file here, so no page is free and both meta pages describe the same state. bolt.h describes the pages.
 */
#include "bolt.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096
#define FREE_LIST 2 /* the page after the meta pages */
#define FIRST 3     /* the first page of a tree */

/* Grows as pages are added. Page numbers are places in it. */
struct image {
	unsigned char *data;
	uint64_t pages;
	uint64_t room;
	bool failed; /* no memory; all functions do nothing from then on */
};

/* An entry of a page to be: of a leaf, or of a branch, whose value is its child. */
struct entry {
	struct slice key;
	struct slice value;
	uint64_t child;
	bool bucket;
};

static void put16(unsigned char *at, uint16_t number)
{
	number = htole16(number);
	memcpy(at, &number, sizeof(number));
}

static void put32(unsigned char *at, uint64_t number)
{
	uint32_t little = htole32((uint32_t)number);

	memcpy(at, &little, sizeof(little));
}

static void put64(unsigned char *at, uint64_t number)
{
	number = htole64(number);
	memcpy(at, &number, sizeof(number));
}

static void bytes_put(unsigned char *at, struct slice bytes)
{
	if (bytes.len > 0)
		memcpy(at, bytes.data, bytes.len);
}

/* Adds a run of pages for `len` bytes, all zero; returns the first one's number. */
static uint64_t pages_add(struct image *image, size_t len)
{
	uint64_t run = (len + PAGE - 1) / PAGE;
	uint64_t first = image->pages;
	unsigned char *data;

	if (first + run > image->room && !image->failed) {
		uint64_t room = 2 * (first + run);

		data = reallocarray(image->data, room, PAGE);
		image->failed = data == NULL;
		if (data != NULL) {
			memset(data + image->room * PAGE, 0, (room - image->room) * PAGE);
			image->data = data;
			image->room = room;
		}
	}
	image->pages += run;
	return first;
}

static void header_put(unsigned char *at, uint64_t number, unsigned int flags, size_t count, uint64_t overflow)
{
	put64(at, number);
	put16(at + 8, (uint16_t)flags);
	put16(at + 10, (uint16_t)count);
	put32(at + 12, overflow);
}

static size_t entry_size(const struct entry *entry)
{
	return BOLT_ENTRY + entry->key.len + entry->value.len;
}

static void entry_put(unsigned char *at, const struct entry *entry, unsigned int flags, size_t position)
{
	if (flags == BOLT_BRANCH) {
		put32(at, position);
		put32(at + 4, entry->key.len);
		put64(at + 8, entry->child);
		return;
	}
	put32(at, entry->bucket);
	put32(at + 4, position);
	put32(at + 8, entry->key.len);
	put32(at + 12, entry->value.len);
}

/* Writes one page, or a run of them if its entries need that. */
static uint64_t page_put(struct image *image, unsigned int flags, const struct entry *entries, size_t count)
{
	size_t body = BOLT_HEADER + count * BOLT_ENTRY;
	size_t len = body;
	unsigned char *page;
	uint64_t number;

	for (size_t i = 0; i < count; i++)
		len += entries[i].key.len + entries[i].value.len;
	number = pages_add(image, len);
	if (image->failed)
		return number;
	page = image->data + number * PAGE;
	header_put(page, number, flags, count, image->pages - number - 1);
	for (size_t i = 0; i < count; i++) {
		size_t from = BOLT_HEADER + i * BOLT_ENTRY;

		entry_put(page + from, &entries[i], flags, body - from);
		bytes_put(page + body, entries[i].key);
		bytes_put(page + body + entries[i].key.len, entries[i].value);
		body += entries[i].key.len + entries[i].value.len;
	}
	return number;
}

/* How many of the entries fit into one page: at least one, or two in a branch, which would not end otherwise. */
static size_t entries_fit(unsigned int flags, const struct entry *entries, size_t count)
{
	size_t least = flags == BOLT_BRANCH ? 2 : 1;
	size_t len = BOLT_HEADER;
	size_t n = 0;

	while (n < count && n < UINT16_MAX && (n < least || len + entry_size(&entries[n]) <= PAGE))
		len += entry_size(&entries[n++]);
	return n;
}

/* Writes a tree of sorted entries and returns the number of its root. Uses `entries` up: each level is made of the one below. */
static uint64_t tree_put(struct image *image, struct entry *entries, size_t count)
{
	unsigned int flags = BOLT_LEAF;

	for (;;) {
		size_t above = 0;

		for (size_t i = 0; i < count || above == 0;) {
			size_t n = entries_fit(flags, entries + i, count - i);
			uint64_t number = page_put(image, flags, entries + i, n);

			entries[above++] = (struct entry){ .key = entries[i].key, .child = number };
			i += n;
		}
		if (above == 1)
			return entries[0].child;
		count = above;
		flags = BOLT_BRANCH;
	}
}

static int order(const void *a, const void *b)
{
	struct slice left = ((const struct entry *)a)->key;
	struct slice right = ((const struct entry *)b)->key;
	int way = memcmp(left.data, right.data, left.len < right.len ? left.len : right.len);

	return way != 0 ? way : (left.len > right.len) - (left.len < right.len);
}

/* Writes the tree of one bucket; `value` becomes what the root has of it. -EEXIST if two records have one key. */
static int bucket_put(struct image *image, const struct foreign_item *items, size_t count, enum foreign_kind kind,
		      unsigned char value[BOLT_BUCKET], const struct foreign_item **twice)
{
	struct entry *entries = calloc(count + 1, sizeof(*entries));
	size_t n = 0;

	if (entries == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (items[i].kind == kind)
			entries[n++] = (struct entry){ .key = items[i].key, .value = items[i].value };
	qsort(entries, n, sizeof(*entries), order);
	*twice = NULL;
	for (size_t i = 1; i < n && *twice == NULL; i++)
		for (size_t j = 0; order(&entries[i - 1], &entries[i]) == 0 && j < count; j++)
			if (items[j].kind == kind && items[j].key.data == entries[i].key.data)
				*twice = &items[j];
	if (*twice == NULL)
		put64(value, tree_put(image, entries, n));
	free(entries);
	return *twice != NULL ? -EEXIST : 0;
}

static void meta_put(struct image *image, uint64_t number, uint64_t root)
{
	unsigned char *page = image->data + number * PAGE;
	unsigned char *meta = page + BOLT_HEADER;

	header_put(page, number, BOLT_META_PAGE, 0, 0);
	put32(meta, BOLT_MAGIC);
	put32(meta + 4, BOLT_VERSION);
	put32(meta + 8, PAGE);
	put64(meta + 16, root);
	put64(meta + 32, FREE_LIST);
	put64(meta + 40, image->pages);
	put64(meta + 48, number); /* the transaction */
	put64(meta + BOLT_META - 8, slice_hash(SLICE_HASH, (struct slice){ meta, BOLT_META - 8 }));
}

static int image_make(struct image *image, const struct foreign_item *items, size_t count,
		      const struct foreign_item **twice)
{
	/* In the order of their names, as every tree's keys are. */
	static const enum foreign_kind kinds[] = { FOREIGN_GLOBAL, FOREIGN_PULL, FOREIGN_LOCK };
	unsigned char values[FOREIGN_KINDS][BOLT_BUCKET] = { { 0 } };
	struct entry buckets[FOREIGN_KINDS + 1];
	uint64_t root;

	(void)pages_add(image, (size_t)FIRST * PAGE);
	for (size_t i = 0; i < FOREIGN_KINDS; i++) {
		const char *name = bolt_bucket_name(kinds[i]);
		int err = bucket_put(image, items, count, kinds[i], values[i], twice);

		if (err < 0)
			return err;
		buckets[i] = (struct entry){ { name, strlen(name) }, { values[i], BOLT_BUCKET }, 0, true };
	}
	root = tree_put(image, buckets, FOREIGN_KINDS);
	if (image->failed)
		return -ENOMEM;
	header_put(image->data + (size_t)FREE_LIST * PAGE, FREE_LIST, BOLT_FREE_LIST, 0, 0);
	meta_put(image, 0, root);
	meta_put(image, 1, root);
	return 0;
}

static int image_save(const struct image *image, int fd)
{
	size_t len = (size_t)(image->pages * PAGE);
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, image->data + done, len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n < 0 ? 0 : (size_t)n;
	}
	return fsync(fd) == 0 ? 0 : -errno;
}

/* The name appears when the file is whole and on the disk; one that is there is never replaced. */
static int image_publish(const struct image *image, const char *path)
{
	char *temporary;
	int err = 0;
	int fd;

	if (access(path, F_OK) == 0)
		return -EEXIST;
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
	} else {
		err = image_save(image, fd);
		if (close(fd) != 0 && err == 0)
			err = -errno;
		if (err == 0 && link(temporary, path) != 0)
			err = -errno;
		unlink(temporary);
	}
	free(temporary);
	return err;
}

int bolt_write(const char *path, const struct foreign_item *items, size_t count, char error[FOREIGN_ERROR_MAX])
{
	struct image image = { .data = NULL };
	const struct foreign_item *twice = NULL;
	int err = image_make(&image, items, count, &twice);

	if (twice != NULL)
		snprintf(error, FOREIGN_ERROR_MAX, "two records have the key %.*s", (int)twice->key.len,
			 (const char *)twice->key.data);
	if (err == 0) {
		err = image_publish(&image, path);
		if (err == -EEXIST)
			snprintf(error, FOREIGN_ERROR_MAX,
				 "%s is there already: name a new file, and move it into place", path);
		else if (err < 0)
			snprintf(error, FOREIGN_ERROR_MAX, "%s: %s", path, strerror(-err));
	} else if (twice == NULL) {
		snprintf(error, FOREIGN_ERROR_MAX, "out of memory");
	}
	free(image.data);
	return err;
}
