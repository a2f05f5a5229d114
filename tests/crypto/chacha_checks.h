/*
 * What any ChaCha20, Salsa20 and ChaCha-Poly1305 of ours must do: the same as libsodium's and, with
 * fewer rounds than libsodium has, as RFC 8439 says it; at every length and address, between pages
 * that must not be touched. Used by chacha.c for what runs on this CPU, and by chacha_plain.c and
 * chacha_plain_32.c for what is compiled where there are no vectors. Wycheproof's vectors are here
 * for the latter; for the former they are in aead.c.
 */
#ifndef TESTS_CRYPTO_CHACHA_CHECKS_H
#define TESTS_CRYPTO_CHACHA_CHECKS_H

#include "crypto/chacha.h"

#include "core/bytes.h"
#include "crypto/stream_words.h"
#include "tests/emulator.h"
#include "tests/sodium.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MAX = 65535, AD = 64 };

static const char *const chacha_names[CHACHAS] = {
	"chacha20-ietf-poly1305", "xchacha20-ietf-poly1305", "chacha8-ietf-poly1305",
	"chacha12-ietf-poly1305", "xchacha8-ietf-poly1305",  "xchacha12-ietf-poly1305",
};

/* RFC 8439 word by word, slowly. */

static void right_quarter(uint32_t x[16], int a, int b, int c, int d)
{
	const int turns[4][4] = {
		{ a, b, d, 16 }, { c, d, b, 12 }, { a, b, d, 8 }, { c, d, b, 7 }
	};

	for (int i = 0; i < 4; i++) {
		uint32_t *at = x + turns[i][2];

		x[turns[i][0]] += x[turns[i][1]];
		*at ^= x[turns[i][0]];
		*at = *at << turns[i][3] | *at >> (32 - turns[i][3]);
	}
}

/* The state after its rounds, with what it was before added unless for HChaCha. */
static void right_state(uint32_t x[16], const unsigned char *key, const unsigned char last[16],
			unsigned rounds, bool adds)
{
	const unsigned char first[17] = "expand 32-byte k";
	uint32_t start[16];

	for (int i = 0; i < 4; i++) {
		start[i] = get_u32le(first + 4 * i);
		start[4 + i] = get_u32le(key + 4 * i);
		start[8 + i] = get_u32le(key + 16 + 4 * i);
		start[12 + i] = get_u32le(last + 4 * i);
	}
	memcpy(x, start, sizeof start);
	for (unsigned i = 0; i < rounds / 2; i++) {
		for (int j = 0; j < 4; j++)
			right_quarter(x, j, 4 + j, 8 + j, 12 + j);
		for (int j = 0; j < 4; j++)
			right_quarter(x, j, 4 + (j + 1) % 4, 8 + (j + 2) % 4, 12 + (j + 3) % 4);
	}
	for (int i = 0; i < 16 && adds; i++)
		x[i] += start[i];
}

static void right_stream(const unsigned char *key, const unsigned char *nonce, uint32_t block,
			 unsigned rounds, unsigned char *text, size_t n)
{
	unsigned char last[16], bytes[64];
	uint32_t x[16];

	memcpy(last + 4, nonce, 12);
	for (size_t i = 0; i < n; i++) {
		if (i % 64 == 0) {
			put_u32le(last, block++);
			right_state(x, key, last, rounds, true);
			for (int j = 0; j < 16; j++)
				put_u32le(bytes + 4 * j, x[j]);
		}
		text[i] ^= bytes[i % 64];
	}
}

static void right_padded(crypto_onetimeauth_poly1305_state *poly, const unsigned char *bytes,
			 size_t n)
{
	const unsigned char none[16] = { 0 };

	crypto_onetimeauth_poly1305_update(poly, bytes, n);
	crypto_onetimeauth_poly1305_update(poly, none, (16 - n % 16) % 16);
}

static void right_short(const unsigned char *key, const unsigned char *nonce, unsigned rounds,
			const unsigned char *ad, size_t ad_len, unsigned char *text, size_t n,
			unsigned char *tag)
{
	unsigned char poly_key[32] = { 0 }, lengths[16];
	crypto_onetimeauth_poly1305_state poly;

	right_stream(key, nonce, 1, rounds, text, n);
	right_stream(key, nonce, 0, rounds, poly_key, sizeof poly_key);
	crypto_onetimeauth_poly1305_init(&poly, poly_key);
	right_padded(&poly, ad, ad_len);
	right_padded(&poly, text, n);
	put_u64le(lengths, ad_len);
	put_u64le(lengths + 8, n);
	crypto_onetimeauth_poly1305_update(&poly, lengths, sizeof lengths);
	crypto_onetimeauth_poly1305_final(&poly, tag);
}

/* What `aead`'s method seals to. */
static void right_seal(const struct aead *aead, const unsigned char *key,
		       const unsigned char *nonce, const unsigned char *ad, size_t ad_len,
		       unsigned char *text, size_t n, unsigned char *tag)
{
	const struct aead *sodium = sodium_find(aead->name);
	unsigned rounds = strstr(aead->name, "chacha8-") ? 8 : 12;
	unsigned char subkey[32], short_nonce[12] = { 0 };
	struct aead_context context;
	uint32_t x[16];

	if (sodium) {
		sodium->expand(&context, key);
		sodium->seal(&context, nonce, ad, ad_len, text, n, tag);
		return;
	}
	if (aead->nonce == 12) {
		right_short(key, nonce, rounds, ad, ad_len, text, n, tag);
		return;
	}
	right_state(x, key, nonce, rounds, false);
	for (int i = 0; i < 4; i++) {
		put_u32le(subkey + 4 * i, x[i]);
		put_u32le(subkey + 16 + 4 * i, x[12 + i]);
	}
	memcpy(short_nonce + 4, nonce + 16, 8);
	right_short(subkey, short_nonce, rounds, ad, ad_len, text, n, tag);
}

/* What is tested: levels as chacha_levels has them. */
static const struct aead *const *under_test;

/* Run `test` on every method in every level that the CPU has. */
static void each(void (*test)(const struct aead *aead))
{
	unsigned tested = 0;

	for (const struct aead *const *level = under_test; *level; level++)
		for (unsigned m = 0; m < CHACHAS; m++) {
			const struct aead *aead = *level + m;

			assert_string_equal(aead->name, chacha_names[m]);
			if (aead->available && !aead->available())
				continue;
			test(aead);
			tested++;
		}
	assert_true(tested >= CHACHAS);
}

struct sample {
	struct aead_context context;
	unsigned char key[AEAD_KEY_MAX], nonce[AEAD_NONCE_MAX], ad[AD];
	unsigned char tag[AEAD_TAG], right_tag[AEAD_TAG];
};

static void draw(struct sample *s, const struct aead *aead)
{
	randombytes_buf(s->key, sizeof s->key);
	randombytes_buf(s->nonce, sizeof s->nonce);
	randombytes_buf(s->ad, sizeof s->ad);
	aead->expand(&s->context, s->key);
}

/* Seal and open n bytes at text, whatever is there, as is right. */
static void same(const struct aead *aead, unsigned char *text, size_t n, size_t ad_len)
{
	static unsigned char plain[MAX + 1], sealed[MAX + 1];
	struct sample s;

	draw(&s, aead);
	randombytes_buf(plain, n);
	memcpy(sealed, plain, n);
	memcpy(text, plain, n);
	right_seal(aead, s.key, s.nonce, s.ad, ad_len, sealed, n, s.right_tag);
	aead->seal(&s.context, s.nonce, s.ad, ad_len, text, n, s.tag);
	assert_memory_equal(text, sealed, n);
	assert_memory_equal(s.tag, s.right_tag, AEAD_TAG);
	assert_int_equal(aead->open(&s.context, s.nonce, s.ad, ad_len, text, n, s.tag), 0);
	assert_memory_equal(text, plain, n);
}

static void lengths_of(const struct aead *aead)
{
	static unsigned char text[MAX + 16];

	for (size_t n = 0; n <= 1100; n += every(7))
		same(aead, text + n % 16, n, n * 7 % (AD + 1));
	for (size_t n = 1100; n < MAX; n += every(5) * (1021 + n % 64))
		same(aead, text + n % 16, n, n % (AD + 1));
	same(aead, text + 1, 16383, 0);
	same(aead, text + 3, MAX, 5);
}

static void lengths(void **state)
{
	(void)state;
	each(lengths_of);
}

/* Numbers at the edges of the field: limbs full of ones, sums at the modulus. Such texts come
 * from a key of the reference, whose stream they undo. */
static void edges_of(const struct aead *aead)
{
	static const unsigned char fills[] = { 0xff, 0x00, 0xfb, 0x80, 0x7f };
	static unsigned char text[1024];
	unsigned char tag[AEAD_TAG], right_tag[AEAD_TAG];

	for (unsigned i = 0; i < 500; i += every(7)) {
		size_t n = sizeof text - i;
		struct sample s;

		draw(&s, aead);
		memset(text, 0, n);
		right_seal(aead, s.key, s.nonce, NULL, 0, text, n, tag);
		for (size_t j = 0; j < n; j++) /* what seals to bytes of one value */
			text[j] ^= fills[i % sizeof fills];
		right_seal(aead, s.key, s.nonce, NULL, 0, text, n, right_tag);
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
static void forged_of(const struct aead *aead)
{
	static const size_t sizes[] = { 1, 64, 255, 256, 448, 449, 700, 1400 };
	static unsigned char sealed[1400], text[1400];

	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t n = sizes[i];
		struct sample s;

		draw(&s, aead);
		randombytes_buf(sealed, n);
		right_seal(aead, s.key, s.nonce, s.ad, AD, sealed, n, s.tag);
		for (size_t bit = 0; bit < (n + AEAD_TAG + AD + aead->nonce) * 8;
		     bit += every(31)) {
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
static void fenced_of(const struct aead *aead)
{
	for (size_t n = 0; n <= 1100; n += every(7)) {
		same(aead, text_pages, n, n % AD);
		same(aead, text_pages + FENCED - n, n, n % AD);
	}
	same(aead, text_pages + FENCED - 16383, 16383, 0);
	same(aead, text_pages + FENCED - MAX, MAX, 0);

	for (size_t n = 0; n <= 100; n++) {
		unsigned char *end = other_pages + FENCED, *ad = n % 2 ? other_pages : end - n;
		unsigned char *nonce = other_pages, *tag = end - AEAD_TAG;
		struct sample s;

		draw(&s, aead);
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

/* The streams at every length, from every place, against libsodium's. */

enum { TEXT = 1100, PLACES = 130 };

typedef void turn_by(const unsigned char *key, const unsigned char *nonce, uint64_t block,
		     size_t skip, unsigned char *text, size_t n);
typedef int right_by(unsigned char *to, const unsigned char *from, unsigned long long n,
		     const unsigned char *nonce, uint64_t block, const unsigned char *key);

/* n bytes at text, from so far within a stream on. */
static void streams_same(turn_by *turns, right_by *right, uint64_t block, size_t place,
			 unsigned char *text, size_t n)
{
	static unsigned char expected[PLACES + MAX + 1];
	unsigned char key[32], nonce[8];

	randombytes_buf(key, sizeof key);
	randombytes_buf(nonce, sizeof nonce);
	randombytes_buf(text, n);
	memset(expected, 0, place);
	memcpy(expected + place, text, n);
	right(expected, expected, place + n, nonce, block, key);
	turns(key, nonce, block + place / 64, place % 64, text, n);
	assert_memory_equal(text, expected + place, n);
}

static void streams_of(turn_by *turns, right_by *right)
{
	static unsigned char text[MAX + 16];
	unsigned char *page = fence(FENCED);

	for (size_t n = 0; n <= TEXT; n += every(7)) {
		streams_same(turns, right, n % 5, n * 3 % PLACES, text + n % 16, n);
		streams_same(turns, right, 0, n % PLACES, page, n);
		streams_same(turns, right, 7, 0, page + FENCED - n, n);
	}
	for (size_t place = 0; place < PLACES; place++)
		streams_same(turns, right, 1, place, text, 700);
	for (unsigned before = 0; before < 20; before++) { /* the counter carries */
		streams_same(turns, right, UINT64_C(0x7ffffffff) - before, before, text, 1500);
		streams_same(turns, right, UINT64_C(0x7ffffffff) - before, before, text, 100);
	}
	streams_same(turns, right, UINT64_C(1) << 62, 1, text + 1, MAX);
	munmap(page, FENCED);
}

static void streams(void **state)
{
	(void)state;
	streams_of(chacha20_xor, crypto_stream_chacha20_xor_ic);
	streams_of(salsa20_xor, crypto_stream_salsa20_xor_ic);
}

typedef void derives(const unsigned char *key, const unsigned char nonce[16], unsigned char to[32]);

static void keys_of(derives *by)
{
	unsigned char key[32], nonce[16], to[32], right[32];

	for (unsigned i = 0; i < 100; i++) {
		randombytes_buf(key, sizeof key);
		randombytes_buf(nonce, sizeof nonce);
		by(key, nonce, to);
		crypto_core_hchacha20(right, nonce, key, NULL);
		assert_memory_equal(to, right, sizeof to);
	}
}

static void keys(void **state)
{
	(void)state;
	keys_of(hchacha20);
}

#define CHACHA_CHECKS                                                                 \
	cmocka_unit_test(lengths), cmocka_unit_test(edges), cmocka_unit_test(forged), \
		cmocka_unit_test(fenced), cmocka_unit_test(streams), cmocka_unit_test(keys)

#endif
