/*
 * A peer that knows the key, driven by an input: scripts of chunks, true and odd ones, of damage and
 * of cuts. What is opened is always the beginning of what was sealed, all of it if nothing was damaged.
 * Random bytes would die at the first tag and reach nothing.
 */
#ifndef TESTS_FUZZ_SCRIPT_H
#define TESTS_FUZZ_SCRIPT_H

#include "net/wire.h"

#include "core/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SCRIPT_SIZE = 40000 };

struct script {
	const uint8_t *at;
	size_t left;
	unsigned char wire[SCRIPT_SIZE], plain[SCRIPT_SIZE], got[SCRIPT_SIZE];
	size_t wire_n, plain_n, got_n;
	bool damaged;
	const struct wire_key *opens; /* with which it is opened */
	struct wire_key key;	      /* with which it is sealed */
	struct wire_state seal, open;
};

/* Not all of it is cleared: that would take longer than the rest. */
static inline void script_start(struct script *s, const uint8_t *data, size_t size)
{
	s->at = data;
	s->left = size;
	s->wire_n = s->plain_n = s->got_n = 0;
	s->damaged = false;
	s->opens = &s->key;
	memset(&s->seal, 0, sizeof s->seal);
	memset(&s->open, 0, sizeof s->open);
}

static inline uint8_t script_next(struct script *s)
{
	return s->left > 0 ? (s->left--, *s->at++) : 0;
}

static inline size_t script_copy(struct script *s, unsigned char *to, size_t n)
{
	if (n > s->left)
		n = s->left;
	memcpy(to, s->at, n);
	s->at += n;
	s->left -= n;
	return n;
}

/* These bytes must come out, if nothing was damaged before. */
static inline void script_expect(struct script *s, const unsigned char *bytes, size_t n)
{
	if (s->damaged)
		return;
	memcpy(s->plain + s->plain_n, bytes, n);
	s->plain_n += n;
}

/* Seal the n bytes that lie at the end of the wire. */
static inline void script_box(struct script *s, size_t n)
{
	static struct aead_context context;
	unsigned char nonce[AEAD_NONCE_MAX] = { 0 }, *text = s->wire + s->wire_n;

	s->key.aead->expand(&context, s->seal.subkey);
	put_u64le(nonce, s->seal.nonce++);
	s->key.aead->seal(&context, nonce, NULL, 0, text, n, text + n);
	s->wire_n += n + AEAD_TAG;
}

/* A chunk of up to 255 bytes; an odd one has any length field before its payload. */
static inline void script_chunk(struct script *s, bool odd)
{
	unsigned char *start = s->wire + s->wire_n;
	size_t n = script_copy(s, start + 18, script_next(s));

	put_u16be(start, (uint16_t)n);
	if (odd)
		put_u16be(start, (uint16_t)(script_next(s) << 8 | script_next(s)));
	if (get_u16be(start) != n)
		s->damaged = true;
	script_expect(s, start + 18, n);
	script_box(s, 2);
	script_box(s, n);
}

/* Open the first n bytes of the wire. False: refused. */
static inline bool script_feed(struct script *s, size_t n)
{
	struct iovec iov[WIRE_IOV];
	struct wire_opened opened;

	do {
		unsigned char *exact = malloc(n);

		memcpy(exact, s->wire, n);
		if (wire_open(s->opens, &s->open, exact, n, iov, &opened) < 0) {
			free(exact);
			return false;
		}
		for (int i = 0; i < opened.iovs; i++) {
			assert(s->got_n + iov[i].iov_len <= s->plain_n);
			memcpy(s->got + s->got_n, iov[i].iov_base, iov[i].iov_len);
			s->got_n += iov[i].iov_len;
		}
		assert(opened.used <= n && (opened.used > 0 || n < opened.need));
		s->wire_n -= opened.used;
		n -= opened.used;
		memmove(s->wire, s->wire + opened.used, s->wire_n);
		free(exact);
	} while (n >= opened.need);
	return true;
}

static inline bool script_step(struct script *s)
{
	uint8_t what = script_next(s);

	switch (what % 8) {
	default:
		script_chunk(s, false);
		return true;
	case 5:
		script_chunk(s, true);
		return true;
	case 6:					    /* damage */
		if (s->wire_n > 0 && !s->damaged) { /* a second one could mend the first */
			s->wire[(size_t)(what << 8 | script_next(s)) % s->wire_n] ^= 1;
			s->damaged = true;
		}
		return true;
	case 7: /* a cut */
		return s->wire_n == 0 ||
		       script_feed(s, 1 + (size_t)(what << 8 | script_next(s)) % s->wire_n);
	}
}

/* The rest of the input, to its end. */
static inline void script_run(struct script *s)
{
	bool good = true;

	while (good && s->left > 0 && s->wire_n < SCRIPT_SIZE - 1000 &&
	       s->plain_n < SCRIPT_SIZE - 1000)
		good = script_step(s);
	if (good && s->wire_n > 0)
		good = script_feed(s, s->wire_n);
	assert(memcmp(s->got, s->plain, s->got_n) == 0);
	if (!s->damaged)
		assert(good && s->wire_n == 0 && s->got_n == s->plain_n);
}

#endif
