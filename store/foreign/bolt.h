/*
 * The pages of a Bolt file, checked: every value of a page is compared with the sizes of page and file before it is
 * used. Private to store/.
 *
 * A file consists of pages of one size. The first two are meta pages, which say where the root is; the valid one with
 * the higher transaction number is the present state. Below the root are branch pages and leaf pages. Leaves contain
 * buckets: trees of their own or, if small, a leaf page inside the value. Content too large for a page continues in the
 * pages after it. Numbers are little-endian. Only the meta pages have a checksum.
 */
#ifndef STORE_BOLT_H
#define STORE_BOLT_H

#include "foreign.h"

#include <stdbool.h>

/* Flags of a page. */
#define BOLT_BRANCH 1U
#define BOLT_LEAF 2U
#define BOLT_META_PAGE 4U
#define BOLT_FREE_LIST 16U

#define BOLT_MAGIC UINT32_C(0xED0CDAED)
#define BOLT_VERSION 2
#define BOLT_HEADER 16 /* of a page: number (8), flags (2), count (2), overflow (4) */
#define BOLT_ENTRY 16  /* of a branch: position, key's size, child (8); of a leaf: flags, position, two sizes */
#define BOLT_META 64   /* after the header; the last 8 bytes are the checksum of those before */
#define BOLT_BUCKET 16 /* before an inline page: root, sequence */

struct bolt_file {
	struct foreign base;
	int fd;
	uint64_t size;
	uint32_t page_size;
	uint64_t root;
	uint64_t pages; /* first page number not in use */
	uint64_t transaction;
	unsigned char *seen; /* a bit per page: a valid tree has each page once */
	uint64_t page;       /* being read, for error texts */
};

/* A page in memory. */
struct bolt_page {
	unsigned char *memory; /* to be freed; NULL if it lies in another page */
	const unsigned char *data;
	size_t len;
	uint64_t number;
	unsigned int flags;
	unsigned int count;
	size_t end; /* of the entry read last: Bolt stores entries without gaps */
};

/* One entry of a page. */
struct bolt_entry {
	bool bucket;
	struct slice key;
	struct slice value; /* leaf */
	uint64_t child;     /* branch */
};

/* The name of the bucket that has such records. */
const char *bolt_bucket_name(enum foreign_kind kind);

/* Finds the present state. -EBADMSG. */
int bolt_meta_read(struct bolt_file *file, unsigned int flags);

/* Reads a page of a tree; each page may be read once. */
int bolt_page_read(struct bolt_file *file, uint64_t number, struct bolt_page *out);

/* A bucket in a leaf's value: its root page, or (0) the inline page, which lives as long as the value. */
int bolt_bucket_read(struct bolt_file *file, struct slice value, uint64_t *root, struct bolt_page *out);

/* Entries must be read in order. */
int bolt_entry_read(struct bolt_file *file, struct bolt_page *page, unsigned int index, struct bolt_entry *out);

#endif
