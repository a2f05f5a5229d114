/*
 * Authenticated ciphers by libsodium: ChaCha20-Poly1305 with the nonces of RFC 8439 and of
 * XChaCha, and AES-256-GCM where the CPU has instructions for it. Reached through aead.c's table.
 */
#include "crypto/aead.h"

#include <sodium.h>
#include <string.h>

_Static_assert(sizeof(crypto_aead_aes256gcm_state) <= AEAD_CONTEXT, "AES key does not fit");

static bool aes_available(void)
{
	return crypto_aead_aes256gcm_is_available() == 1;
}

static void aes_expand(struct aead_context *context, const unsigned char *key)
{
	crypto_aead_aes256gcm_beforenm((crypto_aead_aes256gcm_state *)context->bytes, key);
}

static void aes_seal(const struct aead_context *context, const unsigned char *nonce, const void *ad,
		     size_t ad_len, unsigned char *text, size_t n, unsigned char tag[AEAD_TAG])
{
	crypto_aead_aes256gcm_encrypt_detached_afternm(
		text, tag, NULL, text, n, ad, ad_len, NULL, nonce,
		(const crypto_aead_aes256gcm_state *)context->bytes);
}

static int aes_open(const struct aead_context *context, const unsigned char *nonce, const void *ad,
		    size_t ad_len, unsigned char *text, size_t n, const unsigned char tag[AEAD_TAG])
{
	return crypto_aead_aes256gcm_decrypt_detached_afternm(
		text, NULL, text, n, tag, ad, ad_len, nonce,
		(const crypto_aead_aes256gcm_state *)context->bytes);
}

/* Nothing to prepare: both ChaCha methods take the key as it is. */
static void chacha_expand(struct aead_context *context, const unsigned char *key)
{
	memcpy(context->bytes, key, crypto_aead_chacha20poly1305_ietf_KEYBYTES);
}

static void chacha_seal(const struct aead_context *context, const unsigned char *nonce,
			const void *ad, size_t ad_len, unsigned char *text, size_t n,
			unsigned char tag[AEAD_TAG])
{
	crypto_aead_chacha20poly1305_ietf_encrypt_detached(text, tag, NULL, text, n, ad, ad_len,
							   NULL, nonce, context->bytes);
}

static int chacha_open(const struct aead_context *context, const unsigned char *nonce,
		       const void *ad, size_t ad_len, unsigned char *text, size_t n,
		       const unsigned char tag[AEAD_TAG])
{
	return crypto_aead_chacha20poly1305_ietf_decrypt_detached(text, NULL, text, n, tag, ad,
								  ad_len, nonce, context->bytes);
}

static void xchacha_seal(const struct aead_context *context, const unsigned char *nonce,
			 const void *ad, size_t ad_len, unsigned char *text, size_t n,
			 unsigned char tag[AEAD_TAG])
{
	crypto_aead_xchacha20poly1305_ietf_encrypt_detached(text, tag, NULL, text, n, ad, ad_len,
							    NULL, nonce, context->bytes);
}

static int xchacha_open(const struct aead_context *context, const unsigned char *nonce,
			const void *ad, size_t ad_len, unsigned char *text, size_t n,
			const unsigned char tag[AEAD_TAG])
{
	return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(text, NULL, text, n, tag, ad,
								   ad_len, nonce, context->bytes);
}

const struct aead aead_sodium_aes256gcm = {
	.name = "aes-256-gcm",
	.implementation = "libsodium",
	.key = 32,
	.nonce = 12,
	.available = aes_available,
	.expand = aes_expand,
	.seal = aes_seal,
	.open = aes_open,
};

const struct aead aead_sodium_chacha20 = {
	.name = "chacha20-ietf-poly1305",
	.implementation = "libsodium",
	.key = 32,
	.nonce = 12,
	.expand = chacha_expand,
	.seal = chacha_seal,
	.open = chacha_open,
};

const struct aead aead_sodium_xchacha20 = {
	.name = "xchacha20-ietf-poly1305",
	.implementation = "libsodium",
	.key = 32,
	.nonce = 24,
	.expand = chacha_expand,
	.seal = xchacha_seal,
	.open = xchacha_open,
};
