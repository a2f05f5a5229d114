/*
 * Stream ciphers on the wire: vectors of other implementations, every length, every way to cut a
 * stream, replays, leases, packets.
 */
#include "net/packet.h"

#include "core/slab.h"
#include "crypto/kdf.h"
#include "tests/emulator.h"
#include "tests/vectors.h"

#include <sodium.h>

enum { METHODS = 28, BIG = 70000 };

static unsigned char plain[BIG], sealed[BIG], got[BIG];
static struct slab leases;

static const struct endpoint example = {
	.port = 80, .type = ENDPOINT_NAME, .len = 11, .host = "example.com"
};

/* The i-th method that is a stream cipher and built, or NULL after the last. */
static const struct wire_method *method(unsigned i)
{
	const struct wire_method *m;

	for (unsigned at = 0; (m = wire_list(at)); at++)
		if (m->format == &wire_stream && wire_built(m) && i-- == 0)
			return m;
	return NULL;
}

static void key_of(struct wire_key *key, const struct wire_method *m)
{
	unsigned char bytes[WIRE_KEY_MAX];

	kdf_password("foobar", 6, bytes, wire_key_len(m));
	assert_int_equal(wire_key_set(key, m, bytes), 0);
	if (wire_lease_size(key) > 0)
		key->leases = &leases;
}

/* A state's end: nothing may stay leased. */
static void end(struct wire_state *state)
{
	wire_wipe(state);
	assert_false(wire_authenticated(state));
	assert_int_equal(leases.live, 0);
}

/* Read a stream as a flow does: `first` bytes, then `step` at a time. Bytes opened, or -1. */
static long open_stream(const struct wire_key *key, struct wire_state *state,
			const unsigned char *wire, size_t n, size_t first, size_t step)
{
	struct iovec iov[WIRE_IOV];
	struct wire_opened opened = { .need = key->salt_len + 1u };
	size_t held = 0, total = 0;

	for (size_t at = 0, take = first; at < n; at += take, take = step) {
		unsigned char *exact;

		if (take > n - at)
			take = n - at;
		held += take;
		exact = malloc(held);
		memcpy(exact, wire + at + take - held, held);
		if (wire_open(key, state, exact, held, iov, &opened) < 0) {
			assert_int_equal(wire_open(key, state, exact, held, iov, &opened), -1);
			free(exact);
			return -1;
		}
		assert_int_equal(opened.used,
				 held > key->salt_len || wire_authenticated(state) ? held : 0);
		assert_int_equal(opened.iovs, opened.used > 0);
		if (opened.iovs) {
			assert_int_equal(iov[0].iov_len, opened.payload);
			memcpy(got + total, iov[0].iov_base, opened.payload);
			total += opened.payload;
			assert_int_equal(opened.need, 1);
		} else {
			assert_int_equal(opened.need, key->salt_len + 1);
		}
		held -= opened.used;
		free(exact);
	}
	return (long)total;
}

static void check_cut(const struct wire_key *key, const unsigned char *wire, size_t n,
		      const unsigned char *right, size_t right_n, size_t first, size_t step)
{
	struct wire_state state = { 0 };

	assert_int_equal(open_stream(key, &state, wire, n, first, step), right_n);
	assert_memory_equal(got, right, right_n);
	assert_true(wire_authenticated(&state));
	assert_int_equal(leases.live, wire_lease_size(key) > 0);
	end(&state);
}

/* Cut in two at every byte, and into single bytes. */
static void check_every_cut(const struct wire_key *key, const unsigned char *wire, size_t n,
			    const unsigned char *right, size_t right_n)
{
	for (size_t first = 1; first <= n; first++)
		check_cut(key, wire, n, right, right_n, first, n);
	check_cut(key, wire, n, right, right_n, 1, 1);
}

static void names(void **state)
{
	static const char *const aliases[][2] = {
		{ "AES-256-CFB", "aes-256-cfb" },
		{ "aes-128-cfb128", "aes-128-cfb" },
		{ "AES-192-CFB128", "aes-192-cfb" },
		{ "plain", "none" },
		{ "dummy", "none" },
		{ "RC4-MD5", "rc4-md5" },
	};
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; wire_list(i); i++)
		n += wire_list(i)->format == &wire_stream;
	assert_int_equal(n, METHODS);
	for (unsigned i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
		assert_string_equal(wire_find(aliases[i][0])->name, aliases[i][1]);
	assert_true(wire_stream.forgeable);
	assert_false(wire_aead.forgeable);
}

/* A sample of our own where the file is missing: the request of aes-256-cfb. */
static void one_request(void **state)
{
	unsigned char wire[100], text[100];
	struct wire_key key;
	size_t n, text_n;

	(void)state;
	key_of(&key, wire_find("aes-256-cfb"));
	n = hex("101112131415161718191a1b1c1d1e1ff84cb9bd403275604fd6a69df6a814a5cd34b75cfac50a2797"
		"91"
		"599a2f73e204664208099d639ae03385fd78ede40df7895c190ffbb8eaaeb0885fe5e6c28ad0",
		wire, sizeof wire);
	text_n = hex(
		"030b6578616d706c652e636f6d0050474554202f20485454502f312e310d0a486f73743a206578616d"
		"706c652e636f6d0d0a0d0a7365636f6e64206368756e6b",
		text, sizeof text);
	check_every_cut(&key, wire, n, text, text_n);
	wire_key_wipe(&key);
}

static void check_wire(const struct wire_key *key, const struct json *vector)
{
	unsigned char wire[300], text[300];
	size_t n = vectors_hex(vector, "wire", wire, sizeof wire);

	check_every_cut(key, wire, n, text, vectors_hex(vector, "plaintext", text, sizeof text));
}

/* A vector's packet opens to its header and payload; cut short it is too short or another one. */
static void check_packet(const struct wire_key *key, const struct json *vector)
{
	unsigned char wire[300], text[300], copy[300];
	size_t n = vectors_hex(vector, "wire", wire, sizeof wire);
	size_t text_n = vectors_hex(vector, "plaintext", text, sizeof text);
	struct packet_peer peer = { 0 };
	struct packet_front front;
	struct packet_opened opened;
	struct endpoint right;
	size_t header = (size_t)endpoint_read(&right, text, text_n);

	for (size_t cut = 0; cut <= n; cut++) {
		const struct packet_format *packets = key->format->packets;
		bool begins;

		memcpy(copy, wire, cut);
		begins = packets->begin(key, copy, cut, &front) == 0;
		assert_int_equal(begins, cut > key->salt_len);
		if (!begins)
			continue;
		assert_false(front.has_id);
		if (cut < key->salt_len + header) {
			assert_int_equal(packets->open(key, NULL, &peer, &front, copy, cut,
						       &opened),
					 -1);
			continue;
		}
		assert_int_equal(packets->open(key, NULL, &peer, &front, copy, cut, &opened), 0);
		assert_int_equal(opened.n, cut - key->salt_len - header);
		assert_memory_equal(opened.payload, text + header, opened.n);
		assert_string_equal(opened.address.host, right.host);
		assert_int_equal(opened.address.port, right.port);
	}
}

static void vectors_file(void **state)
{
	struct json_document document;
	int checked = 0;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	for (const struct json *v = vectors_member(document.root, "stream")->first; v;
	     v = v->next) {
		const struct wire_method *m = wire_find(v->name);
		struct wire_key key;

		if (!m || !wire_built(m)) {
			print_message("not in this build, and not tested: %s\n", v->name);
			continue;
		}
		checked++;
		key_of(&key, m);
		assert_int_equal(key.key_len, vectors_integer(v, "key_len"));
		assert_int_equal(key.salt_len, vectors_integer(v, "iv_len"));
		check_wire(&key, vectors_member(v, "tcp_request"));
		check_wire(&key, vectors_member(v, "tcp_response"));
		check_packet(&key, vectors_member(v, "udp"));
		wire_key_wipe(&key);
	}
	json_free(&document);
	assert_true(checked >= 22); /* 23, less Blowfish */
}

static void table_file(void **state)
{
	struct json_document document;
	struct wire_key key;

	(void)state;
	vectors_load(&document, "protocol/vectors.json");
	key_of(&key, wire_find("table"));
	check_wire(&key, vectors_member(document.root, "table"));
	check_packet(&key, vectors_member(document.root, "table"));
	wire_key_wipe(&key);
	json_free(&document);
}

/* A request as flows make it: first flight with n bytes of payload, then a burst of n more. */
static size_t request(const struct wire_key *key, size_t n, unsigned char *right, size_t *right_n)
{
	size_t first = n < WIRE_FIRST_PAYLOAD ? n : WIRE_FIRST_PAYLOAD, header, wire;
	struct wire_state up = { 0 };
	struct iovec iov[WIRE_IOV];

	header = endpoint_write(&example, right);
	memcpy(right + header, plain, n);
	*right_n = header + n;
	wire = wire_first(key, &up, &example, plain, first, sealed);
	assert_int_equal(wire, key->salt_len + header + first);
	while (first < n) {
		assert_int_equal(wire_slots(key, sealed + wire, BIG - wire, n - first, iov), 1);
		assert_int_equal(iov->iov_len, n - first);
		memcpy(iov->iov_base, plain + first, iov->iov_len);
		assert_int_equal(wire_seal(key, &up, sealed + wire, iov->iov_len), iov->iov_len);
		wire += iov->iov_len;
		first += iov->iov_len;
	}
	end(&up);
	return wire;
}

static void lengths(void **state)
{
	static unsigned char right[BIG];

	(void)state;
	randombytes_buf(plain, sizeof plain);
	for (unsigned m = 0; method(m); m++) {
		struct wire_key key;

		key_of(&key, method(m));
		for (size_t n = 0; n < BIG - 600; n = n < 1100 ? n + every(31) : n * 4 - 1) {
			struct wire_state down = { 0 };
			size_t right_n, wire = request(&key, n, right, &right_n);

			check_cut(&key, sealed, wire, right, right_n, wire, 1);
			check_cut(&key, sealed, wire, right, right_n, 1 + n / 3, 1 + n / 11);
			if (n == 0 || n > WIRE_FIRST_PAYLOAD)
				continue;
			wire = wire_first(&key, &down, NULL, plain, n, sealed);
			assert_int_equal(wire, key.salt_len + n);
			end(&down);
			check_cut(&key, sealed, wire, plain, n, 1, 1 + n / 2);
		}
		wire_key_wipe(&key);
	}
}

static void slots(void **state)
{
	struct iovec iov[WIRE_IOV];
	struct wire_key key;

	(void)state;
	key_of(&key, wire_find("aes-128-ctr"));
	assert_int_equal(wire_slots(&key, sealed, 100, 0, iov), 0);
	assert_int_equal(wire_slots(&key, sealed, 0, 100, iov), 0);
	assert_int_equal(wire_slots(&key, sealed, 100, 70, iov), 1);
	assert_int_equal(iov->iov_len, 70);
	assert_int_equal(wire_slots(&key, sealed, 50, 70, iov), 1);
	assert_int_equal(iov->iov_len, 50);
	assert_ptr_equal(iov->iov_base, sealed);
	wire_key_wipe(&key);
}

/* The second of two copies is refused, also when it is a server's own bytes that come back; without
 * an IV there is nothing to know it by. A client's own IV may come back once. */
static void replays(void **state)
{
	unsigned char right[600];
	struct replay *memory = replay_open(1000);

	(void)state;
	for (unsigned m = 0; method(m); m++) {
		struct wire_state copy = { 0 };
		size_t n, right_n;
		struct wire_key key;
		bool has_iv;

		key_of(&key, method(m));
		has_iv = key.salt_len > 0;
		n = request(&key, 100, right, &right_n); /* by somebody else */
		key.replay = memory;
		check_cut(&key, sealed, n, right, right_n, n, 1);
		for (unsigned again = 0; again < 2; again++) {
			assert_int_equal(open_stream(&key, &copy, sealed, n, again ? 1 : n, 1),
					 has_iv ? -1 : (long)right_n);
			assert_int_equal(wire_authenticated(&copy), !has_iv);
			end(&copy);
		}
		key.server = true;
		n = request(&key, 100, right, &right_n);
		assert_int_equal(open_stream(&key, &copy, sealed, n, n, 1),
				 has_iv ? -1 : (long)right_n);
		end(&copy);
		key.server = false;
		n = request(&key, 100, right, &right_n);
		check_cut(&key, sealed, n, right, right_n, n, 1);
		assert_int_equal(open_stream(&key, &copy, sealed, n, n, 1),
				 has_iv ? -1 : (long)right_n);
		end(&copy);
		wire_key_wipe(&key);
	}
	replay_close(memory);
}

/* An IV alone is not remembered. */
static void iv_alone(void **state)
{
	struct replay *memory = replay_open(1000);
	unsigned char right[600];
	size_t n, right_n;
	struct wire_key key;

	(void)state;
	key_of(&key, wire_find("aes-128-cfb"));
	n = request(&key, 10, right, &right_n);
	key.replay = memory;
	for (unsigned i = 0; i < 2; i++) {
		struct wire_state half = { 0 };

		assert_int_equal(open_stream(&key, &half, sealed, key.salt_len, 1, 1), 0);
		assert_false(wire_authenticated(&half));
	}
	check_cut(&key, sealed, n, right, right_n, n, 1);
	replay_close(memory);
	wire_key_wipe(&key);
}

/* Two directions at once have states of their own, and give them back in any order. */
static void directions(void **state)
{
	struct wire_state a = { 0 }, b = { 0 };
	unsigned char one[600], two[600];
	struct wire_key key;
	size_t n, m;

	(void)state;
	key_of(&key, wire_find("rc4-md5"));
	n = wire_first(&key, &a, NULL, plain, 50, sealed);
	memcpy(one, sealed, n);
	m = wire_first(&key, &b, NULL, plain, 50, sealed);
	memcpy(two, sealed, m);
	assert_int_equal(leases.live, 2);
	memcpy(one + n, plain + 50, 50);
	wire_seal(&key, &a, one + n, 50);
	memcpy(two + m, plain + 50, 50);
	wire_seal(&key, &b, two + m, 50);
	wire_wipe(&a);
	assert_int_equal(leases.live, 1);
	end(&b);
	end(&b); /* twice is once */
	check_cut(&key, one, n + 50, plain, 100, 7, 7);
	check_cut(&key, two, m + 50, plain, 100, 7, 7);
	wire_key_wipe(&key);
	assert_null(key.schedule);
}

/* Our own packets sent back to us are replays. */
static void reflected_packets(void **state)
{
	struct replay *memory = replay_open(1000);
	unsigned char buf[PACKET_HEAD + 10] = { 0 }, *start;
	struct packet_peer peer = { 0 };
	struct packet_front front;
	struct packet_opened opened;
	struct wire_key key;
	size_t n;

	(void)state;
	key_of(&key, wire_find("rc4-md5"));
	key.packet_replay = memory;
	start = key.format->packets->seal(&key, NULL, NULL, &example, buf + PACKET_HEAD, 10, &n);
	assert_int_equal(key.format->packets->begin(&key, start, n, &front), 0);
	assert_int_equal(key.format->packets->open(&key, NULL, &peer, &front, start, n, &opened),
			 -1);
	replay_close(memory);
	wire_key_wipe(&key);
}

static void packets(void **state)
{
	struct replay *memory = replay_open(1000);
	static unsigned char buf[PACKET_HEAD + BIG];

	(void)state;
	randombytes_buf(plain, sizeof plain);
	for (unsigned m = 0; method(m); m++) {
		struct wire_key key;

		key_of(&key, method(m));
		for (size_t n = 0; n < 65000; n = n < 1100 ? n + every(31) : n * 4 - 1) {
			const struct packet_format *p = key.format->packets;
			unsigned char *payload = buf + PACKET_HEAD, *start, *copy;
			struct packet_peer peer = { 0 };
			struct packet_front front;
			struct packet_opened opened;
			size_t length;

			memcpy(payload, plain, n);
			key.packet_replay = NULL; /* sealed by somebody else */
			start = p->seal(&key, NULL, NULL, &example, payload, n, &length);
			assert_int_equal(length, key.salt_len + 15 + n);
			assert_ptr_equal(start + length, payload + n);
			copy = malloc(length);
			key.packet_replay = n < 3 ? memory : NULL;
			for (unsigned i = 0; i < 2; i++) {
				bool again = i > 0 && key.packet_replay && key.salt_len > 0;

				memcpy(copy, start, length);
				assert_int_equal(p->begin(&key, copy, length, &front), 0);
				assert_int_equal(p->open(&key, NULL, &peer, &front, copy, length,
							 &opened),
						 again ? -1 : 0);
			}
			if (!key.packet_replay) {
				assert_int_equal(opened.n, n);
				assert_memory_equal(opened.payload, plain, n);
				assert_string_equal(opened.address.host, "example.com");
			}
			free(copy);
		}
		wire_key_wipe(&key);
	}
	replay_close(memory);
	assert_int_equal(leases.live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),      cmocka_unit_test(one_request),
		cmocka_unit_test(slots),      cmocka_unit_test(vectors_file),
		cmocka_unit_test(lengths),    cmocka_unit_test(table_file),
		cmocka_unit_test(replays),    cmocka_unit_test(iv_alone),
		cmocka_unit_test(packets),    cmocka_unit_test(reflected_packets),
		cmocka_unit_test(directions),
	};
	struct wire_key key;

	if (crypto_open() < 0)
		return 1;
	key_of(&key, wire_find("rc4"));
	if (slab_open(&leases, wire_lease_size(&key), 2) < 0)
		return 1;
	wire_key_wipe(&key);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
