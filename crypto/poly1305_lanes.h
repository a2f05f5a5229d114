/*
 * Poly1305 in vectors: the part of crypto/chacha_lanes.h that sums. It takes WIDTH blocks at a
 * time, each into its own element of a vector, so that the sum is WIDTH sums until the end: element
 * e's is of blocks e, e + WIDTH ..., a polynomial in r^WIDTH. Then each is multiplied by the power
 * of r that its last block is from the end. LANES, TARGET, LOW_64 and HIGH_64 are as chacha_lanes.h
 * describes them; and
 *	WIDE(a, b)	the products of the low halves of elements of 64 bits
 *	ORDER		braces around the blocks that LOW_64 of two vectors of text has, in order
 */
#ifndef CRYPTO_POLY1305_LANES_H
#define CRYPTO_POLY1305_LANES_H

#include "crypto/poly1305.h"
#include "crypto/word_lanes.h"

#include <sodium.h>
#include <stdbool.h>

enum {
	WIDTH = LANES / 2, /* blocks at a time */
	STEP = WIDTH * POLY1305_BLOCK,
	MANY = 6 * STEP /* bytes from which powers of the key pay */
};

struct mac {
	struct poly1305 one;
	bool many; /* powers are there, and `sum` counts instead of one.h */
	bool begun;
	quads sum[POLY1305_LIMBS];
	quads step[POLY1305_LIMBS], step5[POLY1305_LIMBS]; /* r^WIDTH, and five times that */
	quads last[POLY1305_LIMBS];			   /* each element's power, r^WIDTH to r */
};

INLINE void limbs_carry(quads d[POLY1305_LIMBS])
{
	const quads mask = (quads){ 0 } + ((1 << 26) - 1);
	quads c;

	d[1] += d[0] >> 26, d[0] &= mask;
	d[4] += d[3] >> 26, d[3] &= mask;
	c = d[4] >> 26, d[4] &= mask;
	d[0] += c + (c << 2);
	d[2] += d[1] >> 26, d[1] &= mask;
	d[3] += d[2] >> 26, d[2] &= mask;
	d[1] += d[0] >> 26, d[0] &= mask;
	d[4] += d[3] >> 26, d[3] &= mask;
}

/* h *= r, where r5 = 5 r. Limbs stay below 2^26 + 2^10. */
INLINE void limbs_multiply(quads h[POLY1305_LIMBS], const quads r[POLY1305_LIMBS],
			   const quads r5[POLY1305_LIMBS])
{
	quads d[POLY1305_LIMBS];

	UNROLLED
	for (unsigned i = 0; i < POLY1305_LIMBS; i++) {
		d[i] = WIDE(h[0], r[i]);
		UNROLLED
		for (unsigned j = 1; j < POLY1305_LIMBS; j++)
			d[i] += j <= i ? WIDE(h[j], r[i - j])
				       : WIDE(h[j], r5[POLY1305_LIMBS + i - j]);
	}
	limbs_carry(d);
	memcpy(h, d, sizeof d);
}

/* h += the WIDTH blocks at text */
INLINE void limbs_add(quads h[POLY1305_LIMBS], const unsigned char *text)
{
	const quads mask = (quads){ 0 } + ((1 << 26) - 1), top = (quads){ 0 } + (1 << 24);
	quads a = load(text), b = load(text + sizeof a);
	quads low = (quads)LOW_64(a, b), high = (quads)HIGH_64(a, b);

	h[0] += low & mask;
	h[1] += low >> 26 & mask;
	h[2] += (low >> 52 | high << 12) & mask;
	h[3] += high >> 14 & mask;
	h[4] += high >> 40 | top;
}

/* Powers of the key; what `one` has summed up so far goes to the first element. */
static TARGET void mac_widen(struct mac *mac)
{
	static const unsigned char order[WIDTH] = ORDER;
	uint64_t h[3] = { mac->one.r[0], mac->one.r[1], 0 }, powers[WIDTH][POLY1305_LIMBS];

	for (unsigned i = WIDTH; i-- > 0;) { /* powers[0] is r^WIDTH */
		poly1305_split(h, powers[i]);
		poly1305_multiply(h, mac->one.r);
	}
	for (unsigned i = 0; i < POLY1305_LIMBS; i++) {
		mac->step[i] = (quads){ 0 } + powers[0][i];
		mac->step5[i] = mac->step[i] * 5;
		for (unsigned e = 0; e < WIDTH; e++)
			mac->last[i][e] = powers[order[e]][i];
	}
	poly1305_split(mac->one.h, powers[0]);
	for (unsigned i = 0; i < POLY1305_LIMBS; i++) {
		mac->sum[i] = (quads){ 0 };
		mac->sum[i][0] = powers[0][i];
	}
	sodium_memzero(powers, sizeof powers);
	mac->many = true;
	mac->begun = false;
}

/* The elements of the sum back into `one`, and no more of them. */
static TARGET void mac_narrow(struct mac *mac)
{
	quads last5[POLY1305_LIMBS];
	uint64_t limbs[POLY1305_LIMBS];

	for (unsigned i = 0; i < POLY1305_LIMBS; i++)
		last5[i] = mac->last[i] * 5;
	limbs_multiply(mac->sum, mac->last, last5);
	for (unsigned i = 0; i < POLY1305_LIMBS; i++) {
		limbs[i] = 0;
		for (unsigned e = 0; e < WIDTH; e++)
			limbs[i] += mac->sum[i][e];
	}
	poly1305_join(mac->one.h, limbs);
	mac->many = false;
}

/* Add whole steps. */
static TARGET void mac_steps(struct mac *mac, const unsigned char *text, size_t n)
{
	quads sum[POLY1305_LIMBS];

	memcpy(sum, mac->sum, sizeof sum);
	if (!mac->begun) {
		limbs_add(sum, text);
		mac->begun = true;
		text += STEP;
		n -= STEP;
	}
	for (; n > 0; n -= STEP, text += STEP) {
		limbs_multiply(sum, mac->step, mac->step5);
		limbs_add(sum, text);
	}
	memcpy(mac->sum, sum, sizeof sum);
}

static TARGET void mac_begin(struct mac *mac, const unsigned char key[POLY1305_KEY], const void *ad,
			     size_t ad_len, size_t n)
{
	poly1305_init(&mac->one, key);
	poly1305_add(&mac->one, ad, ad_len);
	mac->many = false;
	if (n >= MANY)
		mac_widen(mac);
}

/* Add text[0..n): whole steps, until the last call. */
static TARGET void mac_add(struct mac *mac, const unsigned char *text, size_t n)
{
	size_t whole = mac->many ? n - n % STEP : 0;

	if (whole > 0)
		mac_steps(mac, text, whole);
	if (whole == n)
		return;
	if (mac->many)
		mac_narrow(mac);
	poly1305_add(&mac->one, text + whole, n - whole);
}

#include "crypto/poly1305_before.h"

static TARGET void mac_finish(struct mac *mac, size_t ad_len, size_t n,
			      unsigned char tag[POLY1305_TAG])
{
	if (mac->many)
		mac_narrow(mac);
	poly1305_step(mac->one.h, mac->one.r, ad_len, n);
	poly1305_finish(&mac->one, tag);
}

#endif
