/*
 * One direction at a time: sealed bytes cut anywhere, slow readers, ends and failures in every order.
 */
#include "net/flow.h"

#include "tests/emulator.h"
#include "tests/net/world.h"

#include <net/if.h>
#include <sched.h>

enum { MANY = 300000 };

static unsigned char bytes[MANY], sealed[2 * MANY + 4096], got[MANY];

static const struct sizes plenty = { .sessions = 16, .blocks = 256 };

static void fill(uint32_t seed)
{
	for (size_t i = 0; i < MANY; i++)
		bytes[i] = (unsigned char)chance(&seed);
}

/* MANY bytes as chunks of random sizes, empty ones among them. */
static size_t seal_randomly(struct peer *p, uint16_t target, uint32_t *seed)
{
	size_t taken = below(seed, 2) ? 0 : below(seed, 500),
	       n = peer_first(p, target, bytes, taken, sealed);

	while (taken < MANY) {
		size_t part = below(seed, 4) ? below(seed, WIRE_CHUNK + 1) : below(seed, 700);

		if (part > MANY - taken)
			part = MANY - taken;
		n += peer_chunk(p, bytes + taken, part, sealed + n);
		taken += part;
		assert_true(n < sizeof(sealed) - WIRE_CHUNK - 100);
	}
	return n;
}

/* Sent in pieces of any size, with turns in between or without, to targets that stall: all arrives. */
static void test_any_cut(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 12; seed++) {
		uint32_t random = seed * 2654435761u;
		struct sizes small = { 16, 256, seed % 3 ? 5000 : 0, seed % 2 ? 5000 : 0 };
		uint16_t target;

		world_open(small);
		fill(seed);
		int listener = listen_small(&target, seed % 4 ? 0 : 4000), far = -1;
		struct peer *p = peer_new(0, 0);
		size_t n = seal_randomly(p, target, &random), sent = 0, have = 0;
		bool ended = false;
		ssize_t said = 0;

		for (uint64_t limit = real_ms() + 60000; said != END && real_ms() < limit;) {
			size_t piece = below(&random, 3) ? 1 + below(&random, 3000)
							 : 1 + below(&random, 60000);

			if (piece > n - sent)
				piece = n - sent;
			ssize_t taken = piece ? send(p->fd, sealed + sent, piece, MSG_NOSIGNAL) : 0;
			sent += taken > 0 ? (size_t)taken : 0;
			if (sent == n && !ended)
				ended = shutdown(p->fd, SHUT_WR) == 0;
			if (below(&random, 2))
				turn();
			if (far < 0)
				far = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
			if (far >= 0 && below(&random, 3) == 0) {
				said = look(far, got + have,
					    MANY - have ? 1 + below(&random, 30000) % (MANY - have)
							: 1);
				have += said > 0 ? (size_t)said : 0;
			}
		}
		assert_int_equal(said, END);
		assert_int_equal(have, MANY);
		assert_memory_equal(got, bytes, MANY);
		close(far);
		assert_int_equal(ending(p->fd), END);
		world_rests();
		peer_free(p);
		close(listener);
		world_close();
	}
}

/* An end between chunks passes as an end; anywhere else, also right behind a length, it is a cut. */
static void test_end_inside_chunk(void **state)
{
	static const size_t cuts[] = { 0, 1, 17, 18, 19, 18 + 16, 18 + 16 + 2, 18 + 16 + 3 };
	uint16_t target;
	int far;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct peer *p = peer_relayed(listener, target, &far);
		size_t n = peer_chunk(p, "abc", 3, sealed);

		put(p->fd, sealed, cuts[i]);
		shutdown(p->fd, SHUT_WR);
		if (cuts[i] == n)
			expect(far, "abc", 3);
		assert_int_equal(ending(far), cuts[i] % n == 0 ? END : RESET);
		close(far);
		world_rests();
		peer_free(p);
	}
	close(listener);
	world_close();
}

/* A target that does not read: the flow holds a bounded number of bytes, and reads no more. */
static void test_slow_reader(void **state)
{
	uint16_t target;
	int far;
	size_t sent = 0, have = 5, n = 0;
	ssize_t taken;

	(void)state;
	world_open((struct sizes){ .sessions = 4, .blocks = 64, .sndbuf = 5000, .rcvbuf = 5000 });
	int listener = listen_small(&target, 4000);
	struct peer *p = peer_relayed(listener, target, &far);

	fill(99);
	memcpy(got, "first", 5);
	for (size_t at = 0; at < MANY; at += 10000)
		n += peer_chunk(p, bytes + at, 10000, sealed + n);
	for (int i = 0; i < 200; i++) {
		taken = send(p->fd, sealed + sent, n - sent, MSG_NOSIGNAL);
		sent += taken > 0 ? (size_t)taken : 0;
		turn();
	}
	assert_true(world.engine.blocks.leased > 0);
	assert_true(world.engine.blocks.leased <= 4);
	assert_true(is_quiet());
	have = 0;
	while (have < MANY) {
		ssize_t said = look(far, got + have, MANY - have);

		have += said > 0 ? (size_t)said : 0;
		taken = send(p->fd, sealed + sent, n - sent, MSG_NOSIGNAL);
		sent += taken > 0 ? (size_t)taken : 0;
		turn();
		assert_true(said >= 0);
	}
	assert_memory_equal(got, bytes, MANY);
	assert_int_equal(world.engine.blocks.leased, 0);
	peer_free(p);
	close(far);
	world_ends(listener);
}

/* The near side ends, then its connection fails while nobody reads from it or writes to it. */
static void test_reset_after_end(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);

	shutdown(p->fd, SHUT_WR);
	assert_int_equal(ending(far), END);
	turns(3);
	reset(p->fd);
	p->fd = -1;
	world_rests();
	assert_int_equal(send(far, "x", 1, MSG_NOSIGNAL), -1); /* the reset has arrived */
	close(far);
	peer_free(p);
	close(listener);
	world_close();
}

/* The near side fails as the target is being reached, which sees no connection or a failed one: an end would
 * say that this was all. */
static void test_reset_before_the_relay(void **state)
{
	unsigned char first[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
	uint16_t target;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0);
	struct peer *p = peer_new(0, 0);

	put(p->fd, first, peer_first(p, target, "cut", 3, first));
	reset(p->fd);
	p->fd = -1;
	until(world.server.accepted == 1 && world.engine.sessions.live == 0);
	int far = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (far >= 0) {
		assert_int_equal(ending(far), RESET);
		close(far);
	}
	peer_free(p);
	world_ends(listener);
}

/* The target sends, ends, and is gone for good, which its answer to our next byte says: what it sent still
 * lies in our kernel, and must not be lost to the reset. */
static void test_reset_does_not_overtake(void **state)
{
	uint16_t target;
	size_t have = 0;

	(void)state;
	for (int ended = 0; ended < 2; ended++) {
		world_open((struct sizes){ .sessions = 4, .blocks = 64, .sndbuf = 200000 });
		int listener = listen_small(&target, 0);
		world.targets[0] = target;
		int near = connect_small(world.local_port, 0, 4000), far;

		put(near, "a", 1);
		far = accept_one(listener);
		expect(far, "a", 1);
		fill(3);
		put(far, bytes, 100000);
		if (ended)
			shutdown(far, SHUT_WR);
		turns(50);
		if (!ended)
			until(socket_unsent(far) == 0);
		reset(far);
		turns(20);
		for (int i = 0; ended && i < 3; i++) {
			put(near, "b", 1);
			turns(10);
		}
		have = 0;
		ssize_t said = read_out(near, got, MANY, &have);
		assert_int_equal(have, 100000);
		assert_memory_equal(got, bytes, have);
		assert_true(said == RESET || (ended && said == END));
		close(near);
		world_rests();
		close(listener);
		world_close();
	}
}

/* Packets that have come in. */
static uint32_t packets(int fd)
{
	enum { SEGS_IN = 35 }; /* tcpi_segs_in, which the C library's struct tcp_info lacks */
	uint32_t info[SEGS_IN + 1] = { 0 };
	socklen_t len = sizeof info;

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len), 0);
	assert_int_equal(len, sizeof info);
	return info[SEGS_IN];
}

/* An end that is known with the last bytes leaves in one packet with them, either way. */
static void test_end_travels_along(void **state)
{
	needs("tcp-info");
	unsigned char first[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
	uint16_t target;
	uint32_t before;
	int far;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);
	size_t n = peer_chunk(p, "abc", 3, sealed);

	before = packets(far);
	put(p->fd, sealed, n);
	shutdown(p->fd, SHUT_WR);
	until(only_session()->near.ready & READY_EOF);
	bool tells = only_session()->near.ready & READY_LAST;

	expect(far, "abc", 3);
	assert_int_equal(ending(far), END);
	assert_true(!tells || packets(far) - before == 1);

	before = packets(p->fd);
	put(far, "answer", 6);
	shutdown(far, SHUT_WR);
	until(look(p->fd, first, sizeof first) > 0);
	assert_int_equal(ending(p->fd), END);
	assert_true(!tells || packets(p->fd) - before == 1);
	world_rests();
	close(far);
	peer_free(p);
	close(listener);
	world_close();
	if (!tells) {
		print_message("SKIPPED: this poller does not tell an end from urgent data\n");
		skip();
	}
}

/* All that waited for room leaves with the end, too, and so do chunks that waited to be opened. */
static void test_end_after_room(void **state)
{
	uint16_t target;
	int far;
	size_t n = 0, have = 0;

	(void)state;
	world_open((struct sizes){ .sessions = 4, .blocks = 256, .sndbuf = 5000, .rcvbuf = 0 });
	int listener = listen_small(&target, 4000);
	struct peer *p = peer_relayed(listener, target, &far);

	fill(5);
	for (size_t at = 0; at < MANY / 4; at += 1000)
		n += peer_chunk(p, bytes + at, 1000, sealed + n);
	put(p->fd, sealed, n);
	shutdown(p->fd, SHUT_WR);
	assert_int_equal(read_out(far, got, MANY, &have), END);
	assert_int_equal(have, MANY / 4);
	assert_memory_equal(got, bytes, have);
	close(far);
	peer_free(p);
	world_ends(listener);
}

/* Reads end at urgent data: what lies behind it must not be forgotten, also if the end is there already. */
static void check_urgent(bool ended)
{
	uint16_t target;
	int far;

	world_open(plenty);
	int listener = listen_small(&target, 0);
	world.targets[0] = target;
	int near = connect_small(world.local_port, 0, 0);

	put(near, "abc", 3);
	far = accept_one(listener);
	expect(far, "abc", 3);
	put(near, "def", 3);
	assert_int_equal(send(near, "!", 1, MSG_OOB), 1);
	put(near, "ghi", 3);
	if (ended)
		shutdown(near, SHUT_WR);
	expect(far, "defghi", 6);
	close(near);
	assert_int_equal(ending(far), END);
	close(far);
	world_ends(listener);
}

static void test_urgent(void **state)
{
	(void)state;
	check_urgent(false);
	check_urgent(true);
}

/* Empty chunks move no payload, but take their turn's worth of bytes. */
static void test_empty_chunks_take_turns(void **state)
{
	enum { LOTS = 100000 };
	unsigned char *lots = test_malloc((size_t)LOTS * 34);
	uint16_t target;
	int far;
	size_t n = 0, sent = 0;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);

	for (int i = 0; i < LOTS; i++)
		n += peer_chunk(p, "", 0, lots + n);
	struct session *s = only_session();
	while (s->up_wire.nonce < p->up.nonce) {
		uint64_t before = s->up_wire.nonce;

		for (ssize_t taken;
		     sent < n && (taken = send(p->fd, lots + sent, n - sent, MSG_NOSIGNAL)) > 0;)
			sent += (size_t)taken;
		turn();
		/* A turn of each of its two sockets. */
		assert_true((s->up_wire.nonce - before) / 2 * 34 <=
			    2 * (1 << 20) + (1 << 18) + 17000);
	}
	assert_int_equal(s->up_bytes, 5);
	peer_free(p);
	close(far);
	world_ends(listener);
	test_free(lots);
}

/* A batch that had to shrink grows again, opened bytes being fewer than those read. */
static void test_batch_grows_again(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);
	struct session *s = only_session();
	size_t n = 0, sent = 0, have = 0;

	s->up.batch = 14;
	fill(5);
	for (size_t at = 0; at < MANY; at += WIRE_CHUNK)
		n += peer_chunk(p, bytes + at, MANY - at < WIRE_CHUNK ? MANY - at : WIRE_CHUNK,
				sealed + n);
	while (have < MANY) {
		for (ssize_t taken;
		     sent < n && (taken = send(p->fd, sealed + sent, n - sent, MSG_NOSIGNAL)) > 0;)
			sent += (size_t)taken;
		turn();
		ssize_t said = look(far, got + have, MANY - have);
		have += said > 0 ? (size_t)said : 0;
		if (have > MANY / 2)
			assert_true(s->up.batch > 14);
	}
	peer_free(p);
	close(far);
	world_ends(listener);
}

/* Sealed bytes of so much payload come to the peer. */
static void expect_sealed(struct peer *p, size_t n)
{
	size_t have = 0;

	assert_true(read_out(p->fd, got, n, &have) > 0);
	expect_silence(p->fd);
}

/* All of it can be read at the other end before anybody does. */
static void put_whole(int fd, int n, int other)
{
	uint64_t limit = real_ms() + 60000;
	int there = 0;

	put(fd, bytes, (size_t)n);
	while (ioctl(other, FIONREAD, &there) == 0 && there < n && real_ms() < limit)
		sched_yield();
	assert_int_equal(there, n);
}

/* Where little comes at a time it is read into one piece; into many after a burst that filled it. */
static void test_pieces_for_bulk(void **state)
{
	enum { BULK = 40000, SALT = 32, CHUNK = 34 };
	uint16_t target;
	int far;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);
	struct session *s = only_session();

	fill(6);
	put(far, bytes, 100);
	expect_sealed(p, SALT + CHUNK + 100);
	put_whole(far, BULK, s->far.fd);
	expect_sealed(p, 3 * CHUNK + BULK);
	assert_int_equal(s->down.need, BULK - WIRE_CHUNK);
	put_whole(far, BULK, s->far.fd);
	expect_sealed(p, 3 * CHUNK + BULK);
	assert_int_equal(s->down.need, BULK);
	peer_free(p);
	close(far);
	world_ends(listener);
}

/* A network of our own in which fast open works; the old one, or -1: it is not allowed. */
static int own_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int old = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd;

	if (old < 0 || unshare(CLONE_NEWNET) < 0) {
		close(old);
		return -1;
	}
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
	close(fd);
	fd = open("/proc/sys/net/ipv4/tcp_fastopen", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "3", 1), 1);
	close(fd);
	return old;
}

/* The first bytes went out with the SYN, which is not answered yet, as the near side ends: its end must
 * wait, or the kernel forgets the connection and the bytes. */
static void test_end_while_fast_open_connects(void **state)
{
	uint16_t port;
	int old = own_network(), backlog = 16, fillers[2];

	(void)state;
	if (old < 0) {
		print_message("SKIPPED: no permission for a network of its own (run it as root)\n");
		skip();
	}
	world_open(plenty);
	int listener = listen_small(&port, 0);
	assert_int_equal(listen(listener, 0), 0); /* one connection may wait */
	setsockopt(listener, IPPROTO_TCP, TCP_FASTOPEN, &backlog, sizeof(backlog));
	world.sockets[0].fast_open = true;
	world.upstreams.all[0].where.port = port;
	for (int round = 0; round < 2; round++) { /* the first brings the cookie */
		int near = connect_small(world.local_port, 0, 0), far;
		size_t n = 0;

		if (round == 1)
			for (int i = 0; i < 2; i++) {
				struct sockaddr_in at = loopback(port);

				fillers[i] = socket(AF_INET,
						    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
				(void)!connect(fillers[i], (struct sockaddr *)&at, sizeof(at));
			}
		put(near, "hello", 5);
		turns(20);
		shutdown(near, SHUT_WR);
		turns(20);
		if (round == 1) {
			assert_false(socket_connected(only_session()->far.fd));
			close(accept_one(listener));
			close(fillers[0]);
			close(fillers[1]);
		}
		do {
			far = accept_one(listener); /* the kernel tries again after a second */
			n = 0;
			assert_int_equal(read_out(far, got, MANY, &n), END);
			close(far);
		} while (n == 0); /* the filler that was late */
		assert_int_equal(n, 32 + 18 + 7 + 5 + 16);
		close(near);
		world_rests();
	}
	close(listener);
	world_close();
	assert_int_equal(setns(old, CLONE_NEWNET), 0);
	close(old);
}

/* Copied bytes: what comes back, also to a reader that stalls, and what is left in the pipe. */
static void copy_and_compare(int listener, uint16_t target, bool pipe)
{
	int far, near, left = 0;
	size_t sent = 0, have = 0;

	world.targets[world.come] = target;
	if (!pipe)
		splice_close(&world.engine.splice);
	near = connect_small(world.local_port, 0, 0);
	far = accept_one(listener);
	for (int stalls = 0; have < MANY; turn()) {
		ssize_t taken =
			sent < MANY ? send(near, bytes + sent, MANY - sent, MSG_NOSIGNAL) : 0;

		sent += taken > 0 ? (size_t)taken : 0;
		if (sent == MANY && taken > 0)
			shutdown(near, SHUT_WR);
		if (stalls++ > 30) {
			ssize_t said = look(far, got + have, MANY - have);

			have += said > 0 ? (size_t)said : 0;
		}
		if (pipe)
			assert_int_equal(ioctl(world.engine.splice.out, FIONREAD, &left), 0);
		assert_int_equal(left, 0);
	}
	assert_memory_equal(got, bytes, MANY);
	assert_int_equal(ending(far), END);
	assert_int_equal(only_session()->up_bytes, MANY);
	put(far, "back", 4);
	expect(near, "back", 4);
	close(far);
	assert_int_equal(ending(near), END);
	close(near);
	world_rests();
}

static void test_copy(void **state)
{
	uint16_t target;

	(void)state;
	fill(5);
	for (int small = 0; small < 2; small++) {
		world_open((struct sizes){ .sessions = 4,
					   .blocks = 256,
					   .sndbuf = small ? 5000 : 0,
					   .rcvbuf = small ? 5000 : 0 });
		connect_directly();
		int listener = listen_small(&target, small ? 4000 : 0);
		copy_and_compare(listener, target, ON_LINUX);
		copy_and_compare(listener, target, false);
		close(listener);
		world_close();
	}
}

/* The far side fails, which the near side sees as it is. */
static void test_copy_passes_a_reset_on(void **state)
{
	uint16_t target;
	ssize_t said = 0;
	size_t have = 0;

	(void)state;
	world_open(plenty);
	connect_directly();
	int listener = listen_small(&target, 0);
	world.targets[0] = target;
	int near = connect_small(world.local_port, 0, 0), far = accept_one(listener);

	put(near, bytes, 20000);
	until((said = look(far, got + have, sizeof(got) - have)) != NOTHING);
	have += (size_t)said;
	while (have < 20000)
		until((said = look(far, got + have, sizeof(got) - have)) > 0 &&
		      (have += (size_t)said));
	reset(far);
	assert_int_equal(ending(near), RESET);
	close(near);
	world_ends(listener);
}

/* What goes through the pipe ends at urgent data, too, even for good: what lies behind it comes nevertheless. */
static void test_copy_urgent(void **state)
{
	enum { PART = 40000 };
	uint16_t target;

	(void)state;
	fill(7);
	for (int ended = 0; ended < 2; ended++) {
		size_t have = 0;

		world_open(plenty);
		connect_directly();
		int listener = listen_small(&target, 0);
		world.targets[0] = target;
		int near = connect_small(world.local_port, 0, 0), far = accept_one(listener);

		put(near, bytes, PART);
		while (have < PART) {
			ssize_t said = look(far, got + have, PART - have);

			have += said > 0 ? (size_t)said : 0;
			turn();
		}
		put(near, bytes + PART, PART);
		assert_int_equal(send(near, "!", 1, MSG_OOB), 1);
		put(near, bytes + 2 * PART, PART);
		if (ended)
			shutdown(near, SHUT_WR);
		for (int i = 0; i < 2000 && have < 3 * PART; i++) {
			ssize_t said = look(far, got + have, MANY - have);

			have += said > 0 ? (size_t)said : 0;
			turn();
		}
		assert_int_equal(have, 3 * PART);
		assert_memory_equal(got, bytes, have);
		shutdown(near, SHUT_WR);
		assert_int_equal(ending(far), END);
		close(far);
		assert_int_equal(ending(near), END);
		close(near);
		world_rests();
		close(listener);
		world_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_cut),
		cmocka_unit_test(test_end_inside_chunk),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_reset_after_end),
		cmocka_unit_test(test_reset_before_the_relay),
		cmocka_unit_test(test_reset_does_not_overtake),
		cmocka_unit_test(test_end_travels_along),
		cmocka_unit_test(test_end_after_room),
		cmocka_unit_test(test_urgent),
		cmocka_unit_test(test_empty_chunks_take_turns),
		cmocka_unit_test(test_batch_grows_again),
		cmocka_unit_test(test_pieces_for_bulk),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_copy_passes_a_reset_on),
		cmocka_unit_test(test_copy_urgent),
		cmocka_unit_test(test_end_while_fast_open_connects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
