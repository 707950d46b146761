#include "crc32c.h"

#include <string.h>

/* CRC-32C with a table for each half of a byte: records are too short for larger tables to pay. */
static uint32_t crc_table(const unsigned char *data, size_t len)
{
	static const uint32_t low[16] = {
		0x00000000, 0xf26b8303, 0xe13b70f7, 0x1350f3f4, 0xc79a971f, 0x35f1141c, 0x26a1e7e8, 0xd4ca64eb,
		0x8ad958cf, 0x78b2dbcc, 0x6be22838, 0x9989ab3b, 0x4d43cfd0, 0xbf284cd3, 0xac78bf27, 0x5e133c24,
	};
	static const uint32_t high[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		crc = (crc >> 8) ^ low[crc & 15] ^ high[crc >> 4 & 15];
	}
	return crc;
}

#if defined(__x86_64__)
#define WORD sizeof(uint64_t)
#define TARGET __attribute__((target("sse4.2")))

TARGET static inline uint64_t crc_word(uint64_t crc, const unsigned char *data)
{
	uint64_t word;

	memcpy(&word, data, sizeof(word));
	return __builtin_ia32_crc32di(crc, word);
}

TARGET static uint32_t crc_instruction(const unsigned char *data, size_t len)
{
	uint64_t crc = UINT32_MAX;

	for (; len >= 4 * WORD; data += 4 * WORD, len -= 4 * WORD) {
		crc = crc_word(crc, data);
		crc = crc_word(crc, data + WORD);
		crc = crc_word(crc, data + 2 * WORD);
		crc = crc_word(crc, data + 3 * WORD);
	}
	for (; len >= WORD; data += WORD, len -= WORD)
		crc = crc_word(crc, data);
	uint32_t last = (uint32_t)crc;
	if (len & 4) {
		uint32_t half;

		memcpy(&half, data, sizeof(half));
		last = __builtin_ia32_crc32si(last, half);
		data += sizeof(half);
	}
	if (len & 2) {
		uint16_t quarter;

		memcpy(&quarter, data, sizeof(quarter));
		last = __builtin_ia32_crc32hi(last, quarter);
		data += sizeof(quarter);
	}
	return len & 1 ? __builtin_ia32_crc32qi(last, *data) : last;
}
#endif

uint32_t crc32c(const void *data, size_t len)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_instruction(data, len);
#endif
	return ~crc_table(data, len);
}
