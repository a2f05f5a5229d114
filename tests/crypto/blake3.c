/*
 * BLAKE3 against the authors' vectors and those of the protocol.
 */
#include "crypto/blake3.h"

#include "tests/vectors.h"

#include <stdbool.h>

enum { LONGEST = 102400, OUT = 131 };

static unsigned char input[LONGEST];

static void fill_input(void)
{
	for (unsigned i = 0; i < LONGEST; i++)
		input[i] = (unsigned char)(i % 251);
}

/* Outputs of every length are beginnings of the longest. */
static void check(const struct blake3_context *context, const unsigned char *in, size_t n,
		  const unsigned char *right, size_t right_n)
{
	unsigned char out[OUT + 1];

	for (size_t len = right_n; len > 0; len = len > 64 ? 64 : len > 32 ? 32 : len - 1) {
		out[len] = 0xee;
		if (context)
			blake3_derive(context, in, n, out, len);
		else
			blake3_hash(in, n, out, len);
		assert_memory_equal(out, right, len);
		assert_int_equal(out[len], 0xee);
	}
}

/* Some that need no file: nothing, and one block. */
static void own_vectors(void **state)
{
	unsigned char right[32], material[32];
	struct blake3_context context;

	(void)state;
	hex("af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262", right, 32);
	check(NULL, NULL, 0, right, 32);
	blake3_context(&context, "shadowsocks 2022 session subkey");
	hex("2c24d2a9bf3001f36a0a40db8035aefd000102030405060708090a0b0c0d0e0f", material, 32);
	hex("d73de3e0bd6b4a76571e29bcb3a070d5", right, 16);
	check(&context, material, 32, right, 16);
}

static void official(void **state)
{
	struct json_document document;
	struct blake3_context context;
	int checked = 0;

	(void)state;
	vectors_load(&document, "data/crypto/blake3_test_vectors.json");
	blake3_context(&context, vectors_text(document.root, "context_string"));
	for (const struct json *v = vectors_member(document.root, "cases")->first; v;
	     v = v->next, checked++) {
		size_t n = vectors_integer(v, "input_len");
		unsigned char right[OUT];

		assert_true(n <= LONGEST);
		assert_int_equal(vectors_hex(v, "hash", right, OUT), OUT);
		check(NULL, input, n, right, OUT);
		assert_int_equal(vectors_hex(v, "derive_key", right, OUT), OUT);
		check(&context, input, n, right, OUT);
	}
	json_free(&document);
	assert_int_equal(checked, 35);
}

static void check_hash(const struct json *v)
{
	bool whole = json_member(v, "hash");
	unsigned char in[64], right[32];
	size_t n = vectors_hex(v, "input", in, sizeof in);

	check(NULL, in, n, right,
	      vectors_hex(v, whole ? "hash" : "psk_hash_first16", right, sizeof right));
}

static void protocol(void **state)
{
	const struct json *blake3;
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	blake3 = vectors_member(document.root, "blake3");
	for (const struct json *v = vectors_member(blake3, "hash")->first; v; v = v->next)
		check_hash(v);
	for (const struct json *v = vectors_member(blake3, "derive_key")->first; v;
	     v = v->next, checked++) {
		unsigned char material[64], right[32];
		size_t n = vectors_hex(v, "material", material, sizeof material);
		struct blake3_context context;

		blake3_context(&context, vectors_text(v, "context"));
		assert_int_equal(vectors_hex(v, "out", right, sizeof right),
				 vectors_integer(v, "out_len"));
		check(&context, material, n, right, vectors_integer(v, "out_len"));
	}
	for (const struct json *v = vectors_member(blake3, "official")->first; v; v = v->next) {
		size_t n = vectors_integer(v, "input_len");
		struct blake3_context context;
		unsigned char right[32];

		blake3_context(&context, vectors_text(v, "derive_key_context"));
		check(NULL, input, n, right, vectors_hex(v, "hash", right, sizeof right));
		check(&context, input, n, right, vectors_hex(v, "derive_key", right, sizeof right));
	}
	json_free(&document);
	assert_int_equal(checked, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_vectors),
		cmocka_unit_test(official),
		cmocka_unit_test(protocol),
	};

	fill_input();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
