/*
 * Requests and answers through a SOCKS5 server on 127.0.0.1:PORT (0: none, to the target itself), clients in
 * one process and their target in another.
 *
 *     exchange PORT short BYTES AT_ONCE TOTAL LIMIT_MS [TARGET]
 *
 * TOTAL connections, AT_ONCE at a time: each asks with 100 bytes and gets BYTES; after LIMIT_MS it is given up.
 * Prints: good errors timeouts mean p50 p99 total-time, all times in microseconds.
 *
 *     exchange PORT ping BYTES ROUNDS LIMIT_MS [TARGET]
 *
 * One connection that stays open: BYTES up, BYTES back, ROUNDS times or until LIMIT_MS are over, less the first
 * three. Prints: rounds p50 p99 longest stalls, times in nanoseconds; a stall took more than 5 ms.
 * With TARGET, PORT is a tunnel to that port, where the target listens then.
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
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, EVENTS = 256, ASK = 100, WARM = 3, STALL = 5000000 /* ns */, PATIENCE = 10 /* s */ };

enum stage { CONNECTING, GREETED, ASKED, RELAYED };

struct client {
	int fd;
	enum stage stage;
	uint64_t began;
	size_t to_come;
};

static char buffer[CHUNK];
static size_t bytes;
static uint16_t proxy, target;
static bool socks; /* the proxy is a SOCKS5 server, and no tunnel to the target */
static int epoll;

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of n sorted values, the one below which so many in a hundred are. */
static unsigned long long percentile(const uint64_t *values, size_t n, unsigned percent)
{
	return n > 0 ? values[(n - 1) * percent / 100] : 0;
}

static size_t socks_request(unsigned char *to)
{
	const unsigned char request[] = { 5, 1, 0, 1, 127, 0, 0, 1, (unsigned char)(target >> 8), (unsigned char)target };

	memcpy(to, request, sizeof request);
	return sizeof request;
}

/* ---- short: the target answers each connection's first bytes */

struct answer {
	int fd;
	bool asked;
	size_t left;
};

static void give(struct answer *a)
{
	ssize_t n;

	while (!a->asked || a->left == 0) {
		n = recv(a->fd, buffer, CHUNK, 0);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close(a->fd);
			free(a);
			return;
		}
		a->left = a->asked ? 0 : bytes;
		a->asked = true;
	}
	while (a->left > 0) {
		n = send(a->fd, buffer, a->left < CHUNK ? a->left : CHUNK, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			return;
		a->left -= n < 0 ? a->left : (size_t)n;
	}
	shutdown(a->fd, SHUT_WR);
}

static void watch(int fd, void *thing)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = thing };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		err(1, "epoll_ctl");
}

static void answer_all(int listener)
{
	struct epoll_event events[EVENTS];
	struct answer listening = { .fd = listener };
	int fd;

	nonblocking(listener);
	watch(listener, &listening);
	for (;;) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct answer *a = events[i].data.ptr;

			if (a != &listening) {
				give(a);
				continue;
			}
			while ((fd = accept(listener, NULL, NULL)) >= 0) {
				a = calloc(1, sizeof *a);
				a->fd = fd;
				nonblocking(fd);
				watch(fd, a);
			}
		}
	}
}

/* ---- short: the clients */

static struct {
	unsigned good, errors, timeouts, begun, open, total;
	uint64_t limit, *times, sum;
} tally;

static void begin(struct client *c)
{
	struct sockaddr_in at = loopback(proxy ? proxy : target);

	*c = (struct client){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
			      .began = microseconds(), .to_come = bytes };
	if (c->fd < 0)
		err(1, "socket");
	nonblocking(c->fd);
	tally.begun++;
	tally.open++;
	connect(c->fd, (struct sockaddr *)&at, sizeof at);
	watch(c->fd, c);
}

static void over(struct client *c, unsigned *count)
{
	uint64_t took = microseconds() - c->began;

	(*count)++;
	if (count == &tally.good) {
		tally.times[tally.good - 1] = took;
		tally.sum += took;
	}
	close(c->fd);
	c->fd = -1;
	tally.open--;
	if (tally.begun < tally.total)
		begin(c);
}

/* A reply of the SOCKS5 server; 1: whole, 0: not yet, -1: none, or it refuses. */
static int reply(int fd, ssize_t whole)
{
	unsigned char got[10];
	ssize_t n = recv(fd, got, (size_t)whole, MSG_PEEK);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return -1;
	if (n < whole)
		return 0;
	return recv(fd, got, (size_t)whole, 0) == whole && got[0] == 5 && got[1] == 0 ? 1 : -1;
}

/* What comes next is sent at once: loopback takes these few bytes. 0: wait, 1: go on, -1: failed. */
static int shake(struct client *c)
{
	unsigned char request[16];
	size_t n = socks_request(request);
	int error = 0, replied;
	socklen_t len = sizeof error;

	switch (c->stage) {
	case CONNECTING:
		if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error)
			return -1;
		if (send(c->fd, socks ? "\5\1\0" : buffer, socks ? 3 : ASK, MSG_NOSIGNAL) < 0)
			return errno == EAGAIN || errno == ENOTCONN ? 0 : -1;
		c->stage = socks ? GREETED : RELAYED;
		return 1;
	case GREETED:
		if ((replied = reply(c->fd, 2)) <= 0)
			return replied;
		c->stage = ASKED;
		return send(c->fd, request, n, MSG_NOSIGNAL) == (ssize_t)n ? 1 : -1;
	default:
		if ((replied = reply(c->fd, 10)) <= 0)
			return replied;
		c->stage = RELAYED;
		return send(c->fd, buffer, ASK, MSG_NOSIGNAL) == ASK ? 1 : -1;
	}
}

static void advance(struct client *c)
{
	int went = 1;

	while (c->stage != RELAYED && went > 0)
		went = shake(c);
	if (went < 0)
		over(c, &tally.errors);
	if (went <= 0)
		return;
	for (;;) { /* MSG_TRUNC: throw away without copying */
		ssize_t n = recv(c->fd, buffer, c->to_come < CHUNK ? c->to_come : CHUNK, MSG_TRUNC);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			over(c, &tally.errors);
			return;
		}
		c->to_come -= (size_t)n;
		if (c->to_come == 0) {
			over(c, &tally.good);
			return;
		}
	}
}

static void give_up_late(struct client *clients, unsigned n)
{
	uint64_t now = microseconds();

	for (unsigned i = 0; i < n; i++)
		if (clients[i].fd >= 0 && now - clients[i].began > tally.limit)
			over(&clients[i], &tally.timeouts);
}

static void run_short(unsigned at_once)
{
	struct client *clients = calloc(at_once, sizeof *clients);
	struct epoll_event events[EVENTS];
	uint64_t start = microseconds(), looked = start;

	for (unsigned i = 0; i < at_once; i++)
		clients[i].fd = -1;
	for (unsigned i = 0; i < at_once && tally.begun < tally.total; i++)
		begin(&clients[i]);
	while (tally.open > 0) {
		int n = epoll_wait(epoll, events, EVENTS, 100);

		for (int i = 0; i < n; i++) {
			struct client *c = events[i].data.ptr;

			if (c->fd >= 0)
				advance(c);
		}
		if (microseconds() - looked > 20000) {
			give_up_late(clients, at_once);
			looked = microseconds();
		}
	}
	qsort(tally.times, tally.good, sizeof *tally.times, by_size);
	printf("%u %u %u %llu %llu %llu %llu\n", tally.good, tally.errors, tally.timeouts,
	       (unsigned long long)(tally.good ? tally.sum / tally.good : 0),
	       percentile(tally.times, tally.good, 50), percentile(tally.times, tally.good, 99),
	       (unsigned long long)(microseconds() - start));
}

/* ---- ping */

static bool take(int fd, size_t n)
{
	while (n > 0) {
		ssize_t got = recv(fd, buffer, n < CHUNK ? n : CHUNK, MSG_WAITALL);

		if (got <= 0)
			return false;
		n -= (size_t)got;
	}
	return true;
}

static bool put(int fd, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(fd, buffer, n < CHUNK ? n : CHUNK, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		n -= (size_t)sent;
	}
	return true;
}

static void echo(int listener)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		no_delay(fd);
		while (take(fd, bytes) && put(fd, bytes))
			continue;
		close(fd);
	}
}

static int open_connection(void)
{
	struct sockaddr_in at = loopback(proxy ? proxy : target);
	struct timeval patience = { .tv_sec = PATIENCE };
	unsigned char request[16];
	size_t n = socks_request(request);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
		err(1, "connect");
	no_delay(fd);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (socks && (send(fd, "\5\1\0", 3, MSG_NOSIGNAL) != 3 || !take(fd, 2) ||
		      send(fd, request, n, MSG_NOSIGNAL) != (ssize_t)n || !take(fd, 10)))
		errx(1, "the SOCKS5 server does not answer");
	return fd;
}

static void run_ping(unsigned rounds, uint64_t limit)
{
	uint64_t *times = calloc(rounds + 1, sizeof *times), start = nanoseconds();
	int fd = open_connection(), done = 0, stalls = 0;

	for (int i = 0; i < (int)rounds + WARM && (nanoseconds() - start < limit || done == 0); i++) {
		uint64_t began = nanoseconds();

		if (!put(fd, bytes) || !take(fd, bytes))
			errx(1, "round %d did not come back", i);
		if (i < WARM)
			continue;
		times[done++] = nanoseconds() - began;
		stalls += times[done - 1] > STALL;
	}
	qsort(times, (size_t)done, sizeof *times, by_size);
	printf("%d %llu %llu %llu %d\n", done, percentile(times, (size_t)done, 50),
	       percentile(times, (size_t)done, 99), percentile(times, (size_t)done, 100), stalls);
}

int main(int argc, char **argv)
{
	if (argc < 6)
		errx(1, "usage: exchange PORT short BYTES AT_ONCE TOTAL LIMIT_MS [TARGET] |\n"
			"       exchange PORT ping BYTES ROUNDS LIMIT_MS [TARGET]");
	bool is_short = strcmp(argv[2], "short") == 0;
	int tunnel = is_short ? 7 : 6; /* the place of TARGET */

	target = (uint16_t)(argc > tunnel ? atoi(argv[tunnel]) : 0);
	int listener = listen_on(&target);

	proxy = (uint16_t)atoi(argv[1]);
	socks = proxy && argc <= tunnel;
	bytes = strtoull(argv[3], NULL, 10);
	raise_nofile();
	pid_t child = fork();

	if (child < 0)
		err(1, "fork");
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(is_short ? answer_all : echo)(listener);
	}
	close(listener);
	if (is_short) {
		tally.total = argc > 6 ? (unsigned)atoi(argv[5]) : 0;
		tally.limit = argc > 6 ? strtoull(argv[6], NULL, 10) * 1000 : 0;
		tally.times = calloc(tally.total + 1, sizeof *tally.times);
		run_short((unsigned)atoi(argv[4]));
	} else {
		run_ping((unsigned)atoi(argv[4]), strtoull(argv[5], NULL, 10) * 1000000);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0); /* the port is free for the next one then */
	return 0;
}
