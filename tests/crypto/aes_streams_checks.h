/*
 * What any AES of ours for the stream ciphers must do: the same as the library's, at every length
 * and however a text is cut, where counters carry, between pages that must not be touched. Used by
 * aes_streams.c for what runs on this CPU, and by vaes512_x86.c.
 */
#ifndef TESTS_CRYPTO_AES_STREAMS_CHECKS_H
#define TESTS_CRYPTO_AES_STREAMS_CHECKS_H

#include "tests/unit.h"

#include "crypto/aes_streams.h"

#include <sodium.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STREAM_FEW = 1100, STREAM_LARGE = 16384 };

/* A method under one key, in the implementation to be tested and in the library's. */
struct pair {
	const struct stream *stream, *right;
	_Alignas(16) unsigned char schedule[STREAM_SCHEDULE_MAX],
		right_schedule[STREAM_SCHEDULE_MAX];
};

/* The last page of text ends where the next may not be touched, and so does the first begin. */
struct strict {
	unsigned char *all, *text;
	size_t room, page;
};

static inline struct strict strict_open(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct strict s = { .page = page, .room = (STREAM_LARGE + page) / page * page };

	s.all = mmap(NULL, s.room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(s.all != MAP_FAILED);
	s.text = s.all + page;
	assert_int_equal(mprotect(s.text, s.room, PROT_READ | PROT_WRITE), 0);
	return s;
}

static inline void strict_close(struct strict *s)
{
	munmap(s->all, s->room + 2 * s->page);
}

static inline void pair_key(struct pair *pair)
{
	unsigned char key[STREAM_KEY_MAX];

	randombytes_buf(key, sizeof key);
	assert_true(stream_schedule(pair->stream) <= sizeof pair->schedule);
	stream_expand(pair->stream, pair->schedule, key);
	stream_expand(pair->right, pair->right_schedule, key);
}

/* Seal and open n bytes, in two pieces, as the library does in one. */
static inline void pair_text(struct pair *pair, const unsigned char *iv, unsigned char *text,
			     size_t n, size_t cut)
{
	static unsigned char clear[STREAM_LARGE], sealed[STREAM_LARGE];
	struct stream_state state, right;

	assert_true(n <= STREAM_LARGE);
	randombytes_buf(clear, n);
	memcpy(sealed, clear, n);
	memcpy(text, clear, n);
	stream_begin(pair->right, pair->right_schedule, &right, iv);
	stream_encrypt(pair->right, pair->right_schedule, &right, sealed, n);

	stream_begin(pair->stream, pair->schedule, &state, iv);
	stream_encrypt(pair->stream, pair->schedule, &state, text, cut);
	stream_encrypt(pair->stream, pair->schedule, &state, text + cut, n - cut);
	assert_memory_equal(text, sealed, n);
	assert_memory_equal(state.block, right.block, 16);

	stream_begin(pair->stream, pair->schedule, &state, iv);
	stream_decrypt(pair->stream, pair->schedule, &state, text, cut);
	stream_decrypt(pair->stream, pair->schedule, &state, text + cut, n - cut);
	assert_memory_equal(text, clear, n);
	assert_memory_equal(state.block, right.block, 16);
}

/* The modes that take a whole encryption for a byte or a bit know single blocks only. */
static inline bool pair_slow(const struct pair *pair)
{
	return pair->stream->kind == &stream_cfb1 || pair->stream->kind == &stream_cfb8;
}

static inline void check_lengths(struct pair *pair)
{
	struct strict strict = strict_open();
	unsigned char iv[16];

	for (size_t n = 0; n <= (pair_slow(pair) ? 40 : STREAM_FEW); n++) {
		pair_key(pair);
		randombytes_buf(iv, sizeof iv);
		pair_text(pair, iv, strict.text, n, 0);
		pair_text(pair, iv, strict.text + strict.room - n, n, n / 3);
	}
	if (!pair_slow(pair))
		for (size_t n = STREAM_LARGE - 40; n <= STREAM_LARGE; n++)
			pair_text(pair, iv, strict.text + strict.room - n, n, n - 5000);
	strict_close(&strict);
}

/* Each of the 200 blocks is once the first whose counter carries: out of 32 bits, of 64, of all. */
static inline void check_carries(struct pair *pair)
{
	enum { BLOCKS = 200 };
	struct strict strict = strict_open();

	pair_key(pair);
	for (unsigned wide = 4; wide <= 16; wide += wide == 4 ? 4 : 8) {
		for (unsigned before = 1; before <= BLOCKS; before++) {
			unsigned char iv[16] = { 0x5a, 0x5a };

			memset(iv + 16 - wide, 0xff, wide);
			iv[15] = (unsigned char)(256 - before);
			pair_text(pair, iv, strict.text, BLOCKS * 16, 0);
			pair_text(pair, iv, strict.text, BLOCKS * 16, 777);
		}
	}
	strict_close(&strict);
}

/* All methods of an implementation. */
static inline void check_streams(const struct stream *streams)
{
	static struct pair pair;

	for (unsigned i = 0; i < AES_STREAMS; i++) {
		pair.stream = &streams[i];
		pair.right = &aes_streams_mbedtls[i];
		assert_string_equal(pair.stream->name, pair.right->name);
		check_lengths(&pair);
		if (pair.stream->kind == &stream_ctr)
			check_carries(&pair);
	}
}

#endif
