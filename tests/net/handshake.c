/*
 * What a server makes of first bytes: the same silence for whatever is wrong, however it is cut.
 */
#include "net/handshake.h"

#include "tests/net/world.h"

static const struct sizes plenty = { .sessions = 32, .blocks = 64 };
static unsigned char bytes[300000], more[70000];

/* Byte by byte, the address in chunks of any size, empty ones in between: the target is reached. */
static void test_any_cut(void **state)
{
	uint16_t target;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0);
	for (uint32_t seed = 1; seed <= 20; seed++) {
		uint32_t random = seed * 2654435761u;
		struct peer *p = peer_new(0, 0);
		struct endpoint where = {
			.port = target, .type = ENDPOINT_IPV4, .len = 4, .host = { 127, 0, 0, 1 }
		};
		unsigned char text[ENDPOINT_WIRE_MAX + 100];
		size_t text_len = endpoint_write(&where, text), first;

		memcpy(text + text_len, "payload", 7);
		text_len += 7;
		/* The salt and the first chunk, then chunks of our own cutting. */
		first = below(&random, (uint32_t)text_len);
		size_t n = first ? wire_first(&p->key, &p->up, NULL, text, first, bytes)
				 : wire_first(&p->key, &p->up, NULL, text, first = 1, bytes);
		while (first < text_len) {
			size_t part = below(&random, 4);

			part = part < text_len - first ? part : text_len - first;
			n += peer_chunk(p, text + first, part, bytes + n);
			first += part;
		}
		for (size_t sent = 0, part; sent < n; sent += part) {
			part = seed % 2 ? 1 : 1 + below(&random, 60);
			part = part < n - sent ? part : n - sent;
			put(p->fd, bytes + sent, part);
			if (below(&random, 2))
				turn();
		}
		int far = accept_one(listener);
		expect(far, "payload", 7);
		assert_int_equal(only_session()->up_bytes, 7);
		put(far, "answer", 6);
		until(look(p->fd, more, 1) > 0);
		close(far);
		peer_free(p);
		world_rests();
	}
	close(listener);
	world_close();
}

/* Nothing is answered until the handshake time is over, counted from accept; then an end, no reset. */
static void expect_mute(int fd, uint64_t accepted)
{
	expect_silence(fd);
	assert_int_equal(world.engine.blocks.leased, 0);
	world.now = accepted + world.server.handshake_time - 100;
	expect_silence(fd);
	(void)!send(fd, more, sizeof(more), MSG_NOSIGNAL); /* more of it changes nothing */
	expect_silence(fd);
	assert_int_equal(send(fd, "unread", 6, MSG_NOSIGNAL), 6);
	pass(200);
	assert_int_equal(ending(fd), END);
	close(fd);
	world_rests();
}

static void test_noise_is_silenced(void **state)
{
	static const size_t lengths[] = { 0,  1,  31, 32,  33,	49,    50,
					  51, 66, 67, 221, 999, 20000, 65000 };
	uint32_t random = 7;

	(void)state;
	world_open(plenty);
	for (size_t i = 0; i < sizeof(more); i++)
		more[i] = (unsigned char)chance(&random);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int fd = connect_small(world.server_port, 0, 0);
		uint64_t accepted;

		turns(3);
		accepted = only_session()->began;
		put(fd, more, lengths[i]);
		expect_mute(fd, accepted);
	}
	world_close();
}

/* Right key, wrong content. */
static void test_bad_address_is_silenced(void **state)
{
	static const unsigned char addresses[][16] = {
		{ 0 },
		{ 2, 127, 0, 0, 1, 0, 80 },
		{ 3, 0, 0, 80 },
		{ 3, 3, 'a', 0, 'b', 0, 80 },
		{ 3, 2, '-', '-', 0, 80 },
		{ 0x11, 127, 0, 0, 1, 0, 80 },
	};

	(void)state;
	world_open(plenty);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct peer *p = peer_new(0, 0);
		uint64_t accepted;

		turns(3);
		accepted = only_session()->began;
		put(p->fd, bytes, wire_first(&p->key, &p->up, NULL, addresses[i], 16, bytes));
		expect_mute(p->fd, accepted);
		p->fd = -1;
		peer_free(p);
	}
	world_close();
}

/* A peer that leaves is answered at once, whatever it sent. */
static void test_end_is_answered(void **state)
{
	static const size_t lengths[] = { 0, 1, 50, 51, 5000 };

	(void)state;
	world_open(plenty);
	for (int late = 0; late < 2; late++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			int fd = connect_small(world.server_port, 0, 0);

			put(fd, more, lengths[i]);
			if (late)
				expect_silence(fd);
			shutdown(fd, SHUT_WR);
			assert_int_equal(ending(fd), END);
			close(fd);
			world_rests();
		}
	world_close();
}

/* A forged chunk behind a good beginning: what was good arrives, then a reset; the peer hears nothing for
 * as long as a stranger would, counted from then. */
static void test_forged_later(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);

	pass(1000000);
	size_t n = peer_chunk(p, "good", 4, bytes);
	n += peer_chunk(p, "forged", 6, bytes + n);
	bytes[n - 1] ^= 1;
	uint64_t when = world.now;
	put(p->fd, bytes, n);
	expect(far, "good", 4);
	assert_int_equal(ending(far), RESET);
	close(far);
	expect_mute(p->fd, when);
	p->fd = -1;
	peer_free(p);
	close(listener);
	world_close();
}

/* Empty chunks for ever, no address: it takes its turns, holds nothing, and ends in time. */
static void test_empty_chunks(void **state)
{
	enum { LOTS = 60000 };
	unsigned char *lots = test_malloc((size_t)LOTS * 34);
	size_t n = 0, sent = 0;

	(void)state;
	world_open(plenty);
	struct peer *p = peer_new(0, 0);
	put(p->fd, bytes, wire_first(&p->key, &p->up, NULL, (const unsigned char *)"\3", 1, bytes));
	for (int i = 0; i < LOTS; i++)
		n += peer_chunk(p, "", 0, lots + n);
	turns(3);
	struct session *s = only_session();
	while (sent < n) {
		uint64_t before = s->up_wire.nonce;

		for (ssize_t taken;
		     sent < n && (taken = send(p->fd, lots + sent, n - sent, MSG_NOSIGNAL)) > 0;)
			sent += (size_t)taken;
		turn();
		assert_true((s->up_wire.nonce - before) / 2 * 34 <= (1 << 20) + 40000);
	}
	until(s->up_wire.nonce == p->up.nonce);
	assert_int_equal(world.engine.blocks.leased, 0);
	pass(100000);
	assert_int_equal(ending(p->fd), END);
	peer_free(p);
	world_rests();
	world_close();
	test_free(lots);
}

/* Half a login does not stay in memory. Here: any bytes in front of a target that is not known yet. */
static enum step read_only(struct session *s)
{
	enum step step;

	while ((step = handshake_read(s, SESSION_SHAKE)) == DONE)
		;
	return step;
}

static void test_wiped(void **state)
{
	static const struct role role = { .name = "reads", .target = read_only };
	static const unsigned char zeroes[6];

	(void)state;
	world_open(plenty);
	world.local.role = &role;
	int near = connect_small(world.local_port, 0, 0);
	put(near, "secret", 6);
	turns(3);
	struct session *s = only_session();
	assert_memory_equal(s->shake, "secret", 6);
	close(near);
	world_rests();
	assert_memory_equal(s->shake, zeroes, 6); /* its place in the slab is still there */
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_cut),
		cmocka_unit_test(test_noise_is_silenced),
		cmocka_unit_test(test_bad_address_is_silenced),
		cmocka_unit_test(test_end_is_answered),
		cmocka_unit_test(test_forged_later),
		cmocka_unit_test(test_empty_chunks),
		cmocka_unit_test(test_wiped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
