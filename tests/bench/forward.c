/*
 * A forwarder without cryptography: what two hops cost when nothing but bytes is moved. One process,
 * epoll, edge-triggered, reads of 256 KB, and a read only if its destination took the last one.
 *
 *     forward [-c CONTROL] PORT HOP [TARGET]
 *
 * With -c, its sockets have that congestion control. Each connection to 127.0.0.1:PORT goes to 127.0.0.1:HOP. With TARGET, HOP is a SOCKS5 server that is asked
 * for 127.0.0.1:TARGET: so programs without a tunnel form get one. A connection's set-up blocks.
 */
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { BATCH = 1 << 18, EVENTS = 64, TURN = 4, PATIENCE = 5 /* s, for the replies of a SOCKS5 server */ };

/* One of the two sockets of a connection, and what came from it that the other one did not take. */
struct side {
	struct side *other;
	int fd;
	bool in, out, hung_up, ended, queued;
	struct side *next;   /* queued: there may be more, but others have their turn */
	struct side *grave; /* closed, with its other: freed when no event and no queue knows it */
	size_t held, at;
	char *bytes;
};

static char buffer[BATCH];
static int epoll;
static uint16_t hop, target;
static const char *control; /* of congestion; NULL: the system's */
static struct side *queue, *closed;

static void enqueue(struct side *side)
{
	if (side->queued)
		return;
	side->queued = true;
	side->next = queue;
	queue = side;
}

static void finish(struct side *side)
{
	struct side *both[] = { side, side->other };

	if (side->fd < 0)
		return;
	for (int i = 0; i < 2; i++) {
		close(both[i]->fd);
		both[i]->fd = -1;
	}
	side->grave = closed;
	closed = side;
}

static void bury(void)
{
	while (closed) {
		struct side *side = closed;

		closed = side->grave;
		free(side->bytes);
		free(side->other->bytes);
		free(side->other);
		free(side);
	}
}

/* Write; false: the connection failed. What is not taken is held. */
static bool pass_on(struct side *from, const char *bytes, size_t n)
{
	ssize_t taken = send(from->other->fd, bytes, n, MSG_NOSIGNAL);

	if (taken < 0 && errno != EAGAIN)
		return false;
	taken = taken < 0 ? 0 : taken;
	if ((size_t)taken < n) {
		from->other->out = false;
		if (bytes == buffer) {
			from->bytes = realloc(from->bytes, n - (size_t)taken);
			memcpy(from->bytes, bytes + taken, n - (size_t)taken);
			from->at = 0;
		} else {
			from->at += (size_t)taken;
		}
	}
	from->held = n - (size_t)taken;
	return true;
}

/* Move what can be moved from this side; false: the connection failed. */
static bool move(struct side *from)
{
	for (int turn = 0; turn < TURN; turn++) {
		if (from->held > 0 && from->other->out && !pass_on(from, from->bytes + from->at, from->held))
			return false;
		if (from->held > 0 || !from->in || !from->other->out || from->ended)
			return true;

		ssize_t n = recv(from->fd, buffer, BATCH, 0);

		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0 || (n < BATCH && !from->hung_up)) /* an end that is near is not told again */
			from->in = false;
		if (n == 0) {
			from->ended = true;
			shutdown(from->other->fd, SHUT_WR);
		} else if (n > 0 && !pass_on(from, buffer, (size_t)n)) {
			return false;
		}
	}
	enqueue(from);
	return true;
}

static void run(struct side *side)
{
	if (side->fd < 0)
		return;
	if (!move(side) || !move(side->other) ||
	    (side->ended && side->other->ended && !side->held && !side->other->held))
		finish(side);
}

/* Those that were queued when this began. */
static void run_queue(void)
{
	struct side *side = queue;

	queue = NULL;
	while (side) {
		struct side *next = side->next;

		side->queued = false;
		run(side);
		side = next;
	}
}

static bool read_whole(int fd, unsigned char *to, size_t n)
{
	return recv(fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

static bool ask(int fd)
{
	struct timeval patience = { .tv_sec = PATIENCE };
	unsigned char request[] = { 5, 1, 0, 1, 127, 0, 0, 1, (unsigned char)(target >> 8), (unsigned char)target }, reply[10];

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	return send(fd, "\5\1\0", 3, MSG_NOSIGNAL) == 3 && read_whole(fd, reply, 2) &&
	       send(fd, request, sizeof request, MSG_NOSIGNAL) == sizeof request && read_whole(fd, reply, 10) &&
	       reply[1] == 0;
}

static struct side *new_side(int fd)
{
	struct side *side = calloc(1, sizeof *side);

	nonblocking(fd);
	side->fd = fd;
	side->out = true;
	return side;
}

static void watch(struct side *side)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = side };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, side->fd, &event) < 0)
		err(1, "epoll_ctl");
}

static void set_control(int fd)
{
	if (control && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, (socklen_t)strlen(control)) < 0)
		err(1, "congestion control %s", control);
}

static void begin(int near)
{
	struct sockaddr_in at = loopback(hop);
	int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (far >= 0)
		set_control(far);
	if (far < 0 || connect(far, (struct sockaddr *)&at, sizeof at) < 0 || (target && !ask(far))) {
		close(far);
		close(near);
		return;
	}
	struct side *a = new_side(near), *b = new_side(far);

	a->other = b;
	b->other = a;
	watch(a);
	watch(b);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "-c") == 0) {
		control = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc < 3)
		errx(1, "usage: forward [-c CONTROL] PORT HOP [TARGET]");
	uint16_t port = (uint16_t)atoi(argv[1]);
	int listener = listen_on(&port), fd;
	struct side listening = { .fd = listener };

	set_control(listener); /* what is accepted inherits it */
	hop = (uint16_t)atoi(argv[2]);
	target = (uint16_t)(argc > 3 ? atoi(argv[3]) : 0);
	raise_nofile();
	epoll = epoll_create1(EPOLL_CLOEXEC);
	nonblocking(listener);
	watch(&listening);
	for (;;) {
		struct epoll_event events[EVENTS];
		int n = epoll_wait(epoll, events, EVENTS, queue ? 0 : -1);

		for (int i = 0; i < n; i++) {
			struct side *side = events[i].data.ptr;

			if (side == &listening) {
				while ((fd = accept(listener, NULL, NULL)) >= 0)
					begin(fd);
				continue;
			}
			side->hung_up |= (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
			side->in |= (events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
			side->out |= (events[i].events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
			run(side);
		}
		run_queue();
		if (!queue)
			bury();
	}
}
