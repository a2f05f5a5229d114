/*
 * libsodium's authenticated ciphers as struct aead: what ours are compared with, in tests and in the
 * benchmark. The programs do without them.
 */
#ifndef TESTS_SODIUM_H
#define TESTS_SODIUM_H

#include "crypto/aead.h"

#include <sodium.h>
#include <string.h>

_Static_assert(sizeof(crypto_aead_aes256gcm_state) <= AEAD_CONTEXT, "AES key does not fit");

static inline bool sodium_aes_available(void)
{
	return crypto_aead_aes256gcm_is_available() == 1;
}

static inline void sodium_aes_expand(struct aead_context *context, const unsigned char *key)
{
	crypto_aead_aes256gcm_beforenm((crypto_aead_aes256gcm_state *)context->bytes, key);
}

static inline void sodium_aes_seal(const struct aead_context *context, const unsigned char *nonce,
				   const void *ad, size_t ad_len, unsigned char *text, size_t n,
				   unsigned char tag[AEAD_TAG])
{
	crypto_aead_aes256gcm_encrypt_detached_afternm(
		text, tag, NULL, text, n, ad, ad_len, NULL, nonce,
		(const crypto_aead_aes256gcm_state *)context->bytes);
}

static inline int sodium_aes_open(const struct aead_context *context, const unsigned char *nonce,
				  const void *ad, size_t ad_len, unsigned char *text, size_t n,
				  const unsigned char tag[AEAD_TAG])
{
	return crypto_aead_aes256gcm_decrypt_detached_afternm(
		text, NULL, text, n, tag, ad, ad_len, nonce,
		(const crypto_aead_aes256gcm_state *)context->bytes);
}

/* Nothing to prepare: both ChaCha methods take the key as it is. */
static inline void sodium_chacha_expand(struct aead_context *context, const unsigned char *key)
{
	memcpy(context->bytes, key, crypto_aead_chacha20poly1305_ietf_KEYBYTES);
}

static inline void sodium_chacha_seal(const struct aead_context *context,
				      const unsigned char *nonce, const void *ad, size_t ad_len,
				      unsigned char *text, size_t n, unsigned char tag[AEAD_TAG])
{
	crypto_aead_chacha20poly1305_ietf_encrypt_detached(text, tag, NULL, text, n, ad, ad_len,
							   NULL, nonce, context->bytes);
}

static inline int sodium_chacha_open(const struct aead_context *context, const unsigned char *nonce,
				     const void *ad, size_t ad_len, unsigned char *text, size_t n,
				     const unsigned char tag[AEAD_TAG])
{
	return crypto_aead_chacha20poly1305_ietf_decrypt_detached(text, NULL, text, n, tag, ad,
								  ad_len, nonce, context->bytes);
}

static inline void sodium_xchacha_seal(const struct aead_context *context,
				       const unsigned char *nonce, const void *ad, size_t ad_len,
				       unsigned char *text, size_t n, unsigned char tag[AEAD_TAG])
{
	crypto_aead_xchacha20poly1305_ietf_encrypt_detached(text, tag, NULL, text, n, ad, ad_len,
							    NULL, nonce, context->bytes);
}

static inline int sodium_xchacha_open(const struct aead_context *context,
				      const unsigned char *nonce, const void *ad, size_t ad_len,
				      unsigned char *text, size_t n,
				      const unsigned char tag[AEAD_TAG])
{
	return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(text, NULL, text, n, tag, ad,
								   ad_len, nonce, context->bytes);
}

static const struct aead sodium_aes256gcm = {
	.name = "aes-256-gcm",
	.implementation = "libsodium",
	.key = 32,
	.nonce = 12,
	.available = sodium_aes_available,
	.expand = sodium_aes_expand,
	.seal = sodium_aes_seal,
	.open = sodium_aes_open,
};

static const struct aead sodium_chacha20 = {
	.name = "chacha20-ietf-poly1305",
	.implementation = "libsodium",
	.key = 32,
	.nonce = 12,
	.expand = sodium_chacha_expand,
	.seal = sodium_chacha_seal,
	.open = sodium_chacha_open,
};

static const struct aead sodium_xchacha20 = {
	.name = "xchacha20-ietf-poly1305",
	.implementation = "libsodium",
	.key = 32,
	.nonce = 24,
	.expand = sodium_chacha_expand,
	.seal = sodium_xchacha_seal,
	.open = sodium_xchacha_open,
};

/* libsodium's form of this method, or NULL. */
static inline const struct aead *sodium_find(const char *name)
{
	static const struct aead *const all[] = { &sodium_aes256gcm, &sodium_chacha20,
						  &sodium_xchacha20 };

	for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
		if (strcmp(name, all[i]->name) == 0 && (!all[i]->available || all[i]->available()))
			return all[i];
	return NULL;
}

#endif
