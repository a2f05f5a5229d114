/*
 * Expanded keys that are kept: what they make is what keys expanded anew make, whichever came before.
 */
#include "net/expanded.h"

#include "tests/unit.h"

#include <sodium.h>

enum { KEYS = 3, TEXT = 100 };

static unsigned char keys[KEYS][AEAD_KEY_MAX];

static int set_up(void **state)
{
	(void)state;
	randombytes_buf(keys, sizeof keys);
	keys[1][AEAD_KEY_MAX - 1] ^= 1;
	memcpy(keys[2], keys[1], 16); /* equal as keys of 128 bits */
	return 0;
}

static void blocks(void **state)
{
	static const size_t lengths[] = { 16, 32 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		const unsigned char *key = keys[randombytes_uniform(KEYS)];
		size_t length = lengths[randombytes_uniform(2)];
		unsigned char block[AES_BLOCK], right[AES_BLOCK];
		bool decrypts = randombytes_uniform(2);

		randombytes_buf(block, sizeof block);
		memcpy(right, block, sizeof right);
		(decrypts ? aes_decrypt_block : aes_encrypt_block)(key, length, right);
		expanded_block(key, length, decrypts, block);
		assert_memory_equal(block, right, sizeof block);
		if (i % 50 == 0)
			expanded_forget();
	}
}

static void boxes(void **state)
{
	static const char *const names[] = { "aes-128-gcm", "aes-256-gcm",
					     "xchacha20-ietf-poly1305" };
	static const unsigned char nonce[AEAD_NONCE_MAX] = { 1 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		const struct aead *aead = aead_find(names[randombytes_uniform(3)]);
		const unsigned char *key = keys[randombytes_uniform(KEYS)];
		unsigned char text[TEXT] = { 3 }, right[TEXT] = { 3 }, tag[AEAD_TAG],
			      tag2[AEAD_TAG];
		struct aead_context context;

		aead->expand(&context, key);
		aead->seal(&context, nonce, NULL, 0, right, TEXT, tag2);
		aead->seal(expanded_box(aead, key, false), nonce, NULL, 0, text, TEXT, tag);
		assert_memory_equal(text, right, TEXT);
		assert_memory_equal(tag, tag2, AEAD_TAG);
		if (randombytes_uniform(2))
			key = keys[randombytes_uniform(KEYS)];
		aead->expand(&context, key);
		assert_int_equal(aead->open(expanded_box(aead, key, true), nonce, NULL, 0, text,
					    TEXT, tag),
				 aead->open(&context, nonce, NULL, 0, right, TEXT, tag));
		if (i % 50 == 0)
			expanded_forget();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(blocks, set_up),
		cmocka_unit_test_setup(boxes, set_up),
	};

	return crypto_open() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
