/*
 * ChaCha-Poly1305, ChaCha20 and Salsa20 on x86-64 with AVX2: eight blocks at a time, and Poly1305
 * beside them. Reached through aead.c's table and stream_chacha.c.
 *
 * Four lanes, for CPUs without AVX2, are in chacha_sse2_x86.c; nobody has measured sixteen.
 */
#include "crypto/cpu_x86.h"

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi2")))
#define LANES 8
#define STREAM(name) avx2_##name

#define ROTATE(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))
#define ROTATE_16(x) ordered(x, &order_16)
#define ROTATE_8(x) ordered(x, &order_8)

#define LOW_32(a, b) _mm256_unpacklo_epi32((__m256i)(a), (__m256i)(b))
#define HIGH_32(a, b) _mm256_unpackhi_epi32((__m256i)(a), (__m256i)(b))
#define LOW_64(a, b) _mm256_unpacklo_epi64((__m256i)(a), (__m256i)(b))
#define HIGH_64(a, b) _mm256_unpackhi_epi64((__m256i)(a), (__m256i)(b))

#include "crypto/poly1305_mulx.h"
#include "crypto/word_lanes.h"

/* Which byte each of a vector is to be, in its half; the last of a word's digits is the first. */
static const words order_16 = { 0x01000302, 0x05040706, 0x09080b0a, 0x0d0c0f0e,
				0x01000302, 0x05040706, 0x09080b0a, 0x0d0c0f0e };
static const words order_8 = { 0x02010003, 0x06050407, 0x0a09080b, 0x0e0d0c0f,
			       0x02010003, 0x06050407, 0x0a09080b, 0x0e0d0c0f };

/* Clang would make four shuffles of the two in a quarter round if it knew what they do. */
INLINE words ordered(words x, const words *order)
{
	words y;

	__asm__("vpshufb %2, %1, %0" : "=x"(y) : "x"(x), "m"(*order));
	return y;
}

#include "crypto/chacha_lanes.h"
#include "crypto/stream_lanes.h"

/* The low half of each t[i] is block j's, the high one block j + 4's. */
INLINE void turn(unsigned char *to, const unsigned char *from, unsigned j, const quads t[4])
{
	UNROLLED
	for (unsigned i = 0; i < 4; i += 2) {
		__m256i a = (__m256i)t[i], b = (__m256i)t[i + 1];
		size_t at = BLOCK * j + 16 * i, after = at + 4 * BLOCK;

		store(to + at, load(from + at) ^ (quads)_mm256_permute2x128_si256(a, b, 0x20));
		store(to + after,
		      load(from + after) ^ (quads)_mm256_permute2x128_si256(a, b, 0x31));
	}
}

static const struct aead avx2[CHACHAS] = CHACHA_METHODS("avx2", cpu_has_avx2);

const struct aead *const chacha_levels[] = { avx2, chacha_sse2, NULL };

void chacha20_xor(const unsigned char *key, const unsigned char nonce[8], uint64_t block,
		  size_t skip, unsigned char *text, size_t n)
{
	if ((n >= STRIP || skip + n <= 2 * BLOCK) && cpu_has_avx2())
		avx2_chacha20_xor(key, nonce, block, skip, text, n);
	else
		sse2_chacha20_xor(key, nonce, block, skip, text, n);
}

void salsa20_xor(const unsigned char *key, const unsigned char nonce[8], uint64_t block,
		 size_t skip, unsigned char *text, size_t n)
{
	if (n >= STRIP && cpu_has_avx2())
		avx2_salsa20_xor(key, nonce, block, skip, text, n);
	else
		sse2_salsa20_xor(key, nonce, block, skip, text, n);
}

void hchacha20(const unsigned char *key, const unsigned char nonce[16], unsigned char to[32])
{
	if (cpu_has_avx2())
		avx2_hchacha20(key, nonce, to);
	else
		sse2_hchacha20(key, nonce, to);
}
