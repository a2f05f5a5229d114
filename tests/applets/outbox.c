/* applets/outbox.c: who does not read holds up nobody, and gets nothing more. */
#include "applets/outbox.h"

#include "core/reactor.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { LONG = 60000, CLIENTS = 40 };

static uint64_t now = 1000;

static uint64_t tell(void)
{
	return now;
}

struct client {
	int fd;
	struct sender at;
};

static char home[] = "/tmp/ss-outbox-XXXXXX";
static char bytes[LONG];

static struct client bind_client(unsigned number)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct client client = { .fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0) };

	snprintf(un.sun_path, sizeof un.sun_path, "%s/%u", home, number);
	assert_int_equal(bind(client.fd, (struct sockaddr *)&un, sizeof un), 0);
	client.at.len = sizeof un;
	memcpy(&client.at.at, &un, sizeof un);
	return client;
}

static void end_client(struct client *client)
{
	close(client->fd);
	unlink(((struct sockaddr_un *)(void *)&client->at.at)->sun_path);
}

/* What it finds: datagrams. */
static unsigned reads(const struct client *client)
{
	static char buffer[LONG + 1];
	unsigned n = 0;

	while (recv(client->fd, buffer, sizeof buffer, 0) >= 0)
		n++;
	return n;
}

static void pass(unsigned ms)
{
	now += ms;
	reactor_turn(0);
}

/* All that nobody takes is dropped; one answer of each may have been sent after half of the time. */
static void pass_all(const struct outbox *outbox)
{
	pass(6000);
	pass(6000);
	assert_int_equal(outbox->unsent, 0);
	assert_int_equal(outbox->unsent_bytes, 0);
}

static void open_all(struct outbox *outbox, int room)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_non_null(mkdtemp(home));
	reactor_clock(tell);
	assert_int_equal(reactor_open(), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
	outbox_open(outbox, fd);
}

static void close_all(struct outbox *outbox)
{
	outbox_close(outbox);
	close(outbox->fd);
	reactor_close();
	reactor_clock(NULL);
	assert_int_equal(rmdir(home), 0);
	memcpy(home + sizeof home - 7, "XXXXXX", 6);
}

/* Short answers fill its queue, long ones our buffer; the other one gets what is its own at once, all the time. */
static void test_deaf(void **state)
{
	struct outbox outbox;
	struct client deaf, other;
	size_t n = *(const size_t *)*state;

	open_all(&outbox, 200000);
	deaf = bind_client(0);
	other = bind_client(1);
	for (unsigned i = 0; i < 2000; i++) {
		outbox_send(&outbox, &deaf.at, bytes, n);
		outbox_send(&outbox, &other.at, bytes, i % 100 ? 2 : LONG);
		assert_int_equal(reads(&other), 1);
		pass(i % 10);
	}
	pass_all(&outbox);
	end_client(&deaf);
	end_client(&other);
	close_all(&outbox);
}

/* Both are sent many long ones at once: one takes them. */
static void test_together(void **state)
{
	struct outbox outbox;
	struct client deaf, other;
	unsigned taken = 0;
	bool last = *(const bool *)*state;

	open_all(&outbox, 200000);
	deaf = bind_client(0);
	other = bind_client(1);
	for (unsigned i = 0; i < 50; i++) {
		outbox_send(&outbox, last ? &other.at : &deaf.at, bytes, LONG);
		outbox_send(&outbox, last ? &deaf.at : &other.at, bytes, LONG);
	}
	for (unsigned i = 0; i < 900 && taken < 50; i++) {
		taken += reads(&other);
		pass(5);
	}
	assert_int_equal(taken, 50);
	pass_all(&outbox);
	/* it begins to read: what was sent is there, and more may be */
	assert_in_range(reads(&deaf), 1, 10);
	outbox_send(&outbox, &deaf.at, bytes, LONG);
	assert_int_equal(reads(&deaf), 1);
	end_client(&deaf);
	end_client(&other);
	close_all(&outbox);
}

/* In the order in which they were sent, and all of them, though they do not fit at once. */
static void test_order(void **state)
{
	struct outbox outbox;
	struct client client;
	char got[8];

	(void)state;
	open_all(&outbox, 200000);
	client = bind_client(0);
	for (unsigned i = 0; i < 200; i++)
		outbox_send(&outbox, &client.at, (char[]){ (char)i }, 1);
	for (unsigned i = 0; i < 200; i++) {
		if (recv(client.fd, got, sizeof got, 0) < 0) {
			pass(5);
			assert_int_equal(recv(client.fd, got, sizeof got, 0), 1);
		}
		assert_int_equal((unsigned char)got[0], i);
	}
	end_client(&client);
	close_all(&outbox);
}

/* More of them than can be known. Who goes away leaves nothing behind. */
static void test_many(void **state)
{
	struct outbox outbox;
	struct client clients[CLIENTS], other;

	(void)state;
	open_all(&outbox, 4 << 20);
	for (unsigned i = 0; i < CLIENTS; i++)
		clients[i] = bind_client(i);
	other = bind_client(CLIENTS);
	for (unsigned i = 0; i < 20 * CLIENTS; i++)
		outbox_send(&outbox, &clients[i % CLIENTS].at, bytes, 1000);
	for (unsigned i = 0; i < 1000; i++) {
		outbox_send(&outbox, &other.at, bytes, LONG);
		assert_int_equal(reads(&other), 1);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		end_client(&clients[i]);
	pass_all(&outbox);
	outbox_send(&outbox, &other.at, bytes, LONG);
	assert_int_equal(reads(&other), 1);
	assert_int_equal(outbox.unsent, 0);
	assert_int_equal(outbox.unknown, 0);
	end_client(&other);
	close_all(&outbox);
}

int main(void)
{
	static size_t few = 2, many = LONG;
	static bool yes = true, no = false;
	const struct CMUnitTest tests[] = {
		{ "test_deaf, short answers", test_deaf, NULL, NULL, &few },
		{ "test_deaf, long answers", test_deaf, NULL, NULL, &many },
		{ "test_together", test_together, NULL, NULL, &no },
		{ "test_together, the deaf one after the other", test_together, NULL, NULL, &yes },
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
