/*
 * The table of methods, and the way from a method to its format. Called by everything that seals
 * or opens; owns nothing. No I/O.
 */
#include "net/wire.h"

#include "crypto/blake3.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static const struct wire_method methods[] = {
	{ .name = "aes-128-gcm", .format = &wire_aead, .cipher = "aes-128-gcm" },
	{ .name = "aes-192-gcm", .format = &wire_aead, .cipher = "aes-192-gcm" },
	{ .name = "aes-256-gcm", .format = &wire_aead, .cipher = "aes-256-gcm" },
	{
		.name = "chacha20-ietf-poly1305",
		.format = &wire_aead,
		.cipher = "chacha20-ietf-poly1305",
	},
	{
		.name = "xchacha20-ietf-poly1305",
		.format = &wire_aead,
		.cipher = "xchacha20-ietf-poly1305",
	},
};

/* Names that go-shadowsocks2 gave the same methods (PROTOCOL 4.1). */
static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "AEAD_AES_128_GCM", "aes-128-gcm" },
	{ "AEAD_AES_256_GCM", "aes-256-gcm" },
	{ "AEAD_CHACHA20_POLY1305", "chacha20-ietf-poly1305" },
};

const struct wire_method *wire_find(const char *name)
{
	for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
		if (strcasecmp(name, aliases[i].alias) == 0)
			name = aliases[i].name;
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (strcasecmp(name, methods[i].name) == 0)
			return &methods[i];
	return NULL;
}

const struct wire_method *wire_list(unsigned i)
{
	return i < sizeof methods / sizeof methods[0] ? &methods[i] : NULL;
}

size_t wire_key_len(const struct wire_method *method)
{
	return aead_find(method->cipher)->key;
}

static uint64_t system_clock(void)
{
	return (uint64_t)time(NULL);
}

void wire_key_set(struct wire_key *key, const struct wire_method *method,
		  const unsigned char *bytes)
{
	const struct aead *aead = aead_find(method->cipher);

	*key = (struct wire_key){
		.format = method->format,
		.method = method,
		.aead = aead,
		.packet_aead = method->packet_cipher ? aead_find(method->packet_cipher) : aead,
		.key_len = aead->key,
		.salt_len = aead->key,
		.clock = system_clock,
		.padding_max = WIRE_PADDING_MAX,
	};
	memcpy(key->key, bytes, aead->key);
}

void wire_key_chain(struct wire_key *key, struct wire_identity *chain, unsigned n)
{
	assert(n > 0 && n <= WIRE_IDENTITIES);
	for (unsigned i = 0; i < n; i++)
		blake3_hash(i + 1 < n ? chain[i + 1].key : key->key, key->key_len, chain[i].next,
			    sizeof chain[i].next);
	key->identities = chain;
	key->identity_count = n;
}

int wire_slots(const struct wire_key *key, unsigned char *buf, size_t size, size_t batch,
	       struct iovec *iov)
{
	return key->format->slots(key, buf, size, batch, iov);
}

size_t wire_seal(const struct wire_key *key, struct wire_state *state, unsigned char *buf, size_t n)
{
	assert(state->begun && n > 0);
	return key->format->seal(key, state, buf, n);
}

size_t wire_first(const struct wire_key *key, struct wire_state *state,
		  const struct endpoint *header, const unsigned char *payload, size_t n,
		  unsigned char *buf)
{
	assert(!state->begun && n <= WIRE_FIRST_PAYLOAD && (header || n > 0));
	return key->format->first(key, state, header, payload, n, buf);
}

int wire_open(const struct wire_key *key, struct wire_state *state, unsigned char *buf, size_t n,
	      struct iovec *iov, struct wire_opened *opened)
{
	return key->format->open(key, state, buf, n, iov, opened);
}

void wire_answers(struct wire_state *down, const struct wire_state *up)
{
	memcpy(down->salt, up->salt, sizeof down->salt);
	down->user = up->user;
}

void wire_wipe(struct wire_state *state)
{
	sodium_memzero(state, sizeof *state);
}
