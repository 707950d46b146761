#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bolt.h"

#define PAGE_LEAST 512
#define PAGE_MOST (UINT32_C(16) << 20)

struct meta {
	uint32_t page_size;
	uint64_t root;
	uint64_t pages;
	uint64_t transaction;
};

static uint16_t get16(const unsigned char *at)
{
	uint16_t number;

	memcpy(&number, at, sizeof(number));
	return le16toh(number);
}

static uint32_t get32(const unsigned char *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return le32toh(number);
}

static uint64_t get64(const unsigned char *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return le64toh(number);
}

static int bad(struct bolt_file *file, const char *what)
{
	return foreign_fail(&file->base, -EBADMSG, "page %" PRIu64 ": %s", file->page, what);
}

/* Reads exactly `len` bytes; a file too short is an error. */
static int bytes_read(struct bolt_file *file, uint64_t offset, void *out, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(file->fd, (char *)out + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return foreign_fail(&file->base, -errno, "page %" PRIu64 ": %s", file->page, strerror(errno));
		if (n == 0)
			return bad(file, "the file ends in it: it was cut short");
		done += (size_t)n;
	}
	return 0;
}

/* 0, or 1 if there is no valid meta page at this offset. */
static int meta_at(struct bolt_file *file, uint64_t offset, struct meta *out)
{
	unsigned char data[BOLT_HEADER + BOLT_META];
	const unsigned char *meta = data + BOLT_HEADER;
	uint32_t size;
	int err;

	if (offset + sizeof(data) > file->size)
		return 1;
	err = bytes_read(file, offset, data, sizeof(data));
	if (err < 0)
		return err;
	size = get32(meta + 8);
	if (get32(meta) != BOLT_MAGIC || get32(meta + 4) != BOLT_VERSION ||
	    get64(meta + BOLT_META - 8) != slice_hash(SLICE_HASH, (struct slice){ meta, BOLT_META - 8 }))
		return 1;
	if (size < PAGE_LEAST || size > PAGE_MOST || (size & (size - 1)) != 0 || (offset != 0 && offset != size))
		return 1;
	*out = (struct meta){
		.page_size = size,
		.root = get64(meta + 16),
		.pages = get64(meta + 40),
		.transaction = get64(meta + 48),
	};
	return 0;
}

/* The second meta page is one page into the file; if the first does not give the page size, all sizes are tried. */
static int meta_second(struct bolt_file *file, bool known, uint32_t size, struct meta *out)
{
	int err = 1;

	if (known)
		return meta_at(file, size, out);
	for (size = PAGE_LEAST; err == 1 && size <= PAGE_MOST; size *= 2)
		err = meta_at(file, size, out);
	return err;
}

int bolt_meta_read(struct bolt_file *file, unsigned int flags)
{
	struct meta metas[2] = { { .page_size = 0 } };
	int second;
	int first;
	size_t newest;

	file->page = 0;
	first = meta_at(file, 0, &metas[0]);
	if (first < 0)
		return first;
	file->page = 1;
	second = meta_second(file, first == 0, metas[0].page_size, &metas[1]);
	if (second < 0)
		return second;
	file->page = 0;
	if (first != 0 && second != 0)
		return bad(file, "is no meta page of a Bolt file, nor is page 1: damaged, or another kind of file");
	if ((first != 0 || second != 0) && !(flags & FOREIGN_OLDER))
		return foreign_fail(&file->base, -EBADMSG,
				    "page %d: the meta page is damaged, and with it perhaps the newest state",
				    second == 0 ? 0 : 1);
	newest = second == 0 && (first != 0 || metas[1].transaction > metas[0].transaction);
	file->page_size = metas[newest].page_size;
	file->root = metas[newest].root;
	file->pages = metas[newest].pages;
	file->transaction = metas[newest].transaction;
	file->page = file->size / file->page_size;
	if (file->pages < 3 || file->pages > file->page)
		return foreign_fail(&file->base, -EBADMSG,
				    "page %" PRIu64 ": the file ends here, but has %" PRIu64 " pages: it was cut short",
				    file->page, file->pages);
	free(file->seen);
	file->seen = calloc(1, (size_t)(file->pages / 8 + 1));
	return file->seen == NULL ? foreign_fail(&file->base, -ENOMEM, "out of memory") : 0;
}

/* Marks a run of pages as seen: each may be in the tree once, which also detects every cycle. */
static int pages_take(struct bolt_file *file, uint64_t number, uint64_t run)
{
	for (uint64_t i = number; i < number + run; i++) {
		if (file->seen[i / 8] & (1U << (i % 8)))
			return bad(file, "is used twice");
		file->seen[i / 8] = (unsigned char)(file->seen[i / 8] | (1U << (i % 8)));
	}
	return 0;
}

static bool is_zero(const unsigned char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (data[i] != 0)
			return false;
	return true;
}

/* Parses the header of a page in memory. */
static int page_header(struct bolt_file *file, struct bolt_page *page)
{
	page->flags = get16(page->data + 8);
	page->count = get16(page->data + 10);
	if (page->flags != BOLT_BRANCH && page->flags != BOLT_LEAF)
		return bad(file, "is neither a branch nor a leaf");
	if (BOLT_HEADER + (size_t)page->count * BOLT_ENTRY > page->len)
		return bad(file, "has more entries than fit");
	page->end = BOLT_HEADER + (size_t)page->count * BOLT_ENTRY;
	if (page->flags == BOLT_BRANCH && page->count == 0)
		return bad(file, "is a branch without entries");
	if (page->count == 0 && page->len >= BOLT_HEADER + BOLT_ENTRY && !is_zero(page->data + BOLT_HEADER, BOLT_ENTRY))
		return bad(file, "has entries but counts none");
	return 0;
}

int bolt_page_read(struct bolt_file *file, uint64_t number, struct bolt_page *out)
{
	unsigned char header[BOLT_HEADER];
	uint64_t run;
	int err;

	*out = (struct bolt_page){ .number = number };
	file->page = number;
	if (number < 2 || number >= file->pages)
		return bad(file, "is not one of the file's pages");
	err = bytes_read(file, number * file->page_size, header, sizeof(header));
	if (err < 0)
		return err;
	run = 1 + (uint64_t)get32(header + 12);
	if (get64(header) != number)
		return bad(file, "has another page's number");
	if (run > file->pages - number)
		return bad(file, "goes on beyond the end of the file");
	err = pages_take(file, number, run);
	if (err < 0)
		return err;
	out->len = (size_t)(run * file->page_size);
	out->memory = malloc(out->len);
	if (out->memory == NULL)
		return foreign_fail(&file->base, -ENOMEM, "page %" PRIu64 ": out of memory", number);
	out->data = out->memory;
	err = bytes_read(file, number * file->page_size, out->memory, out->len);
	if (err == 0)
		err = page_header(file, out);
	if (err < 0) {
		free(out->memory);
		out->memory = NULL;
	}
	return err;
}

int bolt_bucket_read(struct bolt_file *file, struct slice value, uint64_t *root, struct bolt_page *out)
{
	const unsigned char *data = value.data;

	if (value.len < BOLT_BUCKET)
		return bad(file, "has a bucket that is too short");
	*root = get64(data);
	if (*root != 0)
		return 0;
	if (value.len < BOLT_BUCKET + BOLT_HEADER)
		return bad(file, "has a bucket without a page");
	*out = (struct bolt_page){ .data = data + BOLT_BUCKET, .len = value.len - BOLT_BUCKET, .number = file->page };
	return page_header(file, out);
}

/* Key and value of an entry. They must begin where the previous entry ended: that reveals a wrong count or size. */
static int parts(struct bolt_file *file, struct bolt_page *page, uint64_t begin, uint32_t key, uint32_t value,
		 struct bolt_entry *out)
{
	if (begin != page->end)
		return bad(file, "has an entry at another place than Bolt puts it");
	if (key > page->len - page->end || value > page->len - page->end - key)
		return bad(file, "has an entry that does not fit into it");
	out->key = (struct slice){ page->data + page->end, key };
	out->value = (struct slice){ page->data + page->end + key, value };
	page->end += (size_t)key + value;
	return 0;
}

int bolt_entry_read(struct bolt_file *file, struct bolt_page *page, unsigned int index, struct bolt_entry *out)
{
	size_t from = BOLT_HEADER + (size_t)index * BOLT_ENTRY;
	const unsigned char *at = page->data + from;
	uint32_t flags;
	int err;

	*out = (struct bolt_entry){ .bucket = false };
	file->page = page->number;
	if (page->flags == BOLT_BRANCH) {
		out->child = get64(at + 8);
		return parts(file, page, from + get32(at), get32(at + 4), 0, out);
	}
	flags = get32(at);
	if (flags > 1)
		return bad(file, "has an entry of an unknown kind");
	out->bucket = flags == 1;
	err = parts(file, page, from + get32(at + 4), get32(at + 8), get32(at + 12), out);
	if (err == 0 && out->key.len == 0)
		err = bad(file, "has an entry without a key");
	if (err == 0 && page->memory == NULL && index + 1 == page->count && page->end != page->len)
		err = bad(file, "has a bucket with something behind its last entry");
	return err;
}
