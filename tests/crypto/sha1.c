/*
 * SHA-1 by the examples of FIPS 180-4, at every length around a block, and HMAC by RFC 2202 and
 * Wycheproof.
 */
#include "crypto/sha1_compress.h"

#include "tests/vectors.h"

#include <mbedtls/sha1.h>
#include <mbedtls/version.h>

#if MBEDTLS_VERSION_NUMBER < 0x03000000
#define mbedtls_sha1 mbedtls_sha1_ret
#endif

static void check(const char *text, size_t times, const char *digest)
{
	unsigned char right[SHA1_DIGEST], got[SHA1_DIGEST];
	struct sha1 sha1;

	hex(digest, right, sizeof right);
	sha1_begin(&sha1);
	for (size_t i = 0; i < times; i++)
		sha1_add(&sha1, text, strlen(text));
	sha1_end(&sha1, got);
	assert_memory_equal(got, right, SHA1_DIGEST);
}

static void examples(void **state)
{
	(void)state;
	check("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	check("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d");
	check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	      "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
	check("a", 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

/* Any length, however it is cut, as mbed TLS has it. */
static void lengths(void **state)
{
	unsigned char text[300], right[SHA1_DIGEST], got[SHA1_DIGEST];

	(void)state;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (unsigned char)(i * 7);
	for (size_t n = 0; n <= sizeof text; n++) {
		assert_int_equal(mbedtls_sha1(text, n, right), 0);
		for (size_t cut = 0; cut <= n; cut += 13) {
			struct sha1 sha1;

			sha1_begin(&sha1);
			sha1_add(&sha1, text, cut);
			sha1_add(&sha1, text + cut, n - cut);
			sha1_end(&sha1, got);
			assert_memory_equal(got, right, SHA1_DIGEST);
		}
	}
}

static void hmac(const unsigned char *key, size_t key_len, const void *text, size_t n,
		 unsigned char *digest)
{
	struct sha1_hmac state;

	sha1_hmac_begin(&state, key, key_len);
	sha1_hmac_add(&state, text, n);
	sha1_hmac_end(&state, digest);
}

/* Instructions, where there are some, say the same as the scalar code. */
static void same_with_instructions(void **state)
{
	uint32_t fast[5] = { 1, 2, 3, 4, 5 }, scalar[5] = { 1, 2, 3, 4, 5 };
	unsigned char block[SHA1_BLOCK];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned j = 0; j < sizeof block; j++)
			block[j] =
				(unsigned char)(scalar[j % 5] >> j % 25) ^ (unsigned char)(i * j);
		sha1_compress_scalar(scalar, block);
		if (!sha1_compress_fast(fast, block)) {
			print_message("skipped: this CPU has no SHA-1: nothing to compare\n");
			skip();
		}
		assert_memory_equal(fast, scalar, sizeof fast);
	}
}

/* RFC 2202, cases 2 and 6. */
static void hmac_few(void **state)
{
	static const char text[] = "what do ya want for nothing?";
	static const char large[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	unsigned char key[80], right[SHA1_DIGEST], got[SHA1_DIGEST];

	(void)state;
	hex("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79", right, sizeof right);
	hmac((const unsigned char *)"Jefe", 4, text, strlen(text), got);
	assert_memory_equal(got, right, SHA1_DIGEST);

	memset(key, 0xaa, sizeof key);
	hex("aa4ae5e15272d00e95705637ce8a3b55ed402112", right, sizeof right);
	hmac(key, sizeof key, large, strlen(large), got);
	assert_memory_equal(got, right, SHA1_DIGEST);
}

static void hmac_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "data/crypto/wycheproof-hmac_sha1_test.json");
	for (const struct json *group = vectors_member(document.root, "testGroups")->first; group;
	     group = group->next) {
		for (const struct json *test = vectors_member(group, "tests")->first; test;
		     test = test->next) {
			bool valid = strcmp(vectors_text(test, "result"), "valid") == 0;
			unsigned char key[1024], text[1024], tag[SHA1_DIGEST], got[SHA1_DIGEST];
			size_t key_len = vectors_hex(test, "key", key, sizeof key);
			size_t n = vectors_hex(test, "msg", text, sizeof text);
			size_t tag_len = vectors_hex(test, "tag", tag, sizeof tag);

			hmac(key, key_len, text, n, got);
			assert_int_equal(memcmp(got, tag, tag_len) == 0, valid);
			checked++;
		}
	}
	json_free(&document);
	print_message("%d checks\n", checked);
	assert_true(checked > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples),
		cmocka_unit_test(lengths),
		cmocka_unit_test(same_with_instructions),
		cmocka_unit_test(hmac_few),
		cmocka_unit_test(hmac_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
