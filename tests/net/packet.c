/*
 * Packets of SIP004, SIP022 and SIP023: vectors, everything that must be refused, round trips, a
 * change at every byte, replays, sessions on both sides. States change only for packets that are
 * right.
 */
#include "net/packet.h"

#include "core/bytes.h"
#include "net/sip022.h"
#include "net/users.h"
#include "tests/vectors.h"

#include <sodium.h>

enum { METHODS = 5, ALL = 10, ROOM = PACKET_HEAD + 66000 };

/* The methods of SIP022, then those of SIP004. */
static const char *const methods[ALL] = {
	"2022-blake3-aes-128-gcm",
	"2022-blake3-aes-256-gcm",
	"2022-blake3-chacha20-poly1305",
	"2022-blake3-chacha12-poly1305",
	"2022-blake3-chacha8-poly1305",
	"aes-128-gcm",
	"aes-192-gcm",
	"aes-256-gcm",
	"chacha20-ietf-poly1305",
	"xchacha20-ietf-poly1305",
};

static const struct endpoint example = {
	.port = 80, .type = ENDPOINT_NAME, .len = 11, .host = "example.com"
};
static const struct endpoint dns = {
	.port = 53, .type = ENDPOINT_IPV4, .len = 4, .host = "\xc0\x00\x02\x01"
};

static unsigned char room[ROOM], copy[ROOM];
static uint64_t now = 1700000000;

static uint64_t set_clock(void)
{
	return now;
}

static void keys_of(struct wire_key *client, struct wire_key *server, const char *method,
		    const unsigned char *psk)
{
	assert_int_equal(wire_key_set(client, wire_find(method), psk), 0);
	client->clock = set_clock;
	client->padding_max = 0;
	*server = *client;
	server->server = true;
}

static void any_keys(struct wire_key *client, struct wire_key *server, unsigned method)
{
	unsigned char psk[WIRE_KEY_MAX];

	for (size_t i = 0; i < sizeof psk; i++)
		psk[i] = (unsigned char)(i * 7 + method);
	keys_of(client, server, methods[method], psk);
}

static void assert_address(const struct endpoint *a, const struct endpoint *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->port, b->port);
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->host, b->host, a->len);
}

/* Open in memory that ends where the packet does; the payload is copied to `copy`. */
static int open_exact(const struct wire_key *key, const struct packet_own *own,
		      struct packet_peer *peer, const unsigned char *packet, size_t n,
		      struct packet_opened *opened)
{
	unsigned char *exact = malloc(n ? n : 1);
	struct packet_front front;
	int result = -1;

	assert_non_null(exact);
	memcpy(exact, packet, n);
	if (packet_begin(key, exact, n, &front) == 0)
		result = packet_open(key, own, peer, &front, exact, n, opened);
	if (result == 0) {
		assert_true(opened->payload >= exact);
		assert_true(opened->payload + opened->n <= exact + n);
		memcpy(copy, opened->payload, opened->n);
	}
	free(exact);
	return result;
}

/* Refused, and nothing has changed. */
static void check_refused(const struct wire_key *key, const struct packet_own *own,
			  const struct packet_peer *peer, const unsigned char *packet, size_t n)
{
	struct packet_peer after = *peer;
	struct packet_opened opened;

	assert_int_equal(open_exact(key, own, &after, packet, n, &opened), -1);
	assert_int_equal(after.known, peer->known);
	assert_memory_equal(&after.window, &peer->window, sizeof after.window);
	assert_memory_equal(after.id, peer->id, sizeof after.id);
	assert_ptr_equal(after.user, peer->user);
}

static void check_opens(const struct wire_key *key, const struct packet_own *own,
			struct packet_peer *peer, const unsigned char *packet, size_t n,
			const struct endpoint *address, const void *payload, size_t payload_n)
{
	struct packet_opened opened;

	assert_int_equal(open_exact(key, own, peer, packet, n, &opened), 0);
	assert_address(&opened.address, address);
	assert_int_equal(opened.n, payload_n);
	assert_memory_equal(copy, payload, payload_n);
}

/* Seal a text; the packet lies in `room`, its start is returned. */
static unsigned char *seal(const struct wire_key *key, struct packet_own *own,
			   const struct packet_peer *to, const struct endpoint *address,
			   const void *text, size_t n, size_t *length)
{
	unsigned char *packet;

	memset(room, 0xa5, sizeof room);
	if (n > 0)
		memcpy(room + PACKET_HEAD, text, n);
	packet = packet_seal(key, own, to, address, room + PACKET_HEAD, n, length);
	assert_true(packet >= room);
	assert_true(packet + *length == room + PACKET_HEAD + n + PACKET_TAIL);
	assert_int_equal(packet[*length], 0xa5);
	assert_true(packet == room || packet[-1] == 0xa5);
	return packet;
}

/* Vectors. */

static const struct endpoint vector_target = {
	.port = 53, .type = ENDPOINT_NAME, .len = 11, .host = "example.com"
};

static void check_packets_of(const struct json *v)
{
	const struct json *first = vectors_member(v, "client_packet_0");
	const struct json *padded = vectors_member(v, "client_packet_1_padded");
	const struct json *answer = vectors_member(v, "server_packet_0");
	struct packet_own client_own = { .begun = true }, server_own = { .begun = true };
	struct packet_peer client_peer = { 0 }, server_peer = { 0 };
	struct wire_key client, server;
	unsigned char psk[32], wire[300];
	size_t n, length;
	bool aes;

	vectors_hex(v, "psk", psk, sizeof psk);
	keys_of(&client, &server, v->name, psk);
	aes = client.packet_aead->nonce == 12;
	now = 1700000000;
	vectors_hex(v, "client_session_id", client_own.id, PACKET_ID);
	vectors_hex(v, "server_session_id", server_own.id, PACKET_ID);
	sip022_session_subkey(&client, psk, client_own.id, PACKET_ID, client_own.subkey);
	sip022_session_subkey(&client, psk, server_own.id, PACKET_ID, server_own.subkey);

	n = vectors_hex(first, "wire", wire, sizeof wire);
	check_opens(&server, NULL, &server_peer, wire, n, &vector_target, "\x12\x34udp query", 11);
	if (aes) {
		unsigned char *ours = seal(&client, &client_own, NULL, &vector_target,
					   "\x12\x34udp query", 11, &length);

		assert_int_equal(length, n);
		assert_memory_equal(ours, wire, n);
		assert_int_equal(client_own.number, 1);
	}
	check_refused(&server, NULL, &server_peer, wire, n); /* it came */
	n = vectors_hex(padded, "wire", wire, sizeof wire);
	check_opens(&server, NULL, &server_peer, wire, n, &vector_target, "\x12\x34udp query", 11);

	now = 1700000001;
	n = vectors_hex(answer, "wire", wire, sizeof wire);
	struct endpoint from = dns;

	check_opens(&client, &client_own, &client_peer, wire, n, &from, "\x12\x34udp answer", 12);
	assert_memory_equal(client_peer.id, server_own.id, PACKET_ID);
	if (aes) {
		unsigned char *ours = seal(&server, &server_own, &server_peer, &from,
					   "\x12\x34udp answer", 12, &length);

		assert_int_equal(length, n);
		assert_memory_equal(ours, wire, n);
	} else { /* what we make opens to the vector's text */
		unsigned char right[300], *ours;
		struct packet_front front;

		ours = seal(&server, &server_own, &server_peer, &from, "\x12\x34udp answer", 12,
			    &length);
		assert_int_equal(length, n);
		assert_int_equal(packet_begin(&client, ours, length, &front), 0);
		n = vectors_hex(answer, "plaintext", right, sizeof right);
		assert_memory_equal(ours + 24, right, n);
	}
}

static void sip022_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	const struct json *udp = vectors_member(vectors_member(document.root, "sip022"), "udp");

	for (const struct json *v = udp->first; v; v = v->next, checked++)
		check_packets_of(v);
	json_free(&document);
	assert_int_equal(checked, METHODS);
}

static void check_chain(const struct json *v, const struct json *m)
{
	struct wire_identity chain[WIRE_IDENTITIES];
	const struct json *answer = vectors_member(m, "server_reply_uses_user_psk_and_no_identity_"
						      "header");
	struct packet_own own = { .begun = true }, server_own = { .begun = true };
	struct packet_peer peer = { 0 }, client_peer = { 0 };
	unsigned char psk[32], wire[300], *ours;
	struct wire_key client, server;
	struct users *users = users_open(1);
	size_t n, length, psk_len = 0;
	unsigned links = 0;

	for (const struct json *i = vectors_member(v, "identity_headers")->first; i;
	     i = i->next, links++) {
		vectors_hex(i, "ipsk", chain[links].key, WIRE_KEY_MAX);
		psk_len = vectors_hex(i, "next_psk", psk, sizeof psk);
	}
	keys_of(&server, &server, m->name, chain[0].key);
	keys_of(&client, &client, m->name, psk);
	client.server = false;
	wire_key_chain(&client, chain, links);
	assert_int_equal(users_add(users, "user", psk, psk_len), USERS_ADDED);
	server.users = users;

	now = 1700000000;
	/* we seal what the vector has */
	hex("0102030405060708", own.id, PACKET_ID);
	sip022_session_subkey(&client, psk, own.id, PACKET_ID, own.subkey);
	ours = seal(&client, &own, NULL, &vector_target, "\x12\x34udp query", 11, &length);
	n = vectors_hex(v, "wire", wire, sizeof wire);
	assert_int_equal(length, n);
	assert_memory_equal(ours, wire, n);

	if (links == 1) { /* and a server opens it */
		check_opens(&server, NULL, &peer, wire, n, &vector_target, "\x12\x34udp query", 11);
		assert_string_equal(peer.user->name, "user");
	} else { /* the next server in the chain does, from a relay */
		keys_of(&server, &server, m->name, chain[1].key);
		server.server = true;
		server.users = users;
		n = vectors_hex(m, "after_relay_0", wire, sizeof wire);
		check_opens(&server, NULL, &peer, wire, n, &vector_target, "\x12\x34udp query", 11);
	}

	now = 1700000001;
	hex("1112131415161718", server_own.id, PACKET_ID);
	sip022_session_subkey(&server, psk, server_own.id, PACKET_ID, server_own.subkey);
	ours = seal(&server, &server_own, &peer, &dns, "\x12\x34udp answer", 12, &length);
	n = vectors_hex(answer, "wire", wire, sizeof wire);
	assert_int_equal(length, n);
	assert_memory_equal(ours, wire, n);
	check_opens(&client, &own, &client_peer, wire, n, &dns, "\x12\x34udp answer", 12);
	users_close(users);
}

static void sip023_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	now = 1700000000;
	vectors_load(&document, "protocol/vectors.json");
	const struct json *udp = vectors_member(vectors_member(document.root, "sip023"), "udp");

	for (const struct json *m = udp->first; m; m = m->next, checked++) {
		check_chain(vectors_member(m, "one_ipsk"), m);
		check_chain(vectors_member(m, "two_ipsks"), m);
	}
	json_free(&document);
	assert_int_equal(checked, 2);
}

static void negative_file(void **state)
{
	struct json_document document;
	struct wire_key client, server;
	unsigned char psk[32], wire[300];
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	const struct json *negative = vectors_member(document.root, "negative");

	now = vectors_integer(negative, "receiver_clock");
	vectors_hex(negative, "psk", psk, sizeof psk);
	keys_of(&client, &server, vectors_text(negative, "method"), psk);
	for (const struct json *v = vectors_member(negative, "udp_client_packet")->first; v;
	     v = v->next, checked++) {
		struct packet_peer peer = { 0 };

		check_refused(&server, NULL, &peer, wire,
			      vectors_hex(v, "wire", wire, sizeof wire));
	}
	json_free(&document);
	assert_int_equal(checked, 5);
}

static void sip004_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	for (const struct json *v = vectors_member(document.root, "aead")->first; v;
	     v = v->next, checked++) {
		static const char *const names[] = { "udp_request", "udp_response" };
		unsigned char key[32], text[500], wire[600];

		for (int i = 0; i < 2; i++) {
			const struct json *p = vectors_member(v, names[i]);
			struct packet_peer peer = { 0 };
			struct wire_key client, server;
			struct endpoint address;
			size_t n, used;

			vectors_hex(v, "key", key, sizeof key);
			keys_of(&client, &server, v->name, key);
			n = vectors_hex(p, "plaintext", text, sizeof text);
			used = (size_t)endpoint_read(&address, text, n);
			check_opens(i ? &client : &server, NULL, &peer, wire,
				    vectors_hex(p, "wire", wire, sizeof wire), &address,
				    text + used, n - used);
		}
	}
	json_free(&document);
	assert_int_equal(checked, 5);
}

/* Both ways with every method, texts of many lengths, nothing included. */
static void round_trips(void **state)
{
	static unsigned char text[65000];

	(void)state;
	randombytes_buf(text, sizeof text);
	for (unsigned m = 0; m < ALL; m++) {
		struct packet_own client_own = { 0 }, server_own = { 0 };
		struct packet_peer client_peer = { 0 }, server_peer = { 0 };
		struct wire_key client, server;

		any_keys(&client, &server, m);
		client.padding_max = server.padding_max = WIRE_PADDING_MAX;
		for (size_t n = 0; n <= sizeof text; n += n < 40 ? 1 : n < 1000 ? 97 : 16000) {
			const struct endpoint *address = n % 2 ? &example : &dns;
			size_t length;
			unsigned char *packet;

			packet = seal(&client, &client_own, NULL, address, text, n, &length);
			check_opens(&server, NULL, &server_peer, packet, length, address, text, n);
			packet =
				seal(&server, &server_own, &server_peer, address, text, n, &length);
			check_opens(&client, &client_own, &client_peer, packet, length, address,
				    text, n);
			if (m < METHODS)
				check_refused(&client, &client_own, &client_peer, packet, length);
		}
		assert_memory_equal(client_own.id, server_peer.id, m < METHODS ? PACKET_ID : 0);
		assert_memory_equal(server_own.id, client_peer.id, m < METHODS ? PACKET_ID : 0);
	}
}

/* The longest names and chains fit in front of the payload. */
static void largest_head(void **state)
{
	struct endpoint long_name = { .port = 53, .type = ENDPOINT_NAME, .len = 255 };

	(void)state;
	memset(long_name.host, 'a', 255);
	for (unsigned m = 0; m < ALL; m++) {
		struct wire_identity chain[WIRE_IDENTITIES];
		struct packet_own own = { 0 };
		struct wire_key client, server;
		size_t length;

		any_keys(&client, &server, m);
		client.padding_max = WIRE_PADDING_MAX;
		randombytes_buf(chain, sizeof chain);
		if (m < 2)
			wire_key_chain(&client, chain, WIRE_IDENTITIES);
		for (int i = 0; i < 2000; i++)
			seal(&client, &own, NULL, &long_name, NULL, 0, &length);
	}
}

/* Lookups get padding, other traffic and large packets do not; padding is zeros. */
static void padding(void **state)
{
	struct packet_own own = { 0 };
	struct wire_key client, server;
	size_t least = 9999, most = 0, length;

	(void)state;
	any_keys(&client, &server, 2);
	client.padding_max = WIRE_PADDING_MAX;
	for (int i = 0; i < 20000; i++) {
		unsigned char *packet = seal(&client, &own, NULL, &dns, "0123456789", 10, &length);
		size_t got = length - (24 + 16 + 11 + 7 + 10 + 16);
		struct packet_front front;

		least = got < least ? got : least;
		most = got > most ? got : most;
		if (i < 20) {
			assert_int_equal(packet_begin(&server, packet, length, &front), 0);
			assert_int_equal(get_u16be(packet + 49), got);
			assert_true(sodium_is_zero(packet + 51, got));
		}
	}
	assert_int_equal(least, 1);
	assert_int_equal(most, 890);
	seal(&client, &own, NULL, &example, "0123456789", 10, &length);
	assert_int_equal(length, 24 + 16 + 11 + 15 + 10 + 16);
	seal(&client, &own, NULL, &dns, room, 900, &length);
	assert_int_equal(length, 24 + 16 + 11 + 7 + 900 + 16);

	client.packet_padding = PADDING_NONE;
	seal(&client, &own, NULL, &dns, "0123456789", 10, &length);
	assert_int_equal(length, 24 + 16 + 11 + 7 + 10 + 16);
	client.packet_padding = PADDING_ALL;
	seal(&client, &own, NULL, &example, "0123456789", 10, &length);
	assert_true(length > 24 + 16 + 11 + 15 + 10 + 16);
}

/* A bit changed anywhere, and every shorter or longer packet: refused, nothing changed. */
static void forged(void **state)
{
	(void)state;
	for (unsigned m = 0; m < ALL; m++) {
		struct packet_own client_own = { 0 }, server_own = { 0 };
		struct packet_peer client_peer = { 0 }, server_peer = { 0 };
		struct wire_key client, server;
		unsigned char packet[300];

		any_keys(&client, &server, m);
		for (int answer = 0; answer < 2; answer++) {
			const struct wire_key *key = answer ? &client : &server;
			struct packet_own *own = answer ? &client_own : NULL;
			struct packet_peer *peer = answer ? &client_peer : &server_peer;
			size_t n;

			/* one was taken, so there is a state that could change */
			for (int i = 0; i < 2; i++) {
				unsigned char *made =
					answer ? seal(&server, &server_own, &server_peer, &dns,
						      "text", 4, &n)
					       : seal(&client, &client_own, NULL, &dns, "text", 4,
						      &n);
				memcpy(packet, made, n);
				if (i == 0)
					check_opens(key, own, peer, packet, n, &dns, "text", 4);
			}
			for (size_t bit = 0; bit < 8 * n; bit++) {
				struct packet_peer nobody = { 0 };

				packet[bit / 8] ^= (unsigned char)(1 << bit % 8);
				check_refused(key, own, peer, packet, n);
				check_refused(key, own, &nobody, packet, n);
				packet[bit / 8] ^= (unsigned char)(1 << bit % 8);
			}
			packet[n] = 0;
			for (size_t length = 0; length <= n + 1; length++)
				if (length != n)
					check_refused(key, own, peer, packet, length);
			check_opens(key, own, peer, packet, n, &dns, "text", 4);
		}
	}
}

/* Texts made by hand, in packets that are sealed as they should be. */
static size_t make(const struct wire_key *key, uint64_t number, const unsigned char *text, size_t n,
		   unsigned char *packet)
{
	static struct aead_context context;
	unsigned char front[16] = { 9, 8, 7, 6, 5, 4, 3, 2 }, subkey[32], nonce[24] = { 0 };
	bool aes = key->packet_aead->nonce == 12;
	unsigned char *body = aes ? packet : packet + 24;

	put_u64be(front + 8, number);
	memcpy(body, front, 16);
	if (n > 0)
		memcpy(body + 16, text, n);
	if (aes) {
		sip022_session_subkey(key, key->key, front, 8, subkey);
		key->packet_aead->expand(&context, subkey);
		key->packet_aead->seal(&context, front + 4, NULL, 0, body + 16, n, body + 16 + n);
		aes_encrypt_block(key->key, key->key_len, packet);
		return n + 32;
	}
	memcpy(packet, nonce, 24);
	key->packet_aead->expand(&context, key->key);
	key->packet_aead->seal(&context, nonce, NULL, 0, body, n + 16, body + 16 + n);
	return n + 24 + 32;
}

static void odd_texts(void **state)
{
	(void)state;
	for (unsigned m = 0; m < METHODS; m++) {
		for (int answer = 0; answer < 2; answer++) {
			struct packet_own own = { .begun = true, .id = { 1, 2, 3, 4, 5, 6, 7, 8 } };
			unsigned char text[200] = { 0 }, packet[400];
			struct wire_key client, server;
			size_t at = answer ? 17 : 9, n;

			any_keys(&client, &server, m);
			const struct wire_key *key = answer ? &client : &server;

			text[0] = (unsigned char)answer;
			put_u64be(text + 1, now);
			if (answer)
				memcpy(text + 9, own.id, 8);
			put_u16be(text + at, 3);
			memcpy(text + at + 2, "pad\x01\x7f\x00\x00\x01\x00\x35hello", 15);
			const size_t whole = at + 17;

			/* as it should be, and cut anywhere: a shorter payload, or refused */
			for (size_t len = 0; len <= whole; len++) {
				struct packet_peer peer = { 0 };
				struct packet_opened opened;

				n = make(key, 1, text, len, packet);
				if (len < whole - 5) {
					check_refused(key, &own, &peer, packet, n);
					continue;
				}
				assert_int_equal(open_exact(key, &own, &peer, packet, n, &opened),
						 0);
				assert_int_equal(opened.n, len - (whole - 5));
				assert_int_equal(opened.address.port, 53);
			}
			/* padding lengths, of which only two lead to what can be read as an address */
			for (unsigned pad = 0; pad < 65536; pad += pad < 40 ? 1 : 997) {
				struct packet_peer peer = { 0 };

				put_u16be(text + at, (uint16_t)pad);
				n = make(key, 1, text, whole, packet);
				if (pad != 3 && pad != 7)
					check_refused(key, &own, &peer, packet, n);
			}
			put_u16be(text + at, 3);
			for (unsigned type = 0; type < 256; type++) {
				struct packet_peer peer = { 0 };

				text[0] = (unsigned char)type;
				n = make(key, 1, text, whole, packet);
				if (type != (unsigned)answer)
					check_refused(key, &own, &peer, packet, n);
			}
			text[0] = (unsigned char)answer;
			for (uint64_t stamp = now - 35; stamp <= now + 35; stamp++) {
				struct packet_peer peer = { 0 };
				struct packet_opened opened;

				put_u64be(text + 1, stamp);
				n = make(key, 1, text, whole, packet);
				if (stamp + 30 < now || stamp > now + 30)
					check_refused(key, &own, &peer, packet, n);
				else
					assert_int_equal(open_exact(key, &own, &peer, packet, n,
								    &opened),
							 0);
			}
			put_u64be(text + 1, now);
			for (unsigned bit = 0; answer && bit < 64; bit++) { /* another's session */
				struct packet_peer peer = { 0 };

				text[9 + bit / 8] ^= (unsigned char)(1 << bit % 8);
				n = make(key, 1, text, whole, packet);
				check_refused(key, &own, &peer, packet, n);
				text[9 + bit / 8] ^= (unsigned char)(1 << bit % 8);
			}
			own.begun = false; /* nothing was ever asked */
			n = make(key, 1, text, whole, packet);
			if (answer)
				check_refused(key, &own, &(struct packet_peer){ 0 }, packet, n);
		}
	}
}

/* Nobody's packets can be sent back to him. */
static void reflected(void **state)
{
	(void)state;
	for (unsigned m = 0; m < METHODS; m++) {
		struct packet_own client_own = { 0 }, server_own = { 0 };
		struct packet_peer peer = { 0 }, nobody = { 0 };
		struct wire_key client, server;
		unsigned char *packet;
		size_t n;

		any_keys(&client, &server, m);
		packet = seal(&client, &client_own, NULL, &example, "text", 4, &n);
		check_refused(&client, &client_own, &nobody, packet, n);
		check_opens(&server, NULL, &peer, packet, n, &example, "text", 4);
		packet = seal(&server, &server_own, &peer, &example, "text", 4, &n);
		check_refused(&server, NULL, &nobody, packet, n);
	}
}

/* Packets overtake each other, none passes twice, the oldest not at all; any number begins. */
static void any_order(void **state)
{
	(void)state;
	for (unsigned m = 0; m < METHODS; m += 2) {
		struct packet_own own = { .number = UINT64_C(1) << 40 };
		static unsigned char packets[3000][120];
		struct packet_peer peer = { 0 };
		struct wire_key client, server;
		size_t n = 0;

		any_keys(&client, &server, m);
		for (int i = 0; i < 3000; i++)
			memcpy(packets[i], seal(&client, &own, NULL, &example, "text", 4, &n), 120);
		for (int i = 1000; i < 3000; i += 2)
			check_opens(&server, NULL, &peer, packets[i], n, &example, "text", 4);
		for (int i = 0; i < 3000; i++) {
			bool fresh = i % 2 && 2998 - i < WINDOW_SIZE;

			if (i < 1000)
				fresh = 2998 - i < WINDOW_SIZE;
			if (!fresh)
				check_refused(&server, NULL, &peer, packets[i], n);
			else if (i < 2999) /* the last would move the window on */
				check_opens(&server, NULL, &peer, packets[i], n, &example, "text",
					    4);
		}
	}
}

/* SIP004 has no numbers, but salts that are remembered, ours too. */
static void salts_again(void **state)
{
	struct packet_own own = { 0 };
	struct packet_peer peer = { 0 };
	struct wire_key client, server;
	unsigned char packet[200];
	size_t n;

	(void)state;
	any_keys(&client, &server, 6);
	server.packet_replay = replay_open(1000);
	memcpy(packet, seal(&client, &own, NULL, &example, "text", 4, &n), 120);
	packet[50] ^= 1;
	check_refused(&server, NULL, &peer, packet, n);
	packet[50] ^= 1;
	check_opens(&server, NULL, &peer, packet, n, &example, "text", 4);
	check_refused(&server, NULL, &peer, packet, n);
	memcpy(packet, seal(&server, &own, &peer, &example, "text", 4, &n), 120);
	check_refused(&server, NULL, &peer, packet, n);
	replay_close(server.packet_replay);
}

/* What a client keeps of servers: two sessions, of which a third takes the place of a silent one. */
static void server_sessions(void **state)
{
	(void)state;
	for (unsigned m = 0; m < METHODS; m += 2) {
		struct packet_own client_own = { 0 }, owns[4] = { 0 };
		struct packet_peer peers[PACKET_PEERS] = { 0 }, server_peer = { 0 };
		struct wire_key client, server;
		struct packet_opened opened;
		unsigned char *packet;
		uint64_t ms = 1000;
		size_t n;

		any_keys(&client, &server, m);
		packet = seal(&client, &client_own, NULL, &example, "text", 4, &n);
		check_opens(&server, NULL, &server_peer, packet, n, &example, "text", 4);

#define ANSWER(i, at)                                                         \
	(packet = seal(&server, &owns[i], &server_peer, &dns, "text", 4, &n), \
	 packet_open_answer(&client, &client_own, peers, (at), packet, n, &opened))
		assert_int_equal(ANSWER(0, ms), 0);
		assert_int_equal(ANSWER(1, ms + 10), 0);
		assert_int_equal(ANSWER(0, ms + 20), 0);
		assert_int_equal(ANSWER(2, ms + 30), -1);	  /* the other two are heard */
		assert_int_equal(ANSWER(2, ms + 10 + 60000), -1); /* heard a minute ago */
		assert_int_equal(ANSWER(0, ms + 10 + 60000), 0);
		assert_int_equal(ANSWER(2, ms + 11 + 60000), 0); /* in the place of 1 */
		assert_int_equal(ANSWER(0, ms + 11 + 60000), 0);
		assert_int_equal(ANSWER(1, ms + 12 + 60000), -1);
		assert_int_equal(opened.n, 4);

		/* a forged one takes nobody's place */
		packet = seal(&server, &owns[3], &server_peer, &dns, "text", 4, &n);
		packet[n - 1] ^= 1;
		struct packet_peer before[PACKET_PEERS];

		memcpy(before, peers, sizeof before);
		assert_int_equal(packet_open_answer(&client, &client_own, peers, ms + 999999,
						    packet, n, &opened),
				 -1);
		assert_memory_equal(before, peers, sizeof before);
	}
}

/* Families without sessions go the same way. */
static void answers_without_sessions(void **state)
{
	(void)state;
	for (unsigned m = METHODS; m < ALL; m++) {
		struct packet_own own = { 0 };
		struct packet_peer peers[PACKET_PEERS] = { 0 };
		struct wire_key client, server;
		struct packet_opened opened;
		unsigned char *packet;
		size_t n;

		any_keys(&client, &server, m);
		for (int i = 0; i < 5; i++) {
			packet = seal(&server, &own, &peers[0], &dns, "text", 4, &n);
			assert_int_equal(packet_open_answer(&client, &own, peers, 0, packet, n,
							    &opened),
					 0);
			assert_memory_equal(opened.payload, "text", 4);
			assert_false(peers[0].known);
		}
	}
}

/* Users of a server: told apart, answered with their keys, and no session changes hands. */
static void users_told_apart(void **state)
{
	(void)state;
	for (unsigned m = 0; m < 2; m++) {
		struct users *users = users_open(2), *later = users_open(2);
		struct packet_own own[2] = { 0 }, server_own = { 0 }, stranger = { 0 };
		struct packet_peer peer = { 0 }, client_peer = { 0 }, nobody = { 0 };
		struct wire_key client, server, user[2];
		struct wire_identity identity[2];
		unsigned char *packet, kept[200];
		size_t n;

		any_keys(&client, &server, m);
		for (int i = 0; i < 2; i++) {
			unsigned char psk[32];

			randombytes_buf(psk, sizeof psk);
			assert_int_equal(users_add(users, i ? "bob" : "alice", psk, server.key_len),
					 USERS_ADDED);
			assert_int_equal(users_add(later, i ? "bob" : "alice", psk, server.key_len),
					 USERS_ADDED);
			keys_of(&user[i], &user[i], methods[m], psk);
			user[i].server = false;
			memcpy(identity[i].key, server.key, server.key_len);
			wire_key_chain(&user[i], &identity[i], 1);
		}
		server.users = users;
		packet = seal(&user[0], &own[0], NULL, &example, "text", 4, &n);
		check_opens(&server, NULL, &peer, packet, n, &example, "text", 4);
		assert_string_equal(peer.user->name, "alice");
		memcpy(kept, seal(&user[0], &own[0], NULL, &example, "text", 4, &n), n);

		/* bob takes alice's session ID */
		memcpy(own[1].id, own[0].id, PACKET_ID);
		sip022_session_subkey(&user[1], user[1].key, own[1].id, PACKET_ID, own[1].subkey);
		own[1].begun = true;
		own[1].number = 5;
		packet = seal(&user[1], &own[1], NULL, &example, "text", 4, &n);
		check_refused(&server, NULL, &peer, packet, n);

		/* a reload changes nothing for her */
		server.users = later;
		check_opens(&server, NULL, &peer, kept, n, &example, "text", 4);
		assert_string_equal(peer.user->name, "alice");

		packet = seal(&server, &server_own, &peer, &dns, "text", 4, &n);
		check_opens(&user[0], &own[0], &client_peer, packet, n, &dns, "text", 4);
		check_refused(&user[1], &own[1], &nobody, packet, n);

		/* somebody without identity header */
		packet = seal(&client, &stranger, NULL, &example, kept, 100, &n);
		check_refused(&server, NULL, &nobody, packet, n);
		users_close(users);
		users_close(later);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sip022_file),	    cmocka_unit_test(sip023_file),
		cmocka_unit_test(negative_file),    cmocka_unit_test(sip004_file),
		cmocka_unit_test(round_trips),	    cmocka_unit_test(largest_head),
		cmocka_unit_test(padding),	    cmocka_unit_test(forged),
		cmocka_unit_test(odd_texts),	    cmocka_unit_test(reflected),
		cmocka_unit_test(any_order),	    cmocka_unit_test(salts_again),
		cmocka_unit_test(server_sessions),  cmocka_unit_test(answers_without_sessions),
		cmocka_unit_test(users_told_apart),
	};

	return crypto_open() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
