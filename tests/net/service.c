/*
 * Accepting: bursts, full slabs, no descriptors.
 */
#include "net/service.h"

#include "tests/net/world.h"

#include <sys/resource.h>

/* More knock at once than are accepted in a turn. */
static void test_burst(void **state)
{
	enum { MANY = 150 };
	int fds[MANY];

	(void)state;
	world_open((struct sizes){ .sessions = MANY, .blocks = 8 });
	for (int i = 0; i < MANY; i++)
		fds[i] = connect_small(world.server_port, 0, 0);
	turn();
	assert_true(world.engine.sessions.live < MANY);
	until(world.engine.sessions.live == MANY);
	assert_int_equal(world.server.accepted, MANY);
	assert_true(is_quiet());
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	world_rests();
	world_close();
}

/* All sessions taken by strangers: for each newcomer the oldest goes, not one more, and none before it
 * has had a moment. */
static void test_full_of_strangers(void **state)
{
	int fds[8], late[3];

	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 8 });
	for (int i = 0; i < 8; i++) {
		fds[i] = connect_small(world.server_port, 0, 0);
		turn();
	}
	until(world.engine.sessions.live == 8);
	world.pace = 0;
	for (int i = 0; i < 3; i++)
		late[i] = connect_small(world.server_port, 0, 0);
	pass(101);
	assert_int_equal(world.server.accepted, 8);
	assert_true(is_quiet());
	world.pace = 1;
	until(world.server.accepted == 11);
	turns(5);
	for (int i = 0; i < 8; i++) {
		if (i < 3)
			assert_int_equal(ending(fds[i]), END);
		else
			expect_silence(fds[i]);
	}
	for (int i = 0; i < 3; i++)
		expect_silence(late[i]);
	assert_int_equal(world.engine.sessions.live, 8);
	assert_true(is_quiet());
	for (int i = 0; i < 8; i++)
		close(fds[i]);
	for (int i = 0; i < 3; i++)
		close(late[i]);
	world_rests();
	world_close();
}

/* All taken by sessions that have proved something: newcomers wait, and all goes on. */
static void test_full_of_guests(void **state)
{
	enum { ALL = 4 };
	struct peer *peers[ALL];
	int fars[ALL];
	uint16_t target;

	(void)state;
	world_open((struct sizes){ .sessions = ALL, .blocks = 16 });
	int listener = listen_small(&target, 0);
	for (int i = 0; i < ALL; i++)
		peers[i] = peer_relayed(listener, target, &fars[i]);
	int late = connect_small(world.server_port, 0, 0);
	expect_silence(late);
	assert_int_equal(world.server.accepted, ALL);
	int later = connect_small(world.local_port, 0, 0);
	expect_silence(later);
	assert_int_equal(world.local.accepted, 0);
	world.pace = 0;
	assert_true(is_quiet());
	for (int i = 0; i < ALL; i++) {
		put(fars[i], "x", 1);
		unsigned char byte;
		until(look(peers[i]->fd, &byte, 1) == 1);
		peer_free(peers[i]);
		close(fars[i]);
	}
	pass(101);
	until(world.local.accepted == 1 &&
	      world.server.accepted == ALL + 2); /* for which local came, too */
	expect_silence(late);
	close(late);
	close(later);
	world_ends(listener);
}

/* When a place is free, who waited is accepted at once, in the order in which their services began to wait. */
static void test_free_place(void **state)
{
	enum { ALL = 2 };
	struct peer *peers[ALL];
	int fars[ALL];
	uint16_t target;

	(void)state;
	world_open((struct sizes){ .sessions = ALL, .blocks = 16 });
	int listener = listen_small(&target, 0);
	for (int i = 0; i < ALL; i++)
		peers[i] = peer_relayed(listener, target, &fars[i]);
	world.pace = 0; /* no timer fires */
	int late = connect_small(world.server_port, 0, 0);
	until(timer_pending(&world.server.pause));
	int later = connect_small(world.local_port, 0, 0);
	until(timer_pending(&world.local.pause));
	assert_true(is_quiet());
	for (int i = 0; i < ALL; i++) {
		peer_free(peers[i]);
		close(fars[i]);
		until(i == 0 ? world.server.accepted == ALL + 1 : world.local.accepted == 1);
		assert_int_equal(world.local.accepted, i);
	}
	assert_false(timer_pending(&world.server.pause));
	assert_false(timer_pending(&world.local.pause));
	assert_true(list_empty(&world.engine.paused));
	world.pace = 1;
	close(late);
	close(later);
	world_ends(listener);
}

/* All taken by relays, of which some are idle: the longest idle one makes room, none before a minute. */
static void test_full_of_idle_guests(void **state)
{
	enum { ALL = 4 };
	struct peer *peers[ALL], *late;
	unsigned char bytes[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
	int fars[ALL], far;
	uint16_t target;

	(void)state;
	world_open((struct sizes){ .sessions = ALL, .blocks = 16 });
	int listener = listen_small(&target, 0);
	for (int i = 0; i < ALL; i++) {
		peers[i] = peer_relayed(listener, target, &fars[i]);
		pass(10000);
	}
	put(fars[0], "x", 1); /* no longer idle */
	turns(3);
	late = peer_new(0, 0);
	put(late->fd, bytes, peer_first(late, target, "first", 5, bytes));
	pass(10000);
	pass(101);
	assert_int_equal(world.server.accepted, ALL);
	pass(20000);
	pass(101);
	far = accept_one(listener);
	expect(far, "first", 5);
	assert_int_equal(ending(peers[1]->fd), END);
	assert_int_equal(ending(fars[1]), END);
	expect_silence(fars[2]);
	expect_silence(fars[3]);
	assert_int_equal(world.engine.sessions.live, ALL);
	peers_free(peers, fars, ALL);
	peer_free(late);
	close(far);
	world_ends(listener);
}

/* A target that is the server itself is refused: chains of sessions would come of it. */
static void test_own_address(void **state)
{
	unsigned char bytes[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
	struct endpoint any = { .type = ENDPOINT_IPV4, .len = 4 };
	struct socket_options options = { .dscp = -1 };
	struct service wild = { .sockets = &options };
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	uint16_t target;

	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 16 });
	struct peer *p = peer_new(0, 0);
	put(p->fd, bytes, peer_first(p, world.server_port, "x", 1, bytes));
	assert_int_equal(ending(p->fd), END);
	peer_free(p);
	world_rests();

	int listener = listen_small(&target, 0), other = connect_small(target, 0, 0);
	assert_int_equal(service_listen(&wild, &any, false), 0);
	assert_int_equal(getsockname(wild.listeners[0].source.fd, (struct sockaddr *)&at, &len), 0);
	int own = connect_small(ntohs(at.sin_port), 0, 0);
	assert_true(service_is_reached_by(&wild, own));
	assert_false(service_is_reached_by(&wild, other));
	assert_false(service_is_reached_by(&world.server, own));
	struct endpoint where = { .type = ENDPOINT_IPV4, .len = 4, .host = { 127, 0, 0, 1 } };

	where.port = ntohs(at.sin_port);
	assert_true(service_listens_at(&wild, &where, false));
	assert_false(service_listens_at(&wild, &where, true));
	assert_false(service_listens_at(&world.server, &where, false));
	memcpy(where.host, "\306\063\144\007", 4); /* not this machine's */
	assert_false(service_listens_at(&wild, &where, false));
	memcpy(where.host, "\177\000\000\001", 4);
	where.port++;
	assert_false(service_listens_at(&wild, &where, false));
	close(own);
	close(other);
	close(listener);
	close(wild.listeners[0].source.fd);
	service_free(&wild);
	world_close();
}

/* A service like world.server, in whose place it comes. */
static void take_over(struct service *heir)
{
	*heir = world.server;
	heir->listeners = NULL;
	heir->listener_count = heir->datagram_count = 0;
	heir->sessions = heir->uses = heir->accepted = 0;
	assert_int_equal(service_init(heir), 0);
	service_hand_over(&world.server, heir, false);
	assert_int_equal(service_start(heir), 0);
}

/* Who has given its listeners away does not wait for a place any more: the heir does. */
static void test_end_of_a_pause(void **state)
{
	struct service heir;
	uint16_t target;
	int far;

	(void)state;
	world_open((struct sizes){ .sessions = 1, .blocks = 16 });
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);

	world.pace = 0; /* no timer fires */
	int late = connect_small(world.server_port, 0, 0);
	until(timer_pending(&world.server.pause));
	take_over(&heir);
	assert_false(timer_pending(&world.server.pause));
	until(timer_pending(&heir.pause));
	peer_free(p);
	close(far);
	until(heir.accepted == 1);
	assert_true(list_empty(&world.engine.paused));
	world.pace = 1;
	close(late);
	world_rests();
	close(listener);
	service_close(&heir);
	service_free(&heir);
	world_close();
}

static int gone;

static void note_gone(struct service *service)
{
	assert_ptr_equal(service, &world.server);
	gone++;
}

/* One service ends while the others go on; it is gone when its last session is buried, and a second
 * one has its listener. */
static void test_end(void **state)
{
	unsigned char bytes[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
	struct service heir;
	uint16_t target;

	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 16 });
	int listener = listen_small(&target, 0);
	struct peer *p = peer_new(0, 0);
	size_t n = peer_first(p, target, "x", 1, bytes);

	put(p->fd, bytes, n);
	until(world.server.sessions == 1 && world.engine.guests.next != &world.engine.guests);
	assert_int_equal(world.server.traffic->up, n);
	int other = connect_small(world.local_port, 0, 0);
	until(world.local.sessions == 1);

	take_over(&heir);
	gone = 0;
	world.server.gone = note_gone;
	service_end(&world.server);
	assert_int_equal(gone, 0);
	until(gone == 1);
	assert_int_equal(world.server.sessions, 0);
	assert_int_equal(world.local.sessions, 1);
	assert_true(ending(p->fd) < 0);
	peer_free(p);

	int late = connect_small(world.server_port, 0, 0);
	until(heir.sessions == 1);
	close(late);
	close(other);
	world_rests();
	close(listener);
	service_close(&heir);
	service_free(&heir);
	world_close();
}

/* The limit that leaves no descriptor free; the old one. */
static rlim_t use_up(void)
{
	struct rlimit limit;
	rlim_t old;
	int next = dup(0);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	old = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)next;
	close(next);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return old;
}

static void set_limit(rlim_t n)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* No descriptor left: the oldest stranger makes room. */
static void test_no_descriptor_but_strangers(void **state)
{
	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 16 });
	int old = connect_small(world.server_port, 0, 0);
	turns(3);
	int late = connect_small(world.server_port, 0, 0);
	rlim_t limit = use_up();
	until(world.server.accepted == 2);
	set_limit(limit);
	assert_int_equal(ending(old), END);
	expect_silence(late);
	close(old);
	close(late);
	world_rests();
	world_close();
}

/* No descriptor left, and nobody who may be sent away: accepting pauses, and sleeps meanwhile. */
static void test_pause(void **state)
{
	uint16_t target;
	int far;

	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 16 });
	int listener = listen_small(&target, 0);
	struct peer *p = peer_relayed(listener, target, &far);
	int late = connect_small(world.server_port, 0, 0);
	rlim_t limit = use_up();

	world.pace = 0;
	turns(5);
	assert_true(timer_pending(&world.server.pause));
	assert_true(is_quiet());
	pass(101);
	assert_true(timer_pending(&world.server.pause));
	assert_int_equal(world.server.accepted, 1);
	set_limit(limit);
	pass(101);
	assert_int_equal(world.server.accepted, 2);
	assert_false(timer_pending(&world.server.pause));
	close(late);
	peer_free(p);
	close(far);
	world_ends(listener);
}

/* A relay for which no descriptor is left takes that of a stranger; without one it fails cleanly. */
static void test_no_descriptor_to_connect(void **state)
{
	uint16_t target;

	(void)state;
	for (int strangers = 0; strangers < 2; strangers++) {
		world_open((struct sizes){ .sessions = 8, .blocks = 16 });
		int listener = listen_small(&target, 0), stranger = -1;

		if (strangers)
			stranger = connect_small(world.server_port, 0, 0);
		turns(3);
		struct peer *p = peer_new(0, 0);
		turns(3);
		unsigned char bytes[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];
		size_t n = peer_first(p, target, "x", 1, bytes);
		rlim_t limit = use_up();

		put(p->fd, bytes, n);
		turns(5);
		set_limit(limit);
		if (strangers) {
			int far = accept_one(listener);

			expect(far, "x", 1);
			assert_int_equal(ending(stranger), END);
			close(stranger);
			close(far);
		} else {
			assert_int_equal(ending(p->fd), END);
		}
		peer_free(p);
		world_rests();
		close(listener);
		world_close();
	}
}

/* The handshake time hangs on the key alone and lies in its range. */
static void test_times(void **state)
{
	(void)state;
	world_open((struct sizes){ .sessions = 8, .blocks = 16 });
	assert_int_equal(world.server.handshake_time, world.local.handshake_time);
	assert_true(world.server.handshake_time >= 40000 && world.server.handshake_time < 100000);
	assert_int_equal(world.server.idle_time, 24 * 3600 * 1000);
	assert_int_equal(world.local.idle_time, 0);
	assert_int_equal(world.server.connect_time, 10000);
	world.server.timeout = UINT64_C(100000) * 1000;
	world.server.key.key[0] ^= 1;
	service_init(&world.server);
	assert_int_equal(world.server.idle_time, 100000000);
	assert_int_not_equal(world.server.handshake_time, world.local.handshake_time);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_full_of_strangers),
		cmocka_unit_test(test_full_of_guests),
		cmocka_unit_test(test_free_place),
		cmocka_unit_test(test_full_of_idle_guests),
		cmocka_unit_test(test_own_address),
		cmocka_unit_test(test_end_of_a_pause),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_no_descriptor_but_strangers),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_no_descriptor_to_connect),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
