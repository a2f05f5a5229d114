/*
 * Poly1305 on x86-64 beside ChaCha in vectors: the part of crypto/chacha_lanes.h that sums. The
 * vector units are busy with the key stream and the integer units are not, so the sum is made block
 * after block between the quarter rounds, and takes hardly longer than the key stream alone. A sum
 * in vectors, after it, would be faster by itself, and the two together slower. The including file
 * says how a block is summed, by including crypto/poly1305_mulx.h or crypto/poly1305_mul.h as well.
 */
#ifndef CRYPTO_POLY1305_BESIDE_H
#define CRYPTO_POLY1305_BESIDE_H

#include "crypto/poly1305.h"
#include "crypto/word_lanes.h"

/* What is multiplied by: the key's words, and the second one's 5/4, which stands for its 2^128. */
struct beside_key {
	uint64_t r0, r1, r1_over;
};

struct mac {
	struct poly1305 one;
	struct beside_key key;
};

/* A sum on its way: h0 + 2^64 h1 + 2^128 h2 + over, where h2 is at most three, or four where over
 * is 0: at most six once the next block is added. What exceeded 130 bits is the last word to be
 * known, and is added after the next block is: that shortens the chain. */
struct beside {
	uint64_t h0, h1, h2, over;
};

/* sum = (sum + block) * r, as poly1305_step(): from crypto/poly1305_mulx.h or
 * crypto/poly1305_mul.h. */
INLINE void beside_step(struct beside *sum, const struct beside_key *key,
			const unsigned char *block);

/* What is summed while a strip is made: a block after each of three quarters of a double round, so
 * many after the last quarter, and the rest after the last round. A short text is all rest. */
struct feed {
	struct beside sum;
	const struct beside_key *key;
	const unsigned char *text, *end;
	unsigned more;
};

/* Of text[0..n), whole blocks. */
INLINE struct feed mac_feed(const struct mac *mac, const unsigned char *text, size_t n,
			    unsigned rounds)
{
	const uint64_t *h = mac->one.h;
	unsigned blocks = (unsigned)(n / POLY1305_BLOCK), each = blocks / (rounds / 2);

	return (struct feed){
		.sum = { .h0 = h[0], .h1 = h[1], .h2 = h[2] },
		.key = &mac->key,
		.text = text,
		.end = text + n - n % POLY1305_BLOCK,
		.more = each > 3 ? each - 3 : 0,
	};
}

INLINE void mac_fed(struct mac *mac, const struct feed *feed)
{
	uint64_t *h = mac->one.h, carry;

	h[0] = feed->sum.h0;
	h[1] = feed->sum.h1;
	carry = poly1305_carry(&h[0], feed->sum.over);
	h[2] = feed->sum.h2 + poly1305_carry(&h[1], carry);
}

INLINE void feed_one(struct feed *feed)
{
	if (feed->text == feed->end)
		return;
	beside_step(&feed->sum, feed->key, feed->text);
	feed->text += POLY1305_BLOCK;
}

INLINE void feed_more(struct feed *feed)
{
	for (unsigned i = 0; i < feed->more; i++)
		feed_one(feed);
}

INLINE void feed_rest(struct feed *feed)
{
	while (feed->text != feed->end)
		feed_one(feed);
}

/* Add text[0..n), and zeros up to a whole block. */
static TARGET void mac_add(struct mac *mac, const unsigned char *text, size_t n)
{
	struct feed feed = mac_feed(mac, text, n, 2);
	unsigned char last[POLY1305_BLOCK] = { 0 };
	size_t part = n % POLY1305_BLOCK;

	feed_rest(&feed);
	if (part > 0) {
		memcpy(last, feed.text, part);
		beside_step(&feed.sum, feed.key, last);
	}
	mac_fed(mac, &feed);
}

INLINE void mac_begin(struct mac *mac, const unsigned char key[POLY1305_KEY], const void *ad,
		      size_t ad_len, size_t n)
{
	(void)n;
	poly1305_init(&mac->one, key);
	mac->key = (struct beside_key){
		.r0 = mac->one.r[0],
		.r1 = mac->one.r[1],
		.r1_over = mac->one.r[1] + (mac->one.r[1] >> 2),
	};
	mac_add(mac, ad, ad_len);
}

INLINE void mac_finish(struct mac *mac, size_t ad_len, size_t n, unsigned char tag[POLY1305_TAG])
{
	poly1305_step(mac->one.h, mac->one.r, ad_len, n);
	poly1305_finish(&mac->one, tag);
}

#endif
