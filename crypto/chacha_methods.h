/*
 * What every form of ChaCha-Poly1305 makes of its three functions: the methods, of 8, 12 and 20
 * rounds, with 12-byte nonces and, as XChaCha, with 24-byte ones. Nothing is expanded: the context
 * holds the key as it is.
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

static void expand(struct aead_context *context, const unsigned char *key)
{
	memcpy(context->bytes, key, KEY);
}

/* XChaCha: the nonce's first 16 bytes make another key, its last 8 the nonce. */
static void extend(const unsigned char *key, const unsigned char nonce[24], unsigned rounds,
		   unsigned char subkey[KEY], unsigned char short_nonce[12])
{
	derive(key, nonce, rounds, subkey);
	memset(short_nonce, 0, 4);
	memcpy(short_nonce + 4, nonce + 16, 8);
}

static void xseal(const unsigned char *key, const unsigned char *nonce, unsigned rounds,
		  const void *ad, size_t ad_len, unsigned char *text, size_t n, unsigned char *tag)
{
	unsigned char subkey[KEY], short_nonce[12];

	extend(key, nonce, rounds, subkey, short_nonce);
	seal(subkey, short_nonce, rounds, ad, ad_len, text, n, tag);
	sodium_memzero(subkey, sizeof subkey);
}

static int xopen(const unsigned char *key, const unsigned char *nonce, unsigned rounds,
		 const void *ad, size_t ad_len, unsigned char *text, size_t n,
		 const unsigned char *tag)
{
	unsigned char subkey[KEY], short_nonce[12];
	int result;

	extend(key, nonce, rounds, subkey, short_nonce);
	result = open(subkey, short_nonce, rounds, ad, ad_len, text, n, tag);
	sodium_memzero(subkey, sizeof subkey);
	return result;
}

/* The functions of struct aead for one number of rounds and one length of nonces. */
#define VARIANT(name, seal_any, open_any, rounds)                                               \
	static void name##_seal(const struct aead_context *context, const unsigned char *nonce, \
				const void *ad, size_t ad_len, unsigned char *text, size_t n,   \
				unsigned char tag[AEAD_TAG])                                    \
	{                                                                                       \
		seal_any(context->bytes, nonce, rounds, ad, ad_len, text, n, tag);              \
	}                                                                                       \
	static int name##_open(const struct aead_context *context, const unsigned char *nonce,  \
			       const void *ad, size_t ad_len, unsigned char *text, size_t n,    \
			       const unsigned char tag[AEAD_TAG])                               \
	{                                                                                       \
		return open_any(context->bytes, nonce, rounds, ad, ad_len, text, n, tag);       \
	}

VARIANT(chacha8, seal, open, 8)
VARIANT(chacha12, seal, open, 12)
VARIANT(chacha20, seal, open, 20)
VARIANT(xchacha8, xseal, xopen, 8)
VARIANT(xchacha12, xseal, xopen, 12)
VARIANT(xchacha20, xseal, xopen, 20)

/* One of struct aead; `runs` says whether this CPU can. */
#define CHACHA_METHOD(method, nonce_len, label, runs)                                           \
	{                                                                                       \
		.name = #method "-ietf-poly1305", .implementation = label, .key = KEY,          \
		.nonce = nonce_len, .available = runs, .expand = expand, .seal = method##_seal, \
		.open = method##_open,                                                          \
	}

#endif
