/* A peer that knows the key: the input is a script of chunks, true and odd ones, of damage and of
 * cuts. What is opened is always the beginning of what was sealed, all of it if nothing was
 * damaged; it is then read as an address header, so that the parser behind the cipher is reached. */
#include "net/wire.h"

#include "core/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE = 40000 };

struct script {
	const uint8_t *at;
	size_t left;
	unsigned char wire[SIZE], plain[SIZE], got[SIZE];
	size_t wire_n, plain_n, got_n;
	bool damaged;
	struct wire_key key;
	struct wire_state seal, open;
};

static uint8_t next(struct script *s)
{
	return s->left > 0 ? (s->left--, *s->at++) : 0;
}

static size_t copy(struct script *s, unsigned char *to, size_t n)
{
	if (n > s->left)
		n = s->left;
	memcpy(to, s->at, n);
	s->at += n;
	s->left -= n;
	return n;
}

static void box(struct script *s, size_t n)
{
	static struct aead_context context;
	unsigned char nonce[AEAD_NONCE_MAX] = { 0 }, *text = s->wire + s->wire_n;

	s->key.aead->expand(&context, s->seal.subkey);
	put_u64le(nonce, s->seal.nonce++);
	s->key.aead->seal(&context, nonce, NULL, 0, text, n, text + n);
	s->wire_n += n + AEAD_TAG;
}

/* A chunk of up to 255 bytes; an odd one has any length field before its payload. */
static void chunk(struct script *s, bool odd)
{
	unsigned char *start = s->wire + s->wire_n;
	size_t n = copy(s, start + 18, next(s));

	put_u16be(start, (uint16_t)n);
	if (odd)
		put_u16be(start, (uint16_t)(next(s) << 8 | next(s)));
	if (get_u16be(start) != n)
		s->damaged = true;
	if (!s->damaged)
		memcpy(s->plain + s->plain_n, start + 18, n);
	s->plain_n += s->damaged ? 0 : n;
	box(s, 2);
	box(s, n);
}

/* Open the first n bytes of the wire. False: refused. */
static bool feed(struct script *s, size_t n)
{
	struct iovec iov[WIRE_IOV];
	struct wire_opened opened;

	do {
		unsigned char *exact = malloc(n);

		memcpy(exact, s->wire, n);
		if (wire_open(&s->key, &s->open, exact, n, iov, &opened) < 0) {
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

static bool step(struct script *s)
{
	uint8_t what = next(s);

	switch (what % 8) {
	default:
		chunk(s, false);
		return true;
	case 5:
		chunk(s, true);
		return true;
	case 6:					    /* damage */
		if (s->wire_n > 0 && !s->damaged) { /* a second one could mend the first */
			s->wire[(what << 8 | next(s)) % s->wire_n] ^= 1;
			s->damaged = true;
		}
		return true;
	case 7: /* a cut */
		return s->wire_n == 0 || feed(s, 1 + (size_t)(what << 8 | next(s)) % s->wire_n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char secret[WIRE_KEY_MAX] = "not so secret";
	static struct script s;
	struct endpoint endpoint;
	bool good = true;

	assert(crypto_open() == 0);
	memset(&s, 0, sizeof s);
	s.at = data;
	s.left = size;
	wire_key_set(&s.key, wire_list(next(&s) % 5), secret);
	s.wire_n = wire_first(&s.key, &s.seal, NULL, secret, 1, s.wire);
	s.plain[s.plain_n++] = secret[0];

	while (good && s.left > 0 && s.wire_n < SIZE - 1000 && s.plain_n < SIZE - 1000)
		good = step(&s);
	if (good && s.wire_n > 0)
		good = feed(&s, s.wire_n);
	assert(memcmp(s.got, s.plain, s.got_n) == 0);
	if (!s.damaged)
		assert(good && s.wire_n == 0 && s.got_n == s.plain_n);
	endpoint_read(&endpoint, s.got + 1, s.got_n > 0 ? s.got_n - 1 : 0);
	return 0;
}
