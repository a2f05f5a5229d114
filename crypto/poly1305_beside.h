/*
 * Poly1305 on x86-64 beside ChaCha in vectors: the part of crypto/chacha_lanes.h that sums. The vector units are
 * busy with the key stream and the integer units are not, so the sum is made block after block between the
 * quarter rounds, and takes hardly longer than the key stream alone. A sum in vectors, after it, would be faster
 * by itself, and the two together slower.
 */
#ifndef CRYPTO_POLY1305_BESIDE_H
#define CRYPTO_POLY1305_BESIDE_H

#include "crypto/poly1305.h"
#include "crypto/word_lanes.h"

struct mac {
	struct poly1305 one;
};

/* h = (h + block) * r, as poly1305_step(). The carries are the sum's longest chain, and compilers make them of
 * comparisons. */
INLINE void beside_step(uint64_t h[3], const uint64_t r[2], const unsigned char *block)
{
	uint64_t h0 = h[0], h1 = h[1], h2 = h[2], r1_over = r[1] + (r[1] >> 2);
	uint64_t low = get_u64le(block), high = get_u64le(block + 8);

	__asm__("addq %3, %0\n\tadcq %4, %1\n\tadcq $1, %2"
		: "+r"(h0), "+r"(h1), "+r"(h2)
		: "r"(low), "r"(high)
		: "cc");

	poly1305_wide a = (poly1305_wide)h0 * r[0], b = (poly1305_wide)h1 * r1_over;
	poly1305_wide c = (poly1305_wide)h0 * r[1], d = (poly1305_wide)h1 * r[0];
	uint64_t a0 = (uint64_t)a, a1 = (uint64_t)(a >> 64);
	uint64_t c0 = (uint64_t)c, c1 = (uint64_t)(c >> 64);

	__asm__("addq %2, %0\n\tadcq %3, %1"
		: "+r"(a0), "+r"(a1)
		: "r"((uint64_t)b), "r"((uint64_t)(b >> 64))
		: "cc");
	__asm__("addq %2, %0\n\tadcq %3, %1"
		: "+r"(c0), "+r"(c1)
		: "r"((uint64_t)d), "r"((uint64_t)(d >> 64))
		: "cc");
	a1 += h2 * r1_over; /* below 2^61.2 and 6 * 2^60.4 */
	h2 *= r[0];
	__asm__("addq %2, %0\n\tadcq %3, %1" : "+r"(c0), "+r"(c1) : "r"(a1), "r"(h2) : "cc");

	/* a0 + 2^64 c0 + 2^128 c1, where what exceeds 130 bits returns five times below */
	h2 = c1 & 3;
	c1 = (c1 & ~(uint64_t)3) + (c1 >> 2);
	__asm__("addq %3, %0\n\tadcq $0, %1\n\tadcq $0, %2"
		: "+r"(a0), "+r"(c0), "+r"(h2)
		: "r"(c1)
		: "cc");
	h[0] = a0, h[1] = c0, h[2] = h2;
}

/* What is summed while a strip is made: a block after each of three quarters of a double round, so many after
 * the last quarter, and the rest after the last round. A short text is all rest. */
struct feed {
	uint64_t h[3], r[2];
	const unsigned char *text;
	unsigned blocks, more;
};

/* Of text[0..n), whole blocks. */
INLINE struct feed mac_feed(const struct mac *mac, const unsigned char *text, size_t n,
			    unsigned rounds)
{
	const struct poly1305 *one = &mac->one;
	unsigned blocks = (unsigned)(n / POLY1305_BLOCK), each = blocks / (rounds / 2);

	return (struct feed){
		.h = { one->h[0], one->h[1], one->h[2] },
		.r = { one->r[0], one->r[1] },
		.text = text,
		.blocks = blocks,
		.more = each > 3 ? each - 3 : 0,
	};
}

INLINE void mac_fed(struct mac *mac, const struct feed *feed)
{
	memcpy(mac->one.h, feed->h, sizeof feed->h);
}

INLINE void feed_one(struct feed *feed)
{
	if (feed->blocks == 0)
		return;
	beside_step(feed->h, feed->r, feed->text);
	feed->text += POLY1305_BLOCK;
	feed->blocks--;
}

INLINE void feed_more(struct feed *feed)
{
	for (unsigned i = 0; i < feed->more; i++)
		feed_one(feed);
}

INLINE void feed_rest(struct feed *feed)
{
	while (feed->blocks > 0)
		feed_one(feed);
}

/* Add text[0..n): whole blocks, until the last call. */
static TARGET void mac_add(struct mac *mac, const unsigned char *text, size_t n)
{
	struct feed feed = mac_feed(mac, text, n, 2);

	feed_rest(&feed);
	mac_fed(mac, &feed);
	poly1305_add(&mac->one, feed.text, n % POLY1305_BLOCK);
}

INLINE void mac_begin(struct mac *mac, const unsigned char key[POLY1305_KEY], const void *ad,
		      size_t ad_len, size_t n)
{
	(void)n;
	poly1305_init(&mac->one, key);
	poly1305_add(&mac->one, ad, ad_len);
}

INLINE void mac_finish(struct mac *mac, size_t ad_len, size_t n, unsigned char tag[POLY1305_TAG])
{
	poly1305_step(mac->one.h, mac->one.r, ad_len, n);
	poly1305_finish(&mac->one, tag);
}

#endif
