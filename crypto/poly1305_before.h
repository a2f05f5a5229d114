/*
 * The sum is not made beside the key stream, as crypto/poly1305_beside.h does, but before it: what
 * forms of Poly1305 for crypto/chacha_lanes.h have in common that sum by themselves. Included where
 * struct mac and mac_add() are defined.
 */
#ifndef CRYPTO_POLY1305_BEFORE_H
#define CRYPTO_POLY1305_BEFORE_H

#include <stdbool.h>

struct feed {
	bool unused;
};

INLINE struct feed mac_feed(struct mac *mac, const unsigned char *text, size_t n, unsigned rounds)
{
	(void)rounds;
	mac_add(mac, text, n);
	return (struct feed){ .unused = true };
}

INLINE void mac_fed(struct mac *mac, const struct feed *feed)
{
	(void)mac, (void)feed;
}

INLINE void feed_one(struct feed *feed)
{
	(void)feed;
}

INLINE void feed_more(struct feed *feed)
{
	(void)feed;
}

INLINE void feed_rest(struct feed *feed)
{
	(void)feed;
}

#endif
