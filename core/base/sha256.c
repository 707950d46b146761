/*
 * Every change hashes a few hundred bytes, which would be a third of the work of an acquire. Processors with SHA-256
 * instructions need a tenth of that; on others libmd computes it.
 */
#include "sha256.h"

#include <sha2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static void sha256_plain(const void *data, size_t len, unsigned char out[SHA256_BYTES])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, data, len);
	SHA256Final(out, &sha);
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#define BLOCK 64

/* Names and numbers are those of FIPS 180-4. */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The state in the order that the instructions need: a b e f and c d g h. */
struct state {
	__m128i abef;
	__m128i cdgh;
};

#define TARGET __attribute__((target("sha,sse4.1")))

TARGET static void block_add(struct state *state, const unsigned char *data)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	struct state s = *state;
	__m128i w[4];
	__m128i kw;

	for (size_t i = 0; i < 4; i++)
		w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i)), swap);
#pragma GCC unroll 16
	for (size_t i = 0; i < 16; i++) {
		if (i >= 4) {
			__m128i last = w[(i + 3) & 3];
			__m128i sum = _mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]);

			sum = _mm_add_epi32(sum, _mm_alignr_epi8(last, w[(i + 2) & 3], 4));
			w[i & 3] = _mm_sha256msg2_epu32(sum, last);
		}
		kw = _mm_add_epi32(w[i & 3], _mm_loadu_si128((const __m128i *)(const void *)(k + 4 * i)));
		s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, kw);
		s.abef = _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(kw, 0x0e));
	}
	state->abef = _mm_add_epi32(state->abef, s.abef);
	state->cdgh = _mm_add_epi32(state->cdgh, s.cdgh);
}

TARGET static void sha256_instruction(const unsigned char *data, size_t len, unsigned char out[SHA256_BYTES])
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	struct state state = {
		_mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c),
		_mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19),
	};
	unsigned char end[2 * BLOCK] = { 0 };
	uint64_t bits = (uint64_t)len * 8;
	size_t left = len % BLOCK;
	size_t end_len = left + 9 > BLOCK ? 2 * BLOCK : BLOCK;
	__m128i feba;
	__m128i dchg;

	for (; len >= BLOCK; data += BLOCK, len -= BLOCK)
		block_add(&state, data);
	if (left > 0)
		memcpy(end, data, left);
	end[left] = 0x80;
	for (size_t i = 0; i < 8; i++)
		end[end_len - 1 - i] = (unsigned char)(bits >> (8 * i));
	for (size_t at = 0; at < end_len; at += BLOCK)
		block_add(&state, end + at);
	feba = _mm_shuffle_epi32(state.abef, 0x1b);
	dchg = _mm_shuffle_epi32(state.cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)(void *)out, _mm_shuffle_epi8(_mm_blend_epi16(feba, dchg, 0xf0), swap));
	_mm_storeu_si128((__m128i *)(void *)(out + 16), _mm_shuffle_epi8(_mm_alignr_epi8(dchg, feba, 8), swap));
}

static bool has_instructions(void)
{
	static int known = -1; /* a race is harmless: every thread finds the same value */
	unsigned int a;
	unsigned int b;
	unsigned int c;
	unsigned int d;
	int found = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (found < 0) {
		found = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0 &&
			__builtin_cpu_supports("sse4.1");
		__atomic_store_n(&known, found, __ATOMIC_RELAXED);
	}
	return found != 0;
}
#endif

void sha256(const void *data, size_t len, unsigned char out[SHA256_BYTES])
{
#if defined(__x86_64__)
	if (has_instructions()) {
		sha256_instruction(data, len, out);
		return;
	}
#endif
	sha256_plain(data, len, out);
}
