/*
 * Wycheproof's vectors of authenticated ciphers, for any implementation.
 */
#ifndef TESTS_WYCHEPROOF_H
#define TESTS_WYCHEPROOF_H

#include "crypto/aead.h"
#include "tests/vectors.h"

struct aead_vector {
	unsigned char key[64], nonce[64], ad[1024], text[1024], sealed[1024], tag[64];
	size_t key_len, nonce_len, ad_len, n, sealed_len, tag_len;
};

/* Seal and open at an odd address; the vector is right, or else only its tag or text is not. 1. */
static inline int wycheproof_check(const struct aead *aead, const struct aead_vector *v, bool valid)
{
	struct aead_context context;
	unsigned char buf[1024 + 1], *text = buf + 1, tag[AEAD_TAG];

	aead->expand(&context, v->key);
	if (valid) {
		memcpy(text, v->text, v->n);
		aead->seal(&context, v->nonce, v->ad, v->ad_len, text, v->n, tag);
		assert_memory_equal(text, v->sealed, v->n);
		assert_memory_equal(tag, v->tag, AEAD_TAG);
	}
	memcpy(text, v->sealed, v->n);
	assert_int_equal(aead->open(&context, v->nonce, v->ad, v->ad_len, text, v->n, v->tag),
			 valid ? 0 : -1);
	if (valid)
		assert_memory_equal(text, v->text, v->n);
	return 1;
}

/* One vector, in whatever implementations the test is about: how many. */
typedef int wycheproof_each(const char *method, const struct aead_vector *v, bool valid);

/* Wycheproof's files: the sets with the sizes that our methods have. */
static inline void wycheproof(const char *file, size_t nonce_bits,
			      const char *(*name)(size_t key_bits), wycheproof_each *check)
{
	struct json_document document;
	int checked = 0;

	vectors_load(&document, file);
	for (const struct json *group = vectors_member(document.root, "testGroups")->first; group;
	     group = group->next) {
		const char *method = name(vectors_integer(group, "keySize"));

		if (vectors_integer(group, "ivSize") != nonce_bits ||
		    vectors_integer(group, "tagSize") != 8 * AEAD_TAG)
			continue;
		for (const struct json *test = vectors_member(group, "tests")->first; test;
		     test = test->next) {
			bool valid = strcmp(vectors_text(test, "result"), "valid") == 0;
			struct aead_vector v;

			v.key_len = vectors_hex(test, "key", v.key, sizeof v.key);
			v.nonce_len = vectors_hex(test, "iv", v.nonce, sizeof v.nonce);
			v.ad_len = vectors_hex(test, "aad", v.ad, sizeof v.ad);
			v.n = vectors_hex(test, "msg", v.text, sizeof v.text);
			v.sealed_len = vectors_hex(test, "ct", v.sealed, sizeof v.sealed);
			v.tag_len = vectors_hex(test, "tag", v.tag, sizeof v.tag);
			assert_int_equal(v.sealed_len, v.n);
			assert_int_equal(v.tag_len, AEAD_TAG);
			checked += check(method, &v, valid);
		}
	}
	json_free(&document);
	print_message("%d checks from %s\n", checked, file);
	assert_true(checked >= 190);
}

static inline const char *chacha_name(size_t bits)
{
	(void)bits;
	return "chacha20-ietf-poly1305";
}

static inline const char *xchacha_name(size_t bits)
{
	(void)bits;
	return "xchacha20-ietf-poly1305";
}

static inline void wycheproof_chacha(wycheproof_each *check)
{
	wycheproof("data/crypto/wycheproof-chacha20_poly1305_test.json", 96, chacha_name, check);
}

static inline void wycheproof_xchacha(wycheproof_each *check)
{
	wycheproof("data/crypto/wycheproof-xchacha20_poly1305_test.json", 192, xchacha_name, check);
}

#endif
