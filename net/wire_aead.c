/*
 * SIP004, the AEAD ciphers of 2017, TCP: each direction is a salt and then chunks, of which
 * the first of a request begins with the address. Called through wire.c; owns nothing. No I/O.
 */
#include "net/wire.h"

#include "crypto/kdf.h"
#include "net/chunk.h"
#include "net/packet.h"

#include <string.h>

static size_t start_size(const struct wire_key *key, const struct wire_state *state)
{
	(void)state;
	return key->salt_len + CHUNK_LENGTH_BOX;
}

/* Salt and first length. Only a salt that came with a good length is remembered (others cost an
 * attacker nothing and would push out the real ones), and it is so before anything else is done: of
 * two copies that wait half sent, one passes. */
static int start(const struct wire_key *key, struct wire_state *state, unsigned char *buf)
{
	kdf_subkey(key->key, buf, state->subkey, key->key_len);
	chunk_expand(key->aead, state->subkey);
	if (chunk_open_length(key, state, buf + key->salt_len, WIRE_CHUNK) < 0)
		return -1;
	if (key->replay && replay_seen(key->replay, buf, key->salt_len))
		return -1;
	state->begun = true;
	return 0;
}

static const struct chunk_stream stream = {
	.max = WIRE_CHUNK, /* the top two bits of a length are reserved */
	.sealed = WIRE_CHUNK,
	.start_size = start_size,
	.start = start,
};

static int aead_slots(const struct wire_key *key, unsigned char *buf, size_t size, size_t batch,
		      struct iovec *iov)
{
	(void)key;
	return chunk_slots(&stream, buf, size, batch, iov);
}

static size_t aead_seal(const struct wire_key *key, struct wire_state *state, unsigned char *buf,
			size_t n)
{
	return chunk_seal(&stream, key, state, buf, n);
}

static size_t aead_first(const struct wire_key *key, struct wire_state *state,
			 const struct endpoint *header, const unsigned char *payload, size_t n,
			 unsigned char *buf)
{
	unsigned char *slot = buf + key->salt_len, *text = slot + CHUNK_LENGTH_BOX;
	size_t header_len = header ? endpoint_write(header, text) : 0;
	size_t sealed;

	if (n > 0)
		memcpy(text + header_len, payload, n);
	wire_fresh_salt(key, key->replay, buf);
	kdf_subkey(key->key, buf, state->subkey, key->key_len);
	state->begun = true;

	chunk_expand(key->aead, state->subkey);
	sealed = key->salt_len + chunk_seal_one(key, state, slot, header_len + n);
	chunk_forget();
	return sealed;
}

static int aead_open(const struct wire_key *key, struct wire_state *state, unsigned char *buf,
		     size_t n, struct iovec *iov, struct wire_opened *opened)
{
	return chunk_open(&stream, key, state, buf, n, iov, opened);
}

const struct wire_format wire_aead = {
	.packets = &packet_aead,
	.slots = aead_slots,
	.seal = aead_seal,
	.first = aead_first,
	.open = aead_open,
};
