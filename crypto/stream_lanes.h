/*
 * ChaCha20 and Salsa20 as streams (crypto/stream_words.h), by the lanes of crypto/chacha_lanes.h:
 * the rest of the template, included after it. Where an architecture has several widths, the
 * including file defines
 *	STREAM(name)	what the function of stream_words.h is called in this width
 */
#ifndef CRYPTO_STREAM_LANES_H
#define CRYPTO_STREAM_LANES_H

#include "crypto/chacha_lanes.h"
#include "crypto/stream_words.h"

#ifndef STREAM
#define STREAM(name) name
#endif

INLINE void salsa_quarter(words x[16], unsigned a, unsigned b, unsigned c, unsigned d)
{
	words sum = x[a] + x[d];

	x[b] ^= ROTATE(sum, 7);
	sum = x[b] + x[a];
	x[c] ^= ROTATE(sum, 9);
	sum = x[c] + x[b];
	x[d] ^= ROTATE(sum, 13);
	sum = x[d] + x[c];
	x[a] ^= ROTATE(sum, 18);
}

/* stream_strip() of Salsa20, which leaves counting to its caller */
static TARGET void salsa_strip(struct stream *stream, unsigned char *to, const unsigned char *from)
{
	words x[16];

	UNROLLED
	for (unsigned i = 0; i < 16; i++)
		x[i] = stream->start[i];
	for (unsigned rounds = stream->rounds; rounds > 0; rounds -= 2) {
		salsa_quarter(x, 0, 4, 8, 12);
		salsa_quarter(x, 5, 9, 13, 1);
		salsa_quarter(x, 10, 14, 2, 6);
		salsa_quarter(x, 15, 3, 7, 11);
		salsa_quarter(x, 0, 1, 2, 3);
		salsa_quarter(x, 5, 6, 7, 4);
		salsa_quarter(x, 10, 11, 8, 9);
		salsa_quarter(x, 15, 12, 13, 14);
	}
	put_strip(stream, x, to, from);
}

/* The strip from this block on; its number's words are at start[low]. */
INLINE void stream_seek(struct stream *stream, unsigned low, uint64_t block)
{
	words first = (words){ 0 } + (uint32_t)block, lanes = first + count();

	stream->start[low] = lanes;
	stream->start[low + 1] = (words){ 0 } + (uint32_t)(block >> 32);
	stream->start[low + 1] -= (words)(lanes < first); /* all ones where it carries */
}

/* text[0..n) ^= what `strip` makes from byte `skip` of `block` on. Wipes the stream. */
static TARGET void stream_text(struct stream *stream,
			       void (*strip)(struct stream *, unsigned char *,
					     const unsigned char *),
			       unsigned low, uint64_t block, size_t skip, unsigned char *text,
			       size_t n)
{
	_Alignas(64) unsigned char bytes[STRIP];

	while (n > 0) {
		size_t take = n < STRIP - skip ? n : STRIP - skip;

		stream_seek(stream, low, block);
		if (take == STRIP) {
			strip(stream, text, text);
		} else {
			strip(stream, bytes, zeros);
			add(text, bytes + skip, take);
		}
		block += LANES;
		skip = 0;
		text += take;
		n -= take;
	}
	sodium_memzero(bytes, sizeof bytes);
	sodium_memzero(stream, sizeof *stream);
}

TARGET void STREAM(chacha20_xor)(const unsigned char *key, const unsigned char nonce[8],
				 uint64_t block, size_t skip, unsigned char *text, size_t n)
{
	unsigned char last[16], bytes[2 * BLOCK];
	struct stream stream;

	put_u64le(last, block);
	memcpy(last + 8, nonce, 8);
	if (rows_stream(key, last, 20, skip + n, bytes)) {
		add(text, bytes + skip, n);
		sodium_memzero(bytes, sizeof bytes);
		return;
	}
	stream_begin(&stream, key, last, 20);
	stream_text(&stream, stream_strip, 12, block, skip, text, n);
}

TARGET void STREAM(salsa20_xor)(const unsigned char *key, const unsigned char nonce[8],
				uint64_t block, size_t skip, unsigned char *text, size_t n)
{
	struct stream stream = { .rounds = 20 };

	for (unsigned i = 0; i < 4; i++) {
		stream.start[5 * i] = (words){ 0 } + constants[i];
		stream.start[1 + i] = (words){ 0 } + get_u32le(key + 4 * i);
		stream.start[11 + i] = (words){ 0 } + get_u32le(key + 16 + 4 * i);
	}
	stream.start[6] = (words){ 0 } + get_u32le(nonce);
	stream.start[7] = (words){ 0 } + get_u32le(nonce + 4);
	stream_text(&stream, salsa_strip, 8, block, skip, text, n);
}

TARGET void STREAM(hchacha20)(const unsigned char *key, const unsigned char nonce[16],
			      unsigned char to[32])
{
	derive(key, nonce, 20, to);
}

#endif
