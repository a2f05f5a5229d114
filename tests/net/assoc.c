/*
 * Associations, on a clock that the test sets: how long they live, who makes room, what is bound to
 * a connection, what becomes of datagrams that wait; and, on real sockets, the way of a datagram.
 */
#include "net/assoc.h"

#include "net/carry.h"
#include "net/socks.h"
#include "tests/net/world.h"

static bool take_socks(struct service *service, const struct datagram *piece, unsigned char **bytes,
		       size_t *n, struct endpoint *target)
{
	int head = socks_read_datagram(*bytes, *n, target);

	(void)service, (void)piece;
	if (head < 0)
		return false;
	*bytes += head;
	*n -= (size_t)head;
	return true;
}

static size_t dress_socks(const struct endpoint *source, unsigned char *to)
{
	return socks_write_datagram(to, source);
}

static const struct role udp_local = {
	.name = "local",
	.target = fixed_target,
	.datagram_target = take_socks,
	.datagram_dress = dress_socks,
};

static const struct endpoint here = { .type = ENDPOINT_IPV4, .len = 4, .host = { 127, 0, 0, 1 } };

/* The world of TCP, with room for so many associations; UDP at the same two services. `method`
 * NULL: the world's. */
static void open_udp(uint32_t assocs, uint64_t udp_timeout, const char *method)
{
	struct service *services[] = { &world.server, &world.local };
	struct wire_key *near = &world.server.key, *far = &world.upstreams.all[0].key;

	world_open((struct sizes){ .sessions = 8, .blocks = 64 });
	assert_int_equal(engine_open_datagrams(&world.engine, assocs), 0);
	if (method) {
		wire_key_set(near, wire_find(method), world.key);
		wire_key_set(far, wire_find(method), world.key);
		near->server = true;
	}
	world.local.role = &udp_local;
	for (int i = 0; i < 2; i++) {
		struct service *s = services[i];

		s->udp_timeout = udp_timeout;
		assert_int_equal(service_init(s), 0);
		assert_int_equal(service_listen_datagrams(s, &here, false), 0);
		assert_int_equal(reactor_watch_input(&s->datagrams[0].source,
						     s->datagrams[0].source.fd, carry_near_woken),
				 0);
	}
	world.upstreams.all[0].where.port = port_of(world.server.datagrams[0].source.fd);
}

static void close_udp(void)
{
	world_close();
	wire_key_wipe(&world.server.key);
	wire_key_wipe(&world.upstreams.all[0].key);
}

static int udp_socket(uint16_t *port)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = loopback(0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	if (port)
		*port = port_of(fd);
	return fd;
}

/* An application sends n bytes to a port of this machine, through local. */
static void app_send(int fd, const char *name, uint16_t target, const void *bytes, size_t n)
{
	struct endpoint to = here;
	struct sockaddr_in local = loopback(port_of(world.local.datagrams[0].source.fd));
	unsigned char out[2048];
	size_t head;

	if (name) {
		to.type = ENDPOINT_NAME;
		to.len = (uint8_t)strlen(name);
		memcpy(to.host, name, to.len + 1u);
	}
	to.port = target;
	head = socks_write_datagram(out, &to);
	memcpy(out + head, bytes, n);
	assert_int_equal(sendto(fd, out, head + n, 0, (struct sockaddr *)&local, sizeof local),
			 (ssize_t)(head + n));
}

/* Exactly these bytes come; from where. */
static struct sockaddr_in udp_expect(int fd, const void *bytes, size_t n)
{
	struct sockaddr_in from;
	socklen_t len = sizeof from;
	unsigned char got[2048];
	ssize_t came = -1;

	until((came = recvfrom(fd, got, sizeof got, 0, (struct sockaddr *)&from, &len)) >= 0);
	assert_int_equal(came, (ssize_t)n);
	assert_memory_equal(got, bytes, n);
	return from;
}

static struct sockaddr_in passes(int app, int target, const char *text)
{
	app_send(app, NULL, port_of(target), text, strlen(text));
	return udp_expect(target, text, strlen(text));
}

static bool is_silent(int fd)
{
	unsigned char byte;

	turns(5);
	return recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN;
}

static uint32_t live(void)
{
	return world.engine.assocs.live;
}

/* Both ways, with a head that names the source; the far port stays. */
static void test_there_and_back(void **state)
{
	static const char *const methods[] = { NULL, "2022-blake3-aes-128-gcm", "aes-256-cfb",
					       "none" };

	(void)state;
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		open_udp(8, 0, methods[i]);

		int app = udp_socket(NULL), target = udp_socket(NULL), other = udp_socket(NULL);
		struct sockaddr_in far = passes(app, target, "one");
		unsigned char answer[64];
		struct endpoint source = here;

		source.port = port_of(other);
		size_t head = socks_write_datagram(answer, &source);
		memcpy(answer + head, "hello", 5);
		assert_int_equal(sendto(other, "hello", 5, 0, (struct sockaddr *)&far, sizeof far),
				 5);
		udp_expect(app, answer, head + 5);
		assert_int_equal(passes(app, other, "two").sin_port, far.sin_port);
		assert_int_equal(live(), 2);
		assert_int_equal(world.engine.assocs.far_live, 2);
		close(app), close(target), close(other);
		close_udp();
	}
}

/* Nothing moves: they go, with their sockets, when the time is over and not before. */
static void test_timeout(void **state)
{
	(void)state;
	open_udp(8, 30000, NULL);

	int app = udp_socket(NULL), target = udp_socket(NULL);
	struct sockaddr_in far = passes(app, target, "one");

	for (int i = 0; i < 10; i++) { /* up keeps both; and down alone does */
		pass(20000);
		if (i % 2) {
			assert_int_equal(passes(app, target, "again").sin_port, far.sin_port);
		} else {
			assert_int_equal(sendto(target, "x", 1, 0, (struct sockaddr *)&far,
						sizeof far),
					 1);
			turns(5);
		}
	}
	pass(29000);
	assert_int_equal(live(), 2);
	pass(1500);
	assert_int_equal(live(), 0);
	assert_int_equal(world.engine.assocs.far_live, 0);
	turns(2);
	assert_int_equal(world.engine.assocs.slab.live, 0);
	assert_int_not_equal(passes(app, target, "anew").sin_port, far.sin_port);
	close(app), close(target);
	close_udp();
}

/* What `timeout` makes of itself, and what SIP022 needs. */
static void test_derived_timeouts(void **state)
{
	(void)state;
	open_udp(8, 0, NULL);
	assert_int_equal(world.server.assoc_time, 60000);
	world.server.timeout = 1000;
	service_init(&world.server);
	assert_int_equal(world.server.assoc_time, 10000);
	world.server.udp_timeout = 2000;
	service_init(&world.server);
	assert_int_equal(world.server.assoc_time, 2000);
	close_udp();
	open_udp(8, 5000, "2022-blake3-aes-128-gcm");
	assert_int_equal(world.server.assoc_time, 60000);
	assert_int_equal(world.local.assoc_time, 60000);
	close_udp();
}

static struct assoc *only_of(const struct service *service)
{
	struct assoc *found = NULL;

	for (struct list *l = world.engine.assocs.order.next; l != &world.engine.assocs.order;
	     l = l->next) {
		struct assoc *a = container_of(l, struct assoc, link);

		if (a->service == service) {
			assert_null(found);
			found = a;
		}
	}
	assert_non_null(found);
	return found;
}

/* One query to port 53 is soon forgotten; a second one makes it a client like others. */
static void test_questions(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		open_udp(8, 100000, NULL);

		int app = udp_socket(NULL);

		app_send(app, NULL, 53, "query", 5);
		until(live() == 2);
		if (again) {
			app_send(app, NULL, 53, "query", 5);
			until(only_of(&world.server)->up_count == 2);
		}
		pass(16000);
		assert_int_equal(live(), 2);
		pass(2000);
		assert_int_equal(live(), again ? 2 : 0);
		close(app);
		close_udp();
	}
}

/* A session must be remembered for a minute; but not the socket of one query. */
static void test_questions_of_sessions(void **state)
{
	(void)state;
	open_udp(8, 0, "2022-blake3-aes-128-gcm");

	int app = udp_socket(NULL);

	app_send(app, NULL, 53, "query", 5);
	until(live() == 2);
	assert_int_equal(world.engine.assocs.far_live, 2);
	pass(18000);
	assert_int_equal(live(), 1);
	assert_int_equal(only_of(&world.server)->far[FAR_IPV4].fd, -1);
	assert_int_equal(world.engine.assocs.far_live, 0);
	pass(41000);
	assert_int_equal(live(), 1);
	pass(2000);
	assert_int_equal(live(), 0);
	close(app);
	close_udp();
}

/* At the ceiling the longest unused goes; sockets count, too. */
static void test_ceiling(void **state)
{
	int apps[6], target;

	(void)state;
	open_udp(6, 0,
		 NULL); /* three clients, each of which is one at local and one at the server */
	target = udp_socket(NULL);
	for (int i = 0; i < 6; i++)
		apps[i] = udp_socket(NULL);
	struct sockaddr_in first = passes(apps[0], target, "0");
	for (int i = 1; i < 3; i++) {
		pass(2000);
		passes(apps[i], target, "n");
	}
	assert_int_equal(live(), 6);
	pass(2000);
	assert_int_equal(passes(apps[0], target, "0").sin_port, first.sin_port);
	pass(2000);
	passes(apps[3], target, "3"); /* in the place of 1 */
	assert_int_equal(live(), 6);
	assert_int_equal(world.engine.assocs.evicted, 2);
	assert_int_equal(passes(apps[0], target, "0").sin_port, first.sin_port);
	assert_int_equal(world.engine.assocs.evicted, 2);
	passes(apps[1], target, "1");
	assert_int_equal(world.engine.assocs.evicted, 4);
	assert_true(world.engine.assocs.far_live <= 6);
	for (int i = 0; i < 6; i++)
		close(apps[i]);
	close(target);
	close_udp();
}

/* More clients in one turn than there are places: none is lost but by eviction. */
static void test_flood(void **state)
{
	enum { MANY = 300 };
	static int apps[MANY];
	int target;

	(void)state;
	open_udp(10, 0, NULL);
	target = udp_socket(NULL);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++) {
			apps[i] = udp_socket(NULL);
			app_send(apps[i], NULL, port_of(target), "x", 1);
		}
		turns(20);
		assert_int_equal(live(), 10);
		assert_true(world.engine.assocs.far_live <= 10);
		for (int i = 0; i < MANY; i++)
			close(apps[i]);
		while (!is_silent(target))
			;
	}
	assert_int_equal(world.engine.assocs.slab.live, 10);
	close(target);
	close_udp();
}

/* The last connection of an address takes its associations along, also those that were there
 * before. */
static void test_control(void **state)
{
	struct address address = { .family = 4, .ip = { 127, 0, 0, 1 } };
	struct address elsewhere = { .family = 4, .ip = { 127, 0, 0, 2 } };
	struct controls *controls = &world.engine.controls;

	(void)state;
	open_udp(8, 0, NULL);

	int app = udp_socket(NULL), other = udp_socket(NULL), target = udp_socket(NULL);

	passes(app, target, "before");
	assert_false(control_exists(controls, &address));
	struct control *one = control_join(controls, &address),
		       *same = control_join(controls, &address);
	struct control *far = control_join(controls, &elsewhere);
	assert_ptr_equal(one, same);
	assert_true(control_exists(controls, &address));
	pass(1500);
	passes(app, target, "bound now");
	passes(other, target, "bound from the beginning");
	control_leave(controls, one);
	control_leave(controls, far);
	assert_int_equal(live(), 4);
	control_leave(controls, same);
	/* the server's clients have the same address here, and there it is as if they were bound */
	assert_int_equal(live(), 0);
	assert_false(control_exists(controls, &address));
	assert_int_equal(controls->slab.live, 0);
	close(app), close(other), close(target);
	close_udp();
}

/* Names that nobody answers for: what waits is bounded and goes with the look-up, or with its
 * owner. */
static void test_parcels(void **state)
{
	unsigned char bytes[1500] = { 0 };

	(void)state;
	open_udp(64, 0, NULL);

	int app = udp_socket(NULL), target = udp_socket(NULL);

	for (int i = 0; i < 200; i++) {
		char name[32];

		snprintf(name, sizeof name, "n%d.test", i);
		app_send(app, name, 9, bytes, sizeof bytes);
		turn();
	}
	until(only_of(&world.server)->up_count == 200);
	assert_in_range(only_of(&world.server)->parcel_count, 1, PARCELS_EACH);
	assert_in_range(world.engine.blocks.leased, 1, 64 / PARCEL_BLOCKS_SHARE);
	passes(app, target, "others pass");
	pass(15000);
	until(only_of(&world.server)->parcel_count == 0);
	assert_int_equal(world.engine.blocks.leased, 0);
	app_send(app, "last.test", 9, bytes, sizeof bytes);
	until(only_of(&world.server)->parcel_count == 1);
	assoc_close(only_of(&world.server), "test");
	assert_int_equal(world.engine.blocks.leased, 0);
	assert_int_equal(world.engine.parcels.slab.live, 0);
	close(app), close(target);
	close_udp();
}

/* Whoever asks from one address, by however many ports, leaves room for others; and blocks. */
static void test_parcels_are_shared(void **state)
{
	static const unsigned char bytes[20000];
	union inet client = { .v4 = loopback(1) };
	unsigned kept = 0;
	uint8_t first = 0;

	(void)state;
	open_udp(64, 0, NULL);
	for (uint16_t port = 1; port <= 4; port++) {
		client.v4.sin_port = htons(port);
		struct assoc *a = assoc_new(&world.local, 0, &client, NULL);

		for (int i = 0; i < PARCELS_EACH; i++) {
			struct parcel *parcel = parcel_keep(a, NULL, 0);

			kept += parcel != NULL;
			first = parcel ? parcel->lookup.share : first;
		}
	}
	assert_int_equal(kept, PARCELS_SHARE);
	for (uint32_t host = 2;; host++) { /* few addresses have the same share */
		struct address peer;

		client.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host);
		address_from_socket(&peer, &client.any);
		if (resolve_share(&peer) != first)
			break;
	}
	struct assoc *other = assoc_new(&world.local, 0, &client, NULL);
	assert_non_null(parcel_keep(other, bytes, sizeof bytes));
	assert_non_null(parcel_keep(other, bytes, sizeof bytes));
	assert_null(parcel_keep(other, bytes, sizeof bytes)); /* a sixteenth of 64 */
	assert_int_equal(world.engine.parcels.blocks, 4);
	assocs_end(&world.engine.assocs);
	assert_int_equal(world.engine.parcels.blocks, 0);
	assert_int_equal(world.engine.parcels.shares[first].count, 0);
	close_udp();
}

/* A name that is known costs no copy, and no parcel stays. */
static void test_known_name(void **state)
{
	(void)state;
	open_udp(8, 0, NULL);

	int app = udp_socket(NULL), target = udp_socket(NULL);

	app_send(app, "localhost", port_of(target), "by name", 7);
	udp_expect(target, "by name", 7);
	assert_int_equal(world.engine.parcels.slab.live, 0);
	close(app), close(target);
	close_udp();
}

/* Everything that cannot be a datagram for us: no association comes of it. */
static void test_noise(void **state)
{
	unsigned char noise[200];

	(void)state;
	open_udp(8, 0, NULL);

	int app = udp_socket(NULL);
	struct sockaddr_in server = loopback(world.upstreams.all[0].where.port);
	struct sockaddr_in local = loopback(port_of(world.local.datagrams[0].source.fd));

	for (size_t n = 0; n < sizeof noise; n++) {
		memset(noise, (int)(n | 0x10), n);
		sendto(app, noise, n, 0, (struct sockaddr *)&server, sizeof server);
		sendto(app, noise, n, 0, (struct sockaddr *)&local, sizeof local);
		turn();
	}
	turns(5);
	assert_int_equal(live(), 0);
	close(app);
	close_udp();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_derived_timeouts),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_questions_of_sessions),
		cmocka_unit_test(test_ceiling),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_parcels),
		cmocka_unit_test(test_parcels_are_shared),
		cmocka_unit_test(test_known_name),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
