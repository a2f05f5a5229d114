/*
 * MD5 by the examples of RFC 1321, A.5, and at every length around a block.
 */
#include "crypto/md5.h"

#include "tests/vectors.h"

#include <mbedtls/md5.h>
#include <mbedtls/version.h>

#if MBEDTLS_VERSION_NUMBER < 0x03000000
#define mbedtls_md5 mbedtls_md5_ret
#endif

static void check(const char *text, size_t times, const char *digest)
{
	unsigned char right[MD5_DIGEST], got[MD5_DIGEST];
	struct md5 md5;

	hex(digest, right, sizeof right);
	md5_begin(&md5);
	for (size_t i = 0; i < times; i++)
		md5_add(&md5, text, strlen(text));
	md5_end(&md5, got);
	assert_memory_equal(got, right, MD5_DIGEST);
}

static void examples(void **state)
{
	(void)state;
	check("", 1, "d41d8cd98f00b204e9800998ecf8427e");
	check("a", 1, "0cc175b9c0f1b6a831c399e269772661");
	check("abc", 1, "900150983cd24fb0d6963f7d28e17f72");
	check("message digest", 1, "f96b697d7cb7938d525a2f31aaf161d0");
	check("abcdefghijklmnopqrstuvwxyz", 1, "c3fcd3d76192e4007dfb496cca67e13b");
	check("1234567890", 8, "57edf4a22be3c955ac49da2e2107b67a");
}

/* Any length, however it is cut, as mbed TLS has it. */
static void lengths(void **state)
{
	unsigned char text[300], right[MD5_DIGEST], got[MD5_DIGEST];

	(void)state;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (unsigned char)(i * 7);
	for (size_t n = 0; n <= sizeof text; n++) {
		assert_int_equal(mbedtls_md5(text, n, right), 0);
		for (size_t cut = 0; cut <= n; cut += 13) {
			struct md5 md5;

			md5_begin(&md5);
			md5_add(&md5, text, cut);
			md5_add(&md5, text + cut, n - cut);
			md5_end(&md5, got);
			assert_memory_equal(got, right, MD5_DIGEST);
		}
	}
}

/* What is left of a secret in the state. */
static void wiped(void **state)
{
	static const struct md5 nothing;
	unsigned char digest[MD5_DIGEST];
	struct md5 md5;

	(void)state;
	md5_begin(&md5);
	md5_add(&md5, "secret", 6);
	md5_end(&md5, digest);
	assert_memory_equal(&md5, &nothing, sizeof md5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples),
		cmocka_unit_test(lengths),
		cmocka_unit_test(wiped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
