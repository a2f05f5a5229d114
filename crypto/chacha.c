/*
 * ChaCha8- and ChaCha12-Poly1305 (RFC 8439 with fewer rounds), with 12-byte nonces and, as XChaCha,
 * with 24-byte ones: SIP022's reduced methods, which libsodium does not have. Poly1305 is its.
 * Reached through aead.c's table. Nothing is expanded: the context holds the key as it is.
 *
 * Four blocks are made at once, one in each lane of a vector. Compilers make of it what the machine
 * has, be it nothing.
 */
#include "crypto/aead.h"

#include "core/bytes.h"

#include <sodium.h>
#include <string.h>

enum { KEY = 32, BLOCK = 64, LANES = 4, STRIP = LANES * BLOCK };

typedef uint32_t vector __attribute__((vector_size(4 * LANES)));

static const uint32_t constants[4] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };

static inline __attribute__((always_inline)) void quarter(vector x[16], unsigned a, unsigned b,
							  unsigned c, unsigned d)
{
	x[a] += x[b];
	x[d] ^= x[a];
	x[d] = x[d] << 16 | x[d] >> 16;
	x[c] += x[d];
	x[b] ^= x[c];
	x[b] = x[b] << 12 | x[b] >> 20;
	x[a] += x[b];
	x[d] ^= x[a];
	x[d] = x[d] << 8 | x[d] >> 24;
	x[c] += x[d];
	x[b] ^= x[c];
	x[b] = x[b] << 7 | x[b] >> 25;
}

static void permute(vector x[16], unsigned rounds)
{
	for (; rounds > 0; rounds -= 2) {
		quarter(x, 0, 4, 8, 12);
		quarter(x, 1, 5, 9, 13);
		quarter(x, 2, 6, 10, 14);
		quarter(x, 3, 7, 11, 15);
		quarter(x, 0, 5, 10, 15);
		quarter(x, 1, 6, 11, 12);
		quarter(x, 2, 7, 8, 13);
		quarter(x, 3, 4, 9, 14);
	}
}

/* The state that key and 16 bytes of counter and nonce make, the same in every lane. */
static void prepare(vector x[16], const unsigned char *key, const unsigned char last[16])
{
	for (unsigned i = 0; i < 16; i++) {
		uint32_t word = i < 4	 ? constants[i]
				: i < 12 ? get_u32le(key + 4 * (i - 4))
					 : get_u32le(last + 4 * (i - 12));

		x[i] = (vector){ word, word, word, word };
	}
}

/* text[0..n) ^= bytes[0..n), where n is mostly a whole strip. */
static void add(unsigned char *text, const unsigned char *bytes, size_t n)
{
	vector a, b;

	for (; n >= sizeof a; n -= sizeof a, text += sizeof a, bytes += sizeof a) {
		memcpy(&a, text, sizeof a);
		memcpy(&b, bytes, sizeof b);
		a ^= b;
		memcpy(text, &a, sizeof a);
	}
	for (size_t i = 0; i < n; i++)
		text[i] ^= bytes[i];
}

/* text[0..n) ^= key stream from block `counter` on. */
static void stream(const unsigned char *key, const unsigned char nonce[12], uint32_t counter,
		   unsigned rounds, unsigned char *text, size_t n)
{
	unsigned char last[16], bytes[STRIP];
	vector start[16], x[16];

	put_u32le(last, counter);
	memcpy(last + 4, nonce, 12);
	prepare(start, key, last);
	start[12] += (vector){ 0, 1, 2, 3 };
	while (n > 0) {
		size_t take = n < STRIP ? n : STRIP;

		memcpy(x, start, sizeof x);
		permute(x, rounds);
		for (unsigned i = 0; i < 16; i++) {
			x[i] += start[i];
			for (unsigned lane = 0; lane < LANES; lane++)
				put_u32le(bytes + BLOCK * lane + 4 * i, x[i][lane]);
		}
		add(text, bytes, take);
		start[12] += LANES;
		text += take;
		n -= take;
	}
	sodium_memzero(start, sizeof start);
	sodium_memzero(x, sizeof x);
	sodium_memzero(bytes, sizeof bytes);
}

/* HChaCha: a key from a key and 16 bytes of nonce. */
static void derive(const unsigned char *key, const unsigned char nonce[16], unsigned rounds,
		   unsigned char to[KEY])
{
	vector x[16];

	prepare(x, key, nonce);
	permute(x, rounds);
	for (unsigned i = 0; i < 4; i++) {
		put_u32le(to + 4 * i, x[i][0]);
		put_u32le(to + 16 + 4 * i, x[i + 12][0]);
	}
	sodium_memzero(x, sizeof x);
}

static void add_padded(crypto_onetimeauth_poly1305_state *poly, const unsigned char *bytes,
		       size_t n)
{
	static const unsigned char zeros[16];

	if (n > 0)
		crypto_onetimeauth_poly1305_update(poly, bytes, n);
	if (n % 16 > 0)
		crypto_onetimeauth_poly1305_update(poly, zeros, 16 - n % 16);
}

/* The tag over ciphertext text[0..n). */
static void authenticate(const unsigned char *key, const unsigned char nonce[12], unsigned rounds,
			 const void *ad, size_t ad_len, const unsigned char *text, size_t n,
			 unsigned char tag[AEAD_TAG])
{
	unsigned char poly_key[32] = { 0 }, lengths[16];
	crypto_onetimeauth_poly1305_state poly;

	stream(key, nonce, 0, rounds, poly_key, sizeof poly_key);
	crypto_onetimeauth_poly1305_init(&poly, poly_key);
	add_padded(&poly, ad, ad_len);
	add_padded(&poly, text, n);
	put_u64le(lengths, ad_len);
	put_u64le(lengths + 8, n);
	crypto_onetimeauth_poly1305_update(&poly, lengths, sizeof lengths);
	crypto_onetimeauth_poly1305_final(&poly, tag);
	sodium_memzero(poly_key, sizeof poly_key);
	sodium_memzero(&poly, sizeof poly);
}

static void seal(const unsigned char *key, const unsigned char nonce[12], unsigned rounds,
		 const void *ad, size_t ad_len, unsigned char *text, size_t n,
		 unsigned char tag[AEAD_TAG])
{
	stream(key, nonce, 1, rounds, text, n);
	authenticate(key, nonce, rounds, ad, ad_len, text, n, tag);
}

static int open(const unsigned char *key, const unsigned char nonce[12], unsigned rounds,
		const void *ad, size_t ad_len, unsigned char *text, size_t n,
		const unsigned char tag[AEAD_TAG])
{
	unsigned char right[AEAD_TAG];

	authenticate(key, nonce, rounds, ad, ad_len, text, n, right);
	if (sodium_memcmp(right, tag, sizeof right) != 0)
		return -1;
	stream(key, nonce, 1, rounds, text, n);
	return 0;
}

#include "crypto/chacha_methods.h"

const struct aead aead_chacha8 = CHACHA_METHOD(chacha8, 12, "own", NULL);
const struct aead aead_chacha12 = CHACHA_METHOD(chacha12, 12, "own", NULL);
const struct aead aead_chacha20 = CHACHA_METHOD(chacha20, 12, "own", NULL);
const struct aead aead_xchacha8 = CHACHA_METHOD(xchacha8, 24, "own", NULL);
const struct aead aead_xchacha12 = CHACHA_METHOD(xchacha12, 24, "own", NULL);
const struct aead aead_xchacha20 = CHACHA_METHOD(xchacha20, 24, "own", NULL);
