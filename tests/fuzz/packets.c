/*
 * Datagrams sealed with the key, whose plaintext the input writes: SIP004, SIP022, SIP023, at a server
 * and at a client. An input picks the method and then is a row of packets of two sessions: what is odd
 * about each, its number, the bytes of its text. A packet must open exactly if a model says so.
 */
#include "net/packet.h"

#include "crypto/kdf.h"
#include "net/sip022.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW = 1700000000, TYPE = 9, NUMBERS = 65536, ROOM = 2048, METHODS = 10 };

/* What is odd about a packet. */
enum { OTHER_SESSION = 1, ODD_TYPE = 2, ODD_STAMP = 4, ODD_ID = 8, DAMAGED = 16, CUT = 32 };

struct input {
	const uint8_t *at;
	size_t left;
};

/* What is known of a session that sends. */
struct model {
	bool known;
	uint64_t newest;
	uint8_t taken[NUMBERS / 8];
};

struct receiver {
	struct wire_key key;
	const struct user *user;
	struct packet_own own;
	struct packet_peer peers[PACKET_PEERS];
};

static const unsigned char secret[WIRE_KEY_MAX] = "not so secret", hers[WIRE_KEY_MAX] = "hers";

static uint64_t fixed_clock(void)
{
	return NOW;
}

static uint8_t next(struct input *in)
{
	return in->left > 0 ? (in->left--, *in->at++) : 0;
}

static bool is_2022(const struct wire_key *key)
{
	return key->format == &wire_2022;
}

static bool is_chacha(const struct wire_key *key)
{
	return key->packet_aead != key->aead;
}

static size_t seal(const struct aead *aead, const unsigned char *key, const unsigned char *nonce,
		   unsigned char *text, size_t n)
{
	static struct aead_context context;

	aead->expand(&context, key);
	aead->seal(&context, nonce, NULL, 0, text, n, text + n);
	return n + AEAD_TAG;
}

/* Packets as the sender makes them; the bytes before the text are its front. The length. */
static size_t seal_2017(const struct receiver *r, unsigned char *packet, const unsigned char *text,
			size_t n)
{
	static const unsigned char zeroes[AEAD_NONCE_MAX];
	unsigned char subkey[WIRE_KEY_MAX];

	memset(packet, 5, r->key.salt_len);
	kdf_subkey(secret, packet, subkey, r->key.key_len);
	memcpy(packet + r->key.salt_len, text, n);
	return r->key.salt_len +
	       seal(r->key.packet_aead, subkey, zeroes, packet + r->key.salt_len, n);
}

static size_t seal_aes(const struct receiver *r, const unsigned char front[16],
		       unsigned char *packet, const unsigned char *text, size_t n)
{
	unsigned char subkey[WIRE_KEY_MAX], *at = packet;

	memcpy(at, front, AES_BLOCK);
	aes_encrypt_block(secret, r->key.key_len, at);
	at += AES_BLOCK;
	if (r->user) {
		for (int i = 0; i < AES_BLOCK; i++)
			at[i] = r->user->hash[i] ^ front[i];
		aes_encrypt_block(secret, r->key.key_len, at);
		at += AES_BLOCK;
	}
	sip022_session_subkey(&r->key, r->user ? hers : secret, front, PACKET_ID, subkey);
	memcpy(at, text, n);
	return (size_t)(at - packet) + seal(r->key.packet_aead, subkey, front + 4, at, n);
}

static size_t seal_chacha(const struct receiver *r, const unsigned char front[16],
			  unsigned char *packet, const unsigned char *text, size_t n)
{
	memset(packet, 3, 24);
	memcpy(packet + 24, front, 16);
	memcpy(packet + 40, text, n);
	return 24 + seal(r->key.packet_aead, secret, packet, packet + 24, 16 + n);
}

/* Must this text be opened? Then *payload is where its payload begins. */
static bool text_good(const struct receiver *r, const unsigned char *text, size_t n,
		      size_t *payload)
{
	size_t fixed = is_2022(&r->key) ? TYPE + (r->key.server ? 0u : PACKET_ID) + 2u : 0, padding;
	struct endpoint address;
	int used;

	if (fixed > 0) {
		if (n < fixed + 5)
			return false;
		padding = get_u16be(text + fixed - 2);
		if (padding > n - fixed)
			return false;
		fixed += padding;
	}
	used = endpoint_read(&address, text + fixed, n - fixed);
	*payload = fixed + (size_t)(used > 0 ? used : 0);
	return used > 0;
}

static bool number_good(const struct model *m, uint64_t number)
{
	if (!m->known || number > m->newest)
		return true;
	return m->newest - number < WINDOW_SIZE && !(m->taken[number / 8] >> number % 8 & 1);
}

static void number_taken(struct model *m, uint64_t number)
{
	if (!m->known || number > m->newest)
		m->newest = number;
	m->known = true;
	m->taken[number / 8] |= (uint8_t)(1 << number % 8);
}

static int open_packet(struct receiver *r, unsigned char *packet, size_t n,
		       struct packet_opened *opened)
{
	struct packet_peer fresh = { 0 }, *peer = &fresh;
	struct packet_front front;
	int result;

	if (!r->key.server)
		return packet_open_answer(&r->key, &r->own, r->peers, 1, packet, n, opened);
	if (packet_begin(&r->key, packet, n, &front) < 0)
		return -1;
	for (int i = 0; front.has_id && i < PACKET_PEERS; i++)
		if (r->peers[i].known && memcmp(r->peers[i].id, front.id, PACKET_ID) == 0)
			peer = &r->peers[i];
	result = packet_open(&r->key, NULL, peer, &front, packet, n, opened);
	if (result == 0 && front.has_id && peer == &fresh) {
		assert(!r->peers[front.id[0]].known);
		r->peers[front.id[0]] = fresh;
	}
	return result;
}

/* Type, timestamp and session as they must be, unless the packet is odd. False: they are not. */
static bool put_fixed(const struct receiver *r, struct input *in, unsigned odd, unsigned char *text)
{
	uint8_t type = r->key.server ? SIP022_REQUEST : SIP022_ANSWER;

	text[0] = odd & ODD_TYPE ? next(in) : type;
	put_u64be(text + 1, NOW + (uint64_t)(odd & ODD_STAMP ? (int8_t)next(in) : 0));
	memcpy(text + TYPE, r->own.id, PACKET_ID);
	if (!r->key.server && odd & ODD_ID)
		text[TYPE + next(in) % PACKET_ID] ^= next(in);
	return text[0] == type && sip022_timely(text + 1, NOW) &&
	       (r->key.server || memcmp(text + TYPE, r->own.id, PACKET_ID) == 0);
}

static void one_packet(struct receiver *r, struct input *in, struct model models[2])
{
	unsigned char text[ROOM], packet[ROOM], front[16] = { 0 };
	unsigned odd = next(in);
	struct model *m = &models[odd & OTHER_SESSION];
	uint64_t number = (uint64_t)(next(in) << 8 | next(in));
	size_t n = 0, body = next(in), payload = 0, length;
	struct packet_opened opened;
	bool good = true;

	front[0] = odd & OTHER_SESSION;
	put_u64be(front + PACKET_ID, number);
	if (is_2022(&r->key)) {
		good = put_fixed(r, in, odd, text) && number_good(m, number);
		n = TYPE + (r->key.server ? 0u : PACKET_ID);
	}
	body = (body << 2) < in->left ? body << 2 : in->left;
	memcpy(text + n, in->at, body);
	in->at += body;
	in->left -= body;
	n += body;
	good &= text_good(r, text, n, &payload);

	length = !is_2022(&r->key)    ? seal_2017(r, packet, text, n)
		 : is_chacha(&r->key) ? seal_chacha(r, front, packet, text, n)
				      : seal_aes(r, front, packet, text, n);
	if (odd & DAMAGED) {
		packet[(size_t)(next(in) << 8 | next(in)) % length] ^= 1;
		good = false;
	}
	if (odd & CUT) {
		length -= 1 + next(in) % length;
		good = false;
	}

	unsigned char *exact = malloc(length ? length : 1);

	memcpy(exact, packet, length);
	assert((open_packet(r, exact, length, &opened) == 0) == good);
	if (good) {
		assert(opened.n == n - payload);
		assert(memcmp(opened.payload, text + payload, opened.n) == 0);
		number_taken(m, number);
	}
	free(exact);
}

static struct users *her_table(size_t key_len)
{
	static struct users *tables[WIRE_KEY_MAX + 1];

	if (!tables[key_len]) {
		tables[key_len] = users_open(1);
		assert(tables[key_len]);
		assert(users_add(tables[key_len], "she", hers, key_len) == USERS_ADDED);
	}
	return tables[key_len];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct model models[2];
	struct input in = { data, size };
	struct receiver r = { .own = { .id = "client", .begun = true } };
	unsigned what = next(&in);

	assert(crypto_open() == 0);
	assert(wire_key_set(&r.key, wire_list(what % 16 % METHODS), secret) == 0);
	r.key.clock = fixed_clock;
	r.key.server = what & 16;
	if (what & 32 && r.key.server && is_2022(&r.key) && !is_chacha(&r.key)) {
		r.key.users = her_table(r.key.key_len);
		r.user = users_at(r.key.users, 0);
	}
	memset(models, 0, sizeof models);
	while (in.left > 0)
		one_packet(&r, &in, models);
	return 0;
}
