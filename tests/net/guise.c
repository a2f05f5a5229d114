/*
 * Answers from addresses of others, in a network of the test's own: they come from whom they should, cost
 * no more sockets than there are for them, and never take an address of this machine.
 */
#include "net/guise.h"

#include "core/reactor.h"
#include "net/socket.h"
#include "tests/emulator.h"
#include "tests/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t now = 1000;
static struct guises guises;
static bool permitted;

static uint64_t clock_of_test(void)
{
	return now;
}

static struct endpoint at(const char *host, uint16_t port)
{
	struct endpoint e;

	assert_int_equal(endpoint_parse(&e, host, port), 0);
	return e;
}

/* A client on loopback, and its address as a listener sees it. */
static int client_at(const char *host, union inet *seen)
{
	struct endpoint e = at(host, 0);
	struct sockaddr_storage storage;
	socklen_t len = endpoint_socket(&e, &storage);
	int fd = socket(storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&storage, len), 0);
	memset(seen, 0, sizeof *seen);
	len = sizeof *seen;
	assert_int_equal(getsockname(fd, &seen->any, &len), 0);
	return fd;
}

/* An IPv4 address as a socket for both families sees it. */
static union inet mapped(const union inet *v4)
{
	union inet six = { .v6 = { .sin6_family = AF_INET6, .sin6_port = v4->v4.sin_port } };

	six.v6.sin6_addr.s6_addr[10] = six.v6.sin6_addr.s6_addr[11] = 0xff;
	memcpy(&six.v6.sin6_addr.s6_addr[12], &v4->v4.sin_addr, 4);
	return six;
}

static void turn(void)
{
	reactor_turn(0);
}

/* An answer from `source` arrives at the client as one from there. */
static void arrives(int client, const union inet *seen, const struct endpoint *source)
{
	unsigned char bytes[] = "answer", got[16];
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	struct endpoint from;
	union inet to;
	int fd = guise_take(&guises, source, seen, &to);

	assert_true(fd >= 0);
	datagram_send(fd, &to, NULL, NULL, 0, bytes, sizeof bytes);
	datagram_flush();
	assert_int_equal(recvfrom(client, got, sizeof got, 0, (struct sockaddr *)&peer, &len),
			 sizeof bytes);
	endpoint_from_socket(&from, (struct sockaddr *)&peer);
	assert_int_equal(from.type, source->type);
	assert_int_equal(from.port, source->port);
	assert_memory_equal(from.host, source->host, source->len);
}

static int open_all(void **state)
{
	(void)state;
	if (!permitted)
		return 0;
	reactor_clock(clock_of_test);
	return reactor_open() < 0 || datagram_open() < 0 || guises_open(&guises, 77) < 0 ? -1 : 0;
}

static int close_all(void **state)
{
	(void)state;
	if (!permitted)
		return 0;
	guises_close(&guises);
	turn();
	datagram_close();
	reactor_close();
	return 0;
}

static void need_permission(void)
{
	needs("transparent-sockets");
	if (!permitted) {
		print_message("SKIPPED: no permission for a network of its own (run it as root)\n");
		skip();
	}
}

static void test_answers(void **state)
{
	struct endpoint four = at("198.51.100.7", 53), six = at("[2001:db8::7]", 53);
	union inet seen4, seen6, seen_mapped;

	(void)state;
	need_permission();
	int client4 = client_at("127.0.0.1", &seen4), client6 = client_at("[::1]", &seen6);

	seen_mapped = mapped(&seen4);
	for (int i = 0; i < 3; i++) {
		arrives(client4, &seen4, &four);
		arrives(client4, &seen_mapped, &four);
		arrives(client6, &seen6, &six);
	}
	assert_int_equal(guises.slab.live, 2);
	close(client4);
	close(client6);
}

static void test_refused(void **state)
{
	static const char *const nobody[] = { "0.0.0.0",	"0.1.2.3",   "127.0.0.1",
					      "127.8.8.8",	"224.0.0.1", "240.0.0.1",
					      "255.255.255.255" };
	static const char *const nobody6[] = { "[::]", "[::1]", "[ff02::1]" };
	struct endpoint four = at("198.51.100.7", 53), six = at("[2001:db8::7]", 53);
	struct endpoint no_port = at("198.51.100.7", 0), name = at("a.test", 53), e;
	union inet seen4, seen6, to;

	(void)state;
	need_permission();
	int client4 = client_at("127.0.0.1", &seen4), client6 = client_at("[::1]", &seen6);

	for (size_t i = 0; i < sizeof nobody / sizeof nobody[0]; i++) {
		e = at(nobody[i], 53);
		assert_int_equal(guise_take(&guises, &e, &seen4, &to), -1);
		assert_int_equal(errno, EADDRNOTAVAIL);
	}
	for (size_t i = 0; i < sizeof nobody6 / sizeof nobody6[0]; i++) {
		e = at(nobody6[i], 53);
		assert_int_equal(guise_take(&guises, &e, &seen6, &to), -1);
		assert_int_equal(errno, EADDRNOTAVAIL);
	}
	assert_int_equal(guise_take(&guises, &no_port, &seen4, &to), -1);
	assert_int_equal(guise_take(&guises, &name, &seen4, &to), -1);
	assert_int_equal(guise_take(&guises, &six, &seen4, &to), -1);
	assert_int_equal(errno, EAFNOSUPPORT);
	assert_int_equal(guise_take(&guises, &four, &seen6, &to), -1);
	assert_int_equal(errno, EAFNOSUPPORT);
	assert_int_equal(guises.slab.live, 0);
	close(client4);
	close(client6);
}

/* Not more than there may be; the one that is used stays. */
static void test_bounds(void **state)
{
	struct endpoint busy = at("198.51.100.7", 53);
	union inet seen, to;

	(void)state;
	need_permission();
	int client = client_at("127.0.0.1", &seen), first = guise_take(&guises, &busy, &seen, &to);

	for (uint16_t port = 1000; port < 1000 + 3 * GUISES; port++) {
		struct endpoint one = at("198.51.100.8", port);

		arrives(client, &seen, &one);
		assert_int_equal(guise_take(&guises, &busy, &seen, &to), first);
	}
	assert_int_equal(guises.slab.live, GUISES);
	close(client);
}

/* Where there is no descriptor left, the oldest of ours makes room; if none is ours there is none. */
static void test_no_descriptors(void **state)
{
	struct endpoint one = at("198.51.100.7", 53), two = at("198.51.100.8", 53);
	struct rlimit before, few;
	union inet seen, to;

	(void)state;
	need_permission();
	int client = client_at("127.0.0.1", &seen), more = client_at("127.0.0.1", &to), taken[2];

	/* Two fit: one for the socket, one to see whether the address is ours. */
	getrlimit(RLIMIT_NOFILE, &before);
	few = (struct rlimit){ (rlim_t)more + 1, before.rlim_max };
	close(more);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	taken[0] = guise_take(&guises, &one, &seen, &to);
	taken[1] = guise_take(&guises, &two, &seen, &to);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(taken[0], more);
	assert_int_equal(taken[1], more);
	assert_int_equal(guises.slab.live, 1);
	close(client);
}

static void test_rest(void **state)
{
	struct endpoint one = at("198.51.100.7", 53), two = at("198.51.100.8", 53);
	union inet seen, to;

	(void)state;
	need_permission();
	int client = client_at("127.0.0.1", &seen);

	assert_true(guise_take(&guises, &one, &seen, &to) >= 0);
	now += 40000;
	turn();
	assert_true(guise_take(&guises, &two, &seen, &to) >= 0);
	now += 40000;
	turn();
	guises_rest(&guises, now);
	assert_int_equal(guises.slab.live, 1);
	guises_drop(&guises);
	assert_int_equal(guises.slab.live, 0);
	close(client);
}

static bool own_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	return ioctl(fd, SIOCSIFFLAGS, &lo) == 0 && close(fd) == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_refused, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_bounds, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_no_descriptors, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_rest, open_all, close_all),
	};

	permitted = own_network();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
