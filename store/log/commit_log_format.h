/* The bytes of commit.log, for the two files that write and read them. Little-endian throughout. */
#ifndef STORE_COMMIT_LOG_FORMAT_H
#define STORE_COMMIT_LOG_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define LOG_SIZE ((size_t)1024 * 1024)
#define LOG_HALF (LOG_SIZE / 2) /* where the second run begins */

#define REMOVED UINT32_MAX /* in place of a value's length */

/* The checksum is of all that follows it, to the end of the entry. */
struct entry_head {
	uint32_t crc;
	uint32_t len;  /* of the entry, head and all */
	uint64_t base; /* number of the transaction that began the log; or the mark that the run continues */
	uint64_t mark;
	uint64_t number; /* one more than that of the entry before; the first has any */
	uint64_t flags;
};

#define ORDERED UINT64_C(1)   /* written when all entries before it were on disk */
#define CONTINUES UINT64_C(2) /* of a run that continues another: `base` is the other's mark */

struct write_head {
	uint32_t key_len;
	uint32_t value_len; /* or REMOVED */
};

#endif
