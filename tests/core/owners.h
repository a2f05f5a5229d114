/*
 * For the tests of the reactor: owners of sources, what they are woken by, and their burial. Whoever
 * is buried is overwritten and freed, so that a reactor that still knows of it crashes, or is caught
 * by ASan.
 */
#ifndef TESTS_CORE_OWNERS_H
#define TESTS_CORE_OWNERS_H

#include "core/reactor.h"

#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Turn until it holds. A turn ends with any event; a minute without one is a failure. */
#define until(condition)                                      \
	do {                                                  \
		for (uint64_t until_end = clock_ms() + 60000; \
		     !(condition) && clock_ms() < until_end;) \
			reactor_turn(1000);                   \
		assert_true(condition);                       \
	} while (0)

static inline uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- who is woken */

struct owner {
	struct source source;
	struct burial burial;
	struct timer timer;
	int wakes, fires;
	void (*then)(struct owner *); /* what it does when it is woken, or its timer fires */
	struct owner *other;
	int peer;
	bool dead;
};

static int buried;

static inline void woken(struct source *source)
{
	struct owner *o = container_of(source, struct owner, source);

	assert_false(o->dead);
	assert_true(source->fd >= 0);
	o->wakes++;
	if (o->then)
		o->then(o);
}

static inline void fired(struct timer *timer)
{
	struct owner *o = container_of(timer, struct owner, timer);

	assert_false(o->dead);
	o->fires++;
	if (o->then)
		o->then(o);
}

static inline void bury(struct burial *burial)
{
	struct owner *o = container_of(burial, struct owner, burial);

	assert_true(o->dead);
	buried++;
	memset(o, 0xdb, sizeof *o);
	free(o);
}

static inline struct owner *owner_new(void)
{
	struct owner *o = calloc(1, sizeof *o);

	assert_non_null(o);
	o->source.fd = o->peer = -1;
	o->burial.bury = bury;
	timer_init(&o->timer, fired);
	return o;
}

/* Its readiness, but for what kqueue cannot know: whether there is urgent data, or else the end lies behind the last
 * bytes. */
static inline unsigned known(const struct owner *o)
{
	return o->source.ready & ~(unsigned)(READY_URGENT | READY_LAST);
}

static inline void owner_close(struct owner *o)
{
	if (o->peer >= 0)
		close(o->peer);
	o->dead = true;
	reactor_forget(&o->source);
	reactor_cancel(&o->timer);
	reactor_bury(&o->burial);
}

static struct owner *survivor;

/* For `then`: of two owners that know each other, the first one woken closes the other. */
static inline void close_other(struct owner *o)
{
	if (!o->other)
		return;
	survivor = o;
	o->other->other = NULL;
	owner_close(o->other);
	o->other = NULL;
}

/* --- descriptors */

static inline void set_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static inline void make_pair(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	set_nonblocking(fd[0]);
	set_nonblocking(fd[1]);
}

/* A watched end of a socketpair, its first readiness to write seen; `peer` is the other. */
static inline struct owner *owner_pair(void)
{
	struct owner *o = owner_new();
	int fd[2];

	make_pair(fd);
	o->peer = fd[1];
	assert_int_equal(reactor_watch(&o->source, fd[0], 0, woken), 0);
	until(o->source.ready & READY_OUT);
	o->wakes = 0;
	return o;
}

static inline int listener(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof *at;

	assert_true(fd >= 0);
	set_nonblocking(fd);
	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof *at), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

static inline int connect_to(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	set_nonblocking(fd);
	assert_true(connect(fd, (const struct sockaddr *)to, sizeof *to) == 0 ||
		    errno == EINPROGRESS || errno == ECONNREFUSED);
	return fd;
}

/* The same as owner_pair(), over TCP. */
static inline struct owner *owner_tcp(void)
{
	struct sockaddr_in at;
	int l = listener(&at);
	struct owner *o = owner_new();

	assert_int_equal(reactor_watch(&o->source, connect_to(&at), 0, woken), 0);
	until(o->source.ready & READY_OUT);
	do
		o->peer = accept(l, NULL, NULL);
	while (o->peer < 0 && errno == EAGAIN);
	assert_true(o->peer >= 0);
	close(l);
	assert_int_equal(known(o), READY_OUT);
	o->wakes = 0;
	return o;
}

static inline void say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* As owners do: read until EAGAIN, then the bit goes. Bytes read; `end`: the last read's result. */
static inline size_t read_all(struct source *source, ssize_t *end)
{
	char bytes[4096];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(source->fd, bytes, sizeof bytes)) > 0)
		sum += (size_t)n;
	if (n < 0 && errno == EAGAIN)
		source->ready &= (uint8_t)~READY_IN;
	if (end)
		*end = n;
	return sum;
}

static inline int open_reactor(void **state)
{
	(void)state;
	buried = 0;
	return reactor_open();
}

static inline int close_reactor(void **state)
{
	(void)state;
	reactor_close();
	return 0;
}

/* All tests between these two give their descriptors back. */
static inline int descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 2048; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static int first_descriptors;

static inline void test_descriptors_before(void **state)
{
	(void)state;
	first_descriptors = descriptors();
}

static inline void test_descriptors_after(void **state)
{
	(void)state;
	assert_int_equal(descriptors(), first_descriptors);
}

#define reactor_test(f) cmocka_unit_test_setup_teardown(f, open_reactor, close_reactor)

#endif
