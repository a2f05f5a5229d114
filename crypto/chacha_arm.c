/*
 * ChaCha-Poly1305, ChaCha20 and Salsa20 on 64-bit ARM, whose every CPU has NEON: four blocks at a
 * time, and two of Poly1305. Reached through aead.c's table and stream_chacha.c.
 */
#include <arm_neon.h>

#define TARGET
#define LANES 4

#define ROTATE(x, bits) \
	(words) vsriq_n_u32(vshlq_n_u32((uint32x4_t)(x), bits), (uint32x4_t)(x), 32 - (bits))
#define ROTATE_16(x) (words) vrev32q_u16((uint16x8_t)(x))
#define ROTATE_8(x)                         \
	(words) vqtbl1q_u8((uint8x16_t)(x), \
			   (uint8x16_t){ 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14 })

#define LOW_32(a, b) vzip1q_u32((uint32x4_t)(a), (uint32x4_t)(b))
#define HIGH_32(a, b) vzip2q_u32((uint32x4_t)(a), (uint32x4_t)(b))
#define LOW_64(a, b) vzip1q_u64((uint64x2_t)(a), (uint64x2_t)(b))
#define HIGH_64(a, b) vzip2q_u64((uint64x2_t)(a), (uint64x2_t)(b))
#define WIDE(a, b) (quads) vmull_u32(vmovn_u64((uint64x2_t)(a)), vmovn_u64((uint64x2_t)(b)))
#define ORDER        \
	{            \
		0, 1 \
	}

#include "crypto/poly1305_lanes.h"
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

static const struct aead neon[CHACHAS] = CHACHA_METHODS("neon", NULL);

const struct aead *const chacha_levels[] = { neon, NULL };
