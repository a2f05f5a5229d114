/*
 * The table of authenticated ciphers: every method with its implementations, the fastest first.
 * Called when settings are read and for listings; what it returns is const and lives for ever.
 */
#include "crypto/aead.h"

#include <sodium.h>
#include <strings.h>

enum { METHODS = 9, CHOICES = 2 };

static const struct aead *const methods[METHODS][CHOICES] = {
	{ &aead_mbedtls_aes128gcm },
	{ &aead_mbedtls_aes192gcm },
	{ &aead_sodium_aes256gcm, &aead_mbedtls_aes256gcm },
	{ &aead_sodium_chacha20, &aead_chacha20 },
	{ &aead_sodium_xchacha20, &aead_xchacha20 },
	{ &aead_chacha8 },
	{ &aead_chacha12 },
	{ &aead_xchacha8 },
	{ &aead_xchacha12 },
};

int crypto_open(void)
{
	return sodium_init() < 0 ? -1 : 0;
}

/* The first of a method's choices that runs here, and is called `implementation` unless NULL. */
static const struct aead *choose(const struct aead *const *choices, const char *implementation)
{
	for (unsigned i = 0; i < CHOICES && choices[i]; i++) {
		const struct aead *aead = choices[i];

		if (implementation && strcasecmp(implementation, aead->implementation) != 0)
			continue;
		if (!aead->available || aead->available())
			return aead;
	}
	return NULL;
}

const struct aead *aead_find_implementation(const char *name, const char *implementation)
{
	for (unsigned i = 0; i < METHODS; i++)
		if (strcasecmp(name, methods[i][0]->name) == 0)
			return choose(methods[i], implementation);
	return NULL;
}

const struct aead *aead_find(const char *name)
{
	return aead_find_implementation(name, NULL);
}

const struct aead *aead_list(unsigned i)
{
	return i < METHODS ? choose(methods[i], NULL) : NULL;
}
