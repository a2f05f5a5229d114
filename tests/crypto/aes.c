/*
 * Blocks of AES: the examples of FIPS 197, and there and back again.
 */
#include "crypto/aes.h"

#include "tests/vectors.h"

#include <sodium.h>

static void fips_197(void **state)
{
	static const char *const right[] = { "69c4e0d86a7b0430d8cdb78070b4c55a",
					     "dda97ca4864cdfe06eaf70a0ec0d7191",
					     "8ea2b7ca516745bfeafc49904b496089" };
	unsigned char key[32], plain[AES_BLOCK], block[AES_BLOCK], cipher[AES_BLOCK];

	(void)state;
	for (unsigned char i = 0; i < 32; i++)
		key[i] = i;
	hex("00112233445566778899aabbccddeeff", plain, sizeof plain);
	for (size_t i = 0; i < 3; i++) {
		hex(right[i], cipher, sizeof cipher);
		memcpy(block, plain, sizeof block);
		aes_encrypt_block(key, 16 + 8 * i, block);
		assert_memory_equal(block, cipher, sizeof block);
		aes_decrypt_block(key, 16 + 8 * i, block);
		assert_memory_equal(block, plain, sizeof block);
	}
}

static void round_trips(void **state)
{
	unsigned char key[32], plain[AES_BLOCK + 1], block[AES_BLOCK + 1];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		randombytes_buf(key, sizeof key);
		randombytes_buf(plain, sizeof plain);
		memcpy(block, plain, sizeof block);
		aes_encrypt_block(key, 16 + 8 * (i % 3), block + 1);
		assert_memory_not_equal(block + 1, plain + 1, AES_BLOCK);
		aes_decrypt_block(key, 16 + 8 * (i % 3), block + 1);
		assert_memory_equal(block, plain, sizeof block);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fips_197),
		cmocka_unit_test(round_trips),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
