/*
 * AES-GCM (NIST SP 800-38D) for all three key sizes and any machine: AES from mbed TLS, counter
 * mode and GHASH here, because mbedtls_gcm_setkey() allocates. Reached through aead.c's table.
 *
 * GHASH works on tables of sixteen multiples of H and of H^2 (Shoup), two blocks at a time, so that
 * one chain of shifts serves both. Products are kept 256 bits long and reduced once for each pair.
 * In a word the coefficient of x^0 is the highest bit, so times x is a shift to the right.
 *
 * The tables are 512 bytes, eight cache lines, indexed by secret data: on machines where that
 * matters and that have no AES instructions, mbed TLS's AES has the same property.
 */
#include "crypto/aead.h"

#include "core/bytes.h"
#include "crypto/mbedtls_compat.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16, STRIP = 8 /* blocks of key stream made at a time */ };

struct gcm {
	uint64_t h[16][2];  /* [n]: the polynomial n, of degree 3 at most, times H */
	uint64_t h2[16][2]; /* the same for H^2 */
	mbedtls_aes_context aes;
};

_Static_assert(sizeof(struct gcm) <= AEAD_CONTEXT, "AES key and tables do not fit");

/* mbed TLS wants a context it may write to; for encrypting where setkey left it, it only reads. An
 * AES that fails (a hardware one might) must not let plaintext out as ciphertext. */
static inline void encrypt_block(const struct gcm *gcm, const unsigned char in[BLOCK],
				 unsigned char out[BLOCK])
{
	mbedtls_aes_context *aes = (mbedtls_aes_context *)&gcm->aes;

	if (mbedtls_aes_crypt_ecb(aes, MBEDTLS_AES_ENCRYPT, in, out) != 0)
		abort();
}

/* table[n] = n * H; the highest bit of n is x^0. */
static void multiples(uint64_t table[16][2], uint64_t h0, uint64_t h1)
{
	table[0][0] = table[0][1] = 0;
	for (unsigned n = 8; n > 0; n /= 2) {
		uint64_t carry = h1 & 1;

		table[n][0] = h0;
		table[n][1] = h1;
		h1 = h1 >> 1 | h0 << 63;
		h0 = h0 >> 1 ^ ((0 - carry) & UINT64_C(0xe1) << 56);
	}
	for (unsigned n = 2; n < 16; n *= 2) {
		for (unsigned low = 1; low < n; low++) {
			table[n + low][0] = table[n][0] ^ table[low][0];
			table[n + low][1] = table[n][1] ^ table[low][1];
		}
	}
}

/* A product not yet reduced: x^0..x^63 in the first word, x^192..x^255 in the last. */
struct product {
	uint64_t w0, w1, w2, w3;
};

/* product * x^n, 0 < n < 64. */
static inline void shift(struct product *p, unsigned n)
{
	p->w3 = p->w3 >> n | p->w2 << (64 - n);
	p->w2 = p->w2 >> n | p->w1 << (64 - n);
	p->w1 = p->w1 >> n | p->w0 << (64 - n);
	p->w0 >>= n;
}

/* Add H times the four coefficients that lie `at` bits up in each half of the block a || b. */
static inline void gather(struct product *p, const uint64_t table[16][2], uint64_t a, uint64_t b,
			  unsigned at)
{
	const uint64_t *first = table[a >> at & 15];
	const uint64_t *second = table[b >> at & 15];

	p->w0 ^= first[0];
	p->w1 ^= first[1] ^ second[0];
	p->w2 ^= second[1];
}

/* y = product modulo x^128 + x^7 + x^2 + x + 1. */
static inline void reduce(const struct product *p, uint64_t y[2])
{
	uint64_t w3 = p->w3, w2 = p->w2 ^ w3 << 63 ^ w3 << 62 ^ w3 << 57;

	y[1] = p->w1 ^ w3 ^ w3 >> 1 ^ w3 >> 2 ^ w3 >> 7 ^ w2 << 63 ^ w2 << 62 ^ w2 << 57;
	y[0] = p->w0 ^ w2 ^ w2 >> 1 ^ w2 >> 2 ^ w2 >> 7;
}

/* y = (y + block) * H. */
static void hash_one(const struct gcm *gcm, uint64_t y[2], const unsigned char *block)
{
	uint64_t a = y[0] ^ get_u64be(block), b = y[1] ^ get_u64be(block + 8);
	struct product p = { 0, 0, 0, 0 };

	for (unsigned at = 0; at < 64; at += 4) {
		shift(&p, 4);
		gather(&p, gcm->h, a, b, at);
	}
	reduce(&p, y);
}

/* y = (y + first) * H^2 + second * H. */
static void hash_two(const struct gcm *gcm, uint64_t y[2], const unsigned char *blocks)
{
	uint64_t a = y[0] ^ get_u64be(blocks), b = y[1] ^ get_u64be(blocks + 8);
	uint64_t c = get_u64be(blocks + 16), d = get_u64be(blocks + 24);
	struct product p = { 0, 0, 0, 0 };

	for (unsigned at = 0; at < 64; at += 4) {
		shift(&p, 4);
		gather(&p, gcm->h2, a, b, at);
		gather(&p, gcm->h, c, d, at);
	}
	reduce(&p, y);
}

static void hash_blocks(const struct gcm *gcm, uint64_t y[2], const unsigned char *p, size_t blocks)
{
	for (; blocks >= 2; blocks -= 2, p += 2 * BLOCK)
		hash_two(gcm, y, p);
	if (blocks > 0)
		hash_one(gcm, y, p);
}

/* All of `bytes`, the last block filled up with zeros. */
static void hash_padded(const struct gcm *gcm, uint64_t y[2], const unsigned char *bytes, size_t n)
{
	unsigned char last[BLOCK] = { 0 };

	hash_blocks(gcm, y, bytes, n / BLOCK);
	if (n % BLOCK > 0) {
		memcpy(last, bytes + n - n % BLOCK, n % BLOCK);
		hash_one(gcm, y, last);
	}
}

/* The tag: GHASH of ad, text and both lengths, under the first block of key stream. */
static void make_tag(const struct gcm *gcm, const unsigned char *nonce, const void *ad,
		     size_t ad_len, const unsigned char *text, size_t n,
		     unsigned char tag[AEAD_TAG])
{
	uint64_t y[2] = { 0, 0 };
	unsigned char last[3 * BLOCK] = { 0 }; /* the end of text, with the lengths in one go */
	unsigned char mask[BLOCK];
	size_t rest = n % (2 * BLOCK);
	size_t lengths = (rest + BLOCK - 1) / BLOCK * BLOCK;

	if (ad_len > 0)
		hash_padded(gcm, y, ad, ad_len);
	hash_blocks(gcm, y, text, (n - rest) / BLOCK);
	if (rest > 0)
		memcpy(last, text + n - rest, rest);
	put_u64be(last + lengths, (uint64_t)ad_len * 8);
	put_u64be(last + lengths + 8, (uint64_t)n * 8);
	hash_blocks(gcm, y, last, lengths / BLOCK + 1);

	memcpy(mask, nonce, 12);
	put_u32be(mask + 12, 1);
	encrypt_block(gcm, mask, mask);
	put_u64be(tag, y[0] ^ get_u64be(mask));
	put_u64be(tag + 8, y[1] ^ get_u64be(mask + 8));
	sodium_memzero(mask, sizeof mask);
}

/* The next `blocks` blocks of key stream; the last four bytes of `counter` are the next number. */
static void make_stream(const struct gcm *gcm, unsigned char counter[BLOCK], unsigned char *stream,
			size_t blocks)
{
	for (size_t i = 0; i < blocks; i++) {
		encrypt_block(gcm, counter, stream + BLOCK * i);
		put_u32be(counter + 12, get_u32be(counter + 12) + 1);
	}
}

/* text ^= key stream. Whole strips apart, so that the compiler knows their length. */
static void counter_mode(const struct gcm *gcm, const unsigned char *nonce, unsigned char *text,
			 size_t n)
{
	unsigned char counter[BLOCK], stream[STRIP * BLOCK];

	memcpy(counter, nonce, 12);
	put_u32be(counter + 12, 2); /* 1 went into the tag */

	for (; n >= sizeof stream; n -= sizeof stream, text += sizeof stream) {
		make_stream(gcm, counter, stream, STRIP);
		for (size_t i = 0; i < sizeof stream; i += 8) {
			uint64_t a, b;

			memcpy(&a, text + i, 8);
			memcpy(&b, stream + i, 8);
			a ^= b;
			memcpy(text + i, &a, 8);
		}
	}
	make_stream(gcm, counter, stream, (n + BLOCK - 1) / BLOCK);
	for (size_t i = 0; i < n; i++)
		text[i] ^= stream[i];
	sodium_memzero(stream, sizeof stream);
}

static void expand(struct aead_context *context, const unsigned char *key, unsigned bits)
{
	struct gcm *gcm = (struct gcm *)context->bytes;
	unsigned char h[BLOCK] = { 0 };
	uint64_t h2[2] = { 0, 0 };

	mbedtls_aes_init(&gcm->aes);
	if (mbedtls_aes_setkey_enc(&gcm->aes, key, bits) != 0)
		abort();
	encrypt_block(gcm, h, h);
	multiples(gcm->h, get_u64be(h), get_u64be(h + 8));
	hash_one(gcm, h2, h);
	multiples(gcm->h2, h2[0], h2[1]);
	sodium_memzero(h, sizeof h);
	sodium_memzero(h2, sizeof h2);
}

static void expand_128(struct aead_context *context, const unsigned char *key)
{
	expand(context, key, 128);
}

static void expand_192(struct aead_context *context, const unsigned char *key)
{
	expand(context, key, 192);
}

static void expand_256(struct aead_context *context, const unsigned char *key)
{
	expand(context, key, 256);
}

static void seal_text(const struct aead_context *context, const unsigned char *nonce,
		      const void *ad, size_t ad_len, unsigned char *text, size_t n,
		      unsigned char tag[AEAD_TAG])
{
	const struct gcm *gcm = (const struct gcm *)context->bytes;

	counter_mode(gcm, nonce, text, n);
	make_tag(gcm, nonce, ad, ad_len, text, n, tag);
}

static int open_text(const struct aead_context *context, const unsigned char *nonce, const void *ad,
		     size_t ad_len, unsigned char *text, size_t n,
		     const unsigned char tag[AEAD_TAG])
{
	const struct gcm *gcm = (const struct gcm *)context->bytes;
	unsigned char right[AEAD_TAG];
	int differs;

	make_tag(gcm, nonce, ad, ad_len, text, n, right);
	differs = sodium_memcmp(right, tag, AEAD_TAG);
	sodium_memzero(right, sizeof right);
	if (differs)
		return -1;

	counter_mode(gcm, nonce, text, n);
	return 0;
}

const struct aead aead_mbedtls_aes128gcm = {
	.name = "aes-128-gcm",
	.implementation = "mbedtls",
	.key = 16,
	.nonce = 12,
	.expand = expand_128,
	.seal = seal_text,
	.open = open_text,
};

const struct aead aead_mbedtls_aes192gcm = {
	.name = "aes-192-gcm",
	.implementation = "mbedtls",
	.key = 24,
	.nonce = 12,
	.expand = expand_192,
	.seal = seal_text,
	.open = open_text,
};

const struct aead aead_mbedtls_aes256gcm = {
	.name = "aes-256-gcm",
	.implementation = "mbedtls",
	.key = 32,
	.nonce = 12,
	.expand = expand_256,
	.seal = seal_text,
	.open = open_text,
};
