/*
 * The authenticated ciphers against vectors, against each other and against mbed TLS's own GCM.
 */
#include "crypto/aead.h"

#include "tests/sodium.h"
#include "tests/wycheproof.h"

#include <mbedtls/gcm.h>
#include <strings.h>

static const char *const implementations[] = { "vaes-512", "vaes-256", "aes-ni",  "avx2",
					       "sse2",	   "neon",     "mbedtls", "own" };

enum { IMPLEMENTATIONS = sizeof implementations / sizeof implementations[0], MAX = 17000 };

/* In every implementation that this machine has; how many that were. */
static int check_all(const char *name, const struct aead_vector *v, bool valid)
{
	int checked = 0;

	for (int i = 0; i < IMPLEMENTATIONS; i++) {
		const struct aead *aead = aead_find_implementation(name, implementations[i]);

		if (!aead)
			continue;
		checked += wycheproof_check(aead, v, valid);
	}
	return checked;
}

static const char *gcm_name(size_t bits)
{
	return bits == 128 ? "aes-128-gcm" : bits == 192 ? "aes-192-gcm" : "aes-256-gcm";
}

static void aes_gcm_file(void **state)
{
	(void)state;
	wycheproof("data/crypto/wycheproof-aes_gcm_test.json", 96, gcm_name, check_all);
}

static void chacha_file(void **state)
{
	(void)state;
	wycheproof_chacha(check_all);
}

static void xchacha_file(void **state)
{
	(void)state;
	wycheproof_xchacha(check_all);
}

/* One for each method, so that something is tested where the files are missing: Wycheproof's 11,
 * 185, 100, the examples of RFC 8439 and of the XChaCha draft, and SIP022 for fewer rounds. */
static const struct {
	const char *name, *key, *nonce, *ad, *text, *sealed, *tag;
} few[] = {
	{ "aes-128-gcm", "28ff3def08179311e2734c6d1c4e2871", "32bcb9b569e3b852d37c766a", "c3",
	  "dfc61a20df8505b53e3cd59f25770d5018add3d6", "f58d453212c2c8a436e9283672f579f119122978",
	  "5901131d0760c8715901d881fdfd3bc0" },
	{ "aes-192-gcm", "969fed5068541d65418c2c1de8fe1f845e036030496e1272",
	  "817fe51c31f2879141a34335", "cb", "3d8233191a2823bf767e99167b1d4af4f4848458",
	  "0d2c3a3c0cc4b40e70ed45e188e356a0e1533b31", "92909a80e90540e1878ab59ef300072b" },
	{ "aes-256-gcm", "b279f57e19c8f53f2f963f5f2519fdb7c1779be2ca2b3ae8e1128b7d6c627fc4",
	  "98bc2c7438d5cd7665d76f6e", "c0", "fcc515b294408c8645c9183e3f4ecee5127846d1",
	  "eb5500e3825952866d911253f8de860c00831c81", "ecb660e1fb0541ec41e8d68a64141b3a" },
	{ "chacha20-ietf-poly1305",
	  "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
	  "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
	  "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a204966"
	  "204920636f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f72207468652066757475"
	  "72"
	  "652c2073756e73637265656e20776f756c642062652069742e",
	  "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69"
	  "da92728b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad67594"
	  "55"
	  "85808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116",
	  "1ae10b594f09e26a7e902ecbd0600691" },
	{ "xchacha20-ietf-poly1305",
	  "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
	  "404142434445464748494a4b4c4d4e4f5051525354555657", "50515253c0c1c2c3c4c5c6c7",
	  "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a204966"
	  "204920636f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f72207468652066757475"
	  "72"
	  "652c2073756e73637265656e20776f756c642062652069742e",
	  "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f"
	  "4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f"
	  "76"
	  "b2383565d3fff921f9664c97637da9768812f615c68b13b52e",
	  "c0875924c1c7987947deafd8780acf49" },
	{ "chacha8-ietf-poly1305",
	  "a7b51c0f648a3c97be158b63b6d19b754765dcc285550ced2bdca9e06b2d6211",
	  "000000000000000000000000", "", "00000000006553f1000036", "6526a946b6ac431e3d3654",
	  "6a47700924d083cd51b4e6300c1fe733" },
	{ "chacha12-ietf-poly1305",
	  "a7b51c0f648a3c97be158b63b6d19b754765dcc285550ced2bdca9e06b2d6211",
	  "000000000000000000000000", "", "00000000006553f1000036", "b232ba4e888eca08653080",
	  "80af0c88f53d18479cd533c7e0f22b7f" },
	{ "xchacha8-ietf-poly1305",
	  "2c24d2a9bf3001f36a0a40db8035aefda4190fa6f037e3542e5cd08a1e2de24d",
	  "000102030405060708090a0b0c0d0e0f1011121314151617", "",
	  "0102030405060708000000000000000000000000006553f1000000030b6578616d706c652e636f6d"
	  "00351234756470207175657279",
	  "3d3bc72f5bc06d923a33b77833f7dea7b955efef84f6a9f4fbf51872f5e1ccb1f2c5dad01e89af6e"
	  "3efb20329c8bb70ee99cdc3fe0",
	  "4928f1ea49c8827f3c4c919da91d1082" },
	{ "xchacha12-ietf-poly1305",
	  "2c24d2a9bf3001f36a0a40db8035aefda4190fa6f037e3542e5cd08a1e2de24d",
	  "000102030405060708090a0b0c0d0e0f1011121314151617", "",
	  "0102030405060708000000000000000000000000006553f1000000030b6578616d706c652e636f6d"
	  "00351234756470207175657279",
	  "1be0546316cd92eba513a0a71e8c04dca44b530be17d0ddc57e5f5151410a0616471e0509610dea4"
	  "58dc5095769f845b2100932074",
	  "557af0afdcba31bfba08d4b0950d458d" },
};

enum { FEW = sizeof few / sizeof few[0] };

static void a_few(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FEW; i++) {
		struct aead_vector v;

		hex(few[i].key, v.key, sizeof v.key);
		hex(few[i].nonce, v.nonce, sizeof v.nonce);
		v.ad_len = hex(few[i].ad, v.ad, sizeof v.ad);
		v.n = hex(few[i].text, v.text, sizeof v.text);
		hex(few[i].sealed, v.sealed, sizeof v.sealed);
		hex(few[i].tag, v.tag, sizeof v.tag);
		assert_true(check_all(few[i].name, &v, true) >= 1);
	}
}

static void names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FEW; i++) {
		const struct aead *aead = aead_list(i);

		assert_string_equal(aead->name, few[i].name);
		assert_ptr_equal(aead_find(few[i].name), aead);
		assert_int_equal(aead->key, strlen(few[i].key) / 2);
		assert_int_equal(aead->nonce, strlen(few[i].nonce) / 2);
	}
	assert_null(aead_list(FEW));
	assert_ptr_equal(aead_find("AES-256-GCM"), aead_find("aes-256-gcm"));
	assert_null(aead_find("aes-256-gcm "));
	assert_null(aead_find(""));
	assert_null(aead_find_implementation("aes-128-gcm", "own"));
	assert_non_null(aead_find_implementation("aes-256-gcm", "mbedtls"));
}

static unsigned char plain[MAX], one[MAX], two[MAX], ad[64];

/* Lengths around every edge: of blocks, pairs, strips, and the largest chunk. */
static size_t next_length(size_t n)
{
	return n < 600 ? n + 1 : n < 16370 ? n + 977 : n + 1;
}

/* Two implementations of a method agree, and open what the other sealed. */
static void compare(const struct aead *a, const struct aead *b)
{
	struct aead_context a_context, b_context;
	unsigned char key[AEAD_KEY_MAX], nonce[AEAD_NONCE_MAX], a_tag[AEAD_TAG], b_tag[AEAD_TAG];

	for (size_t n = 0; n < 16400; n = next_length(n)) {
		size_t ad_len = n % sizeof ad;

		randombytes_buf(key, sizeof key);
		randombytes_buf(nonce, sizeof nonce);
		randombytes_buf(plain, n);
		randombytes_buf(ad, ad_len);
		a->expand(&a_context, key);
		b->expand(&b_context, key);

		memcpy(one, plain, n);
		memcpy(two, plain, n);
		a->seal(&a_context, nonce, ad, ad_len, one, n, a_tag);
		b->seal(&b_context, nonce, ad, ad_len, two, n, b_tag);
		assert_memory_equal(one, two, n);
		assert_memory_equal(a_tag, b_tag, AEAD_TAG);

		assert_int_equal(a->open(&a_context, nonce, ad, ad_len, two, n, b_tag), 0);
		assert_int_equal(b->open(&b_context, nonce, ad, ad_len, one, n, a_tag), 0);
		assert_memory_equal(one, plain, n);
		assert_memory_equal(two, plain, n);
	}
}

static void aes_256_gcm_both(void **state)
{
	const struct aead *fast = sodium_find("aes-256-gcm");

	(void)state;
	if (!fast) {
		print_message("skipped: libsodium has no AES-256-GCM on this CPU\n");
		skip();
	}
	compare(fast, aead_find_implementation("aes-256-gcm", "mbedtls"));
}

/* Ours against the GCM of the library whose AES it uses. */
static void portable_gcm(void **state)
{
	static const char *const methods[] = { "aes-128-gcm", "aes-192-gcm", "aes-256-gcm" };

	(void)state;
	for (int m = 0; m < 3; m++) {
		const struct aead *aead = aead_find_implementation(methods[m], "mbedtls");
		struct aead_context context;
		mbedtls_gcm_context gcm;
		unsigned char key[AEAD_KEY_MAX], nonce[12], tag[AEAD_TAG], right[AEAD_TAG];

		randombytes_buf(key, sizeof key);
		aead->expand(&context, key);
		mbedtls_gcm_init(&gcm);
		assert_int_equal(mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key,
						    aead->key * 8u),
				 0);
		for (size_t n = 0; n < 16400; n = next_length(n)) {
			size_t ad_len = n % sizeof ad;

			randombytes_buf(nonce, sizeof nonce);
			randombytes_buf(plain, n);
			memcpy(one, plain, n);
			aead->seal(&context, nonce, ad, ad_len, one, n, tag);
			assert_int_equal(mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, n,
								   nonce, sizeof nonce, ad, ad_len,
								   plain, two, sizeof right, right),
					 0);
			assert_memory_equal(one, two, n);
			assert_memory_equal(tag, right, AEAD_TAG);
		}
		mbedtls_gcm_free(&gcm);
	}
}

/* A bit turned anywhere, in every implementation: refused. */
static void forged(void **state)
{
	enum { N = 100, AD = 20, ALL = N + AD + AEAD_TAG };

	(void)state;
	for (unsigned m = 0; m < FEW * IMPLEMENTATIONS; m++) {
		const struct aead *aead =
			aead_find_implementation(few[m / IMPLEMENTATIONS].name,
						 implementations[m % IMPLEMENTATIONS]);
		struct aead_context context;
		unsigned char sealed[ALL + AEAD_NONCE_MAX], copy[sizeof sealed];
		unsigned char key[AEAD_KEY_MAX];
		size_t bits;

		if (!aead)
			continue;
		bits = (ALL + aead->nonce) * 8u;
		randombytes_buf(key, sizeof key);
		randombytes_buf(sealed, sizeof sealed);
		aead->expand(&context, key);
		aead->seal(&context, sealed + ALL, sealed + N, AD, sealed, N, sealed + N + AD);
		for (size_t bit = 0; bit <= bits; bit++) {
			memcpy(copy, sealed, sizeof copy);
			if (bit < bits)
				copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
			assert_int_equal(aead->open(&context, copy + ALL, copy + N, AD, copy, N,
						    copy + N + AD),
					 bit < bits ? -1 : 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),	cmocka_unit_test(a_few),
		cmocka_unit_test(aes_gcm_file), cmocka_unit_test(chacha_file),
		cmocka_unit_test(xchacha_file), cmocka_unit_test(aes_256_gcm_both),
		cmocka_unit_test(portable_gcm), cmocka_unit_test(forged),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
