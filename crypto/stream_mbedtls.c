/*
 * Block ciphers of mbed TLS, for the modes in modes.c. mbed TLS 3 has no Blowfish: there it is
 * a cipher that cannot be expanded, and the method that needs it is refused by name at start.
 *
 * mbed TLS wants contexts it may write to; for encrypting where the key was set it only reads. A
 * cipher that fails (a hardware one might) must not let plaintext out as ciphertext.
 */
#include "crypto/stream.h"

#include "crypto/aes_streams.h"
#include "crypto/mbedtls_compat.h"

#include <stdlib.h>

static void aes_expand(void *schedule, const unsigned char *key, size_t n)
{
	mbedtls_aes_init(schedule);
	if (mbedtls_aes_setkey_enc(schedule, key, (unsigned)n * 8) != 0)
		abort();
}

static void aes_encrypt(const void *schedule, const unsigned char *in, unsigned char *out,
			size_t blocks)
{
	for (; blocks > 0; blocks--, in += 16, out += 16)
		if (mbedtls_aes_crypt_ecb((mbedtls_aes_context *)schedule, MBEDTLS_AES_ENCRYPT, in,
					  out) != 0)
			abort();
}

static const struct block_cipher block_aes = {
	.implementation = "mbedtls",
	.schedule = sizeof(mbedtls_aes_context),
	.size = 16,
	.expand = aes_expand,
	.encrypt = aes_encrypt,
};

const struct stream aes_streams_mbedtls[AES_STREAMS] = AES_STREAM_METHODS(&block_aes);

#ifdef MBEDTLS_BLOWFISH_C

_Static_assert(sizeof(mbedtls_blowfish_context) <= STREAM_SCHEDULE_MAX,
	       "Blowfish's key does not fit");

static void blowfish_expand(void *schedule, const unsigned char *key, size_t n)
{
	mbedtls_blowfish_init(schedule);
	if (mbedtls_blowfish_setkey(schedule, key, (unsigned)n * 8) != 0)
		abort();
}

static void blowfish_encrypt(const void *schedule, const unsigned char *in, unsigned char *out,
			     size_t blocks)
{
	for (; blocks > 0; blocks--, in += 8, out += 8)
		if (mbedtls_blowfish_crypt_ecb((mbedtls_blowfish_context *)schedule,
					       MBEDTLS_BLOWFISH_ENCRYPT, in, out) != 0)
			abort();
}

const struct block_cipher block_blowfish = {
	.implementation = "mbedtls",
	.schedule = sizeof(mbedtls_blowfish_context),
	.size = 8,
	.expand = blowfish_expand,
	.encrypt = blowfish_encrypt,
};

#else

const struct block_cipher block_blowfish = { .size = 8 };

#endif
