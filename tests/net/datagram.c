/*
 * Datagrams in bursts: all arrive, as they were, in the order of their sending for each
 * destination, whether the kernel merges and cuts them, or refuses to.
 */
#include "net/datagram.h"

#include "net/socket.h"
#include "tests/emulator.h"
#include "tests/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const struct socket_options options = { .dscp = -1 };

static void woken(struct source *source)
{
	(void)source;
}

static int open_all(void **state)
{
	(void)state;
	return reactor_open() < 0 || datagram_open() < 0 ? -1 : 0;
}

static int close_all(void **state)
{
	(void)state;
	reactor_turn(0);
	datagram_close();
	reactor_close();
	return 0;
}

/* A socket that receives, watched; *at: its address. */
static void receiver(struct source *source, union inet *at, int family)
{
	socklen_t len = sizeof *at;
	int fd;

	memset(at, 0, sizeof *at);
	memset(source, 0, sizeof *source);
	source->fd = -1;
	at->any.sa_family = (sa_family_t)family;
	if (family == AF_INET6)
		at->v6.sin6_addr = in6addr_loopback;
	else
		at->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket_receive(&at->any, inet_len(at), &options, true, false);
	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, &at->any, &len), 0);
	assert_int_equal(reactor_watch_input(source, fd, woken), 0);
}

static int sender(const union inet *to, bool connected)
{
	int fd = socket_send_to(&to->any, inet_len(to), connected, &options, false);

	assert_true(fd >= 0);
	return fd;
}

/* The n-th byte of the datagram with this number. */
static unsigned char byte_of(unsigned number, size_t i)
{
	return (unsigned char)(number * 31 + i * 7 + i / 256);
}

static unsigned char *made(unsigned number, size_t n)
{
	unsigned char *bytes = datagram_room(n);

	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_of(number, i);
	return bytes;
}

/* The next n datagrams are those of these numbers and sizes, `step` numbers apart. */
static void expect(struct source *source, unsigned first, unsigned step, const size_t *sizes,
		   unsigned n)
{
	uint8_t batch = 0;
	unsigned came = 0;

	for (int turns = 0; came < n && turns < 2000; turns++) {
		struct datagram *pieces;
		int got;

		reactor_turn(5);
		while ((got = datagram_receive(source, &batch, &pieces)) > 0) {
			for (int p = 0; p < got; p++) {
				const struct datagram *piece = &pieces[p];
				size_t at = 0;

				do {
					size_t size = piece->n - at < piece->segment
							      ? piece->n - at
							      : piece->segment;

					assert_true(came < n);
					assert_int_equal(size, sizes[came]);
					for (size_t i = 0; i < size; i++)
						assert_int_equal(piece->bytes[at + i],
								 byte_of(first + came * step, i));
					at += size;
					came++;
				} while (at < piece->n);
			}
		}
	}
	assert_int_equal(came, n);
}

/* Runs of equal ones, shorter and longer ones, empty ones, large ones. */
static const size_t mixed[] = { 100,   100,  100,  50,	 50,	51, 0, 0, 1200,
				1200,  1200, 1200, 1199, 1,	0,  1, 9, 65000,
				65000, 1400, 1400, 3,	 40000, 2,  2, 2 };
enum { MIXED = sizeof mixed / sizeof mixed[0] };

static void test_mixed(void **state)
{
	needs("segment-messages");
	static const int families[] = { AF_INET, AF_INET6 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct source source;
		union inet at;
		bool connected = i / 2;

		receiver(&source, &at, families[i % 2]);
		int fd = sender(&at, connected);

		for (unsigned k = 0; k < MIXED; k++)
			datagram_send(fd, connected ? NULL : &at, NULL, NULL, 0, made(k, mixed[k]),
				      mixed[k]);
		expect(&source, 0, 1, mixed, MIXED);
		close(fd);
		reactor_forget(&source);
	}
}

/* Heads are copied, and belong to the datagram. */
static void test_dress(void **state)
{
	needs("segment-messages");
	static const size_t sizes[] = { 30, 30, 22, 10, 10 };
	struct source source;
	union inet at;

	(void)state;
	receiver(&source, &at, AF_INET);
	int fd = sender(&at, true);

	for (unsigned k = 0; k < 5; k++) {
		unsigned char dress[10];
		size_t n = sizes[k] - sizeof dress;
		unsigned char *bytes = datagram_room(n);

		for (size_t i = 0; i < sizes[k]; i++)
			*(i < sizeof dress ? &dress[i] : &bytes[i - sizeof dress]) = byte_of(k, i);
		datagram_send(fd, NULL, NULL, dress, sizeof dress, bytes, n);
		memset(dress, 0, sizeof dress);
	}
	expect(&source, 0, 1, sizes, 5);
	close(fd);
	reactor_forget(&source);
}

/* Datagrams to several destinations, by turns: each gets its own in order. */
static void test_several(void **state)
{
	needs("segment-messages");
	enum { PLACES = 5, EACH = 40 };
	struct source sources[PLACES];
	union inet at[PLACES];
	size_t sizes[EACH];

	(void)state;
	for (int p = 0; p < PLACES; p++)
		receiver(&sources[p], &at[p], AF_INET);
	int fd = sender(&at[0], false);

	for (unsigned k = 0; k < EACH; k++) {
		sizes[k] = 500 + k / 10;
		for (unsigned p = 0; p < PLACES; p++)
			datagram_send(fd, &at[p], NULL, NULL, 0, made(k * PLACES + p, sizes[k]),
				      sizes[k]);
	}
	for (unsigned p = 0; p < PLACES; p++) {
		expect(&sources[p], p, PLACES, sizes, EACH);
		reactor_forget(&sources[p]);
	}
	close(fd);
}

/* More in one turn than fits into any table: it leaves in between. */
static void test_many(void **state)
{
	needs("segment-messages");
	enum { MANY = 5000 };
	static size_t sizes[MANY];
	struct source source;
	union inet at;

	(void)state;
	receiver(&source, &at, AF_INET);
	int fd = sender(&at, true);

	for (unsigned k = 0; k < MANY; k++) {
		sizes[k] = k % 7 ? 20 : 19;
		datagram_send(fd, NULL, NULL, "", 0, made(k, sizes[k]), sizes[k]);
		if (k % 500 == 499) { /* no more than the socket holds */
			datagram_flush();
			expect(&source, k - 499, 1, sizes + k - 499, 500);
		}
	}
	close(fd);
	reactor_forget(&source);
}

/* The kernel refuses to cut what has no checksum: then they go one by one. */
static void test_refused(void **state)
{
	struct source source;
	union inet at;
	int on = 1;

	(void)state;
	receiver(&source, &at, AF_INET);
	int fd = sender(&at, true);

#ifdef SO_NO_CHECK
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
#else
	print_message("no way to make the kernel refuse\n");
	(void)on;
#endif
	for (int round = 0; round < 3; round++) {
		for (unsigned k = 0; k < MIXED; k++)
			datagram_send(fd, NULL, NULL, NULL, 0, made(k, mixed[k]), mixed[k]);
		expect(&source, 0, 1, mixed, MIXED);
	}
	close(fd);
	reactor_forget(&source);
}

/* Send eight; was any piece merged? */
static bool are_merged(int fd, const union inet *to, struct source *source)
{
	struct datagram *pieces;
	unsigned came = 0;
	bool merged = false;
	uint8_t batch = 0;
	int got;

	for (unsigned k = 0; k < 8; k++)
		datagram_send(fd, to, NULL, NULL, 0, made(k, 1000), 1000);
	for (int turns = 0; came < 8 && turns < 2000; turns++) {
		reactor_turn(5);
		while ((got = datagram_receive(source, &batch, &pieces)) > 0) {
			for (int p = 0; p < got; p++) {
				merged |= pieces[p].n > pieces[p].segment;
				came += pieces[p].n / 1000;
			}
		}
	}
	assert_int_equal(came, 8);
	return merged;
}

/* A destination to which nothing can be sent, which anybody may choose, says nothing about others. */
static void test_impossible(void **state)
{
	needs("segment-messages");
	struct source source;
	union inet at, none;

	(void)state;
	receiver(&source, &at, AF_INET);
	int fd = sender(&at, false);

	if (!are_merged(fd, &at, &source)) {
		print_message("SKIPPED test_impossible: this kernel merges nothing\n");
		skip();
	}
	none = at;
	none.v4.sin_port = 0;
	for (unsigned k = 0; k < 2; k++)
		datagram_send(fd, &none, NULL, NULL, 0, made(k, 1), 1);
	datagram_flush();
	assert_true(are_merged(fd, &at, &source));
	close(fd);
	reactor_forget(&source);
}

/* ICMP says that nobody is there: what is sent next goes all the same, and receiving goes on. */
static void test_nobody_there(void **state)
{
	needs("segment-messages");
	static const size_t sizes[] = { 5, 5, 5 };
	struct source source, nobody;
	union inet at, gone;

	(void)state;
	receiver(&source, &at, AF_INET);
	receiver(&nobody, &gone, AF_INET);
	reactor_forget(&nobody);
	int fd = sender(&gone, true);

	for (int i = 0; i < 3; i++) {
		datagram_send(fd, NULL, NULL, NULL, 0, made(9, 9), 9);
		reactor_turn(0);
	}
	assert_int_equal(socket_reconnect(fd, &at.any, inet_len(&at)), 0);
	for (unsigned k = 0; k < 3; k++)
		datagram_send(fd, NULL, NULL, NULL, 0, made(k, 5), 5);
	expect(&source, 0, 1, sizes, 3);
	close(fd);
	reactor_forget(&source);
}

/* An error waits on a socket together with datagrams: they are read all the same. */
static void test_errors_between(void **state)
{
	static const size_t sizes[] = { 4, 4, 4 };
	struct source far;
	union inet gone, self;
	socklen_t len = sizeof self;

	(void)state;
	receiver(&far, &gone, AF_INET);
	reactor_forget(&far);
	int fd = sender(&gone, true);

	assert_int_equal(reactor_watch_input(&far, fd, woken), 0);
	assert_int_equal(getsockname(fd, &self.any, &len), 0);
	int other = socket(AF_INET, SOCK_DGRAM, 0), on = 1;

	assert_int_equal(setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
	assert_int_equal(bind(other, &gone.any, sizeof gone.v4), 0); /* who was gone is back, */
	for (unsigned k = 0; k < 3; k++) {
		unsigned char bytes[4];

		for (size_t i = 0; i < 4; i++)
			bytes[i] = byte_of(k, i);
		assert_int_equal(sendto(other, bytes, 4, 0, &self.any, len), 4);
		if (k == 1) { /* and gone again, so that an error comes in between */
			close(other);
			assert_int_equal(send(fd, "x", 1, 0), 1);
			other = socket(AF_INET, SOCK_DGRAM, 0);
			assert_int_equal(bind(other, &gone.any, sizeof gone.v4), 0);
		}
	}
	expect(&far, 0, 1, sizes, 3);
	close(other);
	reactor_forget(&far);
}

/* Too large for any packet: nothing of it arrives, and what comes after it does. */
static void test_too_large(void **state)
{
	static const size_t sizes[] = { 65507, 3 };
	struct source source;
	union inet at;

	(void)state;
	receiver(&source, &at, AF_INET);
	int fd = sender(&at, true);

	datagram_send(fd, NULL, NULL, NULL, 0, made(0, 65507), 65507);
	datagram_send(fd, NULL, NULL, "x", 1, made(7, 65507), 65507);
	datagram_send(fd, NULL, NULL, NULL, 0, made(1, 3), 3);
	expect(&source, 0, 1, sizes, 2);
	close(fd);
	reactor_forget(&source);
}

/* A socket that is closed in the same turn: what was gathered for it has left before. */
static void test_leave(void **state)
{
	static const size_t sizes[] = { 8 };
	struct source source;
	union inet at;

	(void)state;
	receiver(&source, &at, AF_INET);
	int fd = sender(&at, true);

	datagram_send(fd, NULL, NULL, NULL, 0, made(0, 8), 8);
	datagram_leave(fd);
	close(fd);
	expect(&source, 0, 1, sizes, 1);
	reactor_forget(&source);
}

/* On any address a datagram says where it was sent to, and the answer leaves from there. */
static void test_origin(void **state)
{
	union inet any = { .v4.sin_family = AF_INET }, to, from;
	struct source source = { .fd = -1 };
	struct datagram *pieces;
	socklen_t len = sizeof to;
	uint8_t batch = 0;
	char byte;

	(void)state;
	int fd = socket_receive(&any.any, inet_len(&any), &options, true, false), got = 0;
	int app = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0 && app >= 0);
	assert_int_equal(getsockname(fd, &to.any, &len), 0);
	to.v4.sin_addr.s_addr = htonl(0x7f000102);
	assert_int_equal(reactor_watch_input(&source, fd, woken), 0);
	assert_int_equal(sendto(app, "x", 1, 0, &to.any, sizeof to.v4), 1);
	for (int i = 0; got == 0 && i < 100; i++) {
		reactor_turn(10);
		got = datagram_receive(&source, &batch, &pieces);
	}
	assert_int_equal(got, 1);
	assert_int_equal(pieces[0].to.family, 4);
	assert_memory_equal(pieces[0].to.ip, &to.v4.sin_addr, 4);
	datagram_send(fd, &pieces[0].from, &pieces[0].to, NULL, 0, pieces[0].bytes, 1);
	reactor_turn(0);

	struct pollfd look = { .fd = app, .events = POLLIN };
	assert_int_equal(poll(&look, 1, 60000), 1);
	len = sizeof from;
	assert_int_equal(recvfrom(app, &byte, 1, 0, &from.any, &len), 1);
	assert_true(inet_equal(&from, &to));
	close(app);
	reactor_forget(&source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mixed, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_dress, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_several, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_many, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_refused, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_impossible, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_nobody_there, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_errors_between, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_too_large, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_leave, open_all, close_all),
		cmocka_unit_test_setup_teardown(test_origin, open_all, close_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
