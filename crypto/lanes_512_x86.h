/*
 * Vectors of four blocks. See lanes_128_x86.h. Four of them are as much at a time as eight of the
 * narrower ones, and keep the table of powers small.
 */
#ifndef CRYPTO_LANES_512_X86_H
#define CRYPTO_LANES_512_X86_H

#include "crypto/lane_x86.h"

#define TARGET __attribute__((target("aes,pclmul,avx2,avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")))

typedef __m512i vec;

enum { LANES = 4, VECTORS = 4 };

#define EACH(act) act(0) act(1) act(2) act(3)

#define V_ZERO() _mm512_setzero_si512()
#define V_LOAD(p) _mm512_loadu_si512(p)
#define V_STORE(p, v) _mm512_storeu_si512(p, v)
#define V_XOR(a, b) _mm512_xor_si512(a, b)
#define V_AND(a, b) _mm512_and_si512(a, b)
#define V_XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define V_ADD(a, b) _mm512_add_epi32(a, b)
#define V_BYTES(v, order) _mm512_shuffle_epi8(v, order)
#define V_SWAP(v) _mm512_shuffle_epi32(v, 0x4e)
#define V_ROUND(v, key) _mm512_aesenc_epi128(v, key)
#define V_LAST(v, key) _mm512_aesenclast_epi128(v, key)
#define V_TIMES(a, b, halves) _mm512_clmulepi64_epi128(a, b, halves)
#define V_ALL(block) _mm512_broadcast_i32x4(block)
#define V_FIRST(block) _mm512_zextsi128_si512(block)
#define V_COUNT() _mm512_setr_epi32(0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0)

#define V_HALVES(v) _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1))
#define V_SUM(v) \
	_mm_xor_si128(_mm256_castsi256_si128(V_HALVES(v)), _mm256_extracti128_si256(V_HALVES(v), 1))

#define V_NOW(a, b, c) __asm__("" : "+v"(a), "+v"(b), "+v"(c))

#endif
