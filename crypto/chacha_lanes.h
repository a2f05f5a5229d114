/*
 * ChaCha-Poly1305 in vectors: a template, included by each file that is one width of one
 * architecture (crypto/chacha_x86.c, crypto/chacha_arm.c ...). It makes LANES blocks of key stream
 * at a time, one in each lane. 8, 12 and 20 rounds, short and long nonces go through the same code.
 *
 * The including file includes what sums before it: crypto/poly1305_mul.h or crypto/poly1305_mulx.h,
 * which do so while key stream is made, or crypto/poly1305_lanes.h or crypto/poly1305_plain.h, over
 * text that is still in the nearest cache.
 *
 * The including file defines
 *	LANES		how many words of 32 bits make a vector; 1 where there are none
 *	TARGET		the attribute under which functions may use the instructions, or nothing
 *	ROTATE(x, bits)	each word of x turned left
 *	ROTATE_16(x)	by 16
 *	ROTATE_8(x)	by 8
 * and with more than one lane
 *	LOW_32(a, b)	in each 16 bytes: the words of the low halves of a and b, in turn
 *	HIGH_32(a, b)	of the high halves
 *	LOW_64(a, b)	in each 16 bytes: the low half of a, then that of b
 *	HIGH_64(a, b)	the high halves
 * and after the template the function turn(), which is declared below, and the table:
 *	const struct aead chacha_avx2[CHACHAS] = CHACHA_METHODS("avx2", available);
 */
#ifndef CRYPTO_CHACHA_LANES_H
#define CRYPTO_CHACHA_LANES_H

#include "crypto/chacha.h"
#include "crypto/word_lanes.h"

#include <sodium.h>
#include <string.h>

enum { KEY = 32, BLOCK = 64, STRIP = LANES * BLOCK };

/* What key stream is taken from by itself. */
static const unsigned char zeros[STRIP];

static const uint32_t constants[4] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };

INLINE void quarter(words *x, unsigned a, unsigned b, unsigned c, unsigned d)
{
	x[a] += x[b];
	x[d] ^= x[a];
	x[d] = ROTATE_16(x[d]);
	x[c] += x[d];
	x[b] ^= x[c];
	x[b] = ROTATE(x[b], 12);
	x[a] += x[b];
	x[d] ^= x[a];
	x[d] = ROTATE_8(x[d]);
	x[c] += x[d];
	x[b] ^= x[c];
	x[b] = ROTATE(x[b], 7);
}

/* feed: what is summed meanwhile. */
INLINE void permute(words x[16], unsigned rounds, struct feed *feed)
{
	for (; rounds > 0; rounds -= 2) {
		quarter(x, 0, 4, 8, 12);
		quarter(x, 1, 5, 9, 13);
		feed_one(feed);
		quarter(x, 2, 6, 10, 14);
		quarter(x, 3, 7, 11, 15);
		feed_one(feed);
		quarter(x, 0, 5, 10, 15);
		quarter(x, 1, 6, 11, 12);
		feed_one(feed);
		quarter(x, 2, 7, 8, 13);
		quarter(x, 3, 4, 9, 14);
		feed_more(feed);
	}
	feed_rest(feed);
}

struct stream {
	words start[16]; /* of the next strip: each lane's block has its own counter */
	unsigned rounds;
};

INLINE void stream_begin(struct stream *stream, const unsigned char *key,
			 const unsigned char last[16], unsigned rounds)
{
	for (unsigned i = 0; i < 16; i++)
		stream->start[i] = (words){ 0 } + (i < 4    ? constants[i]
						   : i < 12 ? get_u32le(key + 4 * (i - 4))
							    : get_u32le(last + 4 * (i - 12)));
	stream->start[12] += count();
	stream->rounds = rounds;
}

#if LANES == 1

/* to = from ^ (x + start) */
INLINE void put_strip(const struct stream *stream, words x[16], unsigned char *to,
		      const unsigned char *from)
{
	UNROLLED
	for (unsigned i = 0; i < 16; i++)
		put_u32le(to + 4 * i, get_u32le(from + 4 * i) ^ (x[i] + stream->start[i]));
}

#else

/* to = from ^ the key stream of blocks j, j + 4 ... of a strip: 16 bytes of each in each t[i]. */
INLINE void turn(unsigned char *to, const unsigned char *from, unsigned j, const quads t[4]);

/* to = from ^ (x + start), block after block */
INLINE void put_strip(const struct stream *stream, words x[16], unsigned char *to,
		      const unsigned char *from)
{
	quads t[4][4]; /* [block][quarter of it] */

	UNROLLED
	for (unsigned i = 0; i < 16; i++)
		x[i] += stream->start[i];
	UNROLLED
	for (unsigned i = 0; i < 4; i++) {
		quads a = (quads)LOW_32(x[4 * i], x[4 * i + 1]);
		quads b = (quads)LOW_32(x[4 * i + 2], x[4 * i + 3]);
		quads c = (quads)HIGH_32(x[4 * i], x[4 * i + 1]);
		quads d = (quads)HIGH_32(x[4 * i + 2], x[4 * i + 3]);

		t[0][i] = (quads)LOW_64(a, b);
		t[1][i] = (quads)HIGH_64(a, b);
		t[2][i] = (quads)LOW_64(c, d);
		t[3][i] = (quads)HIGH_64(c, d);
	}
	UNROLLED
	for (unsigned j = 0; j < 4; j++)
		turn(to, from, j, t[j]);
}

#endif

INLINE void make_strip(struct stream *stream, unsigned char *to, const unsigned char *from,
		       struct feed *feed)
{
	words x[16];

	UNROLLED
	for (unsigned i = 0; i < 16; i++)
		x[i] = stream->start[i];
	permute(x, stream->rounds, feed);
	put_strip(stream, x, to, from);
	stream->start[12] += LANES;
}

/* to[0..STRIP) = from[0..STRIP) ^ the next strip of key stream; meanwhile text[0..n), as it was
 * before, is summed. */
static TARGET void stream_strip_fed(struct stream *stream, unsigned char *to,
				    const unsigned char *from, struct mac *mac,
				    const unsigned char *text, size_t n)
{
	struct feed feed = mac_feed(mac, text, n, stream->rounds);

	make_strip(stream, to, from, &feed);
	mac_fed(mac, &feed);
}

/* The same, and nothing is summed. */
static TARGET void stream_strip(struct stream *stream, unsigned char *to, const unsigned char *from)
{
	struct mac nothing = { 0 };

	stream_strip_fed(stream, to, from, &nothing, from, 0);
}

/* Eight lanes are AVX2's. */
#if LANES == 8

#include "crypto/chacha_rows.h"

#else

/* To make a strip always is all that there is. */
INLINE bool rows_stream(const unsigned char *key, const unsigned char last[16], unsigned rounds,
			size_t n, unsigned char *to)
{
	(void)key, (void)last, (void)rounds, (void)n, (void)to;
	return false;
}

/* HChaCha: a key from a key and 16 bytes of nonce. It is what a block of key stream is before the
 * start is added to it, in the first lane. */
static TARGET void derive(const unsigned char *key, const unsigned char nonce[16], unsigned rounds,
			  unsigned char to[KEY])
{
	_Alignas(64) unsigned char bytes[STRIP];
	struct stream stream;

	stream_begin(&stream, key, nonce, rounds);
	stream_strip(&stream, bytes, zeros);
	for (unsigned i = 0; i < 4; i++) {
		uint32_t first = get_u32le(bytes + 4 * i);
		uint32_t last = get_u32le(bytes + 48 + 4 * i);

		put_u32le(to + 4 * i, first - constants[i]);
		put_u32le(to + 16 + 4 * i, last - get_u32le(nonce + 4 * i));
	}
	sodium_memzero(bytes, sizeof bytes);
	sodium_memzero(&stream, sizeof stream);
}

#endif

/* text[0..n) ^= bytes[0..n) */
INLINE void add(unsigned char *text, const unsigned char *bytes, size_t n)
{
	for (; n >= sizeof(quads); n -= sizeof(quads)) {
		store(text, load(text) ^ load(bytes));
		text += sizeof(quads);
		bytes += sizeof(quads);
	}
	for (size_t i = 0; i < n; i++)
		text[i] ^= bytes[i];
}

/* One message on its way, in either direction. */
struct passage {
	struct stream stream;
	struct mac mac;
	_Alignas(64) unsigned char bytes
		[STRIP]; /* key stream that text of another size takes from */
	bool sealing;
	const unsigned char *sealed; /* what is still to be summed, when sealing */
	size_t unsummed;
};

/* The next strip, for text[0..n). The sum is over the sealed form, which when sealing is yet to
 * come: it is the one before that is summed meanwhile. */
INLINE void pass_strip(struct passage *passage, unsigned char *to, const unsigned char *from,
		       const unsigned char *text, size_t n)
{
	const unsigned char *sum = passage->sealing ? passage->sealed : text;
	size_t length = passage->sealing ? passage->unsummed : n, part = length % POLY1305_BLOCK;

	stream_strip_fed(&passage->stream, to, from, &passage->mac, sum, length - part);
	if (part > 0)
		mac_add(&passage->mac, sum + (length - part), part);
	passage->sealed = text;
	passage->unsummed = n;
}

/* Seal or open text[0..n), and say what tag its sealed form has. The first strip begins with the
 * block that keys Poly1305. */
static TARGET void pass(struct passage *passage, const unsigned char *key,
			const unsigned char nonce[12], unsigned rounds, const void *ad,
			size_t ad_len, unsigned char *text, size_t n, unsigned char tag[AEAD_TAG])
{
	unsigned char last[16] = { 0 };
	size_t left = n, room = STRIP - BLOCK, take = n < room ? n : room;

	memcpy(last + 4, nonce, 12);
	if (!rows_stream(key, last, rounds, BLOCK + n, passage->bytes)) {
		stream_begin(&passage->stream, key, last, rounds);
		stream_strip(&passage->stream, passage->bytes, zeros);
	}
	mac_begin(&passage->mac, passage->bytes, ad, ad_len, n);
	if (!passage->sealing)
		mac_add(&passage->mac, text, take);
	add(text, passage->bytes + BLOCK, take);
	passage->sealed = text;
	passage->unsummed = take;
	text += take;
	for (left -= take; left >= STRIP; left -= STRIP, text += STRIP)
		pass_strip(passage, text, text, text, STRIP);
	if (left > 0) {
		pass_strip(passage, passage->bytes, zeros, text, left);
		add(text, passage->bytes, left);
	}
	if (passage->sealing)
		mac_add(&passage->mac, passage->sealed, passage->unsummed);
	mac_finish(&passage->mac, ad_len, n, tag);
	sodium_memzero(passage, sizeof *passage);
}

static TARGET void seal(const unsigned char *key, const unsigned char *nonce, unsigned rounds,
			const void *ad, size_t ad_len, unsigned char *text, size_t n,
			unsigned char tag[AEAD_TAG])
{
	struct passage passage;

	passage.sealing = true;
	pass(&passage, key, nonce, rounds, ad, ad_len, text, n, tag);
}

static TARGET int open(const unsigned char *key, const unsigned char *nonce, unsigned rounds,
		       const void *ad, size_t ad_len, unsigned char *text, size_t n,
		       const unsigned char tag[AEAD_TAG])
{
	unsigned char right[AEAD_TAG];
	struct passage passage;

	passage.sealing = false;
	pass(&passage, key, nonce, rounds, ad, ad_len, text, n, right);
	return sodium_memcmp(right, tag, sizeof right);
}

#include "crypto/chacha_methods.h"

#endif
