/*
 * Poly1305 in plain C: the part of crypto/chacha_lanes.h that sums, where there are no vectors.
 * Block after block, by the widest products that the compiler has.
 */
#ifndef CRYPTO_POLY1305_PLAIN_H
#define CRYPTO_POLY1305_PLAIN_H

#ifdef __SIZEOF_INT128__
#include "crypto/poly1305.h"
#else
#include "crypto/poly1305_32.h"
#endif

#include "crypto/word_lanes.h"

struct mac {
	struct poly1305 one;
};

/* Add text[0..n): whole blocks, until the last call. */
static void mac_add(struct mac *mac, const unsigned char *text, size_t n)
{
	poly1305_add(&mac->one, text, n);
}

INLINE void mac_begin(struct mac *mac, const unsigned char key[POLY1305_KEY], const void *ad,
		      size_t ad_len, size_t n)
{
	(void)n;
	poly1305_init(&mac->one, key);
	mac_add(mac, ad, ad_len);
}

INLINE void mac_finish(struct mac *mac, size_t ad_len, size_t n, unsigned char tag[POLY1305_TAG])
{
	unsigned char lengths[POLY1305_BLOCK];

	put_u64le(lengths, ad_len);
	put_u64le(lengths + 8, n);
	mac_add(mac, lengths, sizeof lengths);
	poly1305_finish(&mac->one, tag);
}

#include "crypto/poly1305_before.h"

#endif
