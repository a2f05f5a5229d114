/*
 * Vectors of one block, for the templates aes_lanes.h, gcm_lanes.h and modes_lanes.h. One file of
 * each level includes one of the headers lanes_*.h.
 */
#ifndef CRYPTO_LANES_128_X86_H
#define CRYPTO_LANES_128_X86_H

#include "crypto/lane_x86.h"

#define TARGET __attribute__((target("aes,pclmul,sse4.1")))

typedef __m128i vec;

enum { LANES = 1, VECTORS = 8 /* worked on at the same time */ };

#define EACH(act) act(0) act(1) act(2) act(3) act(4) act(5) act(6) act(7)

#define V_ZERO() _mm_setzero_si128()
#define V_LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define V_STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define V_XOR(a, b) _mm_xor_si128(a, b)
#define V_AND(a, b) _mm_and_si128(a, b)
#define V_XOR3(a, b, c) _mm_xor_si128(_mm_xor_si128(a, b), c)
#define V_ADD(a, b) _mm_add_epi32(a, b)
#define V_BYTES(v, order) _mm_shuffle_epi8(v, order)
#define V_SWAP(v) _mm_shuffle_epi32(v, 0x4e) /* the halves of each block */
#define V_ROUND(v, key) _mm_aesenc_si128(v, key)
#define V_LAST(v, key) _mm_aesenclast_si128(v, key)
#define V_TIMES(a, b, halves) _mm_clmulepi64_si128(a, b, halves)
#define V_ALL(block) (block)	      /* in every lane */
#define V_FIRST(block) (block)	      /* in the first, the others zero */
#define V_COUNT() _mm_setzero_si128() /* 0, 1, ... */
#define V_SUM(v) (v)		      /* of the lanes */

/* Have these made here, together: gcc would first make all products of a batch, for which there are
 * not registers enough, and add them up at its end. */
#define V_NOW(a, b, c) __asm__("" : "+x"(a), "+x"(b), "+x"(c))

#endif
