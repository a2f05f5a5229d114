/*
 * Vectors of two blocks. See lanes_128_x86.h.
 */
#ifndef CRYPTO_LANES_256_X86_H
#define CRYPTO_LANES_256_X86_H

#include "crypto/lane_x86.h"

#define TARGET __attribute__((target("aes,pclmul,avx2,vaes,vpclmulqdq")))

typedef __m256i vec;

enum { LANES = 2, VECTORS = 8 };

#define EACH(act) act(0) act(1) act(2) act(3) act(4) act(5) act(6) act(7)

#define V_ZERO() _mm256_setzero_si256()
#define V_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define V_STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define V_XOR(a, b) _mm256_xor_si256(a, b)
#define V_AND(a, b) _mm256_and_si256(a, b)
#define V_XOR3(a, b, c) _mm256_xor_si256(_mm256_xor_si256(a, b), c)
#define V_ADD(a, b) _mm256_add_epi32(a, b)
#define V_BYTES(v, order) _mm256_shuffle_epi8(v, order)
#define V_SWAP(v) _mm256_shuffle_epi32(v, 0x4e)
#define V_ROUND(v, key) _mm256_aesenc_epi128(v, key)
#define V_LAST(v, key) _mm256_aesenclast_epi128(v, key)
#define V_TIMES(a, b, halves) _mm256_clmulepi64_epi128(a, b, halves)
#define V_ALL(block) _mm256_broadcastsi128_si256(block)
#define V_FIRST(block) _mm256_zextsi128_si256(block)
#define V_COUNT() _mm256_setr_epi32(0, 0, 0, 0, 1, 0, 0, 0)
#define V_SUM(v) _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1))

#define V_NOW(a, b, c) __asm__("" : "+x"(a), "+x"(b), "+x"(c))

#endif
