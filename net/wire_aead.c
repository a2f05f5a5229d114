/*
 * SIP004, the AEAD ciphers of 2017 (PROTOCOL 4.2):
 *
 *	each direction: salt, then chunks
 *	chunk:          AEAD(length, 2 bytes) 18 bytes, AEAD(payload) length + 16 bytes
 *
 * Called through wire.c. Owns the one expanded key of the process, which is made for each burst
 * and wiped after it: all else stays in the states that sessions hold. No I/O.
 */
#include "net/wire.h"

#include "core/bytes.h"
#include "crypto/kdf.h"

#include <sodium.h>
#include <string.h>

enum {
	LENGTH = 2,
	LENGTH_BOX = LENGTH + AEAD_TAG,
	OVERHEAD = LENGTH_BOX + AEAD_TAG, /* of a chunk */
	SMALL = 512			  /* payloads up to here move together when opened */
};

/* The expanded key of the burst at hand. It would be made again for the next burst anyway; wiping
 * it costs 6 ns of some hundred, and then no key of a session that is over stays behind. */
static struct aead_context scratch;

static void expand(const struct wire_key *key, const unsigned char *subkey)
{
	key->aead->expand(&scratch, subkey);
}

static void forget(void)
{
	sodium_memzero(&scratch, sizeof scratch);
}

static void put_nonce(unsigned char nonce[AEAD_NONCE_MAX], uint64_t number)
{
	memset(nonce, 0, AEAD_NONCE_MAX);
	put_u64le(nonce, number);
}

/* Seal text[0..n) in place, its tag behind it. */
static void seal_box(const struct wire_key *key, struct wire_state *state, unsigned char *text,
		     size_t n)
{
	unsigned char nonce[AEAD_NONCE_MAX];

	put_nonce(nonce, state->nonce++);
	key->aead->seal(&scratch, nonce, NULL, 0, text, n, text + n);
}

/* Open what seal_box() made, by the subkey that was expanded; the count moves on only then. */
static int open_box(const struct wire_key *key, struct wire_state *state, unsigned char *text,
		    size_t n)
{
	unsigned char nonce[AEAD_NONCE_MAX];

	put_nonce(nonce, state->nonce);
	if (key->aead->open(&scratch, nonce, NULL, 0, text, n, text + n) < 0)
		return -1;
	state->nonce++;
	return 0;
}

/* Seal the chunk whose payload of n bytes is in its place in the slot. */
static size_t seal_chunk(const struct wire_key *key, struct wire_state *state, unsigned char *slot,
			 size_t n)
{
	put_u16be(slot, (uint16_t)n);
	seal_box(key, state, slot, LENGTH);
	seal_box(key, state, slot + LENGTH_BOX, n);
	return n + OVERHEAD;
}

static int aead_slots(const struct wire_key *key, unsigned char *buf, size_t size, size_t batch,
		      struct iovec *iov)
{
	int n = 0;

	(void)key;
	while (n < WIRE_IOV && batch > 0 && size > OVERHEAD) {
		size_t payload = size - OVERHEAD;

		if (payload > WIRE_CHUNK)
			payload = WIRE_CHUNK;
		if (payload > batch)
			payload = batch;
		iov[n++] = (struct iovec){ .iov_base = buf + LENGTH_BOX, .iov_len = payload };
		buf += payload + OVERHEAD;
		size -= payload + OVERHEAD;
		batch -= payload;
	}
	return n;
}

static size_t aead_seal(const struct wire_key *key, struct wire_state *state, unsigned char *buf,
			size_t n)
{
	size_t sealed = 0;

	expand(key, state->subkey);
	while (n > 0) {
		size_t payload = n < WIRE_CHUNK ? n : WIRE_CHUNK;

		sealed += seal_chunk(key, state, buf + sealed, payload);
		n -= payload;
	}
	forget();
	return sealed;
}

static size_t aead_first(const struct wire_key *key, struct wire_state *state,
			 const struct endpoint *header, const unsigned char *payload, size_t n,
			 unsigned char *buf)
{
	unsigned char *slot = buf + key->salt_len;
	size_t header_len = header ? endpoint_write(header, slot + LENGTH_BOX) : 0;
	size_t sealed;

	if (n > 0)
		memcpy(slot + LENGTH_BOX + header_len, payload, n);
	wire_fresh_salt(key, key->replay, buf);
	kdf_subkey(key->key, buf, state->subkey, key->key_len);
	state->begun = true;

	expand(key, state->subkey);
	sealed = key->salt_len + seal_chunk(key, state, slot, header_len + n);
	forget();
	return sealed;
}

/* The bytes that the next thing to be opened has. */
static size_t next_unit(const struct wire_key *key, const struct wire_state *state)
{
	if (state->length_open)
		return state->payload + AEAD_TAG;
	return state->begun ? LENGTH_BOX : key->salt_len + LENGTH_BOX;
}

/* Open a length, which may only be one that SIP004 allows: the top two bits are reserved. */
static int open_length(const struct wire_key *key, struct wire_state *state, unsigned char *box)
{
	if (open_box(key, state, box, LENGTH) < 0)
		return -1;
	state->payload = get_u16be(box);
	state->length_open = true;
	return state->payload <= WIRE_CHUNK ? 0 : -1;
}

/* The start of a direction: salt and first length. Only a salt that came with a good length is
 * remembered (others cost an attacker nothing and would push out the real ones), and it is so before
 * anything else is done: of two copies that wait half sent, one passes. */
static int open_start(const struct wire_key *key, struct wire_state *state, unsigned char *buf)
{
	kdf_subkey(key->key, buf, state->subkey, key->key_len);
	expand(key, state->subkey);
	if (open_length(key, state, buf + key->salt_len) < 0)
		return -1;
	if (key->replay && replay_seen(key->replay, buf, key->salt_len))
		return -1;
	state->begun = true;
	return 0;
}

/* Deliver a payload: small ones are moved up against the one before. */
static void deliver(struct iovec *iov, struct wire_opened *opened, unsigned char *payload, size_t n)
{
	opened->payload += n;
	if (n == 0)
		return;
	if (opened->iovs > 0 && n <= SMALL) {
		struct iovec *last = &iov[opened->iovs - 1];

		memmove((unsigned char *)last->iov_base + last->iov_len, payload, n);
		last->iov_len += n;
	} else {
		iov[opened->iovs++] = (struct iovec){ .iov_base = payload, .iov_len = n };
	}
}

/* Open one unit, which is whole: 0, or -1. */
static int open_unit(const struct wire_key *key, struct wire_state *state, unsigned char *unit,
		     struct iovec *iov, struct wire_opened *opened)
{
	if (!state->begun)
		return open_start(key, state, unit);
	if (!state->length_open)
		return open_length(key, state, unit);

	if (open_box(key, state, unit, state->payload) < 0)
		return -1;
	state->length_open = false;
	deliver(iov, opened, unit, state->payload);
	return 0;
}

/* No place for the payload that comes next. */
static bool full(const struct wire_state *state, const struct wire_opened *opened)
{
	return state->length_open && state->payload > SMALL && opened->iovs == WIRE_IOV;
}

static int aead_open(const struct wire_key *key, struct wire_state *state, unsigned char *buf,
		     size_t n, struct iovec *iov, struct wire_opened *opened)
{
	*opened = (struct wire_opened){ .need = next_unit(key, state) };
	if (state->broken)
		return -1;
	if (n < opened->need)
		return 0;

	if (state->begun)
		expand(key, state->subkey);
	while (n - opened->used >= opened->need && !full(state, opened)) {
		if (open_unit(key, state, buf + opened->used, iov, opened) < 0) {
			state->broken = true;
			break;
		}
		opened->used += opened->need;
		opened->need = next_unit(key, state);
	}
	forget();
	return state->broken && opened->used == 0 ? -1 : 0;
}

const struct wire_format wire_aead = {
	.slots = aead_slots,
	.seal = aead_seal,
	.first = aead_first,
	.open = aead_open,
};
