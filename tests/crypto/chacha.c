/*
 * ChaCha-Poly1305 on vectors: every level that this CPU has against libsodium and, with fewer
 * rounds than libsodium has, against the portable form; and that nothing beside the text is read
 * or written. Wycheproof's vectors are in tests/crypto/aead.c.
 */
#include "crypto/chacha.h"

#include "tests/unit.h"

#include <sodium.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX = 65535, AD = 64 };

static const char *const levels[] = { "avx2", "neon" };
static const char *const methods[CHACHAS] = {
	"chacha20-ietf-poly1305", "xchacha20-ietf-poly1305", "chacha8-ietf-poly1305",
	"chacha12-ietf-poly1305", "xchacha8-ietf-poly1305",  "xchacha12-ietf-poly1305",
};

enum { LEVELS = sizeof levels / sizeof levels[0] };

static const struct aead *reference(const char *method)
{
	const struct aead *aead = aead_find_implementation(method, "libsodium");

	return aead ? aead : aead_find_implementation(method, "own");
}

/* Run `test` on every method in every level that the CPU has. */
static void each(void (*test)(const struct aead *aead, const struct aead *right))
{
	unsigned tested = 0;

	for (unsigned l = 0; l < LEVELS; l++)
		for (unsigned m = 0; m < CHACHAS; m++) {
			const struct aead *aead = aead_find_implementation(methods[m], levels[l]);

			if (!aead)
				continue;
			assert_string_equal(aead->name, methods[m]);
			test(aead, reference(methods[m]));
			tested++;
		}
	if (tested == 0) {
		print_message("skipped: this CPU has none of our levels\n");
		skip();
	}
}

/* The first level that the CPU has is what a method's name alone means. */
static void says_levels(void **state)
{
	const char *best = NULL;

	(void)state;
	for (unsigned l = 0; l < LEVELS; l++) {
		bool has = aead_find_implementation(methods[0], levels[l]);

		print_message("%s: %s\n", levels[l], has ? "tested" : "LACKING on this CPU");
		if (has && !best)
			best = levels[l];
	}
	for (unsigned m = 0; m < CHACHAS; m++) {
		const char *otherwise = reference(methods[m])->implementation;

		assert_string_equal(aead_find(methods[m])->implementation, best ? best : otherwise);
	}
}

struct sample {
	struct aead_context context, right_context;
	unsigned char key[AEAD_KEY_MAX], nonce[AEAD_NONCE_MAX], ad[AD];
	unsigned char tag[AEAD_TAG], right_tag[AEAD_TAG];
};

static void draw(struct sample *s, const struct aead *aead, const struct aead *right)
{
	randombytes_buf(s->key, sizeof s->key);
	randombytes_buf(s->nonce, sizeof s->nonce);
	randombytes_buf(s->ad, sizeof s->ad);
	aead->expand(&s->context, s->key);
	right->expand(&s->right_context, s->key);
}

/* Seal and open n bytes at text, whatever is there, as `right` does. */
static void same(const struct aead *aead, const struct aead *right, unsigned char *text, size_t n,
		 size_t ad_len)
{
	static unsigned char plain[MAX + 1], sealed[MAX + 1];
	struct sample s;

	draw(&s, aead, right);
	randombytes_buf(plain, n);
	memcpy(sealed, plain, n);
	memcpy(text, plain, n);
	right->seal(&s.right_context, s.nonce, s.ad, ad_len, sealed, n, s.right_tag);
	aead->seal(&s.context, s.nonce, s.ad, ad_len, text, n, s.tag);
	assert_memory_equal(text, sealed, n);
	assert_memory_equal(s.tag, s.right_tag, AEAD_TAG);
	assert_int_equal(aead->open(&s.context, s.nonce, s.ad, ad_len, text, n, s.tag), 0);
	assert_memory_equal(text, plain, n);
}

static void lengths_of(const struct aead *aead, const struct aead *right)
{
	static unsigned char text[MAX + 16];

	for (size_t n = 0; n <= 1100; n++)
		same(aead, right, text + n % 16, n, n * 7 % (AD + 1));
	for (size_t n = 1100; n < MAX; n += 1021 + n % 64)
		same(aead, right, text + n % 16, n, n % (AD + 1));
	same(aead, right, text + 1, 16383, 0);
	same(aead, right, text + 3, MAX, 5);
}

static void lengths(void **state)
{
	(void)state;
	each(lengths_of);
}

/* Numbers at the edges of the field: limbs full of ones, sums at the modulus. Such texts come
 * from a key of the reference, whose stream they undo. */
static void edges_of(const struct aead *aead, const struct aead *right)
{
	static const unsigned char fills[] = { 0xff, 0x00, 0xfb, 0x80, 0x7f };
	static unsigned char text[1024];
	unsigned char tag[AEAD_TAG], right_tag[AEAD_TAG];

	for (unsigned i = 0; i < 500; i++) {
		size_t n = sizeof text - i;
		struct sample s;

		draw(&s, aead, right);
		memset(text, 0, n);
		right->seal(&s.right_context, s.nonce, NULL, 0, text, n, tag);
		for (size_t j = 0; j < n; j++) /* what seals to bytes of one value */
			text[j] ^= fills[i % sizeof fills];
		right->seal(&s.right_context, s.nonce, NULL, 0, text, n, right_tag);
		assert_int_equal(text[n / 2], fills[i % sizeof fills]);
		assert_int_equal(aead->open(&s.context, s.nonce, NULL, 0, text, n, right_tag), 0);
		aead->seal(&s.context, s.nonce, NULL, 0, text, n, tag);
		assert_memory_equal(tag, right_tag, AEAD_TAG);
	}
}

static void edges(void **state)
{
	(void)state;
	each(edges_of);
}

/* A bit turned in the text (about each length's end, too), the tag, the nonce or the added data. */
static void forged_of(const struct aead *aead, const struct aead *right)
{
	static const size_t sizes[] = { 1, 64, 255, 256, 448, 449, 700, 1400 };
	static unsigned char sealed[1400], text[1400];

	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t n = sizes[i];
		struct sample s;

		draw(&s, aead, right);
		randombytes_buf(sealed, n);
		right->seal(&s.right_context, s.nonce, s.ad, AD, sealed, n, s.tag);
		for (size_t bit = 0; bit < (n + AEAD_TAG + AD + aead->nonce) * 8; bit++) {
			size_t byte = bit / 8;
			unsigned char *at = byte < n		      ? text + byte
					    : (byte -= n) < AEAD_TAG  ? s.tag + byte
					    : (byte -= AEAD_TAG) < AD ? s.ad + byte
								      : s.nonce + byte - AD;

			memcpy(text, sealed, n);
			*at ^= (unsigned char)(1 << bit % 8);
			assert_int_equal(aead->open(&s.context, s.nonce, s.ad, AD, text, n, s.tag),
					 -1);
			*at ^= (unsigned char)(1 << bit % 8);
		}
		memcpy(text, sealed, n);
		assert_int_equal(aead->open(&s.context, s.nonce, s.ad, AD, text, n, s.tag), 0);
	}
}

static void forged(void **state)
{
	(void)state;
	each(forged_of);
}

/* Pages that may be used between two that may not. */
static unsigned char *fence(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *all =
		mmap(NULL, n + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(all, MAP_FAILED);
	assert_int_equal(mprotect(all + page, n, PROT_READ | PROT_WRITE), 0);
	return all + page;
}

enum { FENCED = 65536 }; /* a whole number of anybody's pages */

static unsigned char *text_pages, *other_pages;

/* Text, then added data, nonce and tag, each against the fence before and the fence behind. */
static void fenced_of(const struct aead *aead, const struct aead *right)
{
	for (size_t n = 0; n <= 1100; n++) {
		same(aead, right, text_pages, n, n % AD);
		same(aead, right, text_pages + FENCED - n, n, n % AD);
	}
	same(aead, right, text_pages + FENCED - 16383, 16383, 0);
	same(aead, right, text_pages + FENCED - MAX, MAX, 0);

	for (size_t n = 0; n <= 100; n++) {
		unsigned char *end = other_pages + FENCED, *ad = n % 2 ? other_pages : end - n;
		unsigned char *nonce = other_pages, *tag = end - AEAD_TAG;
		struct sample s;

		draw(&s, aead, right);
		memset(other_pages, (int)n, 128);
		memset(end - 128, (int)n, 128);
		aead->seal(&s.context, end - aead->nonce, ad, n, text_pages, 600, s.tag);
		assert_int_equal(aead->open(&s.context, end - aead->nonce, ad, n, text_pages, 600,
					    s.tag),
				 0);
		aead->seal(&s.context, nonce, NULL, 0, text_pages, 600, tag);
		assert_int_equal(aead->open(&s.context, nonce, NULL, 0, text_pages, 600, tag), 0);
	}
}

static void fenced(void **state)
{
	(void)state;
	text_pages = fence(FENCED);
	other_pages = fence(FENCED);
	each(fenced_of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_levels), cmocka_unit_test(lengths), cmocka_unit_test(edges),
		cmocka_unit_test(forged),      cmocka_unit_test(fenced),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
