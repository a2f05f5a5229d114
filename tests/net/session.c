/*
 * Whole sessions through both services: a model of what must arrive whatever peers do, and the clock.
 */
#include "net/session.h"

#include "net/salts.h"

#include "tests/net/world.h"

static const struct sizes plenty = { .sessions = 64, .blocks = 256 };

/* --- the model: conversations whose two sides send, stall, end and reset as they like */

enum ends { SENDS, ENDED, RESETS };

/* One side: it sends `total` bytes, then its end, or a reset. */
struct party {
	int fd;
	uint32_t salt; /* of the bytes it sends */
	size_t total, sent, received;
	bool resets;	 /* when all is sent, otherwise ends */
	bool waits;	 /* resets only once all it sent has been acknowledged */
	bool gone, done; /* has reset; has seen the other's end */
	bool failed;	 /* could not send */
	ssize_t saw;	 /* END or RESET */
};

static unsigned char byte_at(uint32_t salt, size_t at)
{
	return (unsigned char)((at * 2654435761u + salt) >> 13);
}

static void talk(struct party *p, uint32_t *seed)
{
	unsigned char bytes[20000];
	size_t n = 1 + below(seed, sizeof(bytes));

	if (p->gone || p->failed || p->sent > p->total || below(seed, 3) == 0)
		return;
	if (p->sent < p->total) {
		n = n < p->total - p->sent ? n : p->total - p->sent;
		for (size_t i = 0; i < n; i++)
			bytes[i] = byte_at(p->salt, p->sent + i);
		ssize_t taken = send(p->fd, bytes, n, MSG_NOSIGNAL);
		if (taken > 0)
			p->sent += (size_t)taken;
		else if (errno != EAGAIN)
			p->failed = true; /* which takes the error away from the reader */
		return;
	}
	if (!p->resets) {
		shutdown(p->fd, SHUT_WR);
		p->sent++;
	} else if (!p->waits || socket_unsent(p->fd) == 0) {
		reset(p->fd);
		p->gone = p->done = true;
	}
}

static void listen_to(struct party *p, const struct party *from, uint32_t *seed)
{
	unsigned char bytes[30000];

	if (p->done || below(seed, 3) == 0)
		return;

	ssize_t said = look(p->fd, bytes, 1 + below(seed, sizeof(bytes)));
	for (ssize_t i = 0; i < said; i++)
		if (bytes[i] != byte_at(from->salt, p->received + (size_t)i))
			fail_msg("byte %zu is wrong", p->received + (size_t)i);
	if (said > 0) {
		p->received += (size_t)said;
		assert_true(p->received <= from->sent);
	} else if (said < 0) {
		p->saw = p->failed ? RESET : said;
		p->done = true;
	}
}

static void plan(struct party *p, uint32_t *seed, bool may_reset)
{
	static const size_t totals[] = { 0, 1, 100, 8192, 16383, 16384, 70000, 300000 };

	*p = (struct party){ .fd = -1, .salt = chance(seed), .total = totals[below(seed, 8)] };
	p->resets = may_reset && below(seed, 4) == 0;
	p->waits = below(seed, 2);
}

/* What must hold for what `p` sent and `to` saw. */
static void judge(const struct party *p, const struct party *to)
{
	if (to->gone)
		return;
	if (to->saw ==
	    END) { /* an end is only passed on if it was one; at once, it was no connection */
		assert_true(!p->resets || p->total == 0);
		assert_int_equal(to->received, p->total);
	}
	if (to->saw == RESET)
		assert_true(p->resets);
	/* A reset of `p` must not take what had arrived before it. */
	if (p->resets && p->waits)
		assert_int_equal(to->received, p->total);
}

enum { PAIRS = 12 };

static void converse(uint32_t seed, struct sizes sizes, bool resets, bool direct)
{
	struct party near[PAIRS], far[PAIRS];
	int listeners[PAIRS];
	uint32_t random = seed * 2654435761u + 1;
	unsigned open = 0, done = 0;

	world_open(sizes);
	if (direct)
		connect_directly();
	for (unsigned i = 0; i < PAIRS; i++) {
		plan(&near[i], &random, resets);
		plan(&far[i], &random, resets && !near[i].resets);
		listeners[i] = listen_small(&world.targets[i], below(&random, 2) ? 0 : 4000);
	}
	for (uint64_t limit = real_ms() + 120000; done < PAIRS && real_ms() < limit;) {
		if (open < PAIRS && below(&random, 2)) {
			near[open].fd =
				connect_small(world.local_port, below(&random, 2) ? 0 : 4000,
					      below(&random, 2) ? 0 : 4000);
			open++;
		}
		turn();
		done = 0;
		for (unsigned i = 0; i < open; i++) {
			if (far[i].fd < 0 && !far[i].gone)
				far[i].fd = accept4(listeners[i], NULL, NULL,
						    SOCK_NONBLOCK | SOCK_CLOEXEC);
			/* A near side that leaves before there is a relay leaves nothing to judge. */
			bool early =
				far[i].fd < 0 && near[i].resets && near[i].sent == near[i].total;
			if (!early)
				talk(&near[i], &random);
			listen_to(&near[i], &far[i], &random);
			if (far[i].fd < 0)
				continue;
			talk(&far[i], &random);
			listen_to(&far[i], &near[i], &random);
			done += near[i].done && far[i].done;
		}
	}
	assert_int_equal(done, PAIRS);
	for (unsigned i = 0; i < PAIRS; i++) {
		judge(&near[i], &far[i]);
		judge(&far[i], &near[i]);
		if (!near[i].gone)
			close(near[i].fd);
		if (!far[i].gone)
			close(far[i].fd);
		close(listeners[i]);
	}
	world_rests();
	assert_true(is_quiet());
	world_close();
}

static void test_conversations(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 3; seed++)
		converse(seed, (struct sizes){ 64, 256, seed % 2 ? 5000 : 0, seed % 2 ? 5000 : 0 },
			 false, false);
}

static void test_conversations_with_resets(void **state)
{
	(void)state;
	for (uint32_t seed = 11; seed <= 14; seed++)
		converse(seed, (struct sizes){ 64, 256, seed % 2 ? 5000 : 0, seed % 2 ? 5000 : 0 },
			 true, false);
}

/* Neither side is sealed: the same model. */
static void test_conversations_directly(void **state)
{
	(void)state;
	for (uint32_t seed = 31; seed <= 38; seed++) {
		int buffer = seed % 2 ? 5000 : 0;

		converse(seed, (struct sizes){ 64, 256, buffer, buffer }, seed > 34, true);
	}
	for (uint32_t seed = 41; seed <= 42; seed++)
		converse(seed, (struct sizes){ 64, 8 + seed % 4, 5000, 5000 }, seed % 2, true);
}

/* So few blocks that all wait for each other. */
static void test_conversations_at_the_ceiling(void **state)
{
	(void)state;
	for (uint32_t seed = 21; seed <= 23; seed++)
		converse(seed, (struct sizes){ 64, 8 + seed % 4, 5000, 5000 }, seed % 2, false);
}

/* --- the clock */

/* A relay between `near`, through local and server, and `far`. */
static int relayed(int listener, uint16_t target, int *far)
{
	world.targets[world.come] = target;
	int near = connect_small(world.local_port, 0, 0);

	put(near, "hello", 5);
	*far = accept_one(listener);
	expect(*far, "hello", 5);
	return near;
}

/* Open for days without a byte; then one side ends, and the other answers later. */
static void test_half_close_after_idle(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0), near = relayed(listener, target, &far);

	pass(23 * 3600 * 1000);
	shutdown(near, SHUT_WR);
	assert_int_equal(ending(far), END);
	pass(50000);
	put(far, "answer", 6);
	expect(near, "answer", 6);
	pass(50000);
	put(far, "more", 4);
	expect(near, "more", 4);
	/* Half-closed without traffic: the timeout holds. */
	pass(61000);
	assert_int_equal(ending(near), END);
	world_rests();
	close(near);
	close(far);
	close(listener);
	world_close();
}

/* Of how many sessions the kernel probes the far side. */
static int probed_sessions(void)
{
	int probed = 0;

	for (struct list *l = world.engine.guests.next; l != &world.engine.guests; l = l->next) {
		const struct session *s = container_of(l, struct session, link);
		int on = 0;
		socklen_t len = sizeof on;

		getsockopt(s->far.fd, SOL_SOCKET, SO_KEEPALIVE, &on, &len);
		probed += on;
	}
	return probed;
}

/* The kernel asks whether the far side is still there, but of no relay that is over at once. */
static void test_lasting_is_probed(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open(plenty);
	world.sockets[0].keep_alive = world.sockets[1].keep_alive = 60;
	int listener = listen_small(&target, 0), near = relayed(listener, target, &far);

	assert_int_equal(probed_sessions(), 0);
	pass(3000);
	put(near, "a", 1);
	expect(far, "a", 1);
	assert_int_equal(probed_sessions(), 0);
	pass(2500); /* nothing else wakes them then */
	assert_int_equal(probed_sessions(), 2);
	close(near);
	assert_int_equal(ending(far), END);
	close(far);
	world_ends(listener);
}

/* Idle: the server ends it after a day, the client never. */
static void test_idle(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open(plenty);
	int listener = listen_small(&target, 0), near = relayed(listener, target, &far);

	pass(23 * 3600 * 1000);
	put(near, "a", 1);
	expect(far, "a", 1);
	pass(23 * 3600 * 1000);
	expect_silence(near);
	pass(2 * 3600 * 1000);
	assert_int_equal(ending(near), END);
	close(near);
	close(far);
	world_ends(listener);
}

/* A timeout that cuts off what was on its way must not look like an end. */
static void test_timeout_with_bytes_held(void **state)
{
	uint16_t target;
	int far;
	static unsigned char bytes[400000];

	(void)state;
	world_open((struct sizes){ .sessions = 4, .blocks = 64, .sndbuf = 5000, .rcvbuf = 5000 });
	int listener = listen_small(&target, 0);
	world.targets[0] = target;
	int near = connect_small(world.local_port, 0, 4000);

	put(near, "x", 1);
	far = accept_one(listener);
	size_t sent = 0;
	for (int i = 0; i < 300; i++) {
		ssize_t taken = send(far, bytes, sizeof(bytes), MSG_NOSIGNAL);

		sent += taken > 0 ? (size_t)taken : 0;
		turn();
	}
	shutdown(far, SHUT_WR);
	shutdown(near, SHUT_WR);
	turns(5);
	assert_true(world.engine.blocks.leased > 0);
	pass(61000);
	world_rests();
	size_t have = 0;
	assert_int_equal(read_out(near, bytes, sizeof(bytes), &have), RESET);
	assert_true(have < sent);
	close(near);
	close(far);
	close(listener);
	world_close();
}

/* The address header waits 50 ms for a first payload, not more and not for ever at a high rate. */
static void test_header_waits(void **state)
{
	uint16_t target;
	unsigned char byte;

	(void)state;
	world_open(plenty);
	world.pace = 0;
	int listener = listen_small(&target, 0);
	world.targets[0] = target;
	int near = connect_small(world.local_port, 0, 0);

	turns(10);
	assert_int_equal(accept4(listener, NULL, NULL, SOCK_NONBLOCK), -1);
	world.now += FIRST_PAYLOAD_WAIT - 1;
	turns(10);
	assert_int_equal(accept4(listener, NULL, NULL, SOCK_NONBLOCK), -1);
	world.now += 2;
	int far = accept_one(listener);
	assert_int_equal(look(far, &byte, 1), NOTHING);
	assert_true(is_quiet());
	close(near);
	assert_int_equal(ending(far), END);
	close(far);
	world_ends(listener);
}

/* While blocks are short a first flight may be overdue: its timer must not fire all the time. */
static void test_overdue_header_sleeps(void **state)
{
	uint16_t target;
	unsigned fires = 0;

	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 4 });
	int listener = listen_small(&target, 0);
	world.targets[0] = target;
	struct chain all = { 0 };
	static unsigned char bytes[3 * BLOCK_ROOM];
	assert_int_equal(chain_append(&world.engine.blocks, &all, bytes, sizeof(bytes)), 0);
	int near = connect_small(world.local_port, 0, 0);

	turns(200);
	struct session *s =
		container_of(world.engine.guests.next, struct session, link); /* local's */
	assert_false(list_empty(&s->waiting));
	for (int i = 0; i < 100; i++) {
		uint64_t due = s->timer.due;

		turn();
		fires += s->timer.due != due;
	}
	assert_true(fires < 3);
	assert_true(is_quiet());
	chain_return(&world.engine.blocks, &all);
	pass(1000);
	int far = accept_one(listener);
	close(near);
	close(far);
	world_ends(listener);
}

/* A relay whose target is reset while the near side reads nothing: `total` bytes are on their way to it. */
static int unsent(int sndbuf, size_t total, int *listener)
{
	static unsigned char bytes[400000];
	uint16_t target;
	size_t sent = 0;

	world_open((struct sizes){ .sessions = 4, .blocks = 64, .sndbuf = sndbuf });
	*listener = listen_small(&target, 0);
	world.targets[0] = target;
	int near = connect_small(world.local_port, 0, 4000);

	put(near, "x", 1);
	int far = accept_one(*listener);
	expect(far, "x", 1);
	for (int i = 0; i < 300 && sent < total; i++) {
		ssize_t taken = send(far, bytes, total - sent, MSG_NOSIGNAL);

		sent += taken > 0 ? (size_t)taken : 0;
		turn();
	}
	turns(50);
	reset(far);
	turns(5);
	assert_true(world.engine.sessions.live > 0);
	return near;
}

/* How often sessions look during ten seconds. */
static unsigned looks(void)
{
	unsigned n = 0, live = world.engine.sessions.live;
	struct list *guests = &world.engine.guests;

	world.pace = 0;
	for (int i = 0; i < 1000; i++) {
		uint64_t before = 0, after = 0;

		for (struct list *l = guests->next; l != guests; l = l->next)
			before += container_of(l, struct session, link)->timer.due;
		world.now += 10;
		reactor_turn(0);
		for (struct list *l = guests->next; l != guests; l = l->next)
			after += container_of(l, struct session, link)->timer.due;
		n += after != before;
		assert_int_equal(world.engine.sessions.live, live);
	}
	return n;
}

/* Looked at every 20 ms, many such sessions would keep the processor busy. */
static void test_unsent_is_looked_at_seldom(void **state)
{
	int listener, near;

	(void)state;
	near = unsent(200000, 100000, &listener);
	assert_in_range(looks(), 5, 20);
	pass(61000);
	world_rests();
	close(near);
	close(listener);
	world_close();
}

/* While we hold bytes ourselves, the edge tells. */
static void test_held_is_not_looked_at(void **state)
{
	int listener, near;

	(void)state;
	near = unsent(5000, 400000, &listener);
	assert_true(world.engine.blocks.leased > 0);
	assert_in_range(looks(), 0, 3);
	pass(61000);
	pass(61000);
	world_rests();
	close(near);
	close(listener);
	world_close();
}

/* Nobody listens there: the near side sees an end, not a reset, and soon. */
static void test_no_connection(void **state)
{
	(void)state;
	world_open(plenty);
	close(listen_small(&world.targets[0], 0));
	int near = connect_small(world.local_port, 0, 0);

	put(near, "to nobody", 9);
	assert_int_equal(ending(near), END);
	close(near);
	world_rests();
	world_close();
}

/* Whoever waits for its target holds one block, however much it has sent. */
static void test_early_payload_is_a_block(void **state)
{
	static unsigned char request[40000] = { 1, 127, 0, 0, 1 };
	uint16_t target;

	(void)state;
	world_open(plenty);
	wire_key_wipe(&world.server.key);
	assert_int_equal(wire_key_set(&world.server.key, wire_find("none"), world.key), 0);
	world.server.key.server = true;
	int listener = listen_small(&target, 0), near = connect_small(world.server_port, 0, 0);
	request[5] = (unsigned char)(target >> 8);
	request[6] = (unsigned char)target;
	put(near, request, sizeof(request));
	until(world.engine.blocks.leased > 0);
	assert_int_equal(world.engine.blocks.leased, 1);
	int far = accept_one(listener);
	expect(far, request + 7, sizeof(request) - 7);
	close(near);
	close(far);
	close(listener);
	world_rests();
	wire_key_wipe(&world.server.key);
	world_close();
}

/* How long it takes until our end answers the near side's, ms, after it sent so much in clear. */
static uint64_t farewell(const void *bytes, size_t n)
{
	int near = connect_small(world.server_port, 0, 0);
	ssize_t said = NOTHING;
	unsigned char byte;
	uint64_t began;

	put(near, bytes, n);
	shutdown(near, SHUT_WR);
	turns(5);
	for (began = world.now; said == NOTHING; said = look(near, &byte, 1)) {
		assert_true(world.now < began + 10000);
		world.now += 10;
		reactor_turn(0);
	}
	assert_int_equal(said, END);
	close(near);
	world_rests();
	return world.now - began;
}

/* Where nothing can be proved, noise and an end: our end comes after the same time, whatever the noise opens
 * to, and an honest near side that has said all has its relay. */
static void test_farewell(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} noise[] = {
		{ "\1\177", 2 },		 /* half an address */
		{ "\1\177\0\0\1\0\1noise", 12 }, /* refused */
		{ "\3\4abcd\0\120noise", 13 },	 /* nobody answers for that name */
		{ "\7noise", 6 },
	};
	unsigned char request[] = { 1, 127, 0, 0, 1, 0, 0, 'h', 'i' }, got[8];
	uint16_t target;
	size_t n = 0;

	(void)state;
	world_open(plenty);
	world.pace = 0;
	wire_key_wipe(&world.server.key);
	assert_int_equal(wire_key_set(&world.server.key, wire_find("none"), world.key), 0);
	world.server.key.server = true;
	uint64_t always = farewell("\1", 1);
	assert_in_range(always, world.server.handshake_time / 60,
			world.server.handshake_time / 60 + 50);
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
		assert_in_range(farewell(noise[i].bytes, noise[i].n), always - 10, always + 10);

	int listener = listen_small(&target, 0), near = connect_small(world.server_port, 0, 0);
	request[5] = (unsigned char)(target >> 8);
	request[6] = (unsigned char)target;
	put(near, request, sizeof(request));
	shutdown(near, SHUT_WR);
	int far = accept_one(listener);
	assert_int_equal(read_out(far, got, sizeof(got), &n), END);
	assert_int_equal(n, 2);
	pass(5000);
	put(far, "ho", 2);
	expect(near, "ho", 2);
	close(near);
	close(far);
	close(listener);
	world_rests();
	wire_key_wipe(&world.server.key);
	world_close();
}

/* The near side's connection fails while its target takes nothing: it must not stay for ever. */
static void test_reset_before_a_full_target(void **state)
{
	uint16_t target;
	int far;
	static unsigned char bytes[400000];

	(void)state;
	world_open((struct sizes){ .sessions = 4, .blocks = 64, .sndbuf = 5000, .rcvbuf = 5000 });
	int listener = listen_small(&target, 4000), near = relayed(listener, target, &far);

	for (int i = 0; i < 300; i++) {
		(void)!send(near, bytes, sizeof(bytes), MSG_NOSIGNAL);
		turn();
	}
	reset(near);
	turns(5);
	assert_int_equal(world.engine.sessions.live, 2);
	pass(61000);
	pass(61000); /* the server learns of it when local gives up */
	world_rests();
	size_t have = 0;
	assert_int_equal(read_out(far, bytes, sizeof(bytes), &have), RESET);
	close(far);
	close(listener);
	world_close();
}

/* The source is gone, the near side reads slowly what the kernel still has for it: for as long as it
 * reads, it is not cut off. */
static void test_slow_end_of_a_broken_source(void **state)
{
	uint16_t target;
	static unsigned char bytes[150000];
	size_t have = 0;
	ssize_t said = 0;

	(void)state;
	world_open((struct sizes){ .sessions = 4, .blocks = 64, .sndbuf = 200000 });
	int listener = listen_small(&target, 0);
	world.targets[0] = target;
	int near = connect_small(world.local_port, 0, 4000);

	put(near, "x", 1);
	int far = accept_one(listener);
	expect(far, "x", 1);
	put(far, bytes, 100000);
	turns(50);
	until(socket_unsent(far) == 0);
	reset(far);
	turns(5);
	while (have < sizeof(bytes) && (said = look(near, bytes + have, 5000)) >= 0) {
		have += (size_t)said;
		pass(30000);
	}
	assert_int_equal(have, 100000);
	assert_int_equal(said, RESET);
	close(near);
	world_ends(listener);
}

/* What is written to stderr from here on, up to its end. */
static FILE *errors;
static int real_stderr;

static void catch_errors(void)
{
	errors = tmpfile();
	assert_non_null(errors);
	real_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	assert_true(real_stderr >= 0 && dup2(fileno(errors), STDERR_FILENO) >= 0);
}

static void caught_errors(char *to, size_t size)
{
	assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
	close(real_stderr);
	rewind(errors);
	to[fread(to, 1, size - 1, errors)] = 0;
	fclose(errors);
}

/* There is no room for a salt: silence, but nobody is accused of anything. */
static void test_no_room_for_a_salt(void **state)
{
	unsigned char bytes[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
	uint16_t target;
	char text[2000];
	int far;

	(void)state;
	world_open(plenty);
	world.method = wire_find("2022-blake3-aes-256-gcm");
	wire_key_set(&world.server.key, world.method, world.key);
	world.server.key.server = true;
	world.server.key.salts = salts_open(1);
	int listener = listen_small(&target, 0);
	struct peer *served = peer_relayed(listener, target, &far), *late = peer_new(0, 0);

	catch_errors();
	put(late->fd, bytes, peer_first(late, target, "first", 5, bytes));
	turns(20);
	expect_silence(late->fd);
	caught_errors(text, sizeof(text));
	assert_non_null(strstr(text, "no room for the salts of more requests in a minute"));
	assert_null(strstr(text, "failed to handshake"));
	assert_null(strstr(text, "127.0.0.1"));
	peer_free(late);
	peer_free(served);
	close(far);
	world_rests();
	close(listener);
	salts_close(world.server.key.salts);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversations),
		cmocka_unit_test(test_conversations_with_resets),
		cmocka_unit_test(test_conversations_directly),
		cmocka_unit_test(test_conversations_at_the_ceiling),
		cmocka_unit_test(test_half_close_after_idle),
		cmocka_unit_test(test_lasting_is_probed),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_timeout_with_bytes_held),
		cmocka_unit_test(test_header_waits),
		cmocka_unit_test(test_unsent_is_looked_at_seldom),
		cmocka_unit_test(test_held_is_not_looked_at),
		cmocka_unit_test(test_overdue_header_sleeps),
		cmocka_unit_test(test_no_connection),
		cmocka_unit_test(test_early_payload_is_a_block),
		cmocka_unit_test(test_farewell),
		cmocka_unit_test(test_reset_before_a_full_target),
		cmocka_unit_test(test_slow_end_of_a_broken_source),
		cmocka_unit_test(test_no_room_for_a_salt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
