/*
 * Poly1305 on 64-bit machines, block after block: what crypto/chacha_lanes.h needs beside its own
 * many-blocks-at-once form, for short messages, for the ends of long ones and for powers of the
 * key. 130-bit numbers are three words of radix 2^64, the last of which stays small. No branch and
 * no address depends on a secret.
 */
#ifndef CRYPTO_POLY1305_H
#define CRYPTO_POLY1305_H

#include "core/bytes.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { POLY1305_BLOCK = 16, POLY1305_KEY = 32, POLY1305_TAG = 16, POLY1305_LIMBS = 5 };

__extension__ typedef unsigned __int128 poly1305_wide;

struct poly1305 {
	uint64_t h[3]; /* the sum so far: h[2] <= 4 */
	uint64_t r[2]; /* the clamped key: below 2^60, r[1] a multiple of four */
	uint64_t pad[2];
};

static inline void poly1305_init(struct poly1305 *poly, const unsigned char key[POLY1305_KEY])
{
	*poly = (struct poly1305){
		.r = { get_u64le(key) & 0x0ffffffc0fffffff,
		       get_u64le(key + 8) & 0x0ffffffc0ffffffc },
		.pad = { get_u64le(key + 16), get_u64le(key + 24) },
	};
}

/* *sum += more: the carry. (Compilers do this better than sums of 128 bits.) */
static inline uint64_t poly1305_carry(uint64_t *sum, uint64_t more)
{
	*sum += more;
	return *sum < more;
}

/* h = low + 2^64 middle + 2^128 high, where what exceeds 130 bits returns five times below. */
static inline void poly1305_fold(uint64_t h[3], uint64_t low, uint64_t middle, uint64_t high)
{
	uint64_t carry = poly1305_carry(&low, (high >> 2) * 5);

	h[0] = low;
	h[2] = (high & 3) + poly1305_carry(&middle, carry);
	h[1] = middle;
}

/* h *= r, for h[2] <= 7. */
static inline void poly1305_multiply(uint64_t h[3], const uint64_t r[2])
{
	uint64_t r1_over = r[1] + (r[1] >> 2); /* r[1] * 2^128 = r[1] / 4 * 5, modulo 2^130 - 5 */
	poly1305_wide low = (poly1305_wide)h[0] * r[0] + (poly1305_wide)h[1] * r1_over;
	poly1305_wide high = (poly1305_wide)h[0] * r[1] + (poly1305_wide)h[1] * r[0];
	uint64_t middle = (uint64_t)high;
	uint64_t carry = poly1305_carry(&middle, h[2] * r1_over + (uint64_t)(low >> 64));

	poly1305_fold(h, (uint64_t)low, middle, h[2] * r[0] + (uint64_t)(high >> 64) + carry);
}

/* h = (h + block) * r, the block's words as they are in memory, little endian. */
static inline void poly1305_step(uint64_t h[3], const uint64_t r[2], uint64_t low, uint64_t high)
{
	uint64_t carry = poly1305_carry(&h[0], low);

	h[2] += 1 + poly1305_carry(&h[1], high);
	h[2] += poly1305_carry(&h[1], carry);
	poly1305_multiply(h, r);
}

/* Add bytes[0..n), and zeros up to a whole block, as ChaCha20-Poly1305 pads. */
static inline void poly1305_add(struct poly1305 *poly, const unsigned char *bytes, size_t n)
{
	const uint64_t r[2] = { poly->r[0], poly->r[1] };
	uint64_t h[3] = { poly->h[0], poly->h[1], poly->h[2] }, words[2] = { 0, 0 };

	for (; n >= POLY1305_BLOCK; n -= POLY1305_BLOCK, bytes += POLY1305_BLOCK)
		poly1305_step(h, r, get_u64le(bytes), get_u64le(bytes + 8));
	for (size_t i = 0; i < n; i++)
		words[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
	if (n > 0)
		poly1305_step(h, r, words[0], words[1]);
	memcpy(poly->h, h, sizeof h);
}

static inline void poly1305_finish(const struct poly1305 *poly, unsigned char tag[POLY1305_TAG])
{
	const uint64_t *h = poly->h;
	poly1305_wide sum = (poly1305_wide)h[0] + 5;
	uint64_t less[2], keep;

	/* less = h - (2^130 - 5), which is the answer unless it is negative */
	less[0] = (uint64_t)sum;
	sum = (sum >> 64) + h[1];
	less[1] = (uint64_t)sum;
	keep = ((h[2] + (uint64_t)(sum >> 64)) >> 2) - 1;

	sum = (poly1305_wide)((h[0] & keep) | (less[0] & ~keep)) + poly->pad[0];
	put_u64le(tag, (uint64_t)sum);
	sum = (sum >> 64) + ((h[1] & keep) | (less[1] & ~keep)) + poly->pad[1];
	put_u64le(tag + 8, (uint64_t)sum);
}

/* The same number in limbs of 26 bits, the form that vectors multiply in; and back, from limbs of
 * less than 2^32. */
static inline void poly1305_split(const uint64_t h[3], uint64_t limbs[POLY1305_LIMBS])
{
	const uint64_t mask = (1 << 26) - 1;

	limbs[0] = h[0] & mask;
	limbs[1] = h[0] >> 26 & mask;
	limbs[2] = (h[0] >> 52 | h[1] << 12) & mask;
	limbs[3] = h[1] >> 14 & mask;
	limbs[4] = h[1] >> 40 | h[2] << 24;
}

static inline void poly1305_join(uint64_t h[3], const uint64_t limbs[POLY1305_LIMBS])
{
	poly1305_wide low =
		limbs[0] + ((poly1305_wide)limbs[1] << 26) + ((poly1305_wide)limbs[2] << 52);
	poly1305_wide high = (low >> 64) + (limbs[3] << 14) + ((poly1305_wide)limbs[4] << 40);

	poly1305_fold(h, (uint64_t)low, (uint64_t)high, (uint64_t)(high >> 64));
}

#endif
