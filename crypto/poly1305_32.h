/*
 * Poly1305 on machines that have no 128-bit products: the same functions as in crypto/poly1305.h,
 * on five limbs of 26 bits, whose products of 32 by 32 bits are summed up in 64. No branch and no
 * address depends on a secret.
 */
#ifndef CRYPTO_POLY1305_32_H
#define CRYPTO_POLY1305_32_H

#include "core/bytes.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { POLY1305_BLOCK = 16, POLY1305_KEY = 32, POLY1305_TAG = 16, POLY1305_LIMBS = 5 };

struct poly1305 {
	uint32_t h[POLY1305_LIMBS]; /* the sum so far: limbs below 2^26 + 2^6 */
	uint32_t r[POLY1305_LIMBS]; /* the clamped key */
	uint32_t pad[4];
};

/* limbs += 16 bytes, and 2^128 times `top` */
static inline void poly1305_split(const unsigned char *bytes, uint32_t top,
				  uint32_t limbs[POLY1305_LIMBS])
{
	const uint32_t mask = (1 << 26) - 1;
	uint32_t a = get_u32le(bytes), b = get_u32le(bytes + 4);
	uint32_t c = get_u32le(bytes + 8), d = get_u32le(bytes + 12);

	limbs[0] += a & mask;
	limbs[1] += (a >> 26 | b << 6) & mask;
	limbs[2] += (b >> 20 | c << 12) & mask;
	limbs[3] += (c >> 14 | d << 18) & mask;
	limbs[4] += d >> 8 | top << 24;
}

static inline void poly1305_init(struct poly1305 *poly, const unsigned char key[POLY1305_KEY])
{
	static const uint32_t clamp[POLY1305_LIMBS] = { 0x3ffffff, 0x3ffff03, 0x3ffc0ff, 0x3f03fff,
							0x00fffff };

	*poly = (struct poly1305){ 0 };
	poly1305_split(key, 0, poly->r);
	for (unsigned i = 0; i < POLY1305_LIMBS; i++)
		poly->r[i] &= clamp[i];
	for (unsigned i = 0; i < 4; i++)
		poly->pad[i] = get_u32le(key + 16 + 4 * i);
}

/* h *= r, for limbs of h below 2^27 + 2^6 and r5 = 5 r: what exceeds 130 bits returns five times
 * below. */
static inline void poly1305_multiply(uint32_t h[POLY1305_LIMBS], const uint32_t r[POLY1305_LIMBS],
				     const uint32_t r5[POLY1305_LIMBS])
{
	const uint32_t mask = (1 << 26) - 1;
	uint64_t d[POLY1305_LIMBS];
	uint32_t carry = 0;

#pragma GCC unroll 5
	for (unsigned i = 0; i < POLY1305_LIMBS; i++) {
		d[i] = (uint64_t)h[0] * r[i];
#pragma GCC unroll 5
		for (unsigned j = 1; j < POLY1305_LIMBS; j++)
			d[i] += (uint64_t)h[j] * (j <= i ? r[i - j] : r5[POLY1305_LIMBS + i - j]);
	}
#pragma GCC unroll 5
	for (unsigned i = 0; i < POLY1305_LIMBS; i++) {
		d[i] += carry;
		h[i] = (uint32_t)d[i] & mask;
		carry = (uint32_t)(d[i] >> 26); /* the last, without factors of r5, below 2^29.1 */
	}
	h[0] += carry * 5;
	h[1] += h[0] >> 26;
	h[0] &= mask;
}

/* Add n whole blocks. */
static inline void poly1305_blocks(struct poly1305 *poly, const unsigned char *bytes, size_t n)
{
	uint32_t h[POLY1305_LIMBS], r[POLY1305_LIMBS], r5[POLY1305_LIMBS];

	memcpy(h, poly->h, sizeof h);
	memcpy(r, poly->r, sizeof r);
	for (unsigned i = 0; i < POLY1305_LIMBS; i++)
		r5[i] = r[i] * 5;
	for (; n > 0; n--, bytes += POLY1305_BLOCK) {
		poly1305_split(bytes, 1, h);
		poly1305_multiply(h, r, r5);
	}
	memcpy(poly->h, h, sizeof h);
}

/* Add bytes[0..n), and zeros up to a whole block, as ChaCha20-Poly1305 pads. */
static inline void poly1305_add(struct poly1305 *poly, const unsigned char *bytes, size_t n)
{
	unsigned char last[POLY1305_BLOCK] = { 0 };
	size_t whole = n / POLY1305_BLOCK, part = n % POLY1305_BLOCK;

	if (whole > 0)
		poly1305_blocks(poly, bytes, whole);
	if (part == 0)
		return;
	memcpy(last, bytes + n - part, part);
	poly1305_blocks(poly, last, 1);
}

static inline void poly1305_finish(const struct poly1305 *poly, unsigned char tag[POLY1305_TAG])
{
	static const unsigned char shifts[4] = { 26, 20, 14, 8 };
	uint32_t h[4], less[4], keep;
	uint64_t sum = poly->h[0], five = 5, out = 0;

	/* less = h - (2^130 - 5), which is the answer unless it is negative */
	for (unsigned i = 0; i < 4; i++) {
		sum += (uint64_t)poly->h[i + 1] << shifts[i];
		h[i] = (uint32_t)sum;
		five += h[i];
		less[i] = (uint32_t)five;
		sum >>= 32;
		five >>= 32;
	}
	keep = (uint32_t)((sum + five) >> 2) - 1;
	for (unsigned i = 0; i < 4; i++) {
		out += (uint64_t)((h[i] & keep) | (less[i] & ~keep)) + poly->pad[i];
		put_u32le(tag + 4 * i, (uint32_t)out);
		out >>= 32;
	}
}

#endif
