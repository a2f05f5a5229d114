/*
 * Keys from passwords, subkeys from salts.
 */
#include "crypto/kdf.h"

#include "tests/vectors.h"

static void check_password(const char *password, size_t n, const char *key)
{
	unsigned char right[64], got[64 + 1];

	assert_int_equal(hex(key, right, sizeof right), n);
	memset(got, 0x55, sizeof got);
	kdf_password(password, strlen(password), got, n);
	assert_memory_equal(got, right, n);
	assert_int_equal(got[n], 0x55);
}

/* EVP_BytesToKey; SIP004's subkey; RFC 5869, cases 4 and 7. */
static void a_few(void **state)
{
	static const char foobar[] =
		"3858f62230ac3c915f300c664312c63f568378529614d22ddb49237d2f60bfdf";
	unsigned char key[32], salt[32], right[42], got[42];

	(void)state;
	check_password("foobar", 8, "3858f62230ac3c91");
	check_password("foobar", 32, foobar);
	check_password("", 16, "d41d8cd98f00b204e9800998ecf8427e");

	hex(foobar, key, sizeof key);
	for (unsigned i = 0; i < sizeof salt; i++)
		salt[i] = (unsigned char)i;
	hex("c4f0e9818348b2f30188d82b37a4cddc9f5ea531070ec67225160209faff573c", right, 32);
	kdf_subkey(key, salt, got, 32);
	assert_memory_equal(got, right, 32);

	memset(key, 0x0b, 11);
	hex("085a01ea1b10f36933068b56efa5ad81a4f14b822f5b091568a9cdd4f155fda2c22e422478d305f3f896",
	    right, 42);
	kdf_hkdf_sha1(key, 11, salt, 13, "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9", 10, got, 42);
	assert_memory_equal(got, right, 42);

	memset(key, 0x0c, 22);
	hex("2c91117204d745f3500d636a62f64f0ab3bae548aa53d423b0d1f27ebba6f5e5673a081d70cce7acfc48",
	    right, 42);
	kdf_hkdf_sha1(key, 22, NULL, 0, NULL, 0, got, 42);
	assert_memory_equal(got, right, 42);
}

static void passwords_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	for (const struct json *test = vectors_member(document.root, "evp_bytes_to_key_md5")->first;
	     test; test = test->next, checked++)
		check_password(vectors_text(test, "password"), vectors_integer(test, "key_len"),
			       vectors_text(test, "key"));
	json_free(&document);
	assert_true(checked >= 16);
}

/* Passwords that are empty, long, or not ASCII. */
static void odd_passwords_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "bugs/vectors.json");
	for (const struct json *test = vectors_member(document.root, "password_key")->first; test;
	     test = test->next, checked++) {
		check_password(vectors_text(test, "password"), 16, vectors_text(test, "key16"));
		check_password(vectors_text(test, "password"), 24, vectors_text(test, "key24"));
		check_password(vectors_text(test, "password"), 32, vectors_text(test, "key32"));
	}
	json_free(&document);
	assert_true(checked >= 6);
}

static void subkeys_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	for (const struct json *test = vectors_member(document.root, "hkdf_sha1_subkey")->first;
	     test; test = test->next, checked++) {
		unsigned char key[32], salt[32], subkey[32], got[32];
		size_t n = vectors_hex(test, "key", key, sizeof key);

		assert_int_equal(vectors_hex(test, "salt", salt, sizeof salt), n);
		assert_int_equal(vectors_hex(test, "subkey", subkey, sizeof subkey), n);
		kdf_subkey(key, salt, got, n);
		assert_memory_equal(got, subkey, n);
	}
	json_free(&document);
	assert_true(checked >= 3);
}

static void hkdf_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "data/crypto/wycheproof-hkdf_sha1_test.json");
	for (const struct json *group = vectors_member(document.root, "testGroups")->first; group;
	     group = group->next) {
		for (const struct json *test = vectors_member(group, "tests")->first; test;
		     test = test->next) {
			unsigned char key[256], salt[256], info[256], out[5100], got[5100];
			size_t key_len = vectors_hex(test, "ikm", key, sizeof key);
			size_t salt_len = vectors_hex(test, "salt", salt, sizeof salt);
			size_t info_len = vectors_hex(test, "info", info, sizeof info);
			size_t n = vectors_integer(test, "size");

			/* more than HKDF can give: our callers cannot ask for it */
			if (strcmp(vectors_text(test, "result"), "valid") != 0) {
				assert_true(n > 255 * 20);
				continue;
			}
			assert_int_equal(vectors_hex(test, "okm", out, sizeof out), n);
			kdf_hkdf_sha1(key, key_len, salt, salt_len, info, info_len, got, n);
			assert_memory_equal(got, out, n);
			checked++;
		}
	}
	json_free(&document);
	print_message("%d checks\n", checked);
	assert_true(checked > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few),
		cmocka_unit_test(passwords_file),
		cmocka_unit_test(odd_passwords_file),
		cmocka_unit_test(subkeys_file),
		cmocka_unit_test(hkdf_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
