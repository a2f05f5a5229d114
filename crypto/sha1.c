/*
 * SHA-1 and HMAC-SHA1; the blocks scalar, or with instructions that the CPU has for them. Called by
 * kdf.c for each handshake and each datagram of SIP004. Owns nothing; states and everything
 * computed from keys on the way are wiped.
 */
#include "crypto/sha1.h"

#include "core/bytes.h"
#include "crypto/sha1_compress.h"

#include <sodium.h>
#include <string.h>

static inline uint32_t rotate(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

/* FIPS 180-4, 4.1.1. */
static inline uint32_t choose(uint32_t b, uint32_t c, uint32_t d)
{
	return d ^ (b & (c ^ d));
}

static inline uint32_t parity(uint32_t b, uint32_t c, uint32_t d)
{
	return b ^ c ^ d;
}

static inline uint32_t majority(uint32_t b, uint32_t c, uint32_t d)
{
	return (b & c) | (d & (b | c));
}

/* One round, and the word that is needed sixteen later; five rounds with the names moved on leave
 * every name where it was. */
#define ROUND(f, k, t, a, b, c, d, e)                                                  \
	do {                                                                           \
		e += rotate(a, 5) + f(b, c, d) + (k) + w[t];                           \
		b = rotate(b, 30);                                                     \
		w[(t) + 16] = rotate(w[(t) + 13] ^ w[(t) + 8] ^ w[(t) + 2] ^ w[t], 1); \
	} while (0)

#define TWENTY(f, k, from)                                           \
	do {                                                         \
		for (unsigned t = (from); t < (from) + 20; t += 5) { \
			ROUND(f, k, t, a, b, c, d, e);               \
			ROUND(f, k, t + 1, e, a, b, c, d);           \
			ROUND(f, k, t + 2, d, e, a, b, c);           \
			ROUND(f, k, t + 3, c, d, e, a, b);           \
			ROUND(f, k, t + 4, b, c, d, e, a);           \
		}                                                    \
	} while (0)

void sha1_compress_scalar(uint32_t h[5], const unsigned char block[SHA1_BLOCK])
{
	uint32_t w[80 + 16];
	uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

	for (unsigned i = 0; i < 16; i++)
		w[i] = get_u32be(block + 4 * i);

	TWENTY(choose, 0x5a827999, 0);
	TWENTY(parity, 0x6ed9eba1, 20);
	TWENTY(majority, 0x8f1bbcdc, 40);
	TWENTY(parity, 0xca62c1d6, 60);

	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
	sodium_memzero(w, sizeof w);
}

static void compress(uint32_t h[5], const unsigned char block[SHA1_BLOCK])
{
	if (!sha1_compress_fast(h, block))
		sha1_compress_scalar(h, block);
}

void sha1_begin(struct sha1 *sha1)
{
	static const uint32_t start[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
					   0xc3d2e1f0 };

	memcpy(sha1->h, start, sizeof start);
	sha1->n = 0;
}

void sha1_add(struct sha1 *sha1, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n > 0) {
		size_t held = sha1->n % SHA1_BLOCK;
		size_t take = SHA1_BLOCK - held < n ? SHA1_BLOCK - held : n;

		memcpy(sha1->block + held, p, take);
		if (held + take == SHA1_BLOCK)
			compress(sha1->h, sha1->block);
		sha1->n += take;
		p += take;
		n -= take;
	}
}

void sha1_end(struct sha1 *sha1, unsigned char digest[SHA1_DIGEST])
{
	static const unsigned char padding[SHA1_BLOCK] = { 0x80 };
	unsigned char bits[8];

	put_u64be(bits, sha1->n * 8);
	sha1_add(sha1, padding, 1 + (SHA1_BLOCK - 1 + 56 - sha1->n % SHA1_BLOCK) % SHA1_BLOCK);
	sha1_add(sha1, bits, sizeof bits);

	for (unsigned i = 0; i < 5; i++)
		put_u32be(digest + 4 * i, sha1->h[i]);
	sodium_memzero(sha1, sizeof *sha1);
}

void sha1_hmac_begin(struct sha1_hmac *hmac, const void *key, size_t n)
{
	unsigned char pad[SHA1_BLOCK] = { 0 };

	sha1_begin(&hmac->inner);
	sha1_begin(&hmac->outer);
	if (n > SHA1_BLOCK) {
		struct sha1 sha1;

		sha1_begin(&sha1);
		sha1_add(&sha1, key, n);
		sha1_end(&sha1, pad);
	} else if (n > 0) {
		memcpy(pad, key, n);
	}

	for (unsigned i = 0; i < SHA1_BLOCK; i++)
		pad[i] ^= 0x36;
	sha1_add(&hmac->inner, pad, SHA1_BLOCK);
	for (unsigned i = 0; i < SHA1_BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha1_add(&hmac->outer, pad, SHA1_BLOCK);
	sodium_memzero(pad, sizeof pad);
}

void sha1_hmac_add(struct sha1_hmac *hmac, const void *bytes, size_t n)
{
	sha1_add(&hmac->inner, bytes, n);
}

void sha1_hmac_end(struct sha1_hmac *hmac, unsigned char digest[SHA1_DIGEST])
{
	unsigned char inner[SHA1_DIGEST];

	sha1_end(&hmac->inner, inner);
	sha1_add(&hmac->outer, inner, sizeof inner);
	sha1_end(&hmac->outer, digest);
	sodium_memzero(inner, sizeof inner);
}
