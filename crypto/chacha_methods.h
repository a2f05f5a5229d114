/*
 * What every form of ChaCha-Poly1305 makes of its three functions: the methods, of 8, 12 and 20
 * rounds, with 12-byte nonces and, as XChaCha, with 24-byte ones. Nothing is expanded: the context
 * holds the key as it is, and how many rounds the method has.
 *
 * The including file has defined
 *	KEY	32
 *	derive	HChaCha: a key from a key and 16 bytes of nonce
 *	seal	of struct aead, but for a key, a 12-byte nonce and a number of rounds
 *	open	the same
 */
#ifndef CRYPTO_CHACHA_METHODS_H
#define CRYPTO_CHACHA_METHODS_H

#include "crypto/aead.h"

#include <sodium.h>
#include <string.h>

static void expand_8(struct aead_context *context, const unsigned char *key)
{
	memcpy(context->bytes, key, KEY);
	context->bytes[KEY] = 8;
}

static void expand_12(struct aead_context *context, const unsigned char *key)
{
	memcpy(context->bytes, key, KEY);
	context->bytes[KEY] = 12;
}

static void expand_20(struct aead_context *context, const unsigned char *key)
{
	memcpy(context->bytes, key, KEY);
	context->bytes[KEY] = 20;
}

static void short_seal(const struct aead_context *context, const unsigned char *nonce,
		       const void *ad, size_t ad_len, unsigned char *text, size_t n,
		       unsigned char tag[AEAD_TAG])
{
	seal(context->bytes, nonce, context->bytes[KEY], ad, ad_len, text, n, tag);
}

static int short_open(const struct aead_context *context, const unsigned char *nonce,
		      const void *ad, size_t ad_len, unsigned char *text, size_t n,
		      const unsigned char tag[AEAD_TAG])
{
	return open(context->bytes, nonce, context->bytes[KEY], ad, ad_len, text, n, tag);
}

/* XChaCha: the nonce's first 16 bytes make another key, its last 8 the nonce. */
static void extend(const unsigned char *key, const unsigned char nonce[24], unsigned rounds,
		   unsigned char subkey[KEY], unsigned char short_nonce[12])
{
	derive(key, nonce, rounds, subkey);
	memset(short_nonce, 0, 4);
	memcpy(short_nonce + 4, nonce + 16, 8);
}

static void long_seal(const struct aead_context *context, const unsigned char *nonce,
		      const void *ad, size_t ad_len, unsigned char *text, size_t n,
		      unsigned char tag[AEAD_TAG])
{
	unsigned char subkey[KEY], short_nonce[12], rounds = context->bytes[KEY];

	extend(context->bytes, nonce, rounds, subkey, short_nonce);
	seal(subkey, short_nonce, rounds, ad, ad_len, text, n, tag);
	sodium_memzero(subkey, sizeof subkey);
}

static int long_open(const struct aead_context *context, const unsigned char *nonce, const void *ad,
		     size_t ad_len, unsigned char *text, size_t n,
		     const unsigned char tag[AEAD_TAG])
{
	unsigned char subkey[KEY], short_nonce[12], rounds = context->bytes[KEY];
	int result;

	extend(context->bytes, nonce, rounds, subkey, short_nonce);
	result = open(subkey, short_nonce, rounds, ad, ad_len, text, n, tag);
	sodium_memzero(subkey, sizeof subkey);
	return result;
}

/* One of struct aead; `runs` says whether this CPU can. */
#define CHACHA_METHOD(method, rounds, nonce_len, length, label, runs)                  \
	{                                                                              \
		.name = #method "-ietf-poly1305", .implementation = label, .key = KEY, \
		.nonce = nonce_len, .available = runs, .expand = expand_##rounds,      \
		.seal = length##_seal, .open = length##_open,                          \
	}

/* In the order of crypto/chacha.h. */
#define CHACHA_METHODS(label, runs)                                          \
	{                                                                    \
		CHACHA_METHOD(chacha20, 20, 12, short, label, runs),         \
			CHACHA_METHOD(xchacha20, 20, 24, long, label, runs), \
			CHACHA_METHOD(chacha8, 8, 12, short, label, runs),   \
			CHACHA_METHOD(chacha12, 12, 12, short, label, runs), \
			CHACHA_METHOD(xchacha8, 8, 24, long, label, runs),   \
			CHACHA_METHOD(xchacha12, 12, 24, long, label, runs), \
	}

#endif
