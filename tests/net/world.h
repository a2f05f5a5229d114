/*
 * A small world for the tests of the engine: a clock that they set, one reactor, one engine, a server and
 * a local service in it, and peers on loopback that the test drives in between. Whatever happens, at
 * the end no session, no block and no descriptor may be left.
 */
#ifndef TESTS_NET_WORLD_H
#define TESTS_NET_WORLD_H

#include "core/bytes.h"
#include "core/log.h"
#include "core/reactor.h"
#include "net/acl.h"
#include "net/engine.h"
#include "net/handshake.h"
#include "net/resolve.h"
#include "net/service.h"
#include "net/session.h"

#include "tests/unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct world {
	uint64_t now;  /* ms; the reactor's clock */
	uint64_t pace; /* ms that pass with each turn */
	struct engine engine;
	struct service server, local;
	struct acl *rules;	    /* of local */
	struct upstreams upstreams; /* of local */
	struct socket_options sockets[2];
	uint16_t server_port, local_port;
	uint16_t targets[64]; /* where the sessions of local go, in the order of their coming */
	unsigned come;
	unsigned descriptors; /* before all */
	const struct wire_method *method;
	unsigned char key[WIRE_KEY_MAX];
} world;

static inline uint64_t world_clock(void)
{
	return world.now;
}

static inline uint64_t real_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static inline void turn(void)
{
	world.now += world.pace;
	reactor_turn(1);
}

/* Turn until it holds; a real minute is a failure. */
#define until(condition)                                                      \
	do {                                                                  \
		uint64_t until_end = real_ms() + 60000;                       \
		bool until_holds;                                             \
                                                                              \
		while (!(until_holds = (condition)) && real_ms() < until_end) \
			turn();                                               \
		assert_true(until_holds);                                     \
	} while (0)

static inline void turns(int n)
{
	while (n-- > 0)
		turn();
}

/* Let so much time pass that all timers due in it fire. */
static inline void pass(uint64_t ms)
{
	world.now += ms;
	turns(3);
}

/* Nobody wakes anybody any more: a turn sleeps. */
static inline bool is_quiet(void)
{
	for (int i = 0; i < 20; i++) {
		uint64_t began = real_ms();

		reactor_turn(15);
		if (real_ms() - began >= 14)
			return true;
	}
	return false;
}

static inline unsigned count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Sockets of the test itself. */

static inline struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static inline uint16_t port_of(int fd)
{
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	return ntohs(at.sin_port);
}

static inline void set_buffer(int fd, int option, int bytes)
{
	if (bytes)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof(bytes)), 0);
}

static inline int listen_small(uint16_t *port, int rcvbuf)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = loopback(0);

	set_buffer(fd, SO_RCVBUF, rcvbuf);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 64), 0);
	*port = port_of(fd);
	return fd;
}

static inline int connect_small(uint16_t port, int sndbuf, int rcvbuf)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	struct sockaddr_in at = loopback(port);

	assert_true(fd >= 0);
	set_buffer(fd, SO_SNDBUF, sndbuf);
	set_buffer(fd, SO_RCVBUF, rcvbuf);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

/* The next connection to a listener of the test. */
static inline int accept_one(int listener)
{
	int fd = -1;

	until((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
	return fd;
}

static inline void put(int fd, const void *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static inline void reset(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* What a read says: > 0 bytes, or one of these. */
enum { NOTHING = 0, END = -1, RESET = -2 };

static inline ssize_t look(int fd, void *to, size_t n)
{
	ssize_t got = recv(fd, to, n, 0);

	if (got > 0)
		return got;
	if (got == 0)
		return END;
	return errno == EAGAIN ? NOTHING : RESET;
}

/* Read on until something else than bytes comes, turning; bytes are added to *n. */
static inline ssize_t read_out(int fd, unsigned char *to, size_t room, size_t *n)
{
	ssize_t said = 0;

	until((said = look(fd, to + *n, room - *n)) < 0 ||
	      (said > 0 && (*n += (size_t)said) == room));
	return said;
}

/* Exactly these bytes come. */
static inline void expect(int fd, const void *bytes, size_t n)
{
	unsigned char *got = test_malloc(n + 1);
	size_t have = 0;

	assert_true(read_out(fd, got, n, &have) > 0);
	assert_memory_equal(got, bytes, n);
	test_free(got);
}

static inline ssize_t ending(int fd)
{
	unsigned char byte;
	ssize_t said = 0;

	until((said = look(fd, &byte, 1)) != NOTHING);
	return said;
}

/* Nothing comes, neither bytes nor an end. */
static inline void expect_silence(int fd)
{
	unsigned char byte;

	turns(5);
	assert_int_equal(look(fd, &byte, 1), NOTHING);
}

static inline struct session *only_session(void)
{
	struct engine *e = &world.engine;
	struct list *in = list_empty(&e->guests) ? &e->strangers : &e->guests;

	assert_int_equal(e->sessions.live, 1);
	assert_false(list_empty(in));
	return container_of(in->next, struct session, link);
}

/* A peer that speaks shadowsocks to the server, through the functions that the engine uses. */

struct peer {
	int fd;
	struct wire_key key;
	struct wire_state up, down;
	unsigned char raw[65536];
	size_t raw_len;
};

static inline struct peer *peer_new(int sndbuf, int rcvbuf)
{
	struct peer *p = test_calloc(1, sizeof(*p));

	p->fd = connect_small(world.server_port, sndbuf, rcvbuf);
	wire_key_set(&p->key, world.method, world.key);
	return p;
}

static inline void peer_free(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	test_free(p);
}

/* Sealed: salt and the address of the target, with payload. */
static inline size_t peer_first(struct peer *p, uint16_t target, const void *payload, size_t n,
				unsigned char *to)
{
	struct endpoint where = {
		.port = target, .type = ENDPOINT_IPV4, .len = 4, .host = { 127, 0, 0, 1 }
	};

	return wire_first(&p->key, &p->up, &where, payload, n, to);
}

/* Sealed: one chunk, which may be empty. */
static inline size_t peer_chunk(struct peer *p, const void *payload, size_t n, unsigned char *to)
{
	struct aead_context context;
	unsigned char nonce[AEAD_NONCE_MAX] = { 0 };

	p->key.aead->expand(&context, p->up.subkey);
	to[0] = (unsigned char)(n >> 8);
	to[1] = (unsigned char)n;
	put_u64le(nonce, p->up.nonce);
	p->key.aead->seal(&context, nonce, NULL, 0, to, 2, to + 2);
	p->up.nonce++;
	if (n > 0)
		memcpy(to + 18, payload, n);
	put_u64le(nonce, p->up.nonce);
	p->key.aead->seal(&context, nonce, NULL, 0, to + 18, n, to + 18 + n);
	p->up.nonce++;
	return 18 + n + 16;
}

/* A peer with a relay to a target: *far is the target's end. */
static inline struct peer *peer_relayed(int listener, uint16_t target, int *far)
{
	struct peer *p = peer_new(0, 0);
	unsigned char bytes[WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD];

	put(p->fd, bytes, peer_first(p, target, "first", 5, bytes));
	*far = accept_one(listener);
	expect(*far, "first", 5);
	return p;
}

/* The end of several. */
static inline void peers_free(struct peer **peers, const int *fars, int n)
{
	for (int i = 0; i < n; i++) {
		peer_free(peers[i]);
		close(fars[i]);
	}
}

/* Roles. */

static inline enum step fixed_target(struct session *s)
{
	assert_true(world.come < 64);
	s->target = (struct endpoint){ .port = world.targets[world.come++],
				       .type = ENDPOINT_IPV4,
				       .len = 4,
				       .host = { 127, 0, 0, 1 } };
	session_trust(s);
	return DONE;
}

static const struct role server_role = { .name = "server",
					 .target = handshake_open,
					 .near_sealed = true };
static const struct role local_role = { .name = "local", .target = fixed_target };

struct sizes {
	uint32_t sessions, blocks;
	int sndbuf, rcvbuf; /* of all sockets of the services */
};

static inline void open_service(struct service *service, const struct role *role,
				const struct sizes *sizes, uint16_t *port)
{
	struct endpoint at = { .type = ENDPOINT_IPV4, .len = 4, .host = { 127, 0, 0, 1 } };

	service->engine = &world.engine;
	service->role = role;
	service->timeout = 60000;
	struct socket_options *sockets = &world.sockets[role->near_sealed];

	*sockets = (struct socket_options){
		.no_delay = true,
		.dscp = -1,
		.near_sndbuf = sizes->sndbuf,
		.near_rcvbuf = sizes->rcvbuf,
		.far_sndbuf = sizes->sndbuf,
		.far_rcvbuf = sizes->rcvbuf,
	};
	service->sockets = sockets;
	service_init(service);
	assert_int_equal(service_listen(service, &at, false), 0);
	*port = port_of(service->listeners[0].source.fd);
	assert_int_equal(service_start(service), 0);
}

static inline void world_open(struct sizes sizes)
{
	struct resolve_options names = { .servers = "127.0.0.1:9", .hosts = "/dev/null" };

	signal(SIGPIPE, SIG_IGN);
	world = (struct world){ .now = 1000000, .pace = 1, .descriptors = count_open() };
	assert_int_equal(crypto_open(), 0);
	world.method = wire_find("chacha20-ietf-poly1305");
	memset(world.key, 7, sizeof(world.key));
	reactor_clock(world_clock);
	assert_int_equal(reactor_open(), 0);
	assert_int_equal(resolve_open(&names), 0);
	assert_int_equal(engine_open(&world.engine, sizes.sessions, sizes.blocks), 0);
	wire_key_set(&world.server.key, world.method, world.key);
	open_service(&world.server, &server_role, &sizes, &world.server_port);
	world.local.upstreams = &world.upstreams;
	world.upstreams.count = 1;
	wire_key_set(&world.upstreams.all[0].key, world.method, world.key);
	world.upstreams.all[0].where = (struct endpoint){
		.port = world.server_port, .type = ENDPOINT_IPV4, .len = 4, .host = { 127, 0, 0, 1 }
	};
	open_service(&world.local, &local_role, &sizes, &world.local_port);
}

/* From now on local connects to the targets themselves. */
static inline void connect_directly(void)
{
	char reason[ACL_REASON_MAX];

	world.rules = acl_read("test", "[bypass_all]\n", 13, reason);
	assert_non_null(world.rules);
	world.local.rules = &world.rules;
	splice_open(&world.engine.splice);
}

/* Nothing is left, by itself. */
static inline void world_rests(void)
{
	until(world.engine.sessions.live == 0);
	assert_int_equal(world.engine.blocks.leased, 0);
	assert_true(list_empty(&world.engine.waiting) && !world.engine.served);
	assert_true(list_empty(&world.engine.strangers) && list_empty(&world.engine.guests));
}

static inline void world_close(void)
{
	service_close(&world.server);
	service_close(&world.local);
	engine_close(&world.engine);
	acl_close(world.rules);
	resolve_close();
	reactor_close();
	service_free(&world.server);
	service_free(&world.local);
	reactor_clock(NULL);
	assert_int_equal(count_open(), world.descriptors);
}

/* The end of most tests, which have one listener of their own. */
static inline void world_ends(int listener)
{
	world_rests();
	close(listener);
	world_close();
}

/* Random numbers from a seed (xorshift). */
static inline uint32_t chance(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static inline uint32_t below(uint32_t *seed, uint32_t n)
{
	return chance(seed) % n;
}

#endif
