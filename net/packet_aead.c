/*
 * SIP004, UDP: salt, AEAD(address, payload), every one with a salt, and so a key,
 * of its own. Called through packet.c; owns nothing. No I/O.
 */
#include "net/packet.h"

#include "crypto/kdf.h"
#include "crypto/random.h"

#include <sodium.h>
#include <string.h>

static const unsigned char nonce[AEAD_NONCE_MAX];

/* Expand the subkey of a salt; the caller wipes the context. */
static void expand(const struct wire_key *key, const unsigned char *salt,
		   struct aead_context *context)
{
	unsigned char subkey[WIRE_KEY_MAX];

	kdf_subkey(key->key, salt, subkey, key->key_len);
	key->packet_aead->expand(context, subkey);
	sodium_memzero(subkey, sizeof subkey);
}

/* As for streams, but never with a prefix: it would make a datagram look like nothing there is. It
 * is remembered, so that our own bytes sent back to us are a replay; that it was there before need
 * not be feared, at this length. */
static void fresh_salt(const struct wire_key *key, unsigned char *salt)
{
	random_bytes(salt, key->salt_len);
	if (key->packet_replay)
		replay_note(key->packet_replay, salt, key->salt_len);
}

static unsigned char *aead_seal(const struct wire_key *key, struct packet_own *own,
				const struct packet_peer *to, const struct endpoint *address,
				unsigned char *payload, size_t n, size_t *length)
{
	unsigned char header[ENDPOINT_WIRE_MAX], *text, *packet;
	size_t header_len = endpoint_write(address, header);
	struct aead_context context;

	(void)own;
	(void)to;
	text = payload - header_len;
	packet = text - key->salt_len;
	memcpy(text, header, header_len);
	fresh_salt(key, packet);
	expand(key, packet, &context);
	key->packet_aead->seal(&context, nonce, NULL, 0, text, header_len + n, payload + n);
	sodium_memzero(&context, sizeof context);
	*length = key->salt_len + header_len + n + AEAD_TAG;
	return packet;
}

static int aead_begin(const struct wire_key *key, unsigned char *buf, size_t n,
		      struct packet_front *front)
{
	(void)buf;
	front->at = key->salt_len;
	return n > front->at + AEAD_TAG ? 0 : -1;
}

static int aead_open(const struct wire_key *key, const struct packet_own *own,
		     struct packet_peer *peer, const struct packet_front *front, unsigned char *buf,
		     size_t n, struct packet_opened *opened)
{
	unsigned char *text = buf + front->at;
	size_t len = n - front->at - AEAD_TAG;
	struct aead_context context;
	int result;

	(void)own;
	(void)peer;
	expand(key, buf, &context);
	result = key->packet_aead->open(&context, nonce, NULL, 0, text, len, text + len);
	sodium_memzero(&context, sizeof context);
	if (result < 0)
		return -1;
	/* Only salts that came with a good tag are remembered: see wire_aead.c. */
	if (key->packet_replay && replay_seen(key->packet_replay, buf, key->salt_len))
		return -1;

	int used = endpoint_read(&opened->address, text, len);

	if (used <= 0)
		return -1;
	opened->payload = text + used;
	opened->n = len - (size_t)used;
	return 0;
}

const struct packet_format packet_aead = {
	.seal = aead_seal,
	.begin = aead_begin,
	.open = aead_open,
};
