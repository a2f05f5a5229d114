/*
 * The methods of Salsa20 and ChaCha20: state->at / 64 is the block, and the nonce stays. Reached
 * through stream.c's table.
 *
 * All ChaChas are the one with a 64-bit counter, whose upper half is where RFC 8439 has the first
 * word of its nonce: starting there, its stream is the same for the 256 GB that its own counter
 * lasts, and goes on after them.
 */
#include "crypto/stream.h"

#include "core/bytes.h"
#include "crypto/stream_words.h"

#include <sodium.h>
#include <string.h>

enum { KEY = 32, BLOCK = 64 };

typedef void xor_from(const unsigned char *key, const unsigned char *nonce, uint64_t block,
		      size_t skip, unsigned char *text, size_t n);

static void keep_key(const struct stream *self, void *schedule, const unsigned char *key)
{
	(void)self;
	memcpy(schedule, key, KEY);
}

static void begin(const struct stream *self, const void *schedule, struct stream_state *state,
		  const unsigned char *iv)
{
	(void)schedule;
	memcpy(state->block, iv, self->iv);
}

/* The next n bytes of a stream whose first block has the number `base`. */
static void next(xor_from *from, const unsigned char *key, const unsigned char *nonce,
		 uint64_t base, struct stream_state *state, unsigned char *text, size_t n)
{
	from(key, nonce, base + state->at / BLOCK, state->at % BLOCK, text, n);
	state->at += n;
}

static void salsa20(const struct stream *self, const void *schedule, struct stream_state *state,
		    unsigned char *text, size_t n)
{
	(void)self;
	next(salsa20_xor, schedule, state->block, 0, state, text, n);
}

static void chacha20(const struct stream *self, const void *schedule, struct stream_state *state,
		     unsigned char *text, size_t n)
{
	(void)self;
	next(chacha20_xor, schedule, state->block, 0, state, text, n);
}

static void chacha20_ietf(const struct stream *self, const void *schedule,
			  struct stream_state *state, unsigned char *text, size_t n)
{
	uint64_t base = (uint64_t)get_u32le(state->block) << 32;

	(void)self;
	next(chacha20_xor, schedule, state->block + 4, base, state, text, n);
}

static void xchacha20(const struct stream *self, const void *schedule, struct stream_state *state,
		      unsigned char *text, size_t n)
{
	unsigned char subkey[KEY];

	(void)self;
	hchacha20(schedule, state->block, subkey);
	next(chacha20_xor, subkey, state->block + 16, 0, state, text, n);
	sodium_memzero(subkey, sizeof subkey);
}

const struct stream_kind stream_salsa20 = {
	.schedule = KEY,
	.expand = keep_key,
	.begin = begin,
	.encrypt = salsa20,
	.decrypt = salsa20,
};

const struct stream_kind stream_chacha20 = {
	.schedule = KEY,
	.expand = keep_key,
	.begin = begin,
	.encrypt = chacha20,
	.decrypt = chacha20,
};

const struct stream_kind stream_chacha20_ietf = {
	.schedule = KEY,
	.expand = keep_key,
	.begin = begin,
	.encrypt = chacha20_ietf,
	.decrypt = chacha20_ietf,
};

const struct stream_kind stream_xchacha20 = {
	.schedule = KEY,
	.expand = keep_key,
	.begin = begin,
	.encrypt = xchacha20,
	.decrypt = xchacha20,
};
