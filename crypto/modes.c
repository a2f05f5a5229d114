/*
 * Modes of operation over any block cipher: CFB with whole blocks, bytes and bits, OFB, CTR
 * (NIST SP 800-38A). Reached through stream.c's table.
 *
 * state->at tells how many bytes of the present block are used up. CFB keeps in that block what
 * was used as ciphertext, which is fed back, and what was not as key stream; OFB keeps the key
 * stream, CTR the counter. Where no block depends on the outcome of the one before (opening CFB,
 * CTR), a strip of them is encrypted at once.
 */
#include "crypto/stream.h"

#include "core/bytes.h"

#include <sodium.h>
#include <string.h>

enum { STRIP = 512 /* bytes of key stream made at a time */ };

/* Sixteen bytes in one register where there are such registers: what was written by halves is read
 * by the whole block cipher only after a stall, which costs half as much as AES. */
typedef uint64_t pair __attribute__((vector_size(16)));

/* text ^= mask */
static inline void mix(unsigned char *text, const unsigned char *mask, size_t n)
{
	size_t i = 0;

	for (; i + 16 <= n; i += 16) {
		pair a, b;

		memcpy(&a, text + i, 16);
		memcpy(&b, mask + i, 16);
		a ^= b;
		memcpy(text + i, &a, 16);
	}
	for (; i < n; i++)
		text[i] ^= mask[i];
}

static inline size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A text in three parts: the end of a block that was begun before, whole blocks, the beginning of
 * one. */
struct parts {
	size_t used, head, whole, tail;
};

static struct parts part(const struct stream *self, struct stream_state *state, size_t n)
{
	size_t size = self->cipher->size;
	struct parts p = { .used = (size_t)(state->at & (size - 1)) };

	if (p.used > 0)
		p.head = least(size - p.used, n);
	p.tail = (n - p.head) & (size - 1);
	p.whole = n - p.head - p.tail;
	state->at += n;
	return p;
}

static void begin(const struct stream *self, const void *schedule, struct stream_state *state,
		  const unsigned char *iv)
{
	(void)schedule;
	memcpy(state->block, iv, self->iv);
}

/* Less than a block of CFB: key stream gives way to ciphertext. */
static void cfb_bytes(unsigned char *block, unsigned char *text, size_t n, bool opens)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char in = text[i];

		text[i] = in ^ block[i];
		block[i] = opens ? in : text[i];
	}
}

/* Inline, so that the compiler knows the size. Ciphertext is what is encrypted next. */
static inline void cfb_seal_sized(const struct stream *self, const void *schedule,
				  unsigned char *block, unsigned char *text, size_t n, size_t size)
{
	unsigned char stream[STREAM_BLOCK_MAX];

	for (; n > 0; text += size, n -= size) {
		self->cipher->encrypt(schedule, block, stream, 1);
		mix(text, stream, size);
		memcpy(block, text, size);
	}
	sodium_memzero(stream, sizeof stream);
}

static void cfb_seal_blocks(const struct stream *self, const void *schedule, unsigned char *block,
			    unsigned char *text, size_t n)
{
	if (self->cipher->cfb_seal)
		self->cipher->cfb_seal(schedule, block, text, n);
	else if (self->cipher->size == 16)
		cfb_seal_sized(self, schedule, block, text, n, 16);
	else
		cfb_seal_sized(self, schedule, block, text, n, 8);
}

/* The key stream is the encryption of the ciphertext one block further back, which is all here. */
static void cfb_open_blocks(const struct stream *self, const void *schedule, unsigned char *block,
			    unsigned char *text, size_t n)
{
	const struct block_cipher *cipher = self->cipher;
	size_t size = cipher->size, strip;
	unsigned char stream[STRIP];

	for (; n > 0; text += strip, n -= strip) {
		strip = least(n, STRIP);
		cipher->encrypt(schedule, block, stream, 1);
		cipher->encrypt(schedule, text, stream + size, strip / size - 1);
		memcpy(block, text + strip - size, size);
		mix(text, stream, strip);
	}
	sodium_memzero(stream, sizeof stream);
}

static void cfb_seal(const struct stream *self, const void *schedule, struct stream_state *state,
		     unsigned char *text, size_t n)
{
	struct parts p = part(self, state, n);

	cfb_bytes(state->block + p.used, text, p.head, false);
	if (p.whole > 0)
		cfb_seal_blocks(self, schedule, state->block, text + p.head, p.whole);
	if (p.tail > 0) {
		self->cipher->encrypt(schedule, state->block, state->block, 1);
		cfb_bytes(state->block, text + p.head + p.whole, p.tail, false);
	}
}

static void cfb_open(const struct stream *self, const void *schedule, struct stream_state *state,
		     unsigned char *text, size_t n)
{
	struct parts p = part(self, state, n);

	cfb_bytes(state->block + p.used, text, p.head, true);
	if (p.whole > 0 && self->cipher->cfb_open)
		self->cipher->cfb_open(schedule, state->block, text + p.head, p.whole);
	else if (p.whole > 0)
		cfb_open_blocks(self, schedule, state->block, text + p.head, p.whole);
	if (p.tail > 0) {
		self->cipher->encrypt(schedule, state->block, state->block, 1);
		cfb_bytes(state->block, text + p.head + p.whole, p.tail, true);
	}
}

/* One byte of key stream for each encryption; the register takes a byte of ciphertext in. */
static void cfb8(const struct stream *self, const void *schedule, struct stream_state *state,
		 unsigned char *text, size_t n, bool opens)
{
	size_t last = self->cipher->size - 1u;
	unsigned char stream[STREAM_BLOCK_MAX];

	for (size_t i = 0; i < n; i++) {
		unsigned char in = text[i];

		self->cipher->encrypt(schedule, state->block, stream, 1);
		text[i] = in ^ stream[0];
		memmove(state->block, state->block + 1, last);
		state->block[last] = opens ? in : text[i];
	}
	sodium_memzero(stream, sizeof stream);
}

static void cfb8_seal(const struct stream *self, const void *schedule, struct stream_state *state,
		      unsigned char *text, size_t n)
{
	cfb8(self, schedule, state, text, n, false);
}

static void cfb8_open(const struct stream *self, const void *schedule, struct stream_state *state,
		      unsigned char *text, size_t n)
{
	cfb8(self, schedule, state, text, n, true);
}

/* The register moves up by one bit. */
static void shift_in(unsigned char *block, size_t size, unsigned bit)
{
	for (size_t i = size; i-- > 0;) {
		unsigned next = block[i] >> 7;

		block[i] = (unsigned char)(block[i] << 1 | bit);
		bit = next;
	}
}

/* The same for bits, the most significant first. */
static void cfb1(const struct stream *self, const void *schedule, struct stream_state *state,
		 unsigned char *text, size_t n, bool opens)
{
	unsigned char stream[STREAM_BLOCK_MAX];

	for (size_t i = 0; i < n; i++) {
		unsigned in = text[i], out = 0;

		for (unsigned at = 8; at-- > 0;) {
			self->cipher->encrypt(schedule, state->block, stream, 1);
			out |= (in ^ (unsigned)(stream[0] >> 7 << at)) & 1u << at;
			shift_in(state->block, self->cipher->size, (opens ? in : out) >> at & 1);
		}
		text[i] = (unsigned char)out;
	}
	sodium_memzero(stream, sizeof stream);
}

static void cfb1_seal(const struct stream *self, const void *schedule, struct stream_state *state,
		      unsigned char *text, size_t n)
{
	cfb1(self, schedule, state, text, n, false);
}

static void cfb1_open(const struct stream *self, const void *schedule, struct stream_state *state,
		      unsigned char *text, size_t n)
{
	cfb1(self, schedule, state, text, n, true);
}

static void ofb(const struct stream *self, const void *schedule, struct stream_state *state,
		unsigned char *text, size_t n)
{
	struct parts p = part(self, state, n);
	size_t size = self->cipher->size;

	mix(text, state->block + p.used, p.head);
	text += p.head;
	for (; p.whole > 0; text += size, p.whole -= size) {
		self->cipher->encrypt(schedule, state->block, state->block, 1);
		mix(text, state->block, size);
	}
	if (p.tail > 0) {
		self->cipher->encrypt(schedule, state->block, state->block, 1);
		mix(text, state->block, p.tail);
	}
}

/* Write the counters of so many blocks; `block` is the one after them then. */
static void count(unsigned char *block, unsigned char *to, size_t n)
{
	uint64_t high = get_u64be(block), low = get_u64be(block + 8);

	for (size_t i = 0; i < n; i += 16) {
		uint64_t high_be, low_be;

		put_u64be((unsigned char *)&high_be, high);
		put_u64be((unsigned char *)&low_be, low);
		memcpy(to + i, &(pair){ high_be, low_be }, 16);
		if (++low == 0)
			high++;
	}
	put_u64be(block, high);
	put_u64be(block + 8, low);
}

/* n bytes of whole blocks. */
static void ctr_blocks(const struct block_cipher *cipher, const void *schedule,
		       unsigned char *block, unsigned char *text, size_t n)
{
	unsigned char stream[STRIP];

	while (n > 0) {
		size_t strip = least(n, STRIP);

		count(block, stream, strip);
		cipher->encrypt(schedule, stream, stream, strip / 16);
		mix(text, stream, strip);
		text += strip;
		n -= strip;
	}
	sodium_memzero(stream, sizeof stream);
}

/* The counter is that of the present block until all of it is used up. */
static void ctr(const struct stream *self, const void *schedule, struct stream_state *state,
		unsigned char *text, size_t n)
{
	const struct block_cipher *cipher = self->cipher;
	struct parts p = part(self, state, n);
	unsigned char stream[16];

	if (p.head > 0) {
		cipher->encrypt(schedule, state->block, stream, 1);
		mix(text, stream + p.used, p.head);
		text += p.head;
		if (p.used + p.head == cipher->size)
			count(state->block, stream, 16);
	}
	if (p.whole > 0 && cipher->ctr)
		cipher->ctr(schedule, state->block, text, p.whole);
	else if (p.whole > 0)
		ctr_blocks(cipher, schedule, state->block, text, p.whole);
	if (p.tail > 0) {
		cipher->encrypt(schedule, state->block, stream, 1);
		mix(text + p.whole, stream, p.tail);
	}
	sodium_memzero(stream, sizeof stream);
}

const struct stream_kind stream_cfb = {
	.begin = begin,
	.encrypt = cfb_seal,
	.decrypt = cfb_open,
};

const struct stream_kind stream_cfb8 = {
	.begin = begin,
	.encrypt = cfb8_seal,
	.decrypt = cfb8_open,
};

const struct stream_kind stream_cfb1 = {
	.begin = begin,
	.encrypt = cfb1_seal,
	.decrypt = cfb1_open,
};

const struct stream_kind stream_ofb = {
	.begin = begin,
	.encrypt = ofb,
	.decrypt = ofb,
};

const struct stream_kind stream_ctr = {
	.begin = begin,
	.encrypt = ctr,
	.decrypt = ctr,
};
