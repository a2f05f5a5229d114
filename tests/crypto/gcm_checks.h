/*
 * What any AES-GCM of ours must do: seal as the portable form and libsodium do, at every length and
 * address, between pages that must not be touched, and refuse what was changed. Used by gcm.c for
 * what runs on this CPU, and by vaes512_x86.c.
 */
#ifndef TESTS_CRYPTO_GCM_CHECKS_H
#define TESTS_CRYPTO_GCM_CHECKS_H

#include "tests/unit.h"

#include "crypto/aead.h"
#include "tests/sodium.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MAX = 65535, AD_MAX = 700, FIRST_FEW = 1100 };

static unsigned char plain[MAX], one[MAX], two[MAX], extra[AD_MAX];

/* Two implementations seal alike, and open what the other sealed. */
static void same(const struct aead *a, const struct aead *b, size_t ad_len, size_t n)
{
	struct aead_context a_context, b_context;
	unsigned char key[AEAD_KEY_MAX], nonce[12], a_tag[AEAD_TAG], b_tag[AEAD_TAG];

	randombytes_buf(key, sizeof key);
	randombytes_buf(nonce, sizeof nonce);
	randombytes_buf(plain, n);
	randombytes_buf(extra, ad_len);
	memset(&a_context, 0xa5, sizeof a_context);
	a->expand(&a_context, key);
	b->expand(&b_context, key);
	memcpy(one, plain, n);
	memcpy(two, plain, n);

	a->seal(&a_context, nonce, extra, ad_len, one, n, a_tag);
	b->seal(&b_context, nonce, extra, ad_len, two, n, b_tag);
	assert_memory_equal(one, two, n);
	assert_memory_equal(a_tag, b_tag, AEAD_TAG);

	assert_int_equal(a->open(&a_context, nonce, extra, ad_len, one, n, b_tag), 0);
	assert_int_equal(b->open(&b_context, nonce, extra, ad_len, two, n, a_tag), 0);
	assert_memory_equal(one, plain, n);
	assert_memory_equal(two, plain, n);
}

static void compare(const struct aead *aead, const struct aead *other)
{
	static const size_t large[] = {
		4095, 4096, 4097, 16383, 16384, 16385, 65520, 65534, 65535
	};

	for (size_t n = 0; n <= FIRST_FEW; n++)
		same(aead, other, n % 3 ? n % 70 : 0, n);
	for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
		same(aead, other, 0, large[i]);
	for (size_t ad_len = 0; ad_len <= AD_MAX; ad_len++)
		same(aead, other, ad_len, ad_len % 40);
}

static void check_portable(const struct aead *aead)
{
	compare(aead, aead_find_implementation(aead->name, "mbedtls"));
}

static void check_libsodium(const struct aead *aead)
{
	const struct aead *other = sodium_find(aead->name);

	if (other)
		compare(aead, other);
}

/* Whatever the address, what stands before and behind stays as it is. */
static void check_addresses(const struct aead *aead)
{
	enum { N = 700, AROUND = 64 };
	const struct aead *other = aead_find_implementation(aead->name, "mbedtls");
	unsigned char key[AEAD_KEY_MAX], nonce[12 + 7], tag[AEAD_TAG + 7], right[AEAD_TAG];
	unsigned char around[AROUND + N + AROUND], expected[sizeof around];
	struct aead_context context;

	randombytes_buf(key, sizeof key);
	for (size_t at = 0; at < AROUND; at++) {
		unsigned char *odd = nonce + at % 8;
		size_t n = N - 3 * at;

		randombytes_buf(nonce, sizeof nonce);
		randombytes_buf(around, sizeof around);
		memcpy(expected, around, sizeof around);
		other->expand(&context, key);
		other->seal(&context, odd, extra, at, expected + at, n, right);
		aead->expand(&context, key);
		aead->seal(&context, odd, extra, at, around + at, n, tag + at % 8);
		assert_memory_equal(around, expected, sizeof around);
		assert_memory_equal(tag + at % 8, right, AEAD_TAG);

		other->expand(&context, key);
		assert_int_equal(other->open(&context, odd, extra, at, expected + at, n, right), 0);
		aead->expand(&context, key);
		assert_int_equal(aead->open(&context, odd, extra, at, around + at, n, tag + at % 8),
				 0);
		assert_memory_equal(around, expected, sizeof around);
	}
}

/* So many pages, and around them two that may not be touched. */
struct fenced {
	unsigned char *all, *begin, *end;
	size_t page;
};

static struct fenced fence(size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct fenced f = { .page = page };

	f.all = mmap(NULL, (pages + 2) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(f.all != MAP_FAILED);
	f.begin = f.all + page;
	f.end = f.begin + pages * page;
	assert_int_equal(mprotect(f.begin, pages * page, PROT_READ | PROT_WRITE), 0);
	return f;
}

static void unfence(const struct fenced *f)
{
	munmap(f->all, (size_t)(f->end - f->begin) + 2 * f->page);
}

/* Everything ends, or begins, where the page does. */
static void check_fenced(const struct aead *aead)
{
	struct fenced text = fence(1), small = fence(1), more = fence(1), keys = fence(1);
	unsigned char *key = keys.end - aead->key;
	struct aead_context context;

	randombytes_buf(key, aead->key);
	randombytes_buf(text.begin, text.page);
	aead->expand(&context, key);
	for (size_t n = 0; n <= FIRST_FEW; n++) {
		size_t ad_len = n % 67;

		for (int ends = 0; ends < 2; ends++) {
			unsigned char *t = ends ? text.end - n : text.begin;
			unsigned char *a = ends ? more.end - ad_len : more.begin;
			unsigned char *tag = ends ? small.end - AEAD_TAG : small.begin;
			unsigned char *nonce = ends ? keys.end - 12 : keys.begin;

			aead->seal(&context, nonce, a, ad_len, t, n, tag);
			assert_int_equal(aead->open(&context, nonce, a, ad_len, t, n, tag), 0);
			tag[n % AEAD_TAG] ^= 1;
			assert_int_equal(aead->open(&context, nonce, a, ad_len, t, n, tag), -1);
		}
	}
	unfence(&text), unfence(&small), unfence(&more), unfence(&keys);
}

/* A bit turned in a text of several batches and a rest, its ad or its tag, and a text cut short. */
static void check_forged(const struct aead *aead)
{
	enum { N = 1000, AD = 33, ALL = N + AD + AEAD_TAG };
	unsigned char key[AEAD_KEY_MAX], nonce[12], sealed[ALL], copy[ALL];
	unsigned char *a = copy + N, *tag = copy + N + AD;
	struct aead_context context;

	randombytes_buf(key, sizeof key);
	randombytes_buf(nonce, sizeof nonce);
	randombytes_buf(sealed, sizeof sealed);
	aead->expand(&context, key);
	aead->seal(&context, nonce, sealed + N, AD, sealed, N, sealed + N + AD);
	for (size_t bit = 0; bit < ALL * 8; bit += bit < 8 * N ? 5 : 1) {
		memcpy(copy, sealed, ALL);
		copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
		assert_int_equal(aead->open(&context, nonce, a, AD, copy, N, tag), -1);
	}
	for (size_t n = 0; n < N; n++) {
		memcpy(copy, sealed, ALL);
		assert_int_equal(aead->open(&context, nonce, a, AD, copy, n, tag), -1);
	}
	memcpy(copy, sealed, ALL);
	assert_int_equal(aead->open(&context, nonce, a, AD - 1, copy, N, tag), -1);
	memcpy(copy, sealed, ALL);
	assert_int_equal(aead->open(&context, nonce, a, AD, copy, N, tag), 0);
}

#endif
