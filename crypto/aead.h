/*
 * Authenticated ciphers. One table of methods; for each, the first implementation that this
 * machine can run. Keys are expanded into a context that the caller owns (in scratch: it is
 * rebuilt for each burst), nothing allocates, and there is no state beside the contexts.
 */
#ifndef CRYPTO_AEAD_H
#define CRYPTO_AEAD_H

#include <stdbool.h>
#include <stddef.h>

enum {
	AEAD_TAG = 16, /* bytes, every method */
	AEAD_KEY_MAX = 32,
	AEAD_NONCE_MAX = 24,
	AEAD_CONTEXT = 1024 /* bytes of struct aead_context: the largest expanded key */
};

/* An expanded key stays where it was expanded: libraries keep pointers into it, so it is never
 * copied or moved. */
struct aead_context {
	_Alignas(64) unsigned char bytes[AEAD_CONTEXT];
};

struct aead {
	const char *name;	    /* "aes-256-gcm" */
	const char *implementation; /* "avx2", "mbedtls", "own" */
	unsigned char key;	    /* bytes */
	unsigned char nonce;	    /* bytes */

	/* Can this machine run it? Valid once crypto_open() has run; NULL: always. */
	bool (*available)(void);

	/* Expand `key` (aead->key bytes) into `context`. The caller wipes the context. */
	void (*expand)(struct aead_context *context, const unsigned char *key);

	/* Encrypt text[0..n) in place and write the tag. n may be 0. */
	void (*seal)(const struct aead_context *context, const unsigned char *nonce, const void *ad,
		     size_t ad_len, unsigned char *text, size_t n, unsigned char tag[AEAD_TAG]);

	/* Check the tag, then decrypt text[0..n) in place: 0. Forged: -1, text unspecified. */
	int (*open)(const struct aead_context *context, const unsigned char *nonce, const void *ad,
		    size_t ad_len, unsigned char *text, size_t n,
		    const unsigned char tag[AEAD_TAG]);
};

/* Prepare the libraries. 0, or -1: no source of random bytes. Call once, before any other. It waits
 * where random_source() says so. */
int crypto_open(void);

/* The method of this name (any case) in its fastest available implementation, or NULL. */
const struct aead *aead_find(const char *name);

/* The same in one implementation, for tests that compare them; NULL: unknown or not available. */
const struct aead *aead_find_implementation(const char *name, const char *implementation);

/* The i-th method, for listing; NULL after the last. */
const struct aead *aead_list(unsigned i);

/* Those of AES-GCM that run anywhere. */
extern const struct aead aead_mbedtls_aes128gcm;
extern const struct aead aead_mbedtls_aes192gcm;
extern const struct aead aead_mbedtls_aes256gcm;

#endif
