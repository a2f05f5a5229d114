/*
 * One block of AES in a register of x86-64, for the templates *_lanes.h: bytes in the order of
 * memory, numbers as they are, the low half first.
 */
#ifndef CRYPTO_LANE_X86_H
#define CRYPTO_LANE_X86_H

#include <immintrin.h>

typedef __m128i lane;

#define L_ZERO() _mm_setzero_si128()
#define L_LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define L_STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define L_WORD(word) _mm_set1_epi32((int)(word)) /* four times */
#define L_HALVES(high, low) _mm_set_epi64x((long long)(high), (long long)(low))
#define L_LOW(v) ((uint64_t)_mm_cvtsi128_si64(v))
#define L_HIGH(v) ((uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(v, v)))
#define L_XOR(a, b) _mm_xor_si128(a, b)
#define L_UP(v, bytes) _mm_slli_si128(v, bytes) /* each byte moves up by so many places */
#define L_SWAP(v) _mm_shuffle_epi32(v, 0x4e)	/* its halves */
#define L_BYTES(v, order) _mm_shuffle_epi8(v, order)
#define L_ROUND(v, key) _mm_aesenc_si128(v, key)    /* ShiftRows, SubBytes, MixColumns, the key */
#define L_LAST(v, key) _mm_aesenclast_si128(v, key) /* the same without MixColumns */
#define L_SAME(a, b) (_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) == 0xffff)

#endif
