/*
 * A small DNS server for tests, on the reactor of the program that tests: UDP and TCP on one port
 * of 127.0.0.1. The first label of a name says how it is answered:
 *
 *     both a4 a6 nodata nx nxsoa servfail refused formerr drop   as they say; a4 has no AAAA
 *     many60 (cut over UDP) alias (three CNAMEs) short (lives 1 s) zero (lives 0 s) long (a week)
 *     slow (after 200 ms) half (AAAA never comes) brokenaaaa (SERVFAIL for AAAA)
 *     mapped (AAAA ::ffff:127.0.0.1) cut1..cut9 garbage wrongid wrongname
 *     anything else: A 192.0.2.1
 *
 * It counts the questions, and those out at once. Included by one test only.
 */
#ifndef TESTS_NET_DNS_STUB_H
#define TESTS_NET_DNS_STUB_H

#include "core/bytes.h"
#include "core/reactor.h"
#include "tests/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STUB_LATE = 64, STUB_CONNECTIONS = 8, STUB_ANSWER = 4096 };

struct stub_late {
	struct timer timer;
	struct sockaddr_in to;
	unsigned char bytes[512];
	size_t n;
};

struct stub_connection {
	struct source source;
	unsigned char bytes[1024];
	size_t n;
};

static struct stub {
	struct source udp, tcp;
	unsigned short port;
	unsigned questions, tcp_questions;
	char last[256];
	struct stub_late late[STUB_LATE];
	struct stub_connection connections[STUB_CONNECTIONS];
} stub;

struct stub_question {
	char name[256];
	const unsigned char *end; /* behind the question */
	unsigned type;
};

struct stub_writer {
	unsigned char *bytes;
	size_t n;
	unsigned answers, authorities;
};

static int stub_read(struct stub_question *q, const unsigned char *in, size_t n)
{
	size_t at = 12, len = 0;

	if (n < 17)
		return -1;
	while (at < n && in[at] != 0 && at + 1 + in[at] < n && len + in[at] < 250) {
		memcpy(q->name + len, in + at + 1, in[at]);
		len += in[at];
		q->name[len++] = '.';
		at += 1U + in[at];
	}
	if (at + 5 > n || in[at] != 0)
		return -1;
	q->name[len > 0 ? len - 1 : 0] = '\0';
	q->type = get_u16be(in + at + 1);
	q->end = in + at + 5;
	return 0;
}

/* A record of the name at `owner` (an offset in the message). */
static void stub_record(struct stub_writer *w, size_t owner, unsigned type, uint32_t ttl,
			const void *data, size_t n)
{
	unsigned char *at = w->bytes + w->n;

	assert_true(w->n + 12 + n <= STUB_ANSWER);
	put_u16be(at, (uint16_t)(0xc000 | owner));
	put_u16be(at + 2, (uint16_t)type);
	put_u16be(at + 4, 1);
	put_u32be(at + 6, ttl);
	put_u16be(at + 10, (uint16_t)n);
	memcpy(at + 12, data, n);
	w->n += 12 + n;
}

static void stub_address(struct stub_writer *w, size_t owner, unsigned type, uint32_t ttl,
			 unsigned char last)
{
	unsigned char v4[4] = { 192, 0, 2, last }, v6[16] = { 0x20, 1, 0xd, 0xb8, [15] = last };

	stub_record(w, owner, type, ttl, type == 1 ? v4 : v6, type == 1 ? 4 : 16);
	w->answers++;
}

static void stub_soa(struct stub_writer *w, uint32_t ttl, uint32_t minimum)
{
	unsigned char data[22] = { 0 };

	put_u32be(data + 18, minimum);
	stub_record(w, 12, 6, ttl, data, sizeof(data));
	w->authorities++;
}

/* name -> x1 -> x2 -> x3, whose address it is. */
static void stub_alias(struct stub_writer *w, unsigned type)
{
	size_t owner = 12;

	for (unsigned char i = 1; i <= 3; i++) {
		unsigned char target[4] = { 2, 'x', (unsigned char)('0' + i), 0 };
		stub_record(w, owner, 5, i == 2 ? 2 : 60, target, sizeof(target));
		w->answers++;
		owner = w->n - sizeof(target);
	}
	stub_address(w, owner, type, 60, 9);
}

static bool stub_is(const char *name, const char *label)
{
	size_t n = strlen(label);
	return strncmp(name, label, n) == 0 && (name[n] == '.' || name[n] == '\0');
}

static unsigned stub_rcode(const char *name, unsigned type)
{
	static const struct {
		const char *label;
		unsigned rcode;
	} codes[] = { { "nx", 3 },	{ "nxsoa", 3 },	  { "servfail", 2 },
		      { "refused", 5 }, { "formerr", 1 }, { "notimp", 4 } };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (stub_is(name, codes[i].label))
			return codes[i].rcode;
	return stub_is(name, "brokenaaaa") && type == 28 ? 2 : 0;
}

static void stub_records(struct stub_writer *w, const char *name, unsigned type)
{
	static const unsigned char mapped[16] = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 };
	uint32_t ttl = stub_is(name, "short") ? 1 : stub_is(name, "zero") ? 0 : 60;

	if (stub_is(name, "nxsoa"))
		stub_soa(w, 600, 1);
	else if (stub_rcode(name, type) != 0 || stub_is(name, "nodata"))
		return;
	else if (stub_is(name, "both") || stub_is(name, "half") || stub_is(name, "slow"))
		stub_address(w, 12, type, ttl, 1);
	else if (stub_is(name, "alias"))
		stub_alias(w, type);
	else if (stub_is(name, "mapped") && type == 28)
		stub_record(w, 12, 28, 60, mapped, 16), w->answers++;
	else if (stub_is(name, "a6") && type == 28)
		stub_address(w, 12, type, ttl, 6);
	else if (stub_is(name, "long") && type == 1)
		stub_address(w, 12, type, 7 * 86400, 1);
	else if (stub_is(name, "many60") && type == 1)
		for (unsigned char i = 1; i <= 60; i++)
			stub_address(w, 12, type, ttl, i);
	else if (type == 1 && !stub_is(name, "a6") && !stub_is(name, "mapped"))
		stub_address(w, 12, type, ttl, 1);
}

/* How malformed names come out: cut to fewer bytes, or filled with what is no DNS. */
static void stub_spoil(struct stub_writer *w, const char *name)
{
	if (strncmp(name, "cut", 3) == 0 && name[3] >= '1' && name[3] <= '9')
		w->n -= (unsigned)(name[3] - '0');
	if (stub_is(name, "garbage"))
		memset(w->bytes + 12 + strlen(name) + 6, 0xff, w->n - 12 - strlen(name) - 6);
	if (stub_is(name, "wrongid"))
		w->bytes[0] ^= 1;
	if (stub_is(name, "wrongname"))
		w->bytes[13] ^= 1;
}

/* The answer to a question, 0 for none. */
static size_t stub_answer(unsigned char *out, const unsigned char *in, size_t n, bool tcp)
{
	struct stub_question q;
	struct stub_writer w = { .bytes = out };

	if (stub_read(&q, in, n) < 0)
		return 0;
	stub.questions++;
	stub.tcp_questions += tcp;
	snprintf(stub.last, sizeof(stub.last), "%s", q.name);
	if (stub_is(q.name, "drop") || (stub_is(q.name, "half") && q.type == 28))
		return 0;
	w.n = (size_t)(q.end - in);
	memcpy(out, in, w.n);
	memset(out + 4, 0, 8);
	put_u16be(out + 2, (uint16_t)(0x8180 | stub_rcode(q.name, q.type)));
	put_u16be(out + 4, 1);
	stub_records(&w, q.name, q.type);
	if (w.n > 512 && !tcp) {
		w.n = (size_t)(q.end - in);
		w.answers = 0;
		out[2] |= 2; /* truncated */
	}
	put_u16be(out + 6, (uint16_t)w.answers);
	put_u16be(out + 8, (uint16_t)w.authorities);
	stub_spoil(&w, q.name);
	return w.n;
}

static void stub_send_late(struct timer *timer)
{
	struct stub_late *late = container_of(timer, struct stub_late, timer);

	sendto(stub.udp.fd, late->bytes, late->n, 0, (struct sockaddr *)&late->to,
	       sizeof(late->to));
	late->n = 0;
}

static void stub_later(const unsigned char *bytes, size_t n, const struct sockaddr_in *to)
{
	for (unsigned i = 0; i < STUB_LATE; i++) {
		struct stub_late *late = &stub.late[i];
		if (late->n > 0)
			continue;
		timer_init(&late->timer, stub_send_late);
		memcpy(late->bytes, bytes, n);
		late->n = n;
		late->to = *to;
		reactor_after(&late->timer, 200);
		return;
	}
}

static void stub_udp(struct source *source)
{
	unsigned char in[1024], out[STUB_ANSWER];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(source->fd, in, sizeof(in), 0, (struct sockaddr *)&from, &len)) >= 0) {
		size_t answer = stub_answer(out, in, (size_t)n, false);
		if (answer > 0 && stub_is(stub.last, "slow"))
			stub_later(out, answer, &from);
		else if (answer > 0)
			sendto(source->fd, out, answer, 0, (struct sockaddr *)&from, len);
	}
	source->ready = 0;
}

/* Questions over TCP; answers go out in small pieces. */
static void stub_stream(struct source *source)
{
	struct stub_connection *c = container_of(source, struct stub_connection, source);
	unsigned char out[STUB_ANSWER];
	ssize_t n;

	while ((n = read(source->fd, c->bytes + c->n, sizeof(c->bytes) - c->n)) > 0) {
		c->n += (size_t)n;
		while (c->n >= 2 && c->n >= 2U + get_u16be(c->bytes)) {
			size_t len = get_u16be(c->bytes);
			size_t answer = stub_answer(out + 2, c->bytes + 2, len, true);
			put_u16be(out, (uint16_t)answer);
			for (size_t at = 0; at < answer + 2; at += 100) {
				size_t piece = answer + 2 - at < 100 ? answer + 2 - at : 100;
				assert_int_equal(write(source->fd, out + at, piece), piece);
			}
			c->n -= 2 + len;
			memmove(c->bytes, c->bytes + 2 + len, c->n);
		}
	}
	source->ready = 0;
	if (n == 0)
		reactor_forget(source);
}

static void stub_accept(struct source *source)
{
	int fd;

	while ((fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		unsigned i = 0;
		while (i < STUB_CONNECTIONS && stub.connections[i].source.fd >= 0)
			i++;
		assert_true(i < STUB_CONNECTIONS);
		stub.connections[i].n = 0;
		assert_int_equal(reactor_watch(&stub.connections[i].source, fd, 0, stub_stream), 0);
	}
	source->ready = 0;
}

static int stub_socket(int type, unsigned short port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, room = 1 << 20;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Both protocols on one port that was free. */
static void stub_open(void)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	int udp = -1, tcp = -1;

	for (unsigned tries = 0; tries < 20 && tcp < 0; tries++) {
		if (udp >= 0)
			close(udp);
		udp = stub_socket(SOCK_DGRAM, 0);
		assert_true(udp >= 0);
		getsockname(udp, (struct sockaddr *)&at, &len);
		tcp = stub_socket(SOCK_STREAM, ntohs(at.sin_port));
	}
	assert_true(tcp >= 0);
	assert_int_equal(listen(tcp, 8), 0);
	stub.questions = stub.tcp_questions = 0;
	stub.port = ntohs(at.sin_port);
	for (unsigned i = 0; i < STUB_CONNECTIONS; i++)
		stub.connections[i].source.fd = -1;
	assert_int_equal(reactor_watch(&stub.udp, udp, 0, stub_udp), 0);
	assert_int_equal(reactor_watch(&stub.tcp, tcp, 0, stub_accept), 0);
}

static void stub_close(void)
{
	reactor_forget(&stub.udp);
	reactor_forget(&stub.tcp);
	for (unsigned i = 0; i < STUB_CONNECTIONS; i++)
		reactor_forget(&stub.connections[i].source);
	for (unsigned i = 0; i < STUB_LATE; i++)
		if (stub.late[i].n > 0)
			reactor_cancel(&stub.late[i].timer);
	reactor_turn(0); /* the queue of the woken is cleared of them */
	memset(&stub, 0, sizeof(stub));
}

#endif
