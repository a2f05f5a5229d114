/*
 * SIP022 and SIP023, TCP:
 *
 *	request:  salt, identity headers, AEAD(fixed header), AEAD(variable header), chunks
 *	answer:   salt, AEAD(header), AEAD(first payload), chunks
 *
 *	fixed header:    type, timestamp, length of the variable header
 *	variable header: address, padding length, padding, first payload
 *	header:          type, timestamp, salt of the request, length of the first payload
 *
 * A header ends in the length of what follows it, so that is opened like the payload of a chunk.
 * Called through wire.c; owns nothing. No I/O.
 */
#include "net/wire.h"

#include "net/chunk.h"
#include "net/packet.h"
#include "net/salt.h"
#include "net/salts.h"
#include "net/sip022.h"

#include <sodium.h>
#include <string.h>

enum {
	CHUNK_MAX = 65535,
	TYPE = 1 + 8,	   /* type and timestamp */
	FIXED = TYPE + 2,  /* the fixed header of a request */
	PADDING_LENGTH = 2 /* bytes */
};

_Static_assert(WIRE_SALT_MAX + WIRE_IDENTITIES * AES_BLOCK + FIXED + AEAD_TAG + ENDPOINT_WIRE_MAX +
			       PADDING_LENGTH + WIRE_PADDING_MAX + AEAD_TAG <=
		       WIRE_FIRST_ROOM,
	       "the largest request must fit");

static size_t answer_header(const struct wire_key *key)
{
	return TYPE + key->salt_len + 2u;
}

/* Sealing. */

/* One header for each key of the chain, which tells its owner who comes next (SIP023). */
static unsigned char *put_identities(const struct wire_key *key, const unsigned char *salt,
				     unsigned char *to)
{
	unsigned char subkey[WIRE_KEY_MAX];

	for (unsigned i = 0; i < key->identity_count; i++, to += AES_BLOCK) {
		const struct wire_identity *identity = &key->identities[i];

		sip022_identity_subkey(key, identity->key, salt, key->salt_len, subkey);
		memcpy(to, identity->next, AES_BLOCK);
		aes_encrypt_block(subkey, key->key_len, to);
	}
	sodium_memzero(subkey, sizeof subkey);
	return to;
}

/* A request without payload has padding, always: how long a request is must not tell that. */
static size_t choose_padding(const struct wire_key *key, size_t payload)
{
	uint32_t min = key->padding_min, max = key->padding_max;

	if (payload == 0 && min == 0)
		min = 1;
	return max > min ? min + randombytes_uniform(max - min + 1) : min;
}

static size_t put_variable(const struct wire_key *key, const struct endpoint *address,
			   const unsigned char *payload, size_t n, unsigned char *text)
{
	size_t len = endpoint_write(address, text), padding = choose_padding(key, n);

	put_u16be(text + len, (uint16_t)padding);
	len += PADDING_LENGTH;
	memset(text + len, 0, padding);
	len += padding;
	if (n > 0)
		memcpy(text + len, payload, n);
	return len + n;
}

/* The sealed bytes lie at buf[0..result). */
static size_t seal_request(const struct wire_key *key, struct wire_state *state,
			   const struct endpoint *address, const unsigned char *payload, size_t n,
			   unsigned char *buf)
{
	unsigned char *fixed = put_identities(key, buf, buf + key->salt_len);
	unsigned char *variable = fixed + FIXED + AEAD_TAG;
	size_t len = put_variable(key, address, payload, n, variable);

	memcpy(state->salt, buf, key->salt_len);
	sip022_put_type(fixed, key);
	put_u16be(fixed + TYPE, (uint16_t)len);
	chunk_seal_box(key, state, fixed, FIXED);
	chunk_seal_box(key, state, variable, len);
	return (size_t)(variable - buf) + len + AEAD_TAG;
}

static size_t seal_answer(const struct wire_key *key, struct wire_state *state,
			  const unsigned char *payload, size_t n, unsigned char *buf)
{
	unsigned char *header = buf + key->salt_len;
	unsigned char *text = header + answer_header(key) + AEAD_TAG;

	sip022_put_type(header, key);
	memcpy(header + TYPE, state->salt, key->salt_len);
	put_u16be(header + TYPE + key->salt_len, (uint16_t)n);
	memcpy(text, payload, n);
	chunk_seal_box(key, state, header, answer_header(key));
	chunk_seal_box(key, state, text, n);
	return (size_t)(text - buf) + n + AEAD_TAG;
}

static size_t first_2022(const struct wire_key *key, struct wire_state *state,
			 const struct endpoint *address, const unsigned char *payload, size_t n,
			 unsigned char *buf)
{
	size_t sealed;

	salt_make(key, buf);
	sip022_session_subkey(key, sip022_psk(key, state->user), buf, key->salt_len, state->subkey);
	state->begun = true;
	chunk_expand(key->aead, state->subkey);
	sealed = address ? seal_request(key, state, address, payload, n, buf)
			 : seal_answer(key, state, payload, n, buf);
	chunk_forget();
	return sealed;
}

/* Opening. */

static size_t start_size(const struct wire_key *key, const struct wire_state *state)
{
	size_t request = (key->users ? AES_BLOCK : 0u) + FIXED;

	(void)state;
	return key->salt_len + (key->server ? request : answer_header(key)) + AEAD_TAG;
}

/* Who sends this (SIP023)? NULL: nobody we know. */
static struct user *identify(const struct wire_key *key, const unsigned char *salt,
			     const unsigned char *header)
{
	unsigned char subkey[WIRE_KEY_MAX], hash[AES_BLOCK];

	sip022_identity_subkey(key, key->key, salt, key->salt_len, subkey);
	memcpy(hash, header, sizeof hash);
	aes_decrypt_block(subkey, key->key_len, hash);
	sodium_memzero(subkey, sizeof subkey);
	return users_find(key->users, hash);
}

/* What follows has its length in the header. */
static void go_on(struct wire_state *state, const unsigned char *length)
{
	state->payload = get_u16be(length);
	state->length_open = state->begun = true;
}

/* Remember the salt of a request with this timestamp: 0, or -1, and whether it is to blame. */
static int remember(const struct wire_key *key, struct wire_state *state, const unsigned char *salt,
		    uint64_t stamp, uint64_t now)
{
	struct salts_now both = { .clock = now, .steady = key->steady() };
	enum salts_result result = salts_add(key->salts, salt, key->salt_len, stamp, both);

	state->salts_full = result == SALTS_FULL;
	state->salts_unsure = result == SALTS_UNSURE;
	return result == SALTS_NEW ? 0 : -1;
}

/* Only the salt of a request that is right in everything so far is remembered: others would fill
 * the memory, or burn the salt of a request that is still to come. */
static int start_request(const struct wire_key *key, struct wire_state *state, unsigned char *buf)
{
	unsigned char *fixed = buf + key->salt_len;
	struct user *user = NULL;
	uint64_t now = key->clock();

	if (key->users) {
		user = identify(key, buf, fixed);
		if (!user)
			return -1;
		fixed += AES_BLOCK;
	}
	sip022_session_subkey(key, sip022_psk(key, user), buf, key->salt_len, state->subkey);
	chunk_expand(key->aead, state->subkey);
	if (chunk_open_box(key, state, fixed, FIXED) < 0)
		return -1;
	if (fixed[0] != SIP022_REQUEST || !sip022_timely(fixed + 1, now))
		return -1;
	if (key->salts && remember(key, state, buf, get_u64be(fixed + 1), now) < 0)
		return -1;

	memcpy(state->salt, buf, key->salt_len);
	if (user)
		state->user = user_hold(user);
	state->header_open = true;
	go_on(state, fixed + TYPE);
	return 0;
}

static int start_answer(const struct wire_key *key, struct wire_state *state, unsigned char *buf)
{
	unsigned char *header = buf + key->salt_len;

	sip022_session_subkey(key, key->key, buf, key->salt_len, state->subkey);
	chunk_expand(key->aead, state->subkey);
	if (chunk_open_box(key, state, header, answer_header(key)) < 0)
		return -1;
	if (header[0] != SIP022_ANSWER || !sip022_timely(header + 1, key->clock()))
		return -1;
	if (sodium_memcmp(header + TYPE, state->salt, key->salt_len) != 0)
		return -1;
	go_on(state, header + TYPE + key->salt_len);
	return 0;
}

static int start(const struct wire_key *key, struct wire_state *state, unsigned char *buf)
{
	return key->server ? start_request(key, state, buf) : start_answer(key, state, buf);
}

/* The variable header: the address and the payload are delivered, as if they were all there is. */
static int open_variable(unsigned char *text, size_t n, struct iovec *iov,
			 struct wire_opened *opened)
{
	struct endpoint address;
	int used = endpoint_read(&address, text, n);
	size_t left, padding;

	if (used <= 0 || n - (size_t)used < PADDING_LENGTH)
		return -1;
	left = n - (size_t)used - PADDING_LENGTH;
	padding = get_u16be(text + used);
	if (padding > left || left == 0)
		return -1;
	chunk_deliver(iov, opened, text, (size_t)used);
	chunk_deliver(iov, opened, text + n - (left - padding), left - padding);
	return 0;
}

static const struct chunk_stream stream = {
	.max = CHUNK_MAX,
	.sealed = WIRE_CHUNK, /* a peer must hold a whole chunk before it can open it */
	.start_size = start_size,
	.start = start,
	.header = open_variable,
};

static int slots_2022(const struct wire_key *key, unsigned char *buf, size_t size, size_t batch,
		      struct iovec *iov)
{
	(void)key;
	return chunk_slots(&stream, buf, size, batch, iov);
}

static size_t seal_2022(const struct wire_key *key, struct wire_state *state, unsigned char *buf,
			size_t n)
{
	return chunk_seal(&stream, key, state, buf, n);
}

static int open_2022(const struct wire_key *key, struct wire_state *state, unsigned char *buf,
		     size_t n, struct iovec *iov, struct wire_opened *opened)
{
	return chunk_open(&stream, key, state, buf, n, iov, opened);
}

const struct wire_format wire_2022 = {
	.packets = &packet_2022,
	.first_read = true,
	.slots = slots_2022,
	.seal = seal_2022,
	.first = first_2022,
	.open = open_2022,
};
