/*
 * SIP022 and SIP023, UDP. The AES methods and the ChaCha methods have the same text, but another
 * way to hide the session and the number in front of it:
 *
 *	AES:    AES(PSK, session, number), identity headers, AEAD(subkey of the session, text)
 *	ChaCha: nonce, XChaCha(PSK, session, number, text)
 *	text:   type, timestamp, [session that is answered], padding length, padding, address, payload
 *
 * Called through packet.c. No I/O.
 */
#include "net/packet.h"

#include "crypto/random.h"
#include "net/expanded.h"
#include "net/sip022.h"

#include <sodium.h>
#include <string.h>

enum {
	FRONT = PACKET_ID + 8, /* session and number: the separate header of the AES methods */
	NONCE = 12,	       /* of a body: the end of that */
	XNONCE = 24,
	TYPE = 1 + 8,	     /* type and timestamp */
	PADDING_LENGTH = 2,  /* bytes */
	PADDING_PORT = 53,   /* queries have telling lengths */
	ADDRESS_MIN = 1 + 4, /* the shortest, a name of one letter */
	HEAD = FRONT + WIRE_IDENTITIES * AES_BLOCK + TYPE + PADDING_LENGTH + WIRE_PADDING_MAX +
	       ENDPOINT_WIRE_MAX
};

_Static_assert((size_t)HEAD <= PACKET_HEAD, "the largest packet must fit");
_Static_assert((size_t)FRONT == AES_BLOCK, "the separate header is a block");

static bool is_chacha(const struct wire_key *key)
{
	return key->packet_aead->nonce == XNONCE;
}

/* The shortest text that we open. */
static size_t text_min(const struct wire_key *key)
{
	return TYPE + (key->server ? 0u : PACKET_ID) + PADDING_LENGTH + ADDRESS_MIN;
}

static void derive(const struct wire_key *key, const struct user *user, const unsigned char *id,
		   unsigned char *subkey)
{
	sip022_session_subkey(key, sip022_psk(key, user), id, PACKET_ID, subkey);
}

/* Seal or open text[0..n) with its tag behind it. */
static void seal_box(const struct aead *aead, const unsigned char *key, const unsigned char *nonce,
		     unsigned char *text, size_t n)
{
	aead->seal(expanded_box(aead, key, false), nonce, NULL, 0, text, n, text + n);
}

static int open_box(const struct aead *aead, const unsigned char *key, const unsigned char *nonce,
		    unsigned char *text, size_t n)
{
	return aead->open(expanded_box(aead, key, true), nonce, NULL, 0, text, n, text + n);
}

/* Sealing. */

static size_t choose_padding(const struct wire_key *key, const struct endpoint *address, size_t n)
{
	bool wanted = key->packet_padding == PADDING_ALL ||
		      (key->packet_padding == PADDING_DNS && address->port == PADDING_PORT);

	if (!wanted || n >= key->padding_max)
		return 0;
	return 1 + randombytes_uniform((uint32_t)(key->padding_max - n));
}

/* Put the text's beginning in front of the payload; where it begins. */
static unsigned char *put_text(const struct wire_key *key, const struct packet_peer *to,
			       const struct endpoint *address, unsigned char *payload, size_t n)
{
	unsigned char header[ENDPOINT_WIRE_MAX], *at = payload;
	size_t len = endpoint_write(address, header), padding = choose_padding(key, address, n);

	at -= len;
	memcpy(at, header, len);
	at -= padding;
	memset(at, 0, padding);
	at -= PADDING_LENGTH;
	put_u16be(at, (uint16_t)padding);
	if (key->server) {
		at -= PACKET_ID;
		memcpy(at, to->id, PACKET_ID);
	}
	at -= TYPE;
	sip022_put_type(at, key);
	return at;
}

static void begin_session(const struct wire_key *key, struct packet_own *own,
			  const struct user *user)
{
	randombytes_buf(own->id, sizeof own->id);
	if (!is_chacha(key))
		derive(key, user, own->id, own->subkey);
	own->begun = true;
}

/* One header for each key of the chain (SIP023); the front is still plain. */
static void put_identities(const struct wire_key *key, const unsigned char front[FRONT],
			   unsigned char *to)
{
	for (unsigned i = 0; i < key->identity_count; i++, to += AES_BLOCK) {
		for (unsigned j = 0; j < AES_BLOCK; j++)
			to[j] = key->identities[i].next[j] ^ front[j];
		expanded_block(key->identities[i].key, key->key_len, false, to);
	}
}

static unsigned char *seal_aes(const struct wire_key *key, const struct packet_own *own,
			       const struct user *user, unsigned char *text, size_t n)
{
	unsigned char *front = text - key->identity_count * AES_BLOCK - FRONT;

	memcpy(front, own->id, PACKET_ID);
	put_u64be(front + PACKET_ID, own->number);
	put_identities(key, front, front + FRONT);
	seal_box(key->packet_aead, own->subkey, front + FRONT - NONCE, text, n);
	expanded_block(key->identity_count ? key->identities[0].key : sip022_psk(key, user),
		       key->key_len, false, front);
	return front;
}

static unsigned char *seal_chacha(const struct wire_key *key, const struct packet_own *own,
				  unsigned char *text, size_t n)
{
	unsigned char *front = text - FRONT, *nonce = front - XNONCE;

	memcpy(front, own->id, PACKET_ID);
	put_u64be(front + PACKET_ID, own->number);
	random_bytes(nonce, XNONCE);
	seal_box(key->packet_aead, key->key, nonce, front, FRONT + n);
	return nonce;
}

static unsigned char *seal_2022(const struct wire_key *key, struct packet_own *own,
				const struct packet_peer *to, const struct endpoint *address,
				unsigned char *payload, size_t n, size_t *length)
{
	const struct user *user = key->server ? to->user : NULL;
	unsigned char *text = put_text(key, to, address, payload, n), *packet;
	size_t text_len = (size_t)(payload - text) + n;

	if (!own->begun)
		begin_session(key, own, user);
	packet = is_chacha(key) ? seal_chacha(key, own, text, text_len)
				: seal_aes(key, own, user, text, text_len);
	own->number++;
	*length = (size_t)(text - packet) + text_len + AEAD_TAG;
	return packet;
}

/* Opening. */

static void take_front(struct packet_front *front, const unsigned char *bytes, size_t at)
{
	front->has_id = true;
	memcpy(front->id, bytes, PACKET_ID);
	front->number = get_u64be(bytes + PACKET_ID);
	front->at = at;
}

static struct user *identify(const struct wire_key *key, const unsigned char *front,
			     unsigned char *header)
{
	expanded_block(key->key, key->key_len, true, header);
	for (unsigned i = 0; i < AES_BLOCK; i++)
		header[i] ^= front[i];
	return users_find(key->users, header);
}

static int begin_aes(const struct wire_key *key, unsigned char *buf, size_t n,
		     struct packet_front *front)
{
	size_t at = FRONT + (key->users ? AES_BLOCK : 0u);

	if (n < at + text_min(key) + AEAD_TAG)
		return -1;
	expanded_block(key->key, key->key_len, true, buf);
	if (key->users) {
		front->user = identify(key, buf, buf + FRONT);
		if (!front->user)
			return -1;
	}
	take_front(front, buf, at);
	return 0;
}

static int begin_chacha(const struct wire_key *key, unsigned char *buf, size_t n,
			struct packet_front *front)
{
	if (n < XNONCE + FRONT + text_min(key) + AEAD_TAG)
		return -1;
	if (open_box(key->packet_aead, key->key, buf, buf + XNONCE, n - XNONCE - AEAD_TAG) < 0)
		return -1;
	take_front(front, buf + XNONCE, XNONCE + FRONT);
	return 0;
}

static int begin_2022(const struct wire_key *key, unsigned char *buf, size_t n,
		      struct packet_front *front)
{
	return is_chacha(key) ? begin_chacha(key, buf, n, front) : begin_aes(key, buf, n, front);
}

/* The body of the AES methods; that of the others was opened to read its front. A session keeps the
 * subkey of the user it began with, so nobody else's packet opens in it. */
static int open_body(const struct wire_key *key, struct packet_peer *peer,
		     const struct packet_front *front, unsigned char *buf, size_t n)
{
	unsigned char nonce[NONCE];

	if (is_chacha(key))
		return 0;
	if (!peer->known)
		derive(key, front->user, front->id, peer->subkey);
	memcpy(nonce, front->id + (FRONT - NONCE), PACKET_ID - (FRONT - NONCE));
	put_u64be(nonce + NONCE - 8, front->number);
	return open_box(key->packet_aead, peer->subkey, nonce, buf + front->at,
			n - front->at - AEAD_TAG);
}

/* Read the text, which has text_min() bytes at least: 0, or -1. */
static int read_text(const struct wire_key *key, const struct packet_own *own, unsigned char *text,
		     size_t n, struct packet_opened *opened)
{
	size_t at = TYPE, padding;
	int used;

	if (text[0] != (key->server ? SIP022_REQUEST : SIP022_ANSWER) ||
	    !sip022_timely(text + 1, key->clock()))
		return -1;
	if (!key->server) {
		if (!own->begun || sodium_memcmp(text + at, own->id, PACKET_ID) != 0)
			return -1;
		at += PACKET_ID;
	}
	padding = get_u16be(text + at);
	at += PADDING_LENGTH;
	if (padding > n - at)
		return -1;
	at += padding;
	used = endpoint_read(&opened->address, text + at, n - at);
	if (used <= 0)
		return -1;
	at += (size_t)used;
	opened->payload = text + at;
	opened->n = n - at;
	return 0;
}

static int open_2022(const struct wire_key *key, const struct packet_own *own,
		     struct packet_peer *peer, const struct packet_front *front, unsigned char *buf,
		     size_t n, struct packet_opened *opened)
{
	if (peer->known && !window_fresh(&peer->window, front->number))
		return -1;
	if (open_body(key, peer, front, buf, n) < 0 ||
	    read_text(key, own, buf + front->at, n - front->at - AEAD_TAG, opened) < 0)
		return -1;

	if (!peer->known) {
		memcpy(peer->id, front->id, PACKET_ID);
		peer->user = front->user;
		peer->known = true;
	}
	window_take(&peer->window, front->number);
	return 0;
}

const struct packet_format packet_2022 = {
	.seal = seal_2022,
	.begin = begin_2022,
	.open = open_2022,
};
