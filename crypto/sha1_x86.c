/*
 * SHA-1 with the instructions that x86-64 has for it: four rounds at a time. Called by sha1.c. The
 * words of the state and of the message stand in registers with the first one on top.
 */
#include "crypto/sha1_compress.h"

#include "crypto/cpu_x86.h"

#include <immintrin.h>

/* Four rounds: the message's next words if it is stretched already, then E of these rounds,
 * which is what was on top of the state four rounds ago. */
#define FOUR(g, f)                                                                               \
	do {                                                                                     \
		if ((g) >= 4)                                                                    \
			w[(g) % 4] = _mm_sha1msg2_epu32(                                         \
				_mm_xor_si128(_mm_sha1msg1_epu32(w[(g) % 4], w[((g) + 1) % 4]),  \
					      w[((g) + 2) % 4]),                                 \
				w[((g) + 3) % 4]);                                               \
		e = (g) == 0 ? _mm_add_epi32(e, w[0]) : _mm_sha1nexte_epu32(before, w[(g) % 4]); \
		before = state;                                                                  \
		state = _mm_sha1rnds4_epu32(state, e, f);                                        \
	} while (0)

#define TWENTY(g, f)              \
	do {                      \
		FOUR(g, f);       \
		FOUR((g) + 1, f); \
		FOUR((g) + 2, f); \
		FOUR((g) + 3, f); \
		FOUR((g) + 4, f); \
	} while (0)

__attribute__((target("sha,sse4.1"))) static void compress(uint32_t h[5],
							   const unsigned char *block)
{
	const __m128i turn = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
	const __m128i first = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(void *)h), 0x1b);
	const __m128i fifth = _mm_set_epi32((int)h[4], 0, 0, 0);
	__m128i state = first, before = first, e = fifth, w[4];

	for (int i = 0; i < 4; i++)
		w[i] = _mm_shuffle_epi8(_mm_loadu_si128(
						(const __m128i *)(const void *)(block + 16 * i)),
					turn);
	TWENTY(0, 0);
	TWENTY(5, 1);
	TWENTY(10, 2);
	TWENTY(15, 3);
	e = _mm_sha1nexte_epu32(before, fifth);
	state = _mm_shuffle_epi32(_mm_add_epi32(state, first), 0x1b);
	_mm_storeu_si128((__m128i *)(void *)h, state);
	h[4] = (uint32_t)_mm_extract_epi32(e, 3);
}

bool sha1_compress_fast(uint32_t h[5], const unsigned char block[SHA1_BLOCK])
{
	/* Asked once in the life of the program: in a virtual machine the question takes longer
	 * than a hash. */
	static enum { UNASKED, YES, NO } known;

	if (known == UNASKED)
		known = cpu_has_sha() ? YES : NO;
	if (known == NO)
		return false;
	compress(h, block);
	return true;
}
