/*
 * The table of methods, and the way from a method to its format. Called by everything that seals
 * or opens; owns nothing. No I/O.
 */
#include "net/wire.h"

#include "crypto/blake3.h"
#include "net/salt.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* SIP022: packets are sealed by the X variant of what seals streams. */
#define CHACHA(name_, cipher_)                                          \
	{                                                               \
		.name = name_, .format = &wire_2022, .cipher = cipher_, \
		.packet_cipher = "x" cipher_                            \
	}

#define STREAM(name_)                                                  \
	{                                                              \
		.name = name_, .format = &wire_stream, .cipher = name_ \
	}

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

	{ .name = "2022-blake3-aes-128-gcm", .format = &wire_2022, .cipher = "aes-128-gcm" },
	{ .name = "2022-blake3-aes-256-gcm", .format = &wire_2022, .cipher = "aes-256-gcm" },
	CHACHA("2022-blake3-chacha20-poly1305", "chacha20-ietf-poly1305"),
	CHACHA("2022-blake3-chacha12-poly1305", "chacha12-ietf-poly1305"),
	CHACHA("2022-blake3-chacha8-poly1305", "chacha8-ietf-poly1305"),

	/* deprecated: whoever can write to the connection can change what it carries */
	STREAM("rc4-md5"),
	STREAM("rc4-md5-6"),
	STREAM("rc4"),
	STREAM("aes-128-cfb"),
	STREAM("aes-192-cfb"),
	STREAM("aes-256-cfb"),
	STREAM("aes-128-ctr"),
	STREAM("aes-192-ctr"),
	STREAM("aes-256-ctr"),
	STREAM("aes-128-cfb1"),
	STREAM("aes-192-cfb1"),
	STREAM("aes-256-cfb1"),
	STREAM("aes-128-cfb8"),
	STREAM("aes-192-cfb8"),
	STREAM("aes-256-cfb8"),
	STREAM("aes-128-ofb"),
	STREAM("aes-192-ofb"),
	STREAM("aes-256-ofb"),
	STREAM("camellia-128-cfb"),
	STREAM("camellia-192-cfb"),
	STREAM("camellia-256-cfb"),
	STREAM("bf-cfb"),
	STREAM("salsa20"),
	STREAM("chacha20"),
	STREAM("chacha20-ietf"),
	STREAM("xchacha20"),
	STREAM("table"),
	STREAM("none"),
};

/* Names that go-shadowsocks2 gave the same methods, and other programs. */
static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "AEAD_AES_128_GCM", "aes-128-gcm" },
	{ "AEAD_AES_256_GCM", "aes-256-gcm" },
	{ "AEAD_CHACHA20_POLY1305", "chacha20-ietf-poly1305" },
	{ "aes-128-cfb128", "aes-128-cfb" },
	{ "aes-192-cfb128", "aes-192-cfb" },
	{ "aes-256-cfb128", "aes-256-cfb" },
	{ "plain", "none" },
	{ "dummy", "none" },
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

/* The method's stream cipher, or NULL: it has none, or not in this build. */
static const struct stream *stream_of(const struct wire_method *method)
{
	return method->format == &wire_stream ? stream_find(method->cipher) : NULL;
}

size_t wire_key_len(const struct wire_method *method)
{
	const struct stream *stream = stream_of(method);

	return stream ? stream->key : aead_find(method->cipher)->key;
}

bool wire_built(const struct wire_method *method)
{
	const struct stream *stream = stream_of(method);

	return stream ? stream_built(stream) : method->format != &wire_stream;
}

static uint64_t system_clock(void)
{
	return (uint64_t)time(NULL);
}

static uint64_t steady_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

/* What hangs on a stream cipher. 0, or -1: no memory. */
static int set_stream(struct wire_key *key, const struct stream *stream)
{
	size_t n = stream_schedule(stream);

	key->stream = stream;
	key->key_len = stream->key;
	key->salt_len = stream->iv;
	key->schedule = malloc(n > 0 ? n : 1);
	if (!key->schedule)
		return -1;
	stream_expand(stream, key->schedule, key->key);
	return 0;
}

static void set_aead(struct wire_key *key)
{
	const struct wire_method *method = key->method;

	key->aead = aead_find(method->cipher);
	key->packet_aead = method->packet_cipher ? aead_find(method->packet_cipher) : key->aead;
	key->key_len = key->salt_len = key->aead->key;
	key->clock = system_clock;
	key->steady = steady_clock;
	key->padding_max = WIRE_PADDING_MAX;
}

int wire_key_set(struct wire_key *key, const struct wire_method *method, const unsigned char *bytes)
{
	const struct stream *stream = stream_of(method);

	*key = (struct wire_key){ .format = method->format, .method = method };
	memcpy(key->key, bytes, wire_key_len(method));
	if (stream)
		return set_stream(key, stream);
	set_aead(key);
	return 0;
}

void wire_key_wipe(struct wire_key *key)
{
	if (key->schedule)
		sodium_memzero(key->schedule, stream_schedule(key->stream));
	free(key->schedule);
	sodium_memzero(key, sizeof *key);
}

void wire_fresh_salt(const struct wire_key *key, struct replay *replay, unsigned char *salt)
{
	if (key->salt_len == 0)
		return;
	do {
		salt_make(key, salt);
	} while (replay && replay_seen(replay, salt, key->salt_len));
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
	if (state->leased)
		wire_stream_return(state);
	sodium_memzero(state, sizeof *state);
}
