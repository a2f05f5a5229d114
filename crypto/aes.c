#include "crypto/aes.h"

#include "crypto/mbedtls_compat.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>

/* An AES that fails (a hardware one might) must not let anything out as if it had not. */
static void must(int result)
{
	if (result != 0)
		abort();
}

_Static_assert(sizeof(mbedtls_aes_context) <= AES_SCHEDULE, "the library's own fits");

static mbedtls_aes_context *context(const struct aes_schedule *schedule)
{
	return (mbedtls_aes_context *)(uintptr_t)schedule->bytes;
}

void aes_expand(struct aes_schedule *schedule, const unsigned char *key, size_t key_len,
		bool decrypts)
{
	mbedtls_aes_context *aes = context(schedule);

	mbedtls_aes_init(aes);
	must(decrypts ? mbedtls_aes_setkey_dec(aes, key, (unsigned)key_len * 8)
		      : mbedtls_aes_setkey_enc(aes, key, (unsigned)key_len * 8));
}

void aes_crypt_block(const struct aes_schedule *schedule, bool decrypts,
		     unsigned char block[AES_BLOCK])
{
	must(mbedtls_aes_crypt_ecb(context(schedule),
				   decrypts ? MBEDTLS_AES_DECRYPT : MBEDTLS_AES_ENCRYPT, block,
				   block));
}

static void once(const unsigned char *key, size_t key_len, bool decrypts,
		 unsigned char block[AES_BLOCK])
{
	struct aes_schedule schedule;

	aes_expand(&schedule, key, key_len, decrypts);
	aes_crypt_block(&schedule, decrypts, block);
	sodium_memzero(&schedule, sizeof schedule);
}

void aes_encrypt_block(const unsigned char *key, size_t key_len, unsigned char block[AES_BLOCK])
{
	once(key, key_len, false, block);
}

void aes_decrypt_block(const unsigned char *key, size_t key_len, unsigned char block[AES_BLOCK])
{
	once(key, key_len, true, block);
}
