/*
 * Options are asked back from the kernel; what needs other settings of the system runs in a
 * child with a network of its own.
 */
#include "net/socket.h"
#include "net/socket_pace.h"

#include "tests/emulator.h"
#include "tests/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MULTIPATH = 262, SKIPPED = 77 };

static const struct socket_options plain = { .no_delay = true, .dscp = -1 };

static socklen_t fill(struct sockaddr_storage *to, const char *ip, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1) {
		memcpy(to, &in, sizeof(in));
		return sizeof(in);
	}
	assert_int_equal(inet_pton(AF_INET6, ip, &in6.sin6_addr), 1);
	memcpy(to, &in6, sizeof(in6));
	return sizeof(in6);
}

static struct address source(const char *ip)
{
	struct address a = { .family = strchr(ip, ':') ? 6 : 4 };

	assert_int_equal(inet_pton(a.family == 4 ? AF_INET : AF_INET6, ip, a.ip), 1);
	return a;
}

static int get(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	struct sockaddr_in in;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	memcpy(&in, &at, sizeof(in)); /* the port lies at the same place in both families */
	return ntohs(in.sin_port);
}

static int listen_at(const char *ip, uint16_t port, const struct socket_options *options,
		     bool v6only)
{
	struct sockaddr_storage at;
	socklen_t len = fill(&at, ip, port);

	return socket_listen((struct sockaddr *)&at, len, options, v6only);
}

static int connect_to(const char *ip, uint16_t port, const struct socket_options *options)
{
	struct sockaddr_storage to;
	socklen_t len = fill(&to, ip, port);
	bool connected;

	return socket_connect((struct sockaddr *)&to, len, options, true, &connected);
}

static void wait_for(int fd, short events)
{
	struct pollfd ask = { .fd = fd, .events = events };

	assert_int_equal(poll(&ask, 1, 60000), 1);
}

static int accept_one(int listener, const struct socket_options *options,
		      struct sockaddr_storage *peer)
{
	int fd;

	wait_for(listener, POLLIN);
	fd = socket_accept(listener, options, peer);
	assert_true(fd >= 0);
	return fd;
}

static void assert_manners(int fd)
{
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/* The number the next descriptor gets: two calls agree if nothing leaked in between. */
static int next_fd(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* Run body in a child, in a network of its own if asked; its status, 0 for success. */
static int in_child(void (*body)(void), bool own_network)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

		if (own_network && unshare(CLONE_NEWNET) < 0)
			_exit(SKIPPED);
		if (own_network && ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &lo) < 0)
			_exit(SKIPPED);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		print_message("SKIPPED: no permission for what this test needs (run it as root)\n");
	return WEXITSTATUS(status);
}

static void sysctl_set(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		_exit(SKIPPED);
	close(fd);
}

#define EXPECT(truth)                                                                   \
	do {                                                                            \
		if (!(truth)) {                                                         \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #truth, \
				strerror(errno));                                       \
			_exit(1);                                                       \
		}                                                                       \
	} while (0)

static const char *const families[] = { "127.0.0.1", "::1" };

static void listeners_have_their_options(void **unused)
{
	struct socket_options options = {
		.no_delay = true,
		.fast_open = true,
		.reuse_port = true,
		.keep_alive = 100,
		.near_sndbuf = 30000,
		.near_rcvbuf = 40000,
		.dscp = -1,
	};

	(void)unused;
	for (int i = 0; i < 2; i++) {
		int fd = listen_at(families[i], 0, &options, false), far, near;
		struct sockaddr_storage peer;

		assert_true(fd >= 0);
		assert_manners(fd);
		assert_int_equal(get(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
		assert_int_equal(get(fd, SOL_SOCKET, SO_REUSEADDR), 1);
		assert_int_equal(get(fd, SOL_SOCKET, SO_REUSEPORT), 1);
		assert_true(get(fd, IPPROTO_TCP, TCP_FASTOPEN) > 0);
		assert_int_equal(get(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT), 0);

		far = connect_to(families[i], port_of(fd), &plain);
		assert_true(far >= 0);
		near = accept_one(fd, &options, &peer);
		assert_manners(near);
		assert_int_equal(peer.ss_family, i == 0 ? AF_INET : AF_INET6);
		assert_int_equal(get(near, IPPROTO_TCP, TCP_NODELAY), 1);
		assert_int_equal(get(near, SOL_SOCKET, SO_KEEPALIVE), 1);
		assert_int_equal(get(near, IPPROTO_TCP, TCP_KEEPIDLE), 100);
		assert_int_equal(get(near, IPPROTO_TCP, TCP_KEEPINTVL), 20);
		assert_int_equal(get(near, IPPROTO_TCP, TCP_KEEPCNT), 5);
		assert_int_equal(get(near, SOL_SOCKET, SO_SNDBUF), 60000); /* the kernel doubles */
		assert_int_equal(get(near, SOL_SOCKET, SO_RCVBUF), 80000);
		close(near);
		close(far);
		close(fd);
	}
}

/* The last packet of TCP's handshake waits for the first bytes, if they are to follow at once. */
static void first_bytes_end_the_handshake(void **unused)
{
	int fd = listen_at("127.0.0.1", 0, &plain, false), far, near;
	struct sockaddr_storage to, peer;
	socklen_t len = fill(&to, "127.0.0.1", port_of(fd));
	bool connected;
	char got[4];

	(void)unused;
	far = socket_connect((struct sockaddr *)&to, len, &plain, false, &connected);
	wait_for(far, POLLOUT);
	near = socket_accept(fd, &plain, &peer);
	assert_true(near >= 0);
	close(near);
	close(far);

	for (int i = 0; i < 20; i++) { /* on a slow machine it may leave alone */
		far = socket_connect((struct sockaddr *)&to, len, &plain, true, &connected);
		wait_for(far, POLLOUT);
		near = socket_accept(fd, &plain, &peer);
		if (near < 0)
			break;
		close(near);
		close(far);
	}
	assert_int_equal(near, -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(send(far, "both", 4, MSG_NOSIGNAL), 4);
	near = socket_accept(fd, &plain, &peer);
	assert_true(near >= 0);
	assert_int_equal(recv(near, got, sizeof got, 0), 4);
	close(near);
	close(far);

	/* They do not come: it waits for a moment only. */
	far = socket_connect((struct sockaddr *)&to, len, &plain, true, &connected);
	close(accept_one(fd, &plain, &peer));
	close(far);
	close(fd);
}

static void what_is_off_is_off(void **unused)
{
	struct socket_options off = { .dscp = -1 };
	struct sockaddr_storage peer;
	int fd = listen_at("127.0.0.1", 0, &off, false);
	int far = connect_to("127.0.0.1", port_of(fd), &off);
	int near = accept_one(fd, &off, &peer);
	int both[2] = { near, far };

	(void)unused;
	assert_int_equal(get(fd, SOL_SOCKET, SO_REUSEPORT), 0);
	assert_int_equal(get(fd, IPPROTO_TCP, TCP_FASTOPEN), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get(both[i], IPPROTO_TCP, TCP_NODELAY), 0);
		assert_int_equal(get(both[i], SOL_SOCKET, SO_KEEPALIVE), 0);
		assert_int_equal(get(both[i], SOL_SOCKET, SO_PROTOCOL), IPPROTO_TCP);
	}
	assert_int_equal(get(far, IPPROTO_TCP, TCP_FASTOPEN_CONNECT), 0);
	assert_int_equal(get(far, IPPROTO_IP, IP_TOS), 0);
	assert_int_equal(socket_accept(fd, &off, &peer), -1);
	assert_int_equal(errno, EAGAIN);
	close(near);
	close(far);
	close(fd);
}

static void the_longest_silence_is_the_kernels(void **unused)
{
	struct socket_options options = { .keep_alive = 10000000, .dscp = -1 };
	int fd = listen_at("127.0.0.1", 0, &plain, false);
	int far = connect_to("127.0.0.1", port_of(fd), &options);

	(void)unused;
	socket_keep_alive(far, &options);
	assert_int_equal(get(far, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(get(far, IPPROTO_TCP, TCP_KEEPIDLE), 32767);
	assert_int_equal(get(far, IPPROTO_TCP, TCP_KEEPINTVL), 75);
	close(far);
	options.keep_alive = 2;
	far = connect_to("127.0.0.1", port_of(fd), &options);
	assert_int_equal(get(far, SOL_SOCKET, SO_KEEPALIVE), 0); /* later, if it lives so long */
	socket_keep_alive(far, &options);
	assert_int_equal(get(far, IPPROTO_TCP, TCP_KEEPIDLE), 2);
	assert_int_equal(get(far, IPPROTO_TCP, TCP_KEEPINTVL), 1);
	close(far);
	close(fd);
}

/* 0, or the errno of a connection to this address. */
static int outcome(const char *ip, uint16_t port)
{
	int fd = connect_to(ip, port, &plain), error;

	if (fd < 0)
		return errno;
	wait_for(fd, POLLOUT);
	error = socket_error(fd);
	close(fd);
	return error;
}

static void any_is_both_families_unless_v6only(void **unused)
{
	needs("socket-errors");
	int fd = listen_at("::", 0, &plain, false), v4;
	struct sockaddr_storage peer;
	uint16_t port = port_of(fd);
	char text[64];

	(void)unused;
	assert_int_equal(get(fd, IPPROTO_IPV6, IPV6_V6ONLY), 0);
	assert_int_equal(outcome("::1", port), 0);
	close(accept_one(fd, &plain, &peer));
	assert_int_equal(outcome("127.0.0.1", port), 0);
	close(accept_one(fd, &plain, &peer));
	assert_string_equal(socket_print((struct sockaddr *)&peer, false, text, sizeof(text)),
			    "127.0.0.1");
	close(fd);

	v4 = -1;
	for (int i = 0; v4 < 0; i++) { /* others may have that port of IPv4 */
		assert_true(i < 20);
		fd = listen_at("::", 0, &plain, true);
		port = port_of(fd);
		assert_int_equal(get(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
		assert_int_equal(outcome("::1", port), 0);
		if (outcome("127.0.0.1", port) == ECONNREFUSED)
			v4 = listen_at("0.0.0.0", port, &plain, false); /* ["[::0]","0.0.0.0"] */
		if (v4 < 0)
			close(fd);
	}
	assert_int_equal(outcome("127.0.0.1", port), 0);
	close(v4);
	close(fd);
}

static void what_we_open_has_its_options(void **unused)
{
	needs("late-ports");
	struct socket_options options = {
		.no_delay = true,
		.far_sndbuf = 30000,
		.far_rcvbuf = 40000,
		.dscp = 46,
		.source4 = source("127.0.0.2"),
		.source6 = source("::1"),
	};

	(void)unused;
	for (int i = 0; i < 2; i++) {
		int fd = listen_at(families[i], 0, &plain, false), far, near;
		struct sockaddr_storage peer;
		char text[64];

		far = connect_to(families[i], port_of(fd), &options);
		assert_true(far >= 0);
		assert_manners(far);
		near = accept_one(fd, &plain, &peer);
		socket_print((struct sockaddr *)&peer, false, text, sizeof(text));
		assert_string_equal(text, i == 0 ? "127.0.0.2" : "::1");
		assert_int_equal(get(far, IPPROTO_TCP, TCP_NODELAY), 1);
		assert_int_equal(get(far, SOL_SOCKET, SO_SNDBUF), 60000);
		assert_int_equal(get(far, SOL_SOCKET, SO_RCVBUF), 80000);
		if (i == 0)
			assert_int_equal(get(far, IPPROTO_IP, IP_TOS), 46 << 2);
		else
			assert_int_equal(get(far, IPPROTO_IPV6, IPV6_TCLASS), 46 << 2);
		assert_int_equal(get(far, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT), 1);
		close(near);
		close(far);
		close(fd);
	}
}

static void expect_refusal(const char *ip, const struct socket_options *options, int error)
{
	int fd = next_fd();

	assert_int_equal(connect_to(ip, 9, options), -1);
	assert_int_equal(errno, error);
	assert_int_equal(next_fd(), fd);
}

static void a_path_that_cannot_be_had_is_an_error(void **unused)
{
	struct socket_options options = plain;

	(void)unused;
	options.source4 = source("192.0.2.1"); /* not ours */
	expect_refusal("127.0.0.1", &options, EADDRNOTAVAIL);
	options.source4 = source("127.0.0.1"); /* of the other family */
	expect_refusal("::1", &options, EADDRNOTAVAIL);
	expect_refusal("::ffff:127.0.0.1", &options, EADDRNOTAVAIL);
	options = plain;
	options.source6 = source("::1");
	expect_refusal("127.0.0.1", &options, EADDRNOTAVAIL);
	options = plain;
	options.interface = "nosuchdevice";
	expect_refusal("127.0.0.1", &options, ENODEV);
	options.interface = "lolololololololololololo";
	expect_refusal("127.0.0.1", &options, ENODEV);
	options.interface = "";
	expect_refusal("127.0.0.1", &options, ENODEV);
}

static void mark_and_interface(void)
{
	struct socket_options options = { .mark = 0xcafe1234, .interface = "lo", .dscp = -1 };
	int fd = listen_at("127.0.0.1", 0, &plain, false);
	int far = connect_to("127.0.0.1", port_of(fd), &options);
	char name[IFNAMSIZ] = "";
	socklen_t len = sizeof(name);

	if (far < 0 && errno == EPERM)
		_exit(SKIPPED);
	EXPECT(far >= 0);
	EXPECT((unsigned)get(far, SOL_SOCKET, SO_MARK) == options.mark);
	EXPECT(getsockopt(far, SOL_SOCKET, SO_BINDTODEVICE, name, &len) == 0);
	EXPECT(strcmp(name, "lo") == 0);
	if (geteuid() != 0)
		return;
	EXPECT(setgid(65534) == 0 && setuid(65534) == 0);
	EXPECT(connect_to("127.0.0.1", port_of(fd), &options) == -1);
	EXPECT(errno == EPERM);
}

static void marks_are_set_or_an_error(void **unused)
{
	needs("socket-marks");
	(void)unused;
	if (in_child(mark_and_interface, false) == SKIPPED)
		skip();
	assert_int_equal(in_child(mark_and_interface, false), 0);
}

static void refused_targets_say_so(void **unused)
{
	needs("socket-errors");
	int fd = listen_at("127.0.0.1", 0, &plain, false);
	uint16_t port = port_of(fd);

	(void)unused;
	close(fd);
	assert_int_equal(outcome("127.0.0.1", port), ECONNREFUSED);
	assert_int_equal(listen_at("192.0.2.1", 0, &plain, false), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
}

static void two_cannot_have_one_port(void **unused)
{
	struct socket_options shared = { .reuse_port = true, .dscp = -1 };
	int fd = listen_at("127.0.0.1", 0, &plain, false), next = next_fd(), second;

	(void)unused;
	assert_int_equal(listen_at("127.0.0.1", port_of(fd), &plain, false), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(next_fd(), next);
	close(fd);
	fd = listen_at("127.0.0.1", 0, &shared, false);
	second = listen_at("127.0.0.1", port_of(fd), &shared, false);
	assert_true(second >= 0);
	close(second);
	close(fd);
}

static void a_restart_finds_its_port(void **unused)
{
	int fd = listen_at("127.0.0.1", 0, &plain, false), far, near;
	uint16_t port = port_of(fd);
	struct sockaddr_storage peer;
	char byte;

	(void)unused;
	far = connect_to("127.0.0.1", port, &plain);
	near = accept_one(fd, &plain, &peer);
	close(near); /* first: so the listener's side stays in TIME_WAIT */
	wait_for(far, POLLIN);
	assert_int_equal(read(far, &byte, 1), 0);
	close(far);
	close(fd);
	fd = listen_at("127.0.0.1", port, &plain, false);
	assert_true(fd >= 0);
	close(fd);
}

static void abort_sends_a_reset(void **unused)
{
	int fd = listen_at("127.0.0.1", 0, &plain, false), far, near;
	struct sockaddr_storage peer;
	char byte;

	(void)unused;
	far = connect_to("127.0.0.1", port_of(fd), &plain);
	near = accept_one(fd, &plain, &peer);
	socket_reset_on_close(near);
	close(near);
	wait_for(far, POLLIN);
	assert_int_equal(read(far, &byte, 1), -1);
	assert_int_equal(errno, ECONNRESET);
	close(far);
	close(fd);
}

static void no_descriptors(void)
{
	int fd = listen_at("127.0.0.1", 0, &plain, false);
	int far = connect_to("127.0.0.1", port_of(fd), &plain);
	struct socket_options multipath = { .multipath = true, .dscp = -1 };
	struct rlimit none = { 0, 0 };
	struct sockaddr_storage peer;

	EXPECT(far >= 0);
	wait_for(fd, POLLIN);
	EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
	EXPECT(socket_accept(fd, &plain, &peer) == -1 && errno == EMFILE);
	EXPECT(connect_to("127.0.0.1", 9, &multipath) == -1 && errno == EMFILE);
}

static void no_descriptors_is_said(void **unused)
{
	(void)unused;
	assert_int_equal(in_child(no_descriptors, false), 0);
}

/* Send hello from a connection to its listener; *early: connect() did not wait for the peer. */
static void exchange(const char *ip, const struct socket_options *options, bool *early)
{
	int fd = listen_at(ip, 0, options, false), far, near;
	struct sockaddr_storage to, peer;
	socklen_t len = fill(&to, ip, port_of(fd));
	char text[8] = "";

	EXPECT(fd >= 0);
	far = socket_connect((struct sockaddr *)&to, len, options, true, early);
	EXPECT(far >= 0);
	wait_for(far, POLLOUT);
	EXPECT(write(far, "hello", 5) == 5);
	near = accept_one(fd, options, &peer);
	wait_for(near, POLLIN);
	EXPECT(read(near, text, sizeof(text)) == 5 && strcmp(text, "hello") == 0);
	if (options->no_delay) {
		EXPECT(get(near, IPPROTO_TCP, TCP_NODELAY) == 1);
		EXPECT(get(far, IPPROTO_TCP, TCP_NODELAY) == 1);
	}
	close(near);
	close(far);
	close(fd);
}

static void fast_open(void)
{
	struct socket_options options = { .no_delay = true, .fast_open = true, .dscp = -1 };
	bool early;

	sysctl_set("/proc/sys/net/ipv4/tcp_fastopen", "3");
	for (int i = 0; i < 2; i++) {
		exchange(families[i], &options, &early); /* brings the cookie */
		exchange(families[i], &options, &early);
		EXPECT(early);
	}
	sysctl_set("/proc/sys/net/ipv4/tcp_fastopen", "0");
	exchange("127.0.0.1", &options, &early);
	exchange("127.0.0.1", &options, &early);
}

static void fast_open_works_or_falls_back(void **unused)
{
	int status = in_child(fast_open, true);

	(void)unused;
	if (status == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

static void multipath(void)
{
	struct socket_options options = {
		.no_delay = true,
		.multipath = true,
		.keep_alive = 60,
		.near_rcvbuf = 40000,
		.far_rcvbuf = 40000,
		.dscp = 46,
		.source4 = source("127.0.0.2"),
		.interface = "lo",
		.mark = 7,
	};
	bool early;
	int fd;

	sysctl_set("/proc/sys/net/mptcp/enabled", "1");
	exchange("127.0.0.1", &options, &early);
	fd = listen_at("127.0.0.1", 0, &options, false);
	EXPECT(get(fd, SOL_SOCKET, SO_PROTOCOL) == MULTIPATH);
	close(fd);
	options.fast_open = true;
	exchange("127.0.0.1", &options, &early);
	sysctl_set("/proc/sys/net/mptcp/enabled", "0");
	exchange("127.0.0.1", &options, &early);
	fd = listen_at("127.0.0.1", 0, &options, false);
	EXPECT(get(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP);
	close(fd);
}

static void multipath_works_or_falls_back(void **unused)
{
	needs("socket-marks");
	int status = in_child(multipath, true);

	(void)unused;
	if (status == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

static bool has_congestion(int fd, const char *wanted)
{
	char name[16] = "";
	socklen_t len = sizeof(name) - 1;

	EXPECT(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) == 0);
	return strcmp(name, wanted) == 0;
}

/* Both ends of a connection to `ip`, which is listened to at `at`. */
static void expect_congestion(const char *at, const char *ip, const char *asked,
			      const char *near_has, const char *far_has)
{
	struct socket_options options = { .congestion = asked, .dscp = -1 };
	int fd, far, near;
	struct sockaddr_storage peer;

	socket_pace_open(&options);
	fd = listen_at(at, 0, &options, false);
	far = connect_to(ip, port_of(fd), &options);
	near = accept_one(fd, &options, &peer);
	EXPECT(has_congestion(near, near_has));
	EXPECT(has_congestion(far, far_has));
	close(near);
	close(far);
	close(fd);
}

static void congestion(void)
{
	sysctl_set("/proc/sys/net/ipv4/tcp_congestion_control", "reno");
	expect_congestion("127.0.0.1", "127.0.0.1", NULL, "reno", "reno");
	expect_congestion("127.0.0.1", "127.0.0.1", "bbr", "bbr", "bbr");
	sysctl_set("/proc/sys/net/ipv4/tcp_congestion_control", "bbr");
	expect_congestion("127.0.0.1", "127.0.0.1", NULL, "reno", "reno");
	expect_congestion("127.1.2.3", "127.1.2.3", NULL, "reno", "reno");
	expect_congestion("::1", "::1", NULL, "reno", "reno");
	expect_congestion("0.0.0.0", "127.0.0.1", NULL, "bbr", "reno"); /* others may come, too */
	expect_congestion("::", "::ffff:127.0.0.1", NULL, "bbr", "reno");
	expect_congestion("127.0.0.1", "127.0.0.1", "system", "bbr", "bbr");
	expect_congestion("::1", "::1", "system", "bbr", "bbr");
	expect_congestion("0.0.0.0", "127.0.0.1", "reno", "reno", "reno");
	EXPECT(!socket_pace_try(NULL) && !socket_pace_try("system") && !socket_pace_try("reno"));
	EXPECT(socket_pace_try("no-such") == ENOENT);
}

static void what_stays_within_the_machine_is_not_paced(void **unused)
{
	needs("socket-marks");
	int status = in_child(congestion, true);

	(void)unused;
	if (status == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listeners_have_their_options),
		cmocka_unit_test(first_bytes_end_the_handshake),
		cmocka_unit_test(what_is_off_is_off),
		cmocka_unit_test(the_longest_silence_is_the_kernels),
		cmocka_unit_test(any_is_both_families_unless_v6only),
		cmocka_unit_test(what_we_open_has_its_options),
		cmocka_unit_test(a_path_that_cannot_be_had_is_an_error),
		cmocka_unit_test(marks_are_set_or_an_error),
		cmocka_unit_test(refused_targets_say_so),
		cmocka_unit_test(two_cannot_have_one_port),
		cmocka_unit_test(a_restart_finds_its_port),
		cmocka_unit_test(abort_sends_a_reset),
		cmocka_unit_test(no_descriptors_is_said),
		cmocka_unit_test(fast_open_works_or_falls_back),
		cmocka_unit_test(multipath_works_or_falls_back),
		cmocka_unit_test(what_stays_within_the_machine_is_not_paced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
