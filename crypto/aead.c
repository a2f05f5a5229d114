/*
 * The table of authenticated ciphers: every method with its implementations, the fastest first.
 * Called when settings are read and for listings; what it returns is const and lives for ever.
 */
#include "crypto/aead.h"

#include "crypto/chacha.h"
#include "crypto/gcm.h"
#include "crypto/random.h"

#include <sodium.h>
#include <strings.h>

enum { METHODS = GCM_KEYS + CHACHAS };

/* Those that run anywhere; the last level of chacha_levels does so, too. */
static const struct aead *const gcms[GCM_KEYS] = {
	&aead_mbedtls_aes128gcm,
	&aead_mbedtls_aes192gcm,
	&aead_mbedtls_aes256gcm,
};

int crypto_open(void)
{
	if (random_source() == RANDOM_NONE || sodium_init() < 0)
		return -1;
	random_open();
	return 0;
}

/* Does it run here, and is it called `implementation` unless NULL? */
static bool serves(const struct aead *aead, const char *implementation)
{
	if (implementation && strcasecmp(implementation, aead->implementation) != 0)
		return false;
	return !aead->available || aead->available();
}

static const struct aead *choose(unsigned method, const char *implementation)
{
	const struct aead *const *levels = method < GCM_KEYS ? gcm_levels : chacha_levels;
	unsigned at = method < GCM_KEYS ? method : method - GCM_KEYS;

	for (; *levels; levels++)
		if (serves(*levels + at, implementation))
			return *levels + at;
	return method < GCM_KEYS && serves(gcms[method], implementation) ? gcms[method] : NULL;
}

const struct aead *aead_find_implementation(const char *name, const char *implementation)
{
	for (unsigned i = 0; i < METHODS; i++) {
		const struct aead *any = i < GCM_KEYS ? gcms[i] : chacha_levels[0] + (i - GCM_KEYS);

		if (strcasecmp(name, any->name) == 0)
			return choose(i, implementation);
	}
	return NULL;
}

const struct aead *aead_find(const char *name)
{
	return aead_find_implementation(name, NULL);
}

const struct aead *aead_list(unsigned i)
{
	return i < METHODS ? choose(i, NULL) : NULL;
}
