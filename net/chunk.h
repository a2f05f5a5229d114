/*
 * Streams of sealed chunks, as SIP004 and SIP022 have in common once a direction has begun:
 *
 *	AEAD(length, 2 bytes) 18 bytes, AEAD(payload) length + 16 bytes, ...
 *
 * The nonce counts the AEADs of the direction. Both formats are made of these pieces; what begins a
 * direction is their own. No I/O.
 */
#ifndef NET_CHUNK_H
#define NET_CHUNK_H

#include "net/wire.h"

enum {
	CHUNK_LENGTH = 2,
	CHUNK_LENGTH_BOX = CHUNK_LENGTH + AEAD_TAG,
	/* bytes that a chunk is longer than its payload */
	CHUNK_OVERHEAD = CHUNK_LENGTH_BOX + AEAD_TAG
};

/* What a format says of its streams. */
struct chunk_stream {
	size_t max;    /* bytes of a payload that is accepted */
	size_t sealed; /* and of one that is sent */

	/* Bytes that start() takes. */
	size_t (*start_size)(const struct wire_key *, const struct wire_state *);

	/* Open the start, expand the key and set state->begun: 0, or -1. The first length may be in
	 * it. */
	int (*start)(const struct wire_key *, struct wire_state *, unsigned char *);

	/* Deliver the payload for which state->header_open was set: 0, or -1 if it is malformed.
	 * NULL: there is no such thing. */
	int (*header)(unsigned char *, size_t, struct iovec *, struct wire_opened *);
};

/* The functions of struct wire_format. */
int chunk_slots(const struct chunk_stream *stream, unsigned char *buf, size_t size, size_t batch,
		struct iovec *iov);
size_t chunk_seal(const struct chunk_stream *stream, const struct wire_key *key,
		  struct wire_state *state, unsigned char *buf, size_t n);
int chunk_open(const struct chunk_stream *stream, const struct wire_key *key,
	       struct wire_state *state, unsigned char *buf, size_t n, struct iovec *iov,
	       struct wire_opened *opened);

/* The one expanded key of the process: made for a burst, wiped after it. All else that concerns
 * keys stays in the states that sessions hold. */
void chunk_expand(const struct aead *aead, const unsigned char *subkey);
void chunk_forget(void);

/* With it: seal text[0..n) in place, its tag behind it; open that: 0, or -1: forged. */
void chunk_seal_box(const struct wire_key *key, struct wire_state *state, unsigned char *text,
		    size_t n);
int chunk_open_box(const struct wire_key *key, struct wire_state *state, unsigned char *text,
		   size_t n);

/* Seal the chunk whose payload of n bytes is in its place in the slot; its length. */
size_t chunk_seal_one(const struct wire_key *key, struct wire_state *state, unsigned char *slot,
		      size_t n);

/* Open a length box; a length above `max` is malformed. */
int chunk_open_length(const struct wire_key *key, struct wire_state *state, unsigned char *box,
		      size_t max);

/* Hand a payload out. Small ones are moved up against the one before, so that few entries do. */
void chunk_deliver(struct iovec *iov, struct wire_opened *opened, unsigned char *payload, size_t n);

#endif
