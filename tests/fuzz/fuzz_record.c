/*
 * Records as the store has them: the first byte chooses the kind. What decodes encodes to what decodes to the same bytes. The
 * checksum would stop nearly every changed record, so the bytes are also decoded with it put right.
 */
#include <endian.h>
#include <string.h>

#include "crc32c.h"
#include "fuzz.h"
#include "record.h"

/* Large enough for the struct of every kind. */
union any {
	struct record_event event;
	struct record_lock lock;
	unsigned char room[1024];
};

static void record_check(enum record_kind kind, const unsigned char *value, size_t len)
{
	unsigned char first[RECORD_MAX], second[RECORD_MAX];
	union any record, again;
	int n;

	memset(&record, 0, sizeof(record));
	memset(&again, 0, sizeof(again));
	if (record_decode(kind, (struct slice){ .data = value, .len = len }, &record) < 0)
		return;
	n = record_encode(kind, &record, first);
	if (n < 0)
		return;
	MUST(record_decode(kind, (struct slice){ .data = first, .len = (size_t)n }, &again) == 0);
	MUST(record_encode(kind, &again, second) == n && memcmp(first, second, (size_t)n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char sealed[RECORD_MAX];
	enum record_kind kind;
	uint32_t crc;

	if (size < 7 || size > RECORD_MAX)
		return 0;
	kind = (enum record_kind)(data[0] % RECORD_DIRS + 1);
	record_check(kind, data + 1, size - 1);
	memcpy(sealed, data + 1, size - 1);
	sealed[0] = (unsigned char)kind;
	crc = htole32(crc32c(sealed, size - 1 - sizeof(crc)));
	memcpy(sealed + size - 1 - sizeof(crc), &crc, sizeof(crc));
	record_check(kind, sealed, size - 1);
	return 0;
}
