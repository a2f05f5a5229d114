/*
 * The load of the benchmarks: SOCKS5 clients and their target, in one thread each of two processes,
 * so that it is never the bottleneck. The scripts beside it run it and measure the programs
 * between.
 *
 *     load PORT up|down BYTES CONNECTIONS TOTAL
 *
 * Through the SOCKS5 server on 127.0.0.1:PORT, TOTAL connections one after the other, CONNECTIONS at a
 * time, each carrying BYTES in one direction. Prints the microseconds it took.
 *
 *     load PORT hold BYTES CONNECTIONS
 *
 * CONNECTIONS, each of which carries BYTES up and then down; then they are held open. Prints "held" and
 * closes them when its input ends. Exits 1, with a sentence, if anything did not come whole.
 */
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, EVENTS = 256, CONNECTING = 200 /* handshakes under way, at most */ };

enum mode { UP, DOWN, HOLD };

/* One end of a connection: what it has to send and to receive, up first. */
struct end {
	int fd;
	uint64_t send, receive;
	unsigned replies; /* bytes of SOCKS5 replies to come */
};

static char buffer[CHUNK];
static enum mode mode;
static uint64_t bytes;
static int epoll;
static uint16_t target_port;

static void watch(struct end *end, uint32_t events, int op)
{
	struct epoll_event event = { .events = events, .data.ptr = end };

	if (epoll_ctl(epoll, op, end->fd, &event) < 0)
		err(1, "epoll_ctl");
}

/* The greeting's reply is 2 bytes, that to the request, which it lets go, 10. What recv() says. */
static ssize_t take_reply(struct end *end)
{
	unsigned char request[] = { 5, 1, 0, 1, 127, 0, 0, 1, (unsigned char)(target_port >> 8), (unsigned char)target_port };
	ssize_t n = recv(end->fd, buffer, end->replies > 10 ? end->replies - 10 : end->replies, 0);

	if (n <= 0)
		return n;
	end->replies -= (unsigned)n;
	if (end->replies == 10 && send(end->fd, request, sizeof request, MSG_NOSIGNAL) != sizeof request)
		err(1, "send");
	return n;
}

/* Send and receive what can be: true once all has come and gone. Nothing is sent before the replies
 * are here, nor, in a held connection, by the target before it has received all. */
static bool move(struct end *end, bool target)
{
	for (;;) {
		ssize_t n = 0;
		bool hold_back = end->replies > 0 || (target && mode == HOLD && end->receive > 0);

		if (end->send > 0 && !hold_back) {
			n = send(end->fd, buffer, end->send < CHUNK ? end->send : CHUNK, MSG_NOSIGNAL);
			if (n > 0) {
				end->send -= (uint64_t)n;
				continue;
			}
		} else if (end->replies > 0) {
			n = take_reply(end);
			if (n > 0)
				continue;
		} else if (end->receive > 0) { /* MSG_TRUNC: throw away without copying */
			n = recv(end->fd, buffer, end->receive < CHUNK ? end->receive : CHUNK, MSG_TRUNC);
			if (n > 0) {
				end->receive -= (uint64_t)n;
				continue;
			}
		} else {
			return true;
		}
		if (n == 0)
			errx(1, "a connection ended with %llu bytes to come", (unsigned long long)end->receive);
		if (errno == EAGAIN)
			return false;
		err(1, "a connection failed");
	}
}

/* The target accepts for ever and serves each connection; an end without bytes left is closed, a
 * held one when its peer closes. */
static void target(int listener)
{
	struct epoll_event events[EVENTS];
	struct end listening = { .fd = listener };

	nonblocking(listener);
	watch(&listening, EPOLLIN, EPOLL_CTL_ADD);
	for (;;) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct end *end = events[i].data.ptr;
			int fd;

			if (end == &listening) {
				while ((fd = accept(listener, NULL, NULL)) >= 0) {
					end = calloc(1, sizeof(*end));
					*end = (struct end){ .fd = fd,
							     .send = mode != UP ? bytes : 0,
							     .receive = mode != DOWN ? bytes : 0 };
					nonblocking(fd);
					watch(end, EPOLLIN | EPOLLOUT | EPOLLET, EPOLL_CTL_ADD);
				}
				continue;
			}
			if (!move(end, true))
				continue;
			if (mode == HOLD && recv(end->fd, buffer, 1, MSG_PEEK) != 0)
				continue;
			close(end->fd);
			free(end);
		}
	}
}

/* Open a connection and greet. */
static void begin(struct end *end, uint16_t port)
{
	struct sockaddr_in at = loopback(port);

	*end = (struct end){ .fd = socket(AF_INET, SOCK_STREAM, 0),
			     .send = mode != DOWN ? bytes : 0,
			     .receive = mode != UP ? bytes : 0,
			     .replies = 12 };
	if (end->fd < 0 || connect(end->fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		err(1, "connect");
	nonblocking(end->fd);
	if (send(end->fd, "\5\1\0", 3, MSG_NOSIGNAL) != 3)
		err(1, "send");
	watch(end, EPOLLIN | EPOLLOUT | EPOLLET, EPOLL_CTL_ADD);
}

/* A client is done when its bytes are through: the target closes then. */
static bool finished(struct end *end)
{
	ssize_t n;

	if (!move(end, false))
		return false;
	if (mode == HOLD)
		return true;
	n = recv(end->fd, buffer, 1, 0);
	if (n > 0)
		errx(1, "more bytes than were sent");
	return n == 0;
}

static void clients(uint16_t port, unsigned at_once, unsigned total)
{
	struct end *ends = calloc(at_once, sizeof(*ends));
	struct epoll_event events[EVENTS];
	unsigned begun = 0, open = 0, limit = mode == HOLD && at_once > CONNECTING ? CONNECTING : at_once;

	for (unsigned done = 0; done < total;) {
		while (open < limit && begun < total && (mode == HOLD || begun < at_once)) {
			begin(&ends[begun++], port);
			open++;
		}
		int n = epoll_wait(epoll, events, EVENTS, 30000);

		if (n == 0)
			errx(1, "nothing moved for 30 s: %u of %u done", done, total);
		for (int i = 0; i < n; i++) {
			struct end *end = events[i].data.ptr;

			if (end->fd < 0 || !finished(end))
				continue;
			done++;
			open--;
			if (mode == HOLD) {
				watch(end, 0, EPOLL_CTL_DEL);
				continue;
			}
			close(end->fd);
			end->fd = -1;
			if (begun < total) {
				begin(end, port);
				begun++;
				open++;
			}
		}
	}
}

int main(int argc, char **argv)
{
	static const char *const modes[] = { "up", "down", "hold" };

	if (argc < 5)
		errx(1, "usage: load PORT up|down|hold BYTES CONNECTIONS [TOTAL]");
	while (mode <= HOLD && strcmp(argv[2], modes[mode]))
		mode++;
	if (mode > HOLD)
		errx(1, "%s: neither up nor down nor hold", argv[2]);
	bytes = strtoull(argv[3], NULL, 10);
	unsigned at_once = (unsigned)strtoul(argv[4], NULL, 10);
	unsigned total = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : at_once;

	raise_nofile();
	memset(buffer, 'x', sizeof(buffer));
	int listener = listen_on(&target_port);
	pid_t child = fork();

	if (child < 0)
		err(1, "fork");
	epoll = epoll_create1(0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		target(listener);
	}
	close(listener);
	uint64_t start = microseconds();

	clients((uint16_t)strtoul(argv[1], NULL, 10), at_once, total);
	if (mode == HOLD) {
		puts("held");
		fflush(stdout);
		while (read(STDIN_FILENO, buffer, 1) > 0)
			continue;
	} else {
		printf("%llu\n", (unsigned long long)(microseconds() - start));
	}
	kill(child, SIGKILL);
	return 0;
}
