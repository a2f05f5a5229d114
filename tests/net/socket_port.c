/*
 * Ports are chosen, listened on and asked about, on loopback.
 */
#include "net/socket_port.h"

#include "tests/emulator.h"
#include "tests/unit.h"

#include <sys/socket.h>
#include <unistd.h>

static struct endpoint at(const char *host, uint16_t port)
{
	struct endpoint endpoint;

	assert_int_equal(endpoint_parse(&endpoint, host, port), 0);
	endpoint.port = port;
	return endpoint;
}

/* A socket there, that listens if `type` is SOCK_STREAM; its port. */
static int open_at(const char *host, int type, uint16_t *port)
{
	struct endpoint endpoint = at(host, *port);
	struct sockaddr_storage address;
	socklen_t len = endpoint_socket(&endpoint, &address);
	struct address none;
	int fd = socket(address.ss_family, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	*port = address_from_socket(&none, (struct sockaddr *)&address);
	return fd;
}

static bool used(const char *host, uint16_t port, bool udp)
{
	struct endpoint endpoint = at(host, port);

	return socket_port_used(&endpoint, udp);
}

static void test_used(void **state)
{
	needs("kernel-tables");
	uint16_t port = 0;
	int fd = open_at("127.0.0.1", SOCK_STREAM, &port);

	(void)state;
	assert_true(used("127.0.0.1", port, false));
	assert_true(used("0.0.0.0", port, false));
	assert_true(used("some.name", port, false));
	assert_false(used("127.0.0.2", port, false));
	assert_false(used("::1", port, false));
	assert_false(used("127.0.0.1", port, true));
	close(fd);
	assert_false(used("127.0.0.1", port, false));
}

/* Who listens on all addresses listens on each. */
static void test_used_by_any(void **state)
{
	uint16_t port = 0;
	int fd = open_at("::", SOCK_STREAM, &port);

	(void)state;
	assert_true(used("::1", port, false));
	assert_true(used("127.0.0.1", port, false));
	close(fd);
	assert_false(used("::1", port, false));
}

static void test_used_for_datagrams(void **state)
{
	uint16_t port = 0;
	int fd = open_at("::1", SOCK_DGRAM, &port);

	(void)state;
	assert_true(used("::1", port, true));
	assert_true(used("::", port, true));
	assert_false(used("127.0.0.1", port, true));
	assert_false(used("::1", port, false));
	close(fd);
	assert_false(used("::1", port, true));
}

/* A connection whose own port it is does not listen. */
static void test_connected_is_not_listening(void **state)
{
	uint16_t port = 0;
	int listener = open_at("127.0.0.1", SOCK_STREAM, &port), fd;
	struct endpoint to = at("127.0.0.1", port);
	struct sockaddr_storage address;
	socklen_t len = endpoint_socket(&to, &address);
	struct address none;

	(void)state;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	assert_false(
		used("127.0.0.1", address_from_socket(&none, (struct sockaddr *)&address), false));
	close(fd);
	close(listener);
}

/* What is chosen is free for both, and nobody else chooses it meanwhile. */
static void test_choose(void **state)
{
	enum { MANY = 200 };
	struct endpoint chosen[MANY];
	int hold[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		bool v6 = i & 1;

		assert_int_equal(socket_port_choose(v6, &chosen[i], &hold[i]), 0);
		assert_int_equal(chosen[i].type, v6 ? ENDPOINT_IPV6 : ENDPOINT_IPV4);
		for (int j = 0; j < i; j++)
			assert_int_not_equal(chosen[i].port, chosen[j].port);
	}
	close(open_at("127.0.0.1", SOCK_STREAM, &chosen[0].port));
	close(open_at("127.0.0.1", SOCK_DGRAM, &chosen[0].port));
	for (int i = 0; i < MANY; i++)
		close(hold[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_used_by_any),
		cmocka_unit_test(test_used_for_datagrams),
		cmocka_unit_test(test_connected_is_not_listening),
		cmocka_unit_test(test_choose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
