/*
 * What the programs of the benchmarks share: the clock, loopback addresses, listening, limits.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

static inline uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t microseconds(void)
{
	return nanoseconds() / 1000;
}

static inline struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* A listener on *port, or if that is 0 on a free one, which *port is then. */
static inline int listen_on(uint16_t *port)
{
	struct sockaddr_in at = loopback(*port);
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
	    bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		err(1, "listen on %u", *port);
	*port = ntohs(at.sin_port);
	return fd;
}

static inline void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static inline void nonblocking(int fd)
{
	no_delay(fd);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		err(1, "fcntl");
}

static inline void raise_nofile(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

#endif
