/*
 * ChaCha-Poly1305, ChaCha20 and Salsa20 on any x86-64: four blocks at a time, and Poly1305 beside
 * them. Reached through aead.c's table and chacha_x86.c.
 */
#include <emmintrin.h>

#define TARGET
#define LANES 4
#define STREAM(name) sse2_##name

#define ROTATE(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))
#define ROTATE_16(x) \
	(words) _mm_shufflehi_epi16(_mm_shufflelo_epi16((__m128i)(x), 0xb1), 0xb1) /* 2 3 0 1 */
#define ROTATE_8(x) ROTATE(x, 8)

#define LOW_32(a, b) _mm_unpacklo_epi32((__m128i)(a), (__m128i)(b))
#define HIGH_32(a, b) _mm_unpackhi_epi32((__m128i)(a), (__m128i)(b))
#define LOW_64(a, b) _mm_unpacklo_epi64((__m128i)(a), (__m128i)(b))
#define HIGH_64(a, b) _mm_unpackhi_epi64((__m128i)(a), (__m128i)(b))

#include "crypto/poly1305_mul.h"

#include "crypto/chacha_lanes.h"
#include "crypto/stream_lanes.h"

INLINE void turn(unsigned char *to, const unsigned char *from, unsigned j, const quads t[4])
{
	UNROLLED
	for (unsigned i = 0; i < 4; i++) {
		size_t at = BLOCK * j + 16 * i;

		store(to + at, load(from + at) ^ t[i]);
	}
}

const struct aead chacha_sse2[CHACHAS] = CHACHA_METHODS("sse2", NULL);
