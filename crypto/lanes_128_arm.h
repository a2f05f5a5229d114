/*
 * Vectors of one block on 64-bit ARM, for the templates *_lanes.h. See lane_x86.h and
 * lanes_128_x86.h for what each is. AESE adds its key before it does anything else, where x86 adds
 * one at the end: it gets none here, which costs an addition and leaves the pair of AESE and AESMC
 * whole.
 */
#ifndef CRYPTO_LANES_128_ARM_H
#define CRYPTO_LANES_128_ARM_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

#define TARGET

typedef uint8x16_t lane, vec;

enum { LANES = 1, VECTORS = 8 };

#define EACH(act) act(0) act(1) act(2) act(3) act(4) act(5) act(6) act(7)

#define L_ZERO() vdupq_n_u8(0)
#define L_LOAD(p) vld1q_u8((const unsigned char *)(p))
#define L_STORE(p, v) vst1q_u8((unsigned char *)(p), v)
#define L_WORD(word) vreinterpretq_u8_u32(vdupq_n_u32(word))
#define L_HALVES(high, low) vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)))
#define L_LOW(v) vgetq_lane_u64(vreinterpretq_u64_u8(v), 0)
#define L_HIGH(v) vgetq_lane_u64(vreinterpretq_u64_u8(v), 1)
#define L_XOR(a, b) veorq_u8(a, b)
#define L_UP(v, bytes) vextq_u8(L_ZERO(), v, 16 - (bytes))
#define L_SWAP(v) vextq_u8(v, v, 8)
#define L_BYTES(v, order) vqtbl1q_u8(v, order)
#define L_ROUND(v, key) veorq_u8(vaesmcq_u8(vaeseq_u8(v, L_ZERO())), key)
#define L_LAST(v, key) veorq_u8(vaeseq_u8(v, L_ZERO()), key)

static inline bool lanes_same(lane a, lane b)
{
	lane unlike = veorq_u8(a, b);

	return (L_LOW(unlike) | L_HIGH(unlike)) == 0;
}
#define L_SAME(a, b) lanes_same(a, b)

#define V_ZERO L_ZERO
#define V_LOAD L_LOAD
#define V_STORE L_STORE
#define V_XOR L_XOR
#define V_AND(a, b) vandq_u8(a, b)
#define V_XOR3(a, b, c) veorq_u8(veorq_u8(a, b), c)
#define V_ADD(a, b) \
	vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)))
#define V_BYTES L_BYTES
#define V_SWAP L_SWAP
#define V_ROUND L_ROUND
#define V_LAST L_LAST
#define V_ALL(block) (block)
#define V_FIRST(block) (block)
#define V_COUNT L_ZERO
#define V_SUM(v) (v)

/* Some compilers want to read the number of a lane where it stands. */
static inline __attribute__((always_inline)) poly64_t lanes_half(poly64x2_t x, const int half)
{
	return half ? vgetq_lane_p64(x, 1) : vgetq_lane_p64(x, 0);
}

/* Carry-less: the lowest digit of `halves` says which half of a, the other which of b. */
static inline __attribute__((always_inline)) vec lanes_times(vec a, vec b, const int halves)
{
	poly64x2_t x = vreinterpretq_p64_u8(a), y = vreinterpretq_p64_u8(b);

	if (halves == 0x11)
		return vreinterpretq_u8_p128(vmull_high_p64(x, y));
	return vreinterpretq_u8_p128(
		vmull_p64(lanes_half(x, halves & 1), lanes_half(y, halves >> 4)));
}
#define V_TIMES(a, b, halves) lanes_times(a, b, halves)

#define V_NOW(a, b, c) __asm__("" : "+w"(a), "+w"(b), "+w"(c))

#endif
