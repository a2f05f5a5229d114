/*
 * The load of UDP: clients that send datagrams through a SOCKS5 server and compare what comes
 * back, and the target that sends it back, in one thread each of two processes.
 *
 *     udp_load PORT window BYTES WINDOW MILLISECONDS
 *
 * One client, through 127.0.0.1:PORT, with WINDOW datagrams of BYTES under way.
 *
 *     udp_load PORT clients BYTES COUNT MILLISECONDS
 *
 * COUNT clients, each with one datagram under way; the next ones leave when all are back or 100 ms
 * are over. They have the same ports each time, below those that systems give to sockets: programs keep
 * what they opened for a client, and new ones each time would use up the system's.
 *
 * With a port of 0 the datagrams go to the target itself; with TARGET, the target's port, PORT is a tunnel to
 * it and no SOCKS5 server. Prints how many came back, how many were
 * lost, and the microseconds. Exits 1 if one came back that was not sent.
 */
#include "common.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { HEAD = 10, BURST = 64, BYTES_MAX = 65507, BUFFER = 4 << 20, EVENTS = 256, SLACK = 100 /* ms */, CLIENTS = 8000 /* their first port */ };

static unsigned char in[BURST][2048 + HEAD], *pattern;
static struct mmsghdr messages[BURST];
static struct iovec iov[BURST];
static struct sockaddr_in names[BURST];

/* At this port or, if it is somebody's and `or_next` is set, at one of those behind it, which it then is. */
static int open_at(uint16_t *port, bool or_next)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = BUFFER, bound = -1;

	if (fd < 0)
		err(1, "socket");
	for (;; ++*port) {
		struct sockaddr_in at = loopback(*port);

		bound = bind(fd, (struct sockaddr *)&at, sizeof at);
		if (bound == 0 || errno != EADDRINUSE || !or_next || *port == UINT16_MAX)
			break;
	}
	if (bound < 0)
		err(1, "port %u", *port);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	return fd;
}

static void prepare(int n, size_t size)
{
	for (int i = 0; i < n; i++) {
		iov[i] = (struct iovec){ in[i], size };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i],
						       .msg_iovlen = 1,
						       .msg_name = &names[i],
						       .msg_namelen = sizeof names[i] };
	}
}

/* The target: everything back to where it came from. */
static void echo(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		prepare(BURST, sizeof in[0]);
		int n = recvmmsg(fd, messages, BURST, MSG_WAITFORONE, NULL);

		for (int i = 0; i < n; i++)
			iov[i].iov_len = messages[i].msg_len;
		for (int sent = 0; sent < n;) {
			int now = sendmmsg(fd, messages + sent, (unsigned)(n - sent), 0);

			sent += now > 0 ? now : 1;
		}
	}
}

static uint16_t start_target(uint16_t port)
{
	int fd = open_at(&port, false);
	struct sockaddr_in at;
	socklen_t len = sizeof at;

	if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		err(1, "getsockname");
	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		echo(fd);
	}
	close(fd);
	return ntohs(at.sin_port);
}

/* What all clients have in common. */
static struct {
	struct sockaddr_in to;
	unsigned char head[HEAD];
	size_t head_len, bytes;
	uint32_t next; /* number of a datagram, at its beginning */
	uint64_t back, lost;
} load;

static void put_number(unsigned char *to, uint32_t number)
{
	memcpy(to, &number, load.bytes < sizeof number ? load.bytes : sizeof number);
}

static void send_some(int fd, int n)
{
	static unsigned char out[BURST][2048 + HEAD];
	static struct mmsghdr all[BURST];
	static struct iovec parts[BURST];

	for (int i = 0; i < n; i++) {
		memcpy(out[i], load.head, load.head_len);
		memcpy(out[i] + load.head_len, pattern, load.bytes);
		put_number(out[i] + load.head_len, load.next++);
		parts[i] = (struct iovec){ out[i], load.head_len + load.bytes };
		all[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i],
						  .msg_iovlen = 1,
						  .msg_name = &load.to,
						  .msg_namelen = sizeof load.to };
	}
	for (int sent = 0; sent < n;) {
		int now = sendmmsg(fd, all + sent, (unsigned)(n - sent), 0);

		sent += now > 0 ? now : 1;
	}
}

/* Is it from our target? Whoever knows a port may write to it, and when a program under test gives one
 * up that another one takes, somebody does: that has another head, or through a tunnel another size. What our
 * target sends back is what we sent. */
static bool is_ours(const unsigned char *datagram, size_t n)
{
	size_t skip = load.bytes < 4 ? load.bytes : 4;

	if (n < load.head_len || memcmp(datagram, load.head, load.head_len) != 0 ||
	    (load.head_len == 0 && n != load.bytes))
		return false;
	if (n != load.head_len + load.bytes ||
	    memcmp(datagram + load.head_len + skip, pattern + skip, load.bytes - skip) != 0)
		errx(1, "a datagram of %zu bytes came back that was not sent", n);
	return true;
}

/* What has come; its number. */
static int take_some(int fd, int flags)
{
	prepare(BURST, sizeof in[0]);

	int n = recvmmsg(fd, messages, BURST, flags, NULL), ours = 0;

	for (int i = 0; i < n; i++)
		ours += is_ours(in[i], messages[i].msg_len);
	load.back += (uint64_t)ours;
	return ours;
}

static void run_window(int window, uint64_t end)
{
	uint16_t any = 0;
	int fd = open_at(&any, false), out = 0;

	while (microseconds() < end) {
		struct pollfd look = { .fd = fd, .events = POLLIN };

		for (; out < window; out += window - out < BURST ? window - out : BURST)
			send_some(fd, window - out < BURST ? window - out : BURST);
		if (poll(&look, 1, SLACK) == 0) {
			load.lost += (uint64_t)out;
			out = 0;
			continue;
		}
		out -= take_some(fd, MSG_DONTWAIT);
		if (out < 0)
			out = 0; /* one came that was given up */
	}
	while (out > 0) {
		struct pollfd look = { .fd = fd, .events = POLLIN };

		if (poll(&look, 1, SLACK) == 0)
			break;
		out -= take_some(fd, MSG_DONTWAIT);
	}
	load.lost += out > 0 ? (uint64_t)out : 0;
}

static void run_clients(int count, uint64_t end)
{
	int ep = epoll_create1(0), *fds = calloc((size_t)count, sizeof *fds);
	uint16_t port = CLIENTS;

	for (int i = 0; i < count; i++, port++) {
		struct epoll_event event = { .events = EPOLLIN };

		event.data.fd = fds[i] = open_at(&port, true);
		epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &event);
	}
	while (microseconds() < end) {
		int out = count;

		for (int i = 0; i < count; i++)
			send_some(fds[i], 1);
		while (out > 0) {
			struct epoll_event events[EVENTS];
			int n = epoll_wait(ep, events, EVENTS, SLACK);

			if (n == 0)
				break;
			for (int i = 0; i < n; i++)
				out -= take_some(events[i].data.fd, MSG_DONTWAIT);
		}
		load.lost += out > 0 ? (uint64_t)out : 0;
	}
}

int main(int argc, char **argv)
{
	uint16_t target;
	uint64_t began;

	if (argc < 6)
		errx(1, "usage: udp_load PORT window|clients BYTES NUMBER MILLISECONDS [TARGET]");
	raise_nofile();
	load.bytes = (size_t)atoi(argv[3]);
	if (load.bytes > 2048)
		errx(1, "at most 2048 bytes");
	pattern = malloc(BYTES_MAX);
	for (size_t i = 0; i < BYTES_MAX; i++)
		pattern[i] = (unsigned char)(i * 7 + i / 256);

	target = start_target((uint16_t)(argc > 6 ? atoi(argv[6]) : 0));
	load.to = loopback((uint16_t)(atoi(argv[1]) ? atoi(argv[1]) : target));
	if (atoi(argv[1]) && argc == 6) {
		unsigned char head[HEAD] = { 0, 0, 0, 1, 127, 0, 0, 1, (unsigned char)(target >> 8), (unsigned char)target };

		memcpy(load.head, head, HEAD);
		load.head_len = HEAD;
	}
	began = microseconds();
	if (strcmp(argv[2], "window") == 0)
		run_window(atoi(argv[4]), began + (uint64_t)atoi(argv[5]) * 1000);
	else
		run_clients(atoi(argv[4]), began + (uint64_t)atoi(argv[5]) * 1000);
	printf("%llu %llu %llu\n", (unsigned long long)load.back, (unsigned long long)load.lost,
	       (unsigned long long)(microseconds() - began));
	return 0;
}
