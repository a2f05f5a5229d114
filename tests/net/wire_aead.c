/*
 * SIP004 streams: vectors of other implementations, every length, every way to cut a stream, a
 * forgery at every byte, replays.
 */
#include "net/wire.h"

#include "core/bytes.h"
#include "crypto/kdf.h"
#include "tests/net/streams.h"
#include "tests/vectors.h"

#include <sodium.h>

enum { METHODS = 5 };

static void key_of(struct wire_key *key, unsigned method)
{
	unsigned char bytes[WIRE_KEY_MAX];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i * 3 + method);
	wire_key_set(key, wire_list(method), bytes);
}

static void check_stream(const struct wire_key *key, const unsigned char *wire, size_t n,
			 const unsigned char *right, size_t right_n)
{
	for (enum cut cut = WHOLE; cut < CUTS; cut++) {
		struct wire_state state = { 0 };
		struct got got = open_stream(key, &state, wire, n, cut);

		assert_int_equal(got.result, 0);
		assert_int_equal(got.n, right_n);
		assert_memory_equal(got.bytes, right, right_n);
		assert_true(wire_authenticated(&state));
		wire_wipe(&state);
		assert_false(wire_authenticated(&state));
	}
}

/* Start a direction with a salt that is given; the bytes written. */
static size_t begin(const struct wire_key *key, struct wire_state *state, const unsigned char *salt,
		    unsigned char *buf)
{
	*state = (struct wire_state){ .begun = true };
	kdf_subkey(key->key, salt, state->subkey, key->key_len);
	memcpy(buf, salt, key->salt_len);
	return key->salt_len;
}

/* A chunk whose length says what we like. */
static size_t odd_chunk(const struct wire_key *key, struct wire_state *state, uint16_t length,
			size_t n, unsigned char *buf)
{
	struct aead_context context;
	unsigned char nonce[AEAD_NONCE_MAX] = { 0 };

	key->aead->expand(&context, state->subkey);
	put_u16be(buf, length);
	put_u64le(nonce, state->nonce++);
	key->aead->seal(&context, nonce, NULL, 0, buf, 2, buf + 2);
	memset(buf + 18, 'x', n);
	put_u64le(nonce, state->nonce++);
	key->aead->seal(&context, nonce, NULL, 0, buf + 18, n, buf + 18 + n);
	return n + 34;
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(wire_find("AES-128-gcm")->name, "aes-128-gcm");
	assert_string_equal(wire_find("AEAD_CHACHA20_POLY1305")->name, "chacha20-ietf-poly1305");
	assert_ptr_equal(wire_find("aead_aes_256_gcm"), wire_find("aes-256-gcm"));
	assert_ptr_equal(wire_find("AEAD_AES_128_GCM"), wire_find("aes-128-gcm"));
	assert_null(wire_find("aes-512-gcm"));
	assert_null(wire_find(""));
	for (unsigned i = 0; wire_list(i); i++) {
		assert_ptr_equal(wire_find(wire_list(i)->name), wire_list(i));
		assert_int_equal(wire_list(i)->format == &wire_aead, i < METHODS);
	}
	assert_int_equal(wire_key_len(wire_find("aes-192-gcm")), 24);
}

/* The start of a request of aes-256-gcm. */
static void one_request(void **state)
{
	unsigned char bytes[WIRE_KEY_MAX], wire[200],
		right[] = "\x03\x0b"
			  "example.com"
			  "\x00\x50";
	struct wire_key key;
	size_t n;

	(void)state;
	kdf_password("foobar", 6, bytes, 32);
	wire_key_set(&key, wire_find("aes-256-gcm"), bytes);
	n = hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
		"26f396f92e7a577134380ffe30f9cf003e5a"
		"241815b04c2dd91251e282d8589929181e292b35e9ebc0a17f180b02a50343",
		wire, sizeof wire);
	check_stream(&key, wire, n, right, sizeof right - 1);
}

/* The vectors' "wire", opened, is `right`. */
static void check_wire(const struct wire_key *key, const struct json *vector,
		       const unsigned char *right, size_t right_n)
{
	size_t n = vectors_hex(vector, "wire", sealed, sizeof sealed);

	check_stream(key, sealed, n, right, right_n);
}

static void check_long(const struct wire_key *key, const struct json *vector, bool single)
{
	unsigned char salt[WIRE_SALT_MAX], digest[32], right[32], text[130];
	struct wire_state state;
	size_t n, right_n = 0;

	vectors_hex(vector, "salt", salt, sizeof salt);
	n = begin(key, &state, salt, sealed);
	if (single) {
		for (unsigned i = 0; i < sizeof text; i++) {
			plain[i] = text[i] = (unsigned char)i;
			n += seal(key, &state, text + i, 1, sealed + n, BIG - n);
		}
		right_n = sizeof text;
	} else {
		right_n = vectors_hex(vector, "first_chunk", plain, sizeof plain);
		n += seal(key, &state, plain, right_n, sealed + n, BIG - n);
		for (unsigned i = 0; i < 40000; i++)
			plain[right_n + i] = (unsigned char)(i % 251);
		n += seal(key, &state, plain + right_n, 40000, sealed + n, BIG - n);
		right_n += 40000;
	}
	assert_int_equal(n, vectors_integer(vector, "wire_len"));
	crypto_hash_sha256(digest, sealed, n);
	vectors_hex(vector, "wire_sha256", right, sizeof right);
	assert_memory_equal(digest, right, sizeof right);
	check_stream(key, sealed, n, plain, right_n);
}

static void vectors_file(void **state)
{
	struct json_document document;
	int methods = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	for (const struct json *v = vectors_member(document.root, "aead")->first; v;
	     v = v->next, methods++) {
		const struct json *request = vectors_member(v, "tcp_request");
		const struct json *response = vectors_member(v, "tcp_response");
		unsigned char bytes[WIRE_KEY_MAX], text[500];
		struct wire_key key;
		size_t n = 0;

		assert_int_equal(vectors_hex(v, "key", bytes, sizeof bytes),
				 wire_key_len(wire_find(v->name)));
		wire_key_set(&key, wire_find(v->name), bytes);

		for (const struct json *chunk = vectors_member(request, "chunks")->first; chunk;
		     chunk = chunk->next)
			n += vectors_hex(chunk, "plaintext", text + n, sizeof text - n);
		check_wire(&key, request, text, n);
		check_wire(&key, vectors_member(v, "tcp_request_header_and_payload_in_one_chunk"),
			   text, n);
		n = vectors_hex(response, "plaintext", text, sizeof text);
		check_wire(&key, response, text, n);
		check_long(&key, vectors_member(v, "tcp_40000_bytes"), false);
		check_long(&key, vectors_member(v, "tcp_130_one_byte_chunks"), true);
	}
	json_free(&document);
	assert_int_equal(methods, METHODS);
}

static void negative_file(void **state)
{
	struct json_document document;
	const struct json *vector;
	unsigned char bytes[WIRE_KEY_MAX];
	struct wire_key key;
	size_t n;

	(void)state;
	kdf_password("foobar", 6, bytes, 32);
	wire_key_set(&key, wire_find("aes-256-gcm"), bytes);
	vectors_load(&document, "protocol/vectors.json");
	vector = vectors_member(vectors_member(document.root, "negative"), "sip004_aes_256_gcm");

	vector = vector->first; /* length 0x4000 */
	n = vectors_hex(vector, "wire_prefix", sealed, sizeof sealed);
	for (enum cut cut = WHOLE; cut < CUTS; cut++) {
		struct wire_state direction = { 0 };
		struct got got = open_stream(&key, &direction, sealed, n, cut);

		assert_int_equal(got.result, -1);
		assert_int_equal(got.n, 0);
		assert_false(wire_authenticated(&direction));
	}
	vector = vector->next; /* length 0, which is accepted */
	n = vectors_hex(vector, "wire", sealed, sizeof sealed);
	check_stream(&key, sealed, n, plain, 0);
	json_free(&document);
}

/* Requests as the cases of ../shared/bugs send them: odd passwords, names and addresses. */
static void bugs_file(void **state)
{
	static const char tail[] = "hello vector";
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "bugs/vectors.json");
	for (const struct json *v = vectors_member(document.root, "sip004")->first; v;
	     v = v->next, checked++) {
		const struct wire_method *method = wire_find(vectors_text(v, "method"));
		const struct json *password = vectors_member(v, "password");
		size_t n = vectors_hex(v, "tcp_request", sealed, sizeof sealed);
		unsigned char bytes[WIRE_KEY_MAX];
		struct wire_key key;

		kdf_password(password->text, password->len, bytes, wire_key_len(method));
		wire_key_set(&key, method, bytes);
		for (enum cut cut = WHOLE; cut < CUTS; cut++) {
			struct wire_state direction = { 0 };
			struct got got = open_stream(&key, &direction, sealed, n, cut);

			assert_int_equal(got.result, 0);
			assert_true(got.n > strlen(tail));
			assert_memory_equal(got.bytes + got.n - strlen(tail), tail, strlen(tail));
		}
	}
	json_free(&document);
	assert_int_equal(checked, 16);
}

/* First flights, upward and downward, of every length up to 1100 and the largest. */
static void first_flights(void **state)
{
	(void)state;
	for (size_t n = 0; n <= WIRE_FIRST_PAYLOAD; n = n < 1100 ? n + 1 : n + 1773) {
		unsigned char buf[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
		unsigned char right[ENDPOINT_WIRE_MAX + WIRE_FIRST_PAYLOAD];
		size_t header = endpoint_write(&example, right);
		struct wire_state up = { 0 }, down = { 0 };
		struct wire_key key;
		size_t wire;

		key_of(&key, n % METHODS);
		randombytes_buf(plain, n);
		memcpy(right + header, plain, n);
		wire = wire_first(&key, &up, &example, plain, n, buf);
		assert_int_equal(wire, key.salt_len + 34 + header + n);
		check_stream(&key, buf, wire, right, header + n);
		if (n == 0)
			continue;
		wire = wire_first(&key, &down, NULL, plain, n, buf);
		assert_int_equal(wire, key.salt_len + 34 + n);
		check_stream(&key, buf, wire, plain, n);
		assert_memory_not_equal(up.subkey, down.subkey, key.key_len);
	}
}

/* The largest header still fits. */
static void largest_first_flight(void **state)
{
	static unsigned char buf[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
	struct endpoint long_name = { .port = 1, .type = ENDPOINT_NAME, .len = 255 };

	(void)state;
	memset(long_name.host, 'a', 255);
	for (unsigned m = 0; m < METHODS; m++) {
		struct wire_state up = { 0 };
		struct wire_key key;

		key_of(&key, m);
		assert_true(wire_first(&key, &up, &long_name, plain, WIRE_FIRST_PAYLOAD, buf) <=
			    sizeof buf);
	}
}

/* Bursts of every length up to 1100, and around the lengths that take one chunk more. */
static void bursts(void **state)
{
	(void)state;
	randombytes_buf(plain, sizeof plain);
	for (size_t n = 1; n < 5 * WIRE_CHUNK; n += n == 1100 ? WIRE_CHUNK - 1102
						    : n % WIRE_CHUNK == 3 && n > 3 ? WIRE_CHUNK - 5
										   : 1) {
		size_t wire, chunks = (n + WIRE_CHUNK - 1) / WIRE_CHUNK;
		struct wire_state up = { 0 };
		struct wire_key key;

		key_of(&key, n % METHODS);
		wire = wire_first(&key, &up, NULL, plain, 1, sealed);
		assert_int_equal(seal(&key, &up, plain + 1, n, sealed + wire, BIG - wire),
				 n + 34 * chunks);
		check_stream(&key, sealed, wire + n + 34 * chunks, plain, 1 + n);
	}
}

static size_t slots_payload(unsigned char *buf, size_t size, size_t batch, int *slots)
{
	struct iovec iov[WIRE_IOV];
	struct wire_key key;
	size_t payload = 0;

	key_of(&key, 0);
	*slots = wire_slots(&key, buf, size, batch, iov);
	assert_in_range(*slots, 0, WIRE_IOV);
	for (int i = 0; i < *slots; i++) {
		unsigned char *start = iov[i].iov_base;

		assert_in_range(iov[i].iov_len, 1, WIRE_CHUNK);
		assert_ptr_equal(start, buf + (size_t)i * (WIRE_CHUNK + 34) + 18);
		assert_true(start + iov[i].iov_len + AEAD_TAG <= buf + size);
		payload += iov[i].iov_len;
	}
	assert_true(payload <= batch);
	return payload;
}

static void slots(void **state)
{
	enum { SLOT = WIRE_CHUNK + 34, MANY = WIRE_IOV * SLOT + 1000 };
	unsigned char *buf = malloc(MANY);
	int n;

	(void)state;
	for (size_t size = 0; size <= 34; size++)
		assert_int_equal(slots_payload(buf, size, 1000, &n), 0);
	assert_int_equal(slots_payload(buf, 35, 1000, &n), 1);
	assert_int_equal(slots_payload(buf, 1034, 1000, &n), 1000);
	assert_int_equal(slots_payload(buf, 5000, 0, &n), 0);
	assert_int_equal(slots_payload(buf, SLOT, BIG, &n), WIRE_CHUNK);
	assert_int_equal(slots_payload(buf, SLOT + 34, BIG, &n), WIRE_CHUNK);
	assert_int_equal(n, 1);
	assert_int_equal(slots_payload(buf, SLOT + 35, BIG, &n), WIRE_CHUNK + 1);
	assert_int_equal(n, 2);
	assert_int_equal(slots_payload(buf, 262144, SIZE_MAX, &n), 262144 - 34 * 16);
	assert_int_equal(n, 16);
	assert_int_equal(slots_payload(buf, 262144, 3 * WIRE_CHUNK, &n), 3 * WIRE_CHUNK);
	assert_int_equal(n, 3);
	assert_int_equal(slots_payload(buf, MANY, SIZE_MAX, &n), WIRE_IOV * WIRE_CHUNK);
	free(buf);
}

/* Chunks of 1, 0, 600, 513 and 30 bytes. */
static size_t sample(const struct wire_key *key, size_t *ends)
{
	static const size_t sizes[] = { 1, 0, 600, 513, 30 };
	unsigned char salt[WIRE_SALT_MAX] = { 7 };
	struct wire_state state;
	size_t n = begin(key, &state, salt, sealed), payload = 0;

	randombytes_buf(plain, 2000);
	for (int i = 0; i < 5; i++) {
		if (sizes[i] == 0)
			n += odd_chunk(key, &state, 0, 0, sealed + n);
		else
			n += seal(key, &state, plain + payload, sizes[i], sealed + n, BIG - n);
		payload += sizes[i];
		ends[i] = n;
	}
	return n;
}

/* A change at any byte ends the stream there, and what was whole before it is delivered, however
 * the stream is cut. */
static void forged_anywhere(void **state)
{
	static const size_t payloads[] = { 0, 1, 1, 601, 1114, 1144 };

	(void)state;
	for (unsigned m = 0; m < METHODS; m++) {
		struct wire_key key;
		size_t ends[5], n;

		key_of(&key, m);
		n = sample(&key, ends);
		check_stream(&key, sealed, n, plain, 1144);
		for (size_t at = 0; at < n; at++) {
			int whole = 0;

			while (at >= ends[whole])
				whole++;
			sealed[at] ^= (unsigned char)(1 << at % 8);
			for (enum cut cut = WHOLE; cut < CUTS; cut++) {
				struct wire_state direction = { 0 };
				struct got got;

				if (cut != WHOLE && at % (cut == BYTES ? 32 : 8) != m)
					continue; /* slow, so only some */
				got = open_stream(&key, &direction, sealed, n, cut);
				assert_int_equal(got.result, -1);
				assert_int_equal(got.n, payloads[whole]);
				assert_memory_equal(got.bytes, plain, got.n);
				assert_int_equal(wire_authenticated(&direction),
						 at >= key.salt_len + 18u);
			}
			sealed[at] ^= (unsigned char)(1 << at % 8);
		}
	}
}

/* A peer that knows the key and sends a length that is too large. */
static void lengths_too_large(void **state)
{
	static const uint16_t lengths[] = { 0x4000, 0x4001, 0x8000, 0xc005, 0xffff };

	(void)state;
	for (int i = 0; i < 5; i++) {
		unsigned char salt[WIRE_SALT_MAX] = { 9 };
		struct wire_state direction;
		struct wire_key key;
		size_t n;

		key_of(&key, 4);
		n = begin(&key, &direction, salt, sealed);
		n += seal(&key, &direction, plain, 5, sealed + n, BIG - n);
		n += odd_chunk(&key, &direction, lengths[i], lengths[i] & 0x3fff, sealed + n);
		for (enum cut cut = WHOLE; cut < CUTS; cut++) {
			struct wire_state reader = { 0 };
			struct got got = open_stream(&key, &reader, sealed, n, cut);

			assert_int_equal(got.result, -1);
			assert_int_equal(got.n, 5);
		}
	}
}

/* Tiny chunks share an entry; large ones fill the iovec, and the rest waits for the next call. */
static void many_chunks(void **state)
{
	static const size_t sizes[] = { 1, 512, 513 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		unsigned char salt[WIRE_SALT_MAX] = { 3 };
		struct wire_state direction, reader = { 0 };
		struct iovec iov[WIRE_IOV];
		struct wire_opened opened;
		struct wire_key key;
		size_t n;

		key_of(&key, 2);
		randombytes_buf(plain, 300 * sizes[i]);
		n = begin(&key, &direction, salt, sealed);
		for (size_t c = 0; c < 300; c++)
			n += seal(&key, &direction, plain + c * sizes[i], sizes[i], sealed + n,
				  BIG - n);
		check_stream(&key, sealed, n, plain, 300 * sizes[i]);

		assert_int_equal(wire_open(&key, &reader, sealed, n, iov, &opened), 0);
		assert_int_equal(opened.iovs, i < 2 ? 1 : WIRE_IOV);
		assert_int_equal(opened.payload, (i < 2 ? 300 : WIRE_IOV) * sizes[i]);
		assert_int_equal(n - opened.used >= opened.need, i == 2);
	}
}

/* What is needed before a call is worth it. */
static void needs(void **state)
{
	unsigned char salt[WIRE_SALT_MAX] = { 1 };
	struct wire_state direction, reader = { 0 };
	struct iovec iov[WIRE_IOV];
	struct wire_opened opened;
	struct wire_key key;
	size_t n;

	(void)state;
	key_of(&key, 1);
	n = begin(&key, &direction, salt, sealed);
	n += seal(&key, &direction, plain, 100, sealed + n, BIG - n);

	assert_int_equal(wire_open(&key, &reader, sealed, 0, iov, &opened), 0);
	assert_int_equal(opened.need, 24 + 18);
	assert_int_equal(wire_open(&key, &reader, sealed, 24 + 17, iov, &opened), 0);
	assert_int_equal(opened.used, 0);
	assert_int_equal(wire_open(&key, &reader, sealed, 24 + 18, iov, &opened), 0);
	assert_int_equal(opened.used, 24 + 18);
	assert_int_equal(opened.need, 100 + 16);
	assert_int_equal(wire_open(&key, &reader, sealed + 42, 115, iov, &opened), 0);
	assert_int_equal(opened.used, 0);
	assert_int_equal(wire_open(&key, &reader, sealed + 42, 116, iov, &opened), 0);
	assert_int_equal(opened.payload, 100);
	assert_int_equal(opened.need, 18);
}

/* The same first flight twice; two copies that stop in the middle (CR08); our own bytes (CR12). */
static void replays(void **state)
{
	struct wire_state up = { 0 }, a = { 0 }, b = { 0 }, c = { 0 };
	struct iovec iov[WIRE_IOV];
	struct wire_opened opened;
	struct wire_key client, server;
	unsigned char buf[1000], copy[1000];
	size_t n;

	(void)state;
	key_of(&client, 2);
	server = client;
	client.replay = replay_open(100);
	server.replay = replay_open(100);
	assert_true(client.replay && server.replay);
	n = wire_first(&client, &up, &example, plain, 50, buf);
	assert_int_equal(replay_count(client.replay), 1);

	/* too little to open: not remembered, so both may wait */
	memcpy(copy, buf, n);
	assert_int_equal(wire_open(&server, &a, copy, 42, iov, &opened), 0);
	assert_int_equal(wire_open(&server, &b, copy, 42, iov, &opened), 0);
	assert_int_equal(replay_count(server.replay), 0);

	/* a bad length is not remembered either: it must not shut out the true one */
	copy[40] ^= 1;
	assert_int_equal(wire_open(&server, &c, copy, n, iov, &opened), -1);
	assert_int_equal(replay_count(server.replay), 0);

	/* up to the length box and no further: one passes */
	memcpy(copy, buf, n);
	assert_int_equal(wire_open(&server, &a, copy, 50, iov, &opened), 0);
	assert_true(wire_authenticated(&a));
	memcpy(copy, buf, n);
	assert_int_equal(wire_open(&server, &b, copy, 50, iov, &opened), -1);
	assert_false(wire_authenticated(&b));
	memcpy(copy, buf, n);
	assert_int_equal(wire_open(&server, &a, copy + 50, n - 50, iov, &opened), 0);
	assert_int_equal(opened.payload, 15 + 50);

	/* what the client sent, sent back to the client */
	wire_wipe(&c);
	memcpy(copy, buf, n);
	assert_int_equal(wire_open(&client, &c, copy, n, iov, &opened), -1);
	replay_close(client.replay);
	replay_close(server.replay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(one_request),
		cmocka_unit_test(vectors_file),
		cmocka_unit_test(negative_file),
		cmocka_unit_test(bugs_file),
		cmocka_unit_test(first_flights),
		cmocka_unit_test(largest_first_flight),
		cmocka_unit_test(bursts),
		cmocka_unit_test(slots),
		cmocka_unit_test(forged_anywhere),
		cmocka_unit_test(lengths_too_large),
		cmocka_unit_test(many_chunks),
		cmocka_unit_test(needs),
		cmocka_unit_test(replays),
	};

	if (crypto_open() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
