#include "tests/unit.h"

#include "crypto/stream.h"

#include <mbedtls/version.h>

#ifdef MBEDTLS_CAMELLIA_C
#include <mbedtls/camellia.h>
#endif

#include <sodium.h>

enum { BLOCKS = 7, KEYS = 300 };

/* RFC 3713, appendix A. */
static void vectors_of_the_rfc(void **state)
{
	static const struct {
		size_t n;
		const char *ciphertext;
	} rows[] = {
		{ 16, "67673138549669730857065648eabe43" },
		{ 24, "b4993401b3e996f84ee5cee7d79b09b9" },
		{ 32, "9acc237dff16d76c20ef7c919e3a7509" },
	};
	static const unsigned char key[32] = {
		0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba,
		0x98, 0x76, 0x54, 0x32, 0x10, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
		0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		void *schedule = malloc(block_camellia.schedule);
		unsigned char out[16];
		char hex[33];

		assert_non_null(schedule);
		block_camellia.expand(schedule, key, rows[i].n);
		block_camellia.encrypt(schedule, key, out, 1);
		sodium_bin2hex(hex, sizeof hex, out, sizeof out);
		assert_string_equal(hex, rows[i].ciphertext);
		free(schedule);
	}
}

#ifdef MBEDTLS_CAMELLIA_C

/* Any number of blocks, in place or not. */
static void same_as_mbedtls(void **state)
{
	void *schedule = malloc(block_camellia.schedule);

	(void)state;
	assert_non_null(schedule);
	for (unsigned k = 0; k < KEYS; k++) {
		unsigned char key[32], text[BLOCKS * 16], theirs[BLOCKS * 16], ours[BLOCKS * 16];
		unsigned bytes = 16 + 8 * (k % 3), blocks = 1 + k % BLOCKS;
		mbedtls_camellia_context context;

		randombytes_buf(key, sizeof key);
		randombytes_buf(text, sizeof text);
		mbedtls_camellia_init(&context);
		assert_int_equal(mbedtls_camellia_setkey_enc(&context, key, bytes * 8), 0);
		for (unsigned i = 0; i < blocks; i++)
			mbedtls_camellia_crypt_ecb(&context, MBEDTLS_CAMELLIA_ENCRYPT,
						   text + 16 * i, theirs + 16 * i);
		block_camellia.expand(schedule, key, bytes);
		block_camellia.encrypt(schedule, text, ours, blocks);
		assert_memory_equal(ours, theirs, 16 * blocks);
		block_camellia.encrypt(schedule, text, text, blocks);
		assert_memory_equal(text, theirs, 16 * blocks);
		mbedtls_camellia_free(&context);
	}
	free(schedule);
}

#else

static void same_as_mbedtls(void **state)
{
	(void)state;
	print_message("SKIPPED same_as_mbedtls: this mbed TLS has no Camellia\n");
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_of_the_rfc),
		cmocka_unit_test(same_as_mbedtls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
