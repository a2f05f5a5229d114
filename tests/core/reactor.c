/*
 * The reactor over the poller it is linked with: what is told of descriptors, and when; socketpairs
 * and TCP over loopback. Its queue and its burials are in reactor_queue.c, its timers and its life
 * in reactor_time.c.
 */
#include "core/reactor.h"

#include "tests/core/owners.h"

/* --- readiness */

static void test_edges(void **state)
{
	struct owner *o = owner_pair();
	ssize_t end;

	(void)state;
	assert_int_equal(known(o), READY_OUT);
	reactor_turn(0);
	assert_int_equal(o->wakes, 0); /* an edge is told once */

	say(o->peer, "one");
	reactor_turn(1000);
	assert_int_equal(o->wakes, 1);
	assert_int_equal(known(o), READY_IN | READY_OUT);
	reactor_turn(0);
	assert_int_equal(o->wakes, 1);
	assert_int_equal(known(o), READY_IN | READY_OUT); /* remembered, not asked again */

	say(o->peer, "two"); /* more bytes are another edge, though the first were not read */
	reactor_turn(1000);
	assert_int_equal(o->wakes, 2);
	assert_int_equal(read_all(&o->source, &end), 6);
	assert_int_equal(end, -1);
	assert_int_equal(known(o), READY_OUT);
	reactor_turn(0);
	assert_int_equal(o->wakes, 2);

	say(o->peer, "three");
	reactor_turn(1000);
	assert_int_equal(o->wakes, 3);
	assert_true(o->source.ready & READY_IN);
	owner_close(o);
	reactor_turn(0);
	assert_int_equal(buried, 1);
}

/* What the owner knows already is not taken from it. */
static void test_first_ready(void **state)
{
	struct owner *o = owner_new();
	int fd[2];

	(void)state;
	make_pair(fd);
	o->source.ready = READY_ERROR; /* of an earlier descriptor */
	assert_int_equal(reactor_watch(&o->source, fd[0], READY_IN, woken), 0);
	assert_int_equal(o->source.fd, fd[0]);
	assert_int_equal(known(o), READY_IN);
	until(o->wakes == 1);
	assert_int_equal(known(o), READY_IN | READY_OUT);
	owner_close(o);
	close(fd[1]);
	reactor_turn(0);
}

static void check_writable_again(struct owner *o)
{
	static char bytes[65536];
	size_t written = 0, got = 0;
	ssize_t n;

	while ((n = write(o->source.fd, bytes, sizeof bytes)) > 0)
		written += (size_t)n;
	assert_int_equal(errno, EAGAIN);
	o->source.ready &= (uint8_t)~READY_OUT;
	reactor_turn(0);
	assert_false(o->source.ready & READY_OUT);

	set_nonblocking(o->peer);
	for (uint64_t stop = clock_ms() + 60000; got < written && clock_ms() < stop;) {
		n = read(o->peer, bytes, sizeof bytes);
		if (n > 0)
			got += (size_t)n;
		else
			reactor_turn(1); /* TCP: what lies in our buffer is still on its way */
	}
	assert_int_equal(got, written);
	until(o->source.ready & READY_OUT);
	owner_close(o);
	reactor_turn(0);
}

static void test_writable(void **state)
{
	(void)state;
	check_writable_again(owner_pair());
	check_writable_again(owner_tcp());
}

/* The peer sends no more, but listens. */
static void check_half_close(struct owner *o)
{
	ssize_t end;

	say(o->peer, "last words");
	assert_int_equal(shutdown(o->peer, SHUT_WR), 0);
	until(o->source.ready & READY_EOF);
	assert_int_equal(known(o), READY_IN | READY_OUT | READY_EOF);
	assert_int_equal(read_all(&o->source, &end), 10);
	assert_int_equal(end, 0);
	say(o->source.fd, "heard");
	owner_close(o);
	reactor_turn(0);
}

/* The peer closed after its last bytes: they are there, then the end. */
static void check_close(struct owner *o)
{
	ssize_t end;

	say(o->peer, "bye");
	close(o->peer);
	o->peer = -1;
	until(o->source.ready & READY_EOF);
	assert_true(o->source.ready & READY_IN);
	assert_int_equal(read_all(&o->source, &end), 3);
	assert_int_equal(end, 0);
	owner_close(o);
	reactor_turn(0);
}

static void test_eof(void **state)
{
	(void)state;
	check_half_close(owner_pair());
	check_half_close(owner_tcp());
	check_close(owner_pair());
	check_close(owner_tcp());
}

/* The end arrives after the owner has emptied the socket and slept: that is an edge, too. */
static void test_late_eof(void **state)
{
	struct owner *o = owner_tcp();
	ssize_t end;

	(void)state;
	say(o->peer, "x");
	until(o->source.ready & READY_IN);
	assert_int_equal(read_all(&o->source, &end), 1);
	assert_int_equal(end, -1);
	shutdown(o->peer, SHUT_WR);
	until(o->source.ready & READY_IN);
	assert_true(o->source.ready & READY_EOF);
	assert_int_equal(read_all(&o->source, &end), 0);
	assert_int_equal(end, 0);
	owner_close(o);
	reactor_turn(0);
}

/* Reads end short at urgent data: whoever reads must be told that there may be some. */
static void test_urgent(void **state)
{
	struct owner *o = owner_tcp();
	ssize_t end;
	size_t n;

	(void)state;
	say(o->peer, "before");
	assert_int_equal(send(o->peer, "!", 1, MSG_OOB), 1);
	say(o->peer, "behind");
	until(o->source.ready & READY_URGENT);
	for (n = 0; n < 12;) {
		until(o->source.ready & READY_IN);
		n += read_all(&o->source, &end);
		assert_int_equal(end, -1);
	}
	assert_int_equal(n, 12);
	assert_int_equal(known(o), READY_OUT);
	owner_close(o);
	reactor_turn(0);
}

static void test_reset(void **state)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	struct owner *o = owner_tcp();
	ssize_t end;

	(void)state;
	o->source.ready = 0;
	assert_int_equal(setsockopt(o->peer, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
	close(o->peer);
	o->peer = -1;
	until(o->source.ready & READY_ERROR);
	/* whoever waits for reading, writing or the end looks */
	assert_int_equal(known(o), READY_IN | READY_OUT | READY_EOF | READY_ERROR);
	assert_int_equal(read_all(&o->source, &end), 0);
	assert_true(o->source.ready & READY_IN); /* not EAGAIN */
	owner_close(o);
	reactor_turn(0);
}

static void test_refused(void **state)
{
	struct sockaddr_in at;
	struct owner *o = owner_new();

	(void)state;
	close(listener(&at)); /* a port where nobody listens */
	assert_int_equal(reactor_watch(&o->source, connect_to(&at), 0, woken), 0);
	until(o->source.ready & READY_ERROR);
	assert_true(o->source.ready & READY_OUT); /* the connect has ended */
	assert_true(o->wakes > 0);
	owner_close(o);
	reactor_turn(0);
}

static int accept_all(struct source *source)
{
	int fd, count = 0;

	while ((fd = accept(source->fd, NULL, NULL)) >= 0) {
		count++;
		close(fd);
	}
	assert_int_equal(errno, EAGAIN);
	source->ready &= (uint8_t)~READY_IN;
	return count;
}

static void test_listener(void **state)
{
	enum { CLIENTS = 5 };
	struct sockaddr_in at;
	struct owner *o = owner_new();
	int clients[CLIENTS], accepted = 0;

	(void)state;
	assert_int_equal(reactor_watch(&o->source, listener(&at), 0, woken), 0);
	reactor_turn(0);
	assert_false(o->source.ready & READY_IN);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < CLIENTS; i++)
			clients[i] = connect_to(&at);
		for (accepted = 0; accepted < CLIENTS; accepted += accept_all(&o->source))
			until(o->source.ready & READY_IN);
		assert_int_equal(accepted, CLIENTS);
		for (int i = 0; i < CLIENTS; i++)
			close(clients[i]);
	}
	owner_close(o);
	reactor_turn(0);
}

/* Room for output is not reported, however much of it there is. */
static void test_input_alone(void **state)
{
	struct owner *o = owner_new();
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(reactor_watch_input(&o->source, pair[0], woken), 0);
	reactor_turn(0);
	assert_int_equal(o->wakes, 0);
	assert_int_equal(write(pair[0], "out", 3), 3);
	reactor_turn(0);
	assert_int_equal(o->wakes, 0);
	assert_int_equal(write(pair[1], "in", 2), 2);
	until(o->wakes > 0);
	assert_int_equal(known(o), READY_IN);
	close(pair[1]);
	owner_close(o);
	reactor_turn(0);
}

static void test_bad_fd(void **state)
{
	struct owner *o = owner_pair();
	int fd = o->source.fd;

	(void)state;
	reactor_again(&o->source);
	reactor_forget(&o->source); /* queued, without a descriptor */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	errno = 0;
	assert_int_equal(reactor_watch(&o->source, fd, 0, woken), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(o->source.fd, -1);
	reactor_forget(&o->source); /* nothing to forget */
	reactor_turn(0);
	assert_int_equal(o->wakes, 0);
	owner_close(o);
	reactor_turn(0);
	assert_int_equal(buried, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		reactor_test(test_descriptors_before),
		reactor_test(test_edges),
		reactor_test(test_first_ready),
		reactor_test(test_writable),
		reactor_test(test_eof),
		reactor_test(test_late_eof),
		reactor_test(test_urgent),
		reactor_test(test_reset),
		reactor_test(test_refused),
		reactor_test(test_listener),
		reactor_test(test_input_alone),
		reactor_test(test_bad_fd),
		reactor_test(test_descriptors_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
