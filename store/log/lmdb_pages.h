/* How many pages the next transaction of LMDB can take at most. */
#ifndef STORE_LMDB_PAGES_H
#define STORE_LMDB_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* What LMDB's newest transaction is like, as far as it matters for the pages that the next one takes. */
struct lmdb_shape {
	uint64_t leaves;
	uint64_t branches;
	uint64_t overflow; /* pages of long values */
	uint64_t depth;
	uint64_t pages;      /* of the file */
	uint64_t list_pages; /* of the tree that lists free pages */
	uint64_t list_depth;
	uint64_t free;  /* pages that the next transaction can use again, once no reader has an older state */
	uint64_t later; /* pages that only the one after that can */
};

struct lmdb_need {
	uint64_t pages;
	uint64_t run; /* of them, those that may have to lie side by side */
};

/* What a transaction puts. */
struct lmdb_put {
	uint64_t writes;
	uint64_t overflow; /* pages for long values */
};

/* The pages that a value has for itself: 0 if it fits a leaf. */
size_t lmdb_pages_of_value(size_t page, size_t key_len, size_t value_len);

/* What a transaction of so many writes takes at most, `overflow` of it for long values. */
struct lmdb_need lmdb_pages_needed(const struct lmdb_shape *shape, size_t page, uint64_t writes, uint64_t overflow);

/* The same for two transactions, one after the other. */
struct lmdb_need lmdb_pages_needed_twice(const struct lmdb_shape *shape, size_t page, const struct lmdb_put *first,
					 const struct lmdb_put *second);

#endif
