/*
 * SIP022 and SIP023 streams: vectors, everything that must be refused, every length, every way to
 * cut a stream, a forgery at every byte, replays, the clock, padding, users.
 */
#include "net/wire.h"

#include "core/bytes.h"
#include "net/salts.h"
#include "net/sip022.h"
#include "net/users.h"
#include "tests/emulator.h"
#include "tests/net/streams.h"
#include "tests/vectors.h"

#include <sodium.h>

enum { METHODS = 5, BOX = 16 };

static const char *const methods[METHODS] = {
	"2022-blake3-aes-128-gcm",	 "2022-blake3-aes-256-gcm",
	"2022-blake3-chacha20-poly1305", "2022-blake3-chacha12-poly1305",
	"2022-blake3-chacha8-poly1305",
};

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
	*server = *client;
	server->server = true;
}

static void any_keys(struct wire_key *client, struct wire_key *server, unsigned method)
{
	unsigned char psk[WIRE_KEY_MAX];

	for (size_t i = 0; i < sizeof psk; i++)
		psk[i] = (unsigned char)(i * 5 + method);
	keys_of(client, server, methods[method], psk);
}

/* `request`: the salt that an answer must name, NULL for requests. */
static void check_stream(const struct wire_key *key, const unsigned char *request,
			 const unsigned char *wire, size_t n, const unsigned char *right,
			 size_t right_n)
{
	for (enum cut cut = WHOLE; cut < CUTS; cut++) {
		struct wire_state state = { 0 };
		struct got got;

		if (request)
			memcpy(state.salt, request, key->salt_len);
		got = open_stream(key, &state, wire, n, cut);
		assert_int_equal(got.result, 0);
		assert_int_equal(got.n, right_n);
		assert_memory_equal(got.bytes, right, right_n);
		assert_true(wire_authenticated(&state));
		if (!request)
			assert_memory_equal(state.salt, wire, key->salt_len);
		user_leave(state.user, 0, 0);
		wire_wipe(&state);
	}
}

static void check_refused(const struct wire_key *key, const unsigned char *wire, size_t n,
			  bool authenticated)
{
	for (enum cut cut = WHOLE; cut < CUTS; cut++) {
		struct wire_state state = { 0 };
		struct got got = open_stream(key, &state, wire, n, cut);

		assert_int_equal(got.result, -1);
		assert_int_equal(got.n, 0);
		assert_int_equal(wire_authenticated(&state), authenticated);
		user_leave(state.user, 0, 0);
	}
}

/* Vectors. */

static void constants(void **state)
{
	static const unsigned char psk[32] = { 1, 2, 3 }, salt[32] = { 4, 5, 6 };
	unsigned char material[64], subkey[32], right[32];
	struct blake3_context context;
	struct wire_key client, server;

	(void)state;
	any_keys(&client, &server, 1);
	memcpy(material, psk, 32);
	memcpy(material + 32, salt, 32);
	blake3_context(&context, "shadowsocks 2022 session subkey");
	blake3_derive(&context, material, 64, right, 32);
	sip022_session_subkey(&client, psk, salt, 32, subkey);
	assert_memory_equal(subkey, right, 32);
	blake3_context(&context, "shadowsocks 2022 identity subkey");
	blake3_derive(&context, material, 64, right, 32);
	sip022_identity_subkey(&client, psk, salt, 32, subkey);
	assert_memory_equal(subkey, right, 32);
}

/* Address, first payload and chunks of a vector. */
static size_t request_text(const struct json *v, unsigned char *to)
{
	unsigned char variable[1000];
	struct endpoint address;
	size_t n;

	vectors_hex(v, "variable_header", variable, sizeof variable);
	n = (size_t)endpoint_read(&address, variable, sizeof variable);
	memcpy(to, variable, n);
	n += vectors_hex(v, "initial_payload", to + n, 1000);
	for (const struct json *c = vectors_member(v, "following_chunks")->first; c; c = c->next)
		n += hex(c->text, to + n, 1000);
	return n;
}

/* A request whole, as an example that needs no file. */
static void one_request(void **state)
{
	unsigned char psk[16], right[] = "\x03\x0b"
					 "example.com"
					 "\x00\x50"
					 "GET / HTTP/1.1\r\nHost: example.com\r\n\r\nsecond chunk";
	struct wire_key client, server;
	size_t n;

	(void)state;
	hex("2c24d2a9bf3001f36a0a40db8035aefd", psk, sizeof psk);
	keys_of(&client, &server, methods[0], psk);
	n = hex("000102030405060708090a0b0c0d0e0f"
		"64d61855fccb5cdd0b7e86a3ab39032c53e391fd54e00de1b84ea0"
		"9117f7d13c1c1bc7e0d74b2bd7410b2816a39864d04705b6ec9bc04f671ebc59"
		"170594806e0367c6f8ba0da461b19666f4b0d3f1ee66274140fbc8684d378bdc"
		"6140c494eb33"
		"f9983917bb124a80acbeceff488f0052efb486697067dc47d7b90a3cbef716d9"
		"c608dc24010606f36d7a096751ad",
		sealed, sizeof sealed);
	check_stream(&server, NULL, sealed, n, right, sizeof right - 1);
}

static void vectors_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	const struct json *tcp = vectors_member(vectors_member(document.root, "sip022"), "tcp");

	for (const struct json *v = tcp->first; v; v = v->next, checked++) {
		const struct json *with = vectors_member(v, "request_with_payload");
		const struct json *without = vectors_member(v, "request_without_payload");
		const struct json *answer = vectors_member(v, "response_to_request_with_payload");
		unsigned char psk[32], salt[32], text[1000];
		struct wire_key client, server;
		size_t n;

		vectors_hex(v, "psk", psk, sizeof psk);
		keys_of(&client, &server, v->name, psk);
		now = vectors_integer(with, "timestamp");
		n = vectors_hex(with, "wire", sealed, sizeof sealed);
		check_stream(&server, NULL, sealed, n, text, request_text(with, text));
		n = vectors_hex(without, "wire", sealed, sizeof sealed);
		check_stream(&server, NULL, sealed, n, text, request_text(without, text));

		now = vectors_integer(answer, "timestamp");
		vectors_hex(answer, "request_salt", salt, sizeof salt);
		n = vectors_hex(answer, "first_payload", text, sizeof text);
		n += hex(vectors_member(answer, "following_chunks")->first->text, text + n, 500);
		check_stream(&client, salt, sealed,
			     vectors_hex(answer, "wire", sealed, sizeof sealed), text, n);
	}
	json_free(&document);
	assert_int_equal(checked, METHODS);
}

/* What we seal is what the vector has, but for salt and clock, which we give. */
static void vectors_sealed(void **state)
{
	struct json_document document;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	const struct json *tcp = vectors_member(vectors_member(document.root, "sip022"), "tcp");

	for (const struct json *v = tcp->first; v; v = v->next) {
		const struct json *with = vectors_member(v, "request_with_payload");
		unsigned char psk[32], salt[32], fixed[27], right[100];
		struct wire_key client, server;
		struct aead_context context;
		struct wire_state up = { 0 };
		unsigned char payload[500], nonce[24] = { 0 };
		size_t n;

		vectors_hex(v, "psk", psk, sizeof psk);
		keys_of(&client, &server, v->name, psk);
		client.padding_max = 0;
		now = vectors_integer(with, "timestamp");
		n = vectors_hex(with, "initial_payload", payload, sizeof payload);
		n = wire_first(&client, &up, &example, payload, n, sealed);
		assert_int_equal(n, client.salt_len + 27 + 54 + 16);

		/* the fixed header, opened and sealed again under the vector's salt */
		client.aead->expand(&context, up.subkey);
		memcpy(fixed, sealed + client.salt_len, 27);
		assert_int_equal(client.aead->open(&context, nonce, NULL, 0, fixed, 11, fixed + 11),
				 0);
		vectors_hex(with, "fixed_header", right, sizeof right);
		assert_memory_equal(fixed, right, 11);
		vectors_hex(with, "salt", salt, sizeof salt);
		sip022_session_subkey(&client, psk, salt, client.salt_len, up.subkey);
		vectors_hex(with, "session_subkey", right, sizeof right);
		assert_memory_equal(up.subkey, right, client.key_len);
		client.aead->expand(&context, up.subkey);
		client.aead->seal(&context, nonce, NULL, 0, fixed, 11, fixed + 11);
		vectors_hex(with, "enc_fixed_header", right, sizeof right);
		assert_memory_equal(fixed, right, 27);
	}
	json_free(&document);
}

static void check_chain_vector(const struct json *v, const char *method)
{
	struct wire_identity chain[WIRE_IDENTITIES];
	unsigned char psk[32], text[1000];
	struct wire_key client, server;
	struct users *users = users_open(1);
	unsigned n = 0;
	size_t len;

	for (const struct json *i = vectors_member(v, "identity_headers")->first; i; i = i->next)
		vectors_hex(i, "ipsk", chain[n++].key, WIRE_KEY_MAX);
	const struct json *last = vectors_member(v, "identity_headers")->first;

	while (last->next)
		last = last->next;
	len = vectors_hex(last, "next_psk", psk, sizeof psk);

	/* the server that holds the last identity key */
	keys_of(&client, &server, method, chain[n - 1].key);
	assert_int_equal(users_add(users, "user", psk, len), USERS_ADDED);
	server.users = users;
	now = vectors_integer(v, "timestamp");
	len = vectors_hex(v, "wire", sealed, sizeof sealed);
	/* relays before it strip their headers */
	memmove(sealed + server.salt_len, sealed + server.salt_len + 16 * (n - 1),
		len - server.salt_len - 16 * (n - 1));
	check_stream(&server, NULL, sealed, len - 16 * (n - 1), text, request_text(v, text));

	/* our chain makes the same headers */
	struct wire_state up = { 0 };

	keys_of(&client, &server, method, psk);
	wire_key_chain(&client, chain, n);
	wire_first(&client, &up, &example, psk, 1, sealed);
	unsigned i = 0;

	for (const struct json *h = vectors_member(v, "identity_headers")->first; h;
	     h = h->next, i++) {
		unsigned char right[32], subkey[32], block[16];

		vectors_hex(h, "plaintext", right, sizeof right);
		assert_memory_equal(chain[i].next, right, 16);
		sip022_identity_subkey(&client, chain[i].key, sealed, client.salt_len, subkey);
		memcpy(block, sealed + client.salt_len + 16 * i, 16);
		aes_decrypt_block(subkey, client.key_len, block);
		assert_memory_equal(block, right, 16);
	}
	users_close(users);
}

static void chains_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	const struct json *tcp = vectors_member(vectors_member(document.root, "sip023"), "tcp");

	for (const struct json *v = tcp->first; v; v = v->next, checked++) {
		check_chain_vector(vectors_member(v, "one_ipsk"), v->name);
		check_chain_vector(vectors_member(v, "two_ipsks"), v->name);
	}
	json_free(&document);
	assert_int_equal(checked, 2);
}

static void negative_file(void **state)
{
	struct json_document document;
	struct wire_key client, server;
	unsigned char psk[32], *small = sealed + 100000;
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	const struct json *negative = vectors_member(document.root, "negative");

	now = vectors_integer(negative, "receiver_clock");
	vectors_hex(negative, "psk", psk, sizeof psk);
	keys_of(&client, &server, vectors_text(negative, "method"), psk);
	for (const struct json *v = vectors_member(negative, "tcp_request")->first; v;
	     v = v->next, checked++) {
		const char *why = vectors_text(v, "why");
		size_t n = vectors_hex(v, "wire", small, 1000);
		bool fixed_is_right = strstr(why, "padding") || strstr(why, "address type");

		check_refused(&server, small, n, fixed_is_right);
	}
	assert_int_equal(checked, 8);
	for (const struct json *v = vectors_member(negative, "tcp_request_boundary_accept")->first;
	     v; v = v->next, checked++) {
		struct wire_state up = { 0 };
		size_t n = vectors_hex(v, "wire", small, 1000);

		assert_int_equal(open_stream(&server, &up, small, n, WHOLE).result, 0);
	}
	assert_int_equal(checked, 10);
	json_free(&document);
}

/* Requests made by hand. */

struct request {
	unsigned char type;
	uint64_t stamp;
	int vlen_more; /* what VLEN says too much */
	const char *header;
	size_t n;
};

static size_t box(const struct wire_key *key, struct wire_state *state, unsigned char *text,
		  size_t n)
{
	static struct aead_context context;
	unsigned char nonce[24] = { 0 };

	key->aead->expand(&context, state->subkey);
	put_u64le(nonce, state->nonce++);
	key->aead->seal(&context, nonce, NULL, 0, text, n, text + n);
	return n + BOX;
}

static size_t make(const struct wire_key *key, const struct request *r, unsigned char *buf)
{
	struct wire_state state = { .begun = true };
	size_t n = key->salt_len;

	randombytes_buf(buf, n);
	sip022_session_subkey(key, key->key, buf, n, state.subkey);
	buf[n] = r->type;
	put_u64be(buf + n + 1, r->stamp);
	put_u16be(buf + n + 9, (uint16_t)((int)r->n + r->vlen_more));
	n += box(key, &state, buf + n, 11);
	if (r->n > 0)
		memcpy(buf + n, r->header, r->n);
	n += box(key, &state, buf + n, r->n);
	return n;
}

/* Malformed variable headers, in chunks that are as they should be. */
static void odd_headers(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool right;
	} cases[] = {
#define HEADER(bytes, right) { bytes, sizeof(bytes) - 1, right }
		HEADER("", false),
		HEADER("\x01", false),
		HEADER("\x01\x7f\x00\x00\x01\x00\x50", false),
		HEADER("\x01\x7f\x00\x00\x01\x00\x50\x00", false),
		HEADER("\x01\x7f\x00\x00\x01\x00\x50\x00\x00",
		       false), /* neither padding nor payload */
		HEADER("\x01\x7f\x00\x00\x01\x00\x50\x00\x01", false), /* padding past the end */
		HEADER("\x01\x7f\x00\x00\x01\x00\x50\x00\x01p", true),
		HEADER("\x01\x7f\x00\x00\x01\x00\x50\x00\x00P", true),
		HEADER("\x01\x7f\x00\x00\x01\x00\x50\x00\x02p", false),
		HEADER("\x01\x7f\x00\x00\x01\x00\x50\xff\xffpP", false),
		HEADER("\x00\x7f\x00\x00\x01\x00\x50\x00\x01p", false),
		HEADER("\x02\x7f\x00\x00\x01\x00\x50\x00\x01p", false),
		HEADER("\x11\x7f\x00\x00\x01\x00\x50\x00\x01p", false),
		HEADER("\x04\x7f\x00\x00\x01\x00\x50\x00\x01p", false),
		HEADER("\x03\x00\x00\x50\x00\x01p", false),
		HEADER("\x03\x01\x61\x00\x50\x00\x01p", true),
		HEADER("\x03\x01\x61\x00\x50\x00\x01", false),
		HEADER("\x03\xff\x61\x00\x50\x00\x01p", false),
		HEADER("\x03\x02\x61\x00\x00\x50\x00\x01p", false), /* a NUL in a name */
	};

	(void)state;
	for (unsigned m = 0; m < METHODS; m++) {
		struct wire_key client, server;

		any_keys(&client, &server, m);
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
			struct request r = { 0, now, 0, cases[i].bytes, cases[i].n };
			size_t n = make(&client, &r, sealed);
			struct wire_state up = { 0 };

			if (!cases[i].right)
				check_refused(&server, sealed, n, true);
			else
				assert_int_equal(open_stream(&server, &up, sealed, n, BYTES).result,
						 0);
		}
	}
}

/* VLEN that is not the length of what follows, wrong types, every clock around the edges. */
static void odd_fixed_headers(void **state)
{
	static const char header[] = "\x01\x7f\x00\x00\x01\x00\x50\x00\x01p";
	struct wire_key client, server;

	(void)state;
	any_keys(&client, &server, 0);
	for (int more = -10; more <= 10; more++) {
		struct request r = { 0, now, more, header, sizeof header - 1 };
		struct wire_state up = { 0 };
		size_t n = make(&client, &r, sealed);
		struct got got = open_stream(&server, &up, sealed, n, WHOLE);

		assert_int_equal(got.result, more == 0 ? 0 : more < 0 ? -1 : 1);
		assert_int_equal(got.n, more == 0 ? 7 : 0);
	}
	for (unsigned type = 1; type < 256; type++) {
		struct request r = { (unsigned char)type, now, 0, header, sizeof header - 1 };

		check_refused(&server, sealed, make(&client, &r, sealed), false);
	}
	for (uint64_t stamp = now - 40; stamp <= now + 40; stamp++) {
		struct request r = { 0, stamp, 0, header, sizeof header - 1 };
		struct wire_state up = { 0 };
		size_t n = make(&client, &r, sealed);

		if (stamp + 30 < now || stamp > now + 30)
			check_refused(&server, sealed, n, false);
		else
			assert_int_equal(open_stream(&server, &up, sealed, n, WHOLE).result, 0);
	}
	for (unsigned bit = 0; bit < 64; bit++) {
		struct request r = { 0, now ^ UINT64_C(1) << bit, 0, header, sizeof header - 1 };

		if (bit > 5)
			check_refused(&server, sealed, make(&client, &r, sealed), false);
	}
}

/* What we make. */

/* First flights of every length up to 1100 and the largest, and their answers. */
static void first_flights(void **state)
{
	(void)state;
	randombytes_buf(plain, 10000);
	for (size_t n = 0; n <= WIRE_FIRST_PAYLOAD; n = n < 1100 ? n + every(31) : n + 1773) {
		unsigned char buf[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
		unsigned char right[ENDPOINT_WIRE_MAX + WIRE_FIRST_PAYLOAD];
		size_t header = endpoint_write(&example, right);
		struct wire_state up = { 0 }, down = { 0 };
		struct wire_key client, server;
		size_t wire;

		any_keys(&client, &server, n % METHODS);
		memcpy(right + header, plain, n);
		wire = wire_first(&client, &up, &example, plain, n, buf);
		assert_in_range(wire, client.salt_len + 27 + header + 2 + 16 + (n ? n : 1),
				client.salt_len + 27 + header + 2 + 16 + n + 900);
		check_stream(&server, NULL, buf, wire, right, header + n);
		if (n == 0)
			continue;
		wire_answers(&down, &up);
		wire = wire_first(&server, &down, NULL, plain, n, buf);
		assert_int_equal(wire, 2 * client.salt_len + 11u + 16 + n + 16);
		check_stream(&client, up.salt, buf, wire, plain, n);
		assert_memory_not_equal(up.subkey, down.subkey, client.key_len);

		up.salt[n % client.salt_len] ^= 1; /* an answer to another request */
		struct wire_state other = { 0 };

		wire_answers(&other, &up);
		assert_int_equal(open_stream(&client, &other, buf, wire, WHOLE).result, -1);
	}
}

/* An answer is no request, and a request no answer: nobody's bytes can be sent back to him. */
static void reflected(void **state)
{
	(void)state;
	for (unsigned m = 0; m < METHODS; m++) {
		struct wire_state up = { 0 }, down = { 0 }, back = { 0 };
		struct wire_key client, server;
		size_t n;

		any_keys(&client, &server, m);
		n = wire_first(&client, &up, &example, plain, 100, sealed);
		wire_answers(&back, &up);
		assert_int_equal(open_stream(&client, &back, sealed, n, WHOLE).result, -1);
		wire_answers(&down, &up);
		n = wire_first(&server, &down, NULL, plain, 100, sealed);
		check_refused(&server, sealed, n, false);
	}
}

/* The largest request and the longest chain still fit. */
static void largest_first_flight(void **state)
{
	static unsigned char buf[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
	struct endpoint long_name = { .port = 1, .type = ENDPOINT_NAME, .len = 255 };

	(void)state;
	memset(long_name.host, 'a', 255);
	for (unsigned m = 0; m < METHODS; m++) {
		struct wire_identity chain[WIRE_IDENTITIES];
		struct wire_state up = { 0 };
		struct wire_key client, server;

		any_keys(&client, &server, m);
		if (m < 2) {
			randombytes_buf(chain, sizeof chain);
			wire_key_chain(&client, chain, WIRE_IDENTITIES);
		}
		client.padding_min = WIRE_PADDING_MAX;
		assert_int_equal(wire_first(&client, &up, &long_name, plain, WIRE_FIRST_PAYLOAD,
					    buf),
				 client.salt_len + (m < 2 ? 128 : 0) + 27u + 259 + 2 + 900 + 8192 +
					 16);
	}
}

/* Padding as it is asked for, all sizes of it, never none without payload, and of zeros. */
static void padding(void **state)
{
	static const struct {
		uint16_t min, max, least, most, least_empty, most_empty;
	} cases[] = {
		{ 0, 0, 0, 0, 1, 1 },
		{ 0, 900, 0, 900, 1, 900 }, /* many: not under an emulator */
		{ 1, 1, 1, 1, 1, 1 },
		{ 0, 1, 0, 1, 1, 1 },
		{ 500, 510, 500, 510, 500, 510 },
		{ 900, 900, 900, 900, 900, 900 },
	};

	(void)state;
	memset(sealed, 0xaa, 3000);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i += every(2)) {
		for (unsigned n = 0; n < 2; n++) {
			unsigned least = n ? cases[i].least : cases[i].least_empty, lowest = 9999;
			unsigned most = n ? cases[i].most : cases[i].most_empty, highest = 0;
			unsigned enough = 200 + 10 * (most - least); /* to see both */
			struct wire_key client, server;

			any_keys(&client, &server, 0);
			client.padding_min = cases[i].min;
			client.padding_max = cases[i].max;
			for (unsigned tries = 0; tries < enough; tries++) {
				struct wire_state up = { 0 };
				unsigned char nonce[24] = { 1 };
				struct aead_context context;
				size_t len = wire_first(&client, &up, &example, plain, n, sealed);
				unsigned got = (unsigned)(len - 16 - 27 - 15 - 2 - n - 16);

				assert_in_range(got, least, most);
				lowest = got < lowest ? got : lowest;
				highest = got > highest ? got : highest;
				if (tries > 10)
					continue;
				client.aead->expand(&context, up.subkey);
				assert_int_equal(client.aead->open(&context, nonce, NULL, 0,
								   sealed + 43, len - 59,
								   sealed + len - 16),
						 0);
				assert_int_equal(get_u16be(sealed + 43 + 15), got);
				assert_true(got == 0 || sodium_is_zero(sealed + 43 + 17, got));
			}
			assert_int_equal(lowest, least);
			assert_int_equal(highest, most);
		}
	}
}

static void looks(void **state)
{
	(void)state;
	for (unsigned m = 0; m < METHODS; m++) {
		struct wire_state up = { 0 };
		struct wire_key client, server;

		any_keys(&client, &server, m);
		client.printable_salt = true;
		client.prefix_len = 5;
		memcpy(client.prefix, "\x16\x03\x01\x02\x03", 5);
		size_t n = wire_first(&client, &up, &example, NULL, 0, sealed);

		assert_memory_equal(sealed, client.prefix, 5);
		for (unsigned i = 5; i < client.salt_len; i++)
			assert_in_range(sealed[i], ' ', '~');
		assert_int_equal(
			open_stream(&server, &(struct wire_state){ 0 }, sealed, n, WHOLE).result,
			0);
	}
}

static void bursts(void **state)
{
	static const size_t sizes[] = { 1,     2,     17,    600,    16383,  16384,
					65534, 65535, 65536, 131070, 131071, 200000 };

	(void)state;
	randombytes_buf(plain, sizeof plain);
	for (unsigned i = 0; i < METHODS * sizeof sizes / sizeof *sizes; i += every(7)) {
		size_t n = sizes[i / METHODS], header, wire;
		unsigned char right[300];
		struct wire_state up = { 0 }, down = { 0 };
		struct wire_key client, server;
		unsigned char *all = malloc(BIG);

		any_keys(&client, &server, i % METHODS);
		header = endpoint_write(&example, right);
		wire = wire_first(&client, &up, &example, plain, 5, sealed);
		assert_int_equal(seal(&client, &up, plain + 5, n, sealed + wire, BIG - wire),
				 n + 34 * ((n + WIRE_CHUNK - 1) / WIRE_CHUNK));
		wire += n + 34 * ((n + WIRE_CHUNK - 1) / WIRE_CHUNK);
		memcpy(all, right, header);
		memcpy(all + header, plain, 5 + n);
		check_stream(&server, NULL, sealed, wire, all, header + 5 + n);

		wire_answers(&down, &up);
		wire = wire_first(&server, &down, NULL, plain, 5, sealed);
		wire += seal(&server, &down, plain + 5, n, sealed + wire, BIG - wire);
		check_stream(&client, up.salt, sealed, wire, plain, 5 + n);
		free(all);
	}
}

/* Chunks of any length are accepted, though ours are shorter. */
static void long_chunks(void **state)
{
	static const size_t sizes[] = { 1, 16383, 16384, 32767, 32768, 65535 };

	(void)state;
	randombytes_buf(plain, sizeof plain);
	for (unsigned i = 0; i < METHODS * sizeof sizes / sizeof *sizes; i += every(7)) {
		size_t n = sizes[i / METHODS], wire;
		struct wire_state up = { 0 }, down = { 0 };
		struct wire_key client, server;

		any_keys(&client, &server, i % METHODS);
		wire_first(&client, &up, &example, NULL, 0, sealed);
		wire_answers(&down, &up);
		wire = wire_first(&server, &down, NULL, plain, 5, sealed);
		for (size_t done = 5; done < 5 + 2 * n; done += n) {
			put_u16be(sealed + wire, (uint16_t)n);
			wire += box(&server, &down, sealed + wire, 2);
			memcpy(sealed + wire, plain + done, n);
			wire += box(&server, &down, sealed + wire, n);
		}
		check_stream(&client, up.salt, sealed, wire, plain, 5 + 2 * n);
	}
}

/* Empty chunks and the empty first payload of an answer are accepted, as most receivers do. */
static void empty_chunks(void **state)
{
	struct wire_state up = { 0 }, down = { .begun = true };
	struct wire_key client, server;
	size_t n;

	(void)state;
	any_keys(&client, &server, 1);
	n = wire_first(&client, &up, &example, plain, 3, sealed);
	for (int i = 0; i < 3; i++) {
		put_u16be(sealed + n, 0);
		n += box(&client, &up, sealed + n, 2);
		n += box(&client, &up, sealed + n, 0);
	}
	n += seal(&client, &up, plain + 3, 4, sealed + n, 1000);
	unsigned char right[100];
	size_t header = endpoint_write(&example, right);

	memcpy(right + header, plain, 7);
	check_stream(&server, NULL, sealed, n, right, header + 7);

	memset(sealed, 9, 32);
	sip022_session_subkey(&server, server.key, sealed, 32, down.subkey);
	sealed[32] = 1;
	put_u64be(sealed + 33, now);
	memcpy(sealed + 41, up.salt, 32);
	put_u16be(sealed + 73, 0);
	n = 32 + box(&server, &down, sealed + 32, 43);
	n += box(&server, &down, sealed + n, 0);
	n += seal(&server, &down, plain, 4, sealed + n, 1000);
	check_stream(&client, up.salt, sealed, n, plain, 4);
}

/* An answer in which one thing is not right. */
static int open_answer(unsigned char type, uint64_t stamp, unsigned changed)
{
	struct wire_state up = { .salt = { 1, 2, 3 } }, in = { 0 }, down = { .begun = true };
	struct wire_key client, server;
	size_t n;

	any_keys(&client, &server, 0);
	memset(sealed, 9, 16);
	sip022_session_subkey(&server, server.key, sealed, 16, down.subkey);
	sealed[16] = type;
	put_u64be(sealed + 17, stamp);
	memcpy(sealed + 25, up.salt, 16);
	if (changed < 128)
		sealed[25 + changed / 8] ^= (unsigned char)(1 << changed % 8);
	put_u16be(sealed + 41, 4);
	n = 16 + box(&server, &down, sealed + 16, 27);
	memcpy(sealed + n, "text", 4);
	n += box(&server, &down, sealed + n, 4);
	wire_answers(&in, &up);
	return open_stream(&client, &in, sealed, n, WHOLE).result;
}

static void odd_answers(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 256; type++)
		assert_int_equal(open_answer((unsigned char)type, now, 128), type == 1 ? 0 : -1);
	for (uint64_t stamp = now - 40; stamp <= now + 40; stamp++)
		assert_int_equal(open_answer(1, stamp, 128),
				 stamp + 30 < now || stamp > now + 30 ? -1 : 0);
	for (unsigned bit = 0; bit < 128; bit++)
		assert_int_equal(open_answer(1, now, bit), -1);
}

/* A change at any byte ends the stream there, and what was whole before it is delivered. */
static void forged_anywhere(void **state)
{
	(void)state;
	for (unsigned m = 0; m < METHODS; m++) {
		struct wire_state up = { 0 };
		struct wire_key client, server;
		unsigned char right[400];
		size_t header, ends[3], payloads[4] = { 0 }, n;

		any_keys(&client, &server, m);
		client.padding_max = 30;
		randombytes_buf(plain, 1000);
		n = wire_first(&client, &up, &example, plain, 20, sealed);
		ends[0] = n;
		n += seal(&client, &up, plain + 20, 40, sealed + n, 1000);
		ends[1] = n;
		n += seal(&client, &up, plain + 60, 1, sealed + n, 1000);
		ends[2] = n;
		header = endpoint_write(&example, right);
		memcpy(right + header, plain, 61);
		payloads[1] = header + 20;
		payloads[2] = header + 60;
		for (size_t at = 0; at < n; at++) {
			int whole = 0;

			while (at >= ends[whole])
				whole++;
			sealed[at] ^= (unsigned char)(1 << at % 8);
			for (enum cut cut = WHOLE; cut < CUTS; cut++) {
				struct wire_state direction = { 0 };
				struct got got = open_stream(&server, &direction, sealed, n, cut);

				assert_int_equal(got.result, -1);
				assert_int_equal(got.n, payloads[whole]);
				assert_memory_equal(got.bytes, right, got.n);
			}
			sealed[at] ^= (unsigned char)(1 << at % 8);
		}
	}
}

/* Nothing but the very bytes opens anything, wherever the stream ends. */
static void cut_off(void **state)
{
	struct wire_state up = { 0 };
	struct wire_key client, server;
	size_t n;

	(void)state;
	any_keys(&client, &server, 0);
	client.padding_max = 20;
	n = wire_first(&client, &up, &example, plain, 20, sealed);
	for (size_t cut = 0; cut < n; cut++) {
		struct wire_state direction = { 0 };
		struct got got = open_stream(&server, &direction, sealed, cut, WHOLE);

		assert_int_equal(got.result, cut == 0 ? 0 : 1);
		assert_int_equal(got.n, 0);
		assert_int_equal(wire_authenticated(&direction), cut >= 43);
	}
	for (unsigned length = 1; length < 300; length++) {
		struct wire_state direction = { 0 };

		randombytes_buf(sealed, length);
		assert_int_equal(open_stream(&server, &direction, sealed, length, WHOLE).result,
				 length < 43 ? 1 : -1);
	}
}

/* Salts. */

static void replays(void **state)
{
	struct salts *salts = salts_open(100);
	struct wire_key client, server;
	struct wire_state up = { 0 };
	size_t n;

	(void)state;
	any_keys(&client, &server, 2);
	server.salts = client.salts = salts;
	n = wire_first(&client, &up, &example, plain, 20, sealed);
	assert_int_equal(salts_count(salts), 0); /* our own are not in it */

	/* what is not right in everything burns no salt */
	sealed[40] ^= 1;
	check_refused(&server, sealed, n, false);
	sealed[40] ^= 1;
	now += 31;
	check_refused(&server, sealed, n, false);
	now -= 62;
	check_refused(&server, sealed, n, false);
	now += 31;
	assert_int_equal(salts_count(salts), 0);

	assert_int_equal(open_stream(&server, &(struct wire_state){ 0 }, sealed, n, RANDOM).result,
			 0);
	assert_int_equal(salts_count(salts), 1);
	check_refused(&server, sealed, n, false);
	now += 30;
	check_refused(&server, sealed, n, false);
	now += 31; /* now it is the timestamp that refuses it */
	check_refused(&server, sealed, n, false);

	salts_close(salts);
}

static uint64_t steady_now = 1000;

static uint64_t set_steady_clock(void)
{
	return steady_now;
}

/* Refused, though it is new, and the peer is not to blame: there is no room; the clock was set back. */
static void blameless(void **state)
{
	struct wire_key client, server;

	(void)state;
	any_keys(&client, &server, 2);
	server.steady = set_steady_clock;
	server.salts = salts_open(1);
	for (int i = 0; i < 5; i++) {
		static const int results[] = { 0, -1, -1, 0, -1 };
		struct wire_state up = { 0 }, down = { 0 };
		size_t n;

		if (i == 3)
			now += 61, steady_now += 61;
		if (i == 4)
			now -= 61;
		n = wire_first(&client, &up, &example, plain, 20, sealed);
		if (i == 2)
			sealed[50] ^= 1;
		assert_int_equal(open_stream(&server, &down, sealed, n, WHOLE).result, results[i]);
		assert_int_equal(down.salts_full, i == 1);
		assert_int_equal(down.salts_unsure, i == 4);
	}
	salts_close(server.salts);
}

/* A request whose variable header is malformed has used up its salt. */
static void burnt_salt(void **state)
{
	struct request r = { 0, now, 0, "\x02", 1 };
	struct wire_key client, server;
	size_t n;

	(void)state;
	any_keys(&client, &server, 0);
	server.salts = salts_open(10);
	n = make(&client, &r, sealed);
	assert_int_equal(open_stream(&server, &(struct wire_state){ 0 }, sealed, n, WHOLE).result,
			 -1);
	assert_int_equal(salts_count(server.salts), 1);
	salts_close(server.salts);
}

/* Users. */

/* Client keys for the i-th of many users behind one server key. */
static void user_key(unsigned i, const struct wire_key *like, unsigned char *psk)
{
	memset(psk, 0x77, like->key_len);
	put_u32be(psk, i);
}

static void users_told_apart(void **state)
{
	enum { USERS = 1000 };

	(void)state;
	for (unsigned m = 0; m < 2; m++) {
		struct wire_key client, server;
		struct users *users = users_open(USERS);

		any_keys(&client, &server, m);
		for (unsigned i = 0; i < USERS; i++) {
			unsigned char psk[32];
			char name[20];

			snprintf(name, sizeof name, "%u", i);
			user_key(i, &server, psk);
			assert_int_equal(users_add(users, name, psk, server.key_len), USERS_ADDED);
		}
		server.users = users;
		for (unsigned i = 0; i <= USERS; i += 50) {
			struct wire_identity identity;
			struct wire_state up = { 0 }, in = { 0 }, down = { 0 };
			unsigned char psk[32], right[100];
			struct wire_key user;
			struct got got;
			char name[20];
			size_t n, header;

			user_key(i, &server, psk);
			keys_of(&user, &client, methods[m], psk);
			memcpy(identity.key, server.key, server.key_len);
			wire_key_chain(&user, &identity, 1);
			n = wire_first(&user, &up, &example, plain, 20, sealed);
			if (i == USERS) { /* not one of them */
				check_refused(&server, sealed, n, false);
				continue;
			}
			header = endpoint_write(&example, right);
			memcpy(right + header, plain, 20);
			check_stream(&server, NULL, sealed, n, right, header + 20);
			got = open_stream(&server, &in, sealed, n, RANDOM);
			assert_int_equal(got.result, 0);
			snprintf(name, sizeof name, "%u", i);
			assert_string_equal(in.user->name, name);

			/* the answer is sealed with the user's key */
			wire_answers(&down, &in);
			n = wire_first(&server, &down, NULL, plain, 30, sealed);
			n += seal(&server, &down, plain + 30, 50, sealed + n, 1000);
			check_stream(&user, up.salt, sealed, n, plain, 80);
			user_leave(in.user, 20, 80);
			assert_int_equal(users_at(users, i)->up, 20);
		}

		/* without identity header, or with one too many: refused */
		struct wire_state up = { 0 };
		size_t n = wire_first(&client, &up, &example, plain, 200, sealed);

		check_refused(&server, sealed, n, false);
		server.users = NULL;
		struct wire_identity identity = { { 0 }, { 0 } };
		struct wire_key user;

		keys_of(&user, &client, methods[m], server.key);
		memcpy(identity.key, server.key, server.key_len);
		wire_key_chain(&user, &identity, 1);
		memset(&up, 0, sizeof up);
		n = wire_first(&user, &up, &example, plain, 200, sealed);
		client.server = true;
		check_refused(&client, sealed, n, false);
		users_close(users);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants),
		cmocka_unit_test(one_request),
		cmocka_unit_test(vectors_file),
		cmocka_unit_test(vectors_sealed),
		cmocka_unit_test(chains_file),
		cmocka_unit_test(negative_file),
		cmocka_unit_test(odd_headers),
		cmocka_unit_test(odd_fixed_headers),
		cmocka_unit_test(first_flights),
		cmocka_unit_test(reflected),
		cmocka_unit_test(largest_first_flight),
		cmocka_unit_test(padding),
		cmocka_unit_test(looks),
		cmocka_unit_test(bursts),
		cmocka_unit_test(empty_chunks),
		cmocka_unit_test(long_chunks),

		cmocka_unit_test(forged_anywhere),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(replays),
		cmocka_unit_test(blameless),
		cmocka_unit_test(burnt_salt),
		cmocka_unit_test(odd_answers),

		cmocka_unit_test(users_told_apart),
	};

	return crypto_open() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
