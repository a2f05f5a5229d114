/*
 * Stream ciphers. They authenticate nothing and are here for peers that know nothing newer. One
 * table of methods; a row is a construction, for most over a block cipher. A key is expanded once,
 * at start, into memory that its owner allocated; each direction of a connection, or each packet,
 * has a small state beside it. Nothing here allocates.
 */
#ifndef CRYPTO_STREAM_H
#define CRYPTO_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	STREAM_KEY_MAX = 32,
	STREAM_IV_MAX = 24,
	STREAM_BLOCK_MAX = 16,	    /* bytes of a cipher's block */
	STREAM_EXTRA_MAX = 258,	    /* stream_extra() */
	STREAM_SCHEDULE_MAX = 4224, /* stream_schedule(): Blowfish's */
};

struct stream;

/* Where a stream is. */
struct stream_state {
	union {
		unsigned char block[STREAM_IV_MAX]; /* feedback, counter or nonce */
		void *extra; /* the state is too large: memory of the caller's */
	};
	uint64_t at; /* bytes done, where they are counted */
};

/* A block cipher, of which all modes need but one direction. */
struct block_cipher {
	const char *implementation;

	/* Can this machine run it? NULL: always. */
	bool (*available)(void);

	uint16_t schedule;  /* bytes of the expanded key */
	unsigned char size; /* bytes of a block, a power of two */

	/* Expand key[0..n). The schedule stays where it is: libraries keep pointers into it. NULL:
	 * this build has no such cipher. */
	void (*expand)(void *schedule, const unsigned char *key, size_t n);

	/* Encrypt so many blocks, one after another; out may be in. */
	void (*encrypt)(const void *schedule, const unsigned char *in, unsigned char *out,
			size_t blocks);

	/* The modes for whole blocks, n > 0 bytes, where the cipher has a faster way than modes.c,
	 * else NULL. `block` is a counter, or the ciphertext before; after, that of what
	 * follows. */
	void (*ctr)(const void *schedule, unsigned char *block, unsigned char *text, size_t n);
	void (*cfb_seal)(const void *schedule, unsigned char *block, unsigned char *text, size_t n);
	void (*cfb_open)(const void *schedule, unsigned char *block, unsigned char *text, size_t n);
};

/* A construction. Those over a block cipher leave the first two out. */
struct stream_kind {
	uint16_t schedule;
	void (*expand)(const struct stream *stream, void *schedule, const unsigned char *key);

	uint16_t extra;
	void (*begin)(const struct stream *stream, const void *schedule, struct stream_state *state,
		      const unsigned char *iv);
	void (*encrypt)(const struct stream *stream, const void *schedule,
			struct stream_state *state, unsigned char *text, size_t n);
	void (*decrypt)(const struct stream *stream, const void *schedule,
			struct stream_state *state, unsigned char *text, size_t n);
};

/* A method. */
struct stream {
	const char *name;
	unsigned char key, iv; /* bytes */
	const struct stream_kind *kind;
	const struct block_cipher *cipher; /* NULL: the construction needs none */
};

/* The method of this name (any case) in its fastest available implementation, or NULL.
 * stream_list(): the i-th, NULL after the last. */
const struct stream *stream_find(const char *name);
const struct stream *stream_list(unsigned i);

/* False: the library of this build has no such cipher, and the functions below must not be used. */
static inline bool stream_built(const struct stream *stream)
{
	return !stream->cipher || stream->cipher->expand;
}

/* Bytes of the expanded key; aligned as malloc() does, never moved, wiped by its owner; or 0. */
static inline size_t stream_schedule(const struct stream *stream)
{
	return stream->cipher ? stream->cipher->schedule : stream->kind->schedule;
}

/* Bytes that state->extra must point at before stream_begin(), wiped by their owner; 0: none. */
static inline size_t stream_extra(const struct stream *stream)
{
	return stream->kind->extra;
}

/* Expand `key`, of stream->key bytes. */
static inline void stream_expand(const struct stream *stream, void *schedule,
				 const unsigned char *key)
{
	if (stream->cipher)
		stream->cipher->expand(schedule, key, stream->key);
	else
		stream->kind->expand(stream, schedule, key);
}

/* Start at the beginning of the stream that `iv`, of stream->iv bytes, names. */
static inline void stream_begin(const struct stream *stream, const void *schedule,
				struct stream_state *state, const unsigned char *iv)
{
	state->at = 0;
	stream->kind->begin(stream, schedule, state, iv);
}

/* The next n bytes of the stream, in place. However a text is cut, the outcome is the same. */
static inline void stream_encrypt(const struct stream *stream, const void *schedule,
				  struct stream_state *state, unsigned char *text, size_t n)
{
	stream->kind->encrypt(stream, schedule, state, text, n);
}

static inline void stream_decrypt(const struct stream *stream, const void *schedule,
				  struct stream_state *state, unsigned char *text, size_t n)
{
	stream->kind->decrypt(stream, schedule, state, text, n);
}

/* What the table in stream.c is made of. */
extern const struct block_cipher block_camellia, block_blowfish;
extern const struct stream_kind stream_cfb, stream_cfb1, stream_cfb8, stream_ofb, stream_ctr;
extern const struct stream_kind stream_salsa20, stream_chacha20, stream_chacha20_ietf,
	stream_xchacha20;
extern const struct stream_kind stream_rc4, stream_rc4_md5;
extern const struct stream_kind stream_substitution;

#endif
