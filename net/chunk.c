/*
 * See chunk.h. Called by wire_aead.c and wire_2022.c; owns the expanded key of the burst at hand.
 */
#include "net/chunk.h"

#include "core/bytes.h"

#include <sodium.h>
#include <string.h>

enum { SMALL = 512 /* payloads up to here move together when opened */ };

/* It would be made again for the next burst anyway; wiping it costs 6 ns of some hundred, and then
 * no key of a session that is over stays behind. */
static struct aead_context scratch;

void chunk_expand(const struct aead *aead, const unsigned char *subkey)
{
	aead->expand(&scratch, subkey);
}

void chunk_forget(void)
{
	sodium_memzero(&scratch, sizeof scratch);
}

static void put_nonce(unsigned char nonce[AEAD_NONCE_MAX], uint64_t number)
{
	memset(nonce, 0, AEAD_NONCE_MAX);
	put_u64le(nonce, number);
}

void chunk_seal_box(const struct wire_key *key, struct wire_state *state, unsigned char *text,
		    size_t n)
{
	unsigned char nonce[AEAD_NONCE_MAX];

	put_nonce(nonce, state->nonce++);
	key->aead->seal(&scratch, nonce, NULL, 0, text, n, text + n);
}

int chunk_open_box(const struct wire_key *key, struct wire_state *state, unsigned char *text,
		   size_t n)
{
	unsigned char nonce[AEAD_NONCE_MAX];

	put_nonce(nonce, state->nonce);
	if (key->aead->open(&scratch, nonce, NULL, 0, text, n, text + n) < 0)
		return -1;
	state->nonce++;
	return 0;
}

size_t chunk_seal_one(const struct wire_key *key, struct wire_state *state, unsigned char *slot,
		      size_t n)
{
	put_u16be(slot, (uint16_t)n);
	chunk_seal_box(key, state, slot, CHUNK_LENGTH);
	chunk_seal_box(key, state, slot + CHUNK_LENGTH_BOX, n);
	return n + CHUNK_OVERHEAD;
}

int chunk_slots(const struct chunk_stream *stream, unsigned char *buf, size_t size, size_t batch,
		struct iovec *iov)
{
	int n = 0;

	while (n < WIRE_IOV && batch > 0 && size > CHUNK_OVERHEAD) {
		size_t payload = size - CHUNK_OVERHEAD;

		if (payload > stream->sealed)
			payload = stream->sealed;
		if (payload > batch)
			payload = batch;
		iov[n++] = (struct iovec){ .iov_base = buf + CHUNK_LENGTH_BOX, .iov_len = payload };
		buf += payload + CHUNK_OVERHEAD;
		size -= payload + CHUNK_OVERHEAD;
		batch -= payload;
	}
	return n;
}

size_t chunk_seal(const struct chunk_stream *stream, const struct wire_key *key,
		  struct wire_state *state, unsigned char *buf, size_t n)
{
	size_t sealed = 0;

	chunk_expand(key->aead, state->subkey);
	while (n > 0) {
		size_t payload = n < stream->sealed ? n : stream->sealed;

		sealed += chunk_seal_one(key, state, buf + sealed, payload);
		n -= payload;
	}
	chunk_forget();
	return sealed;
}

int chunk_open_length(const struct wire_key *key, struct wire_state *state, unsigned char *box,
		      size_t max)
{
	if (chunk_open_box(key, state, box, CHUNK_LENGTH) < 0)
		return -1;
	state->payload = get_u16be(box);
	state->length_open = true;
	return state->payload <= max ? 0 : -1;
}

void chunk_deliver(struct iovec *iov, struct wire_opened *opened, unsigned char *payload, size_t n)
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

/* The bytes that the next thing to be opened has. */
static size_t next_unit(const struct chunk_stream *stream, const struct wire_key *key,
			const struct wire_state *state)
{
	if (state->length_open)
		return state->payload + AEAD_TAG;
	return state->begun ? CHUNK_LENGTH_BOX : stream->start_size(key, state);
}

static int open_payload(const struct chunk_stream *stream, const struct wire_key *key,
			struct wire_state *state, unsigned char *unit, struct iovec *iov,
			struct wire_opened *opened)
{
	bool header = state->header_open;

	if (chunk_open_box(key, state, unit, state->payload) < 0)
		return -1;
	state->length_open = state->header_open = false;
	if (header)
		return stream->header(unit, state->payload, iov, opened);
	chunk_deliver(iov, opened, unit, state->payload);
	return 0;
}

/* Open one unit, which is whole: 0, or -1. */
static int open_unit(const struct chunk_stream *stream, const struct wire_key *key,
		     struct wire_state *state, unsigned char *unit, struct iovec *iov,
		     struct wire_opened *opened)
{
	if (!state->begun)
		return stream->start(key, state, unit);
	if (!state->length_open)
		return chunk_open_length(key, state, unit, stream->max);
	return open_payload(stream, key, state, unit, iov, opened);
}

/* No place for the payload that comes next. */
static bool full(const struct wire_state *state, const struct wire_opened *opened)
{
	return state->length_open && state->payload > SMALL && opened->iovs == WIRE_IOV;
}

int chunk_open(const struct chunk_stream *stream, const struct wire_key *key,
	       struct wire_state *state, unsigned char *buf, size_t n, struct iovec *iov,
	       struct wire_opened *opened)
{
	*opened = (struct wire_opened){ .need = next_unit(stream, key, state) };
	if (state->broken)
		return -1;
	if (n < opened->need)
		return 0;

	if (state->begun)
		chunk_expand(key->aead, state->subkey);
	while (n - opened->used >= opened->need && !full(state, opened)) {
		if (open_unit(stream, key, state, buf + opened->used, iov, opened) < 0) {
			state->broken = true;
			break;
		}
		opened->used += opened->need;
		opened->need = next_unit(stream, key, state);
	}
	chunk_forget();
	return state->broken && opened->used == 0 ? -1 : 0;
}
