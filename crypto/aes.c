#include "crypto/aes.h"

#include "crypto/mbedtls_compat.h"

#include <stdlib.h>

/* An AES that fails (a hardware one might) must not let anything out as if it had not. */
static void must(int result)
{
	if (result != 0)
		abort();
}

void aes_encrypt_block(const unsigned char *key, size_t key_len, unsigned char block[AES_BLOCK])
{
	mbedtls_aes_context aes;

	mbedtls_aes_init(&aes);
	must(mbedtls_aes_setkey_enc(&aes, key, (unsigned)key_len * 8));
	must(mbedtls_aes_crypt_ecb(&aes, MBEDTLS_AES_ENCRYPT, block, block));
	mbedtls_aes_free(&aes);
}

void aes_decrypt_block(const unsigned char *key, size_t key_len, unsigned char block[AES_BLOCK])
{
	mbedtls_aes_context aes;

	mbedtls_aes_init(&aes);
	must(mbedtls_aes_setkey_dec(&aes, key, (unsigned)key_len * 8));
	must(mbedtls_aes_crypt_ecb(&aes, MBEDTLS_AES_DECRYPT, block, block));
	mbedtls_aes_free(&aes);
}
