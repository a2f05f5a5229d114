/*
 * Vectors of words of 32 bits and of elements of 64, as crypto/chacha_lanes.h and what sums for it
 * write them; of one lane, words by themselves. LANES and TARGET are as chacha_lanes.h describes
 * them.
 */
#ifndef CRYPTO_WORD_LANES_H
#define CRYPTO_WORD_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Loops over arrays of vectors: only when none is left can these live in registers. */
#define UNROLLED _Pragma("GCC unroll 16")

#define INLINE static inline __attribute__((always_inline)) TARGET

#if LANES == 1

typedef uint32_t words;
typedef size_t quads; /* that much at a time */

INLINE words count(void)
{
	return 0;
}

#else

typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef uint64_t quads __attribute__((vector_size(4 * LANES)));

/* In each lane its number. */
INLINE words count(void)
{
	words w = { 0 };

	UNROLLED
	for (unsigned lane = 0; lane < LANES; lane++)
		w[lane] = lane;
	return w;
}

#endif

INLINE quads load(const unsigned char *bytes)
{
	quads q;

	memcpy(&q, bytes, sizeof q);
	return q;
}

INLINE void store(unsigned char *bytes, quads q)
{
	memcpy(bytes, &q, sizeof q);
}

#endif
