/*
 * See probe.h. Over TCP: net/dial.c connects, the first flight carries the question, and the first
 * bytes that open are the answer. Over UDP: one packet each way; what may be lost is asked again.
 * Whatever wakes us leads to look().
 */
#include "applets/probe.h"

#include "core/bytes.h"
#include "core/fd.h"
#include "core/reactor.h"
#include "net/dns_message.h"

#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	AGAIN = 1000,	/* ms until a datagram counts as lost */
	QUESTION = 512, /* bytes; a name has up to 255 */
	TELLS = 5,  /* bytes by which an answer over TCP is known: HTTP/, or length, id and flags */
	HEADER = 12 /* of DNS */
};

static uint64_t microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* At least 1: 0 means never. */
static void note(const struct probe *p, unsigned *when)
{
	if (!*when)
		*when = (unsigned)(microseconds() - p->began) + 1;
}

static bool is_over(const struct probe *p)
{
	return p->answered || p->why[0];
}

__attribute__((format(printf, 2, 3))) static void fail(struct probe *p, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(p->why, sizeof(p->why), format, arguments);
	va_end(arguments);
}

/* --- what is asked */

/* Every name server has an answer to that, if only that it has none. */
static size_t ask_names(const struct probe *p, unsigned char *to)
{
	return dns_write_question(to, p->id, "example.com", DNS_A);
}

static size_t question(const struct probe *p, unsigned char to[QUESTION])
{
	size_t n;

	if (p->udp)
		return ask_names(p, to);
	if (p->web)
		return (size_t)snprintf((char *)to, QUESTION, "HEAD / HTTP/1.0\r\n\r\n");
	n = ask_names(p, to + 2);
	put_u16be(to, (uint16_t)n);
	return n + 2;
}

/* May this be the byte at `place` of an answer? Stream ciphers and none open whatever comes, and
 * what somebody sends back as it was sent opens with every method of before 2022. */
static bool is_expected(const struct probe *p, size_t place, unsigned char byte)
{
	static const char web[] = "HTTP/";

	if (p->web && !p->udp)
		return place >= sizeof(web) - 1 || byte == (unsigned char)web[place];
	if (!p->udp && place < 2)
		return true; /* the length */
	switch (p->udp ? place : place - 2) {
	case 0:
		return byte == p->id >> 8;
	case 1:
		return byte == (p->id & 0xff);
	case 2:
		return byte & 0x80; /* RFC 1035, 4.1.1: QR */
	default:
		return true;
	}
}

/* Bytes from `place` on; how many of them may be an answer. */
static size_t count_expected(const struct probe *p, size_t place, const unsigned char *bytes,
			     size_t n)
{
	size_t i = 0;

	while (i < n && is_expected(p, place + i, bytes[i]))
		i++;
	return i;
}

/* --- TCP */

static void send_request(struct probe *p)
{
	unsigned char text[QUESTION];
	size_t n = question(p, text);

	n = wire_first(p->key, &p->up, p->target, text, n, p->buffer);
	wire_answers(&p->down, &p->up);
	if (send(p->far.fd, p->buffer, n, MSG_NOSIGNAL) != (ssize_t)n)
		fail(p, "the request cannot be sent: %s", strerror(errno));
}

static void connect_to(struct probe *p, void (*wake)(struct source *))
{
	enum step step = dial_run(&p->dial, &p->far, wake);

	if (p->dial.lookup.status == RESOLVE_OK && p->hop->type == ENDPOINT_NAME)
		note(p, &p->looked_up);
	if (step == WAIT)
		return;
	if (step == FAIL && p->dial.lookup.status == RESOLVE_NOT_FOUND)
		fail(p, "there is no such name, or it has no address");
	else if (step == FAIL && p->dial.lookup.status == RESOLVE_FAILED)
		fail(p, "no name server answers");
	else if (step == FAIL)
		fail(p, "cannot connect: %s", strerror(p->dial.error));
	if (step == FAIL)
		return;
	note(p, &p->connected);
	send_request(p);
}

/* What has been opened. It is an answer when as much of it is there as tells. */
static void read_answer(struct probe *p, const struct iovec *iov, size_t left)
{
	for (; left > 0; iov++) {
		size_t n = iov->iov_len < left ? iov->iov_len : left;

		if (count_expected(p, p->told, iov->iov_base, n) < n) {
			fail(p,
			     "what comes back is no answer of a %s server: method or password "
			     "are others, or the target is something else",
			     p->web ? "web" : "name");
			return;
		}
		p->told += n;
		left -= n;
	}
	if (p->told >= TELLS)
		note(p, &p->answered);
}

/* Open what has come; the unfinished rest stays in front. */
static void open_bytes(struct probe *p)
{
	struct iovec iov[WIRE_IOV];
	struct wire_opened opened;

	if (wire_open(p->key, &p->down, p->buffer, p->held, iov, &opened) < 0) {
		fail(p, "what comes back is not sealed with this method and password");
		return;
	}
	read_answer(p, iov, opened.payload);
	p->held -= opened.used;
	memmove(p->buffer, p->buffer + opened.used, p->held);
}

static void receive(struct probe *p)
{
	while (!is_over(p)) {
		ssize_t n = read(p->far.fd, p->buffer + p->held, sizeof(p->buffer) - p->held);

		if (n < 0 && errno == EAGAIN) {
			p->far.ready &= (uint8_t)~READY_IN;
			return;
		}
		if (n < 0)
			fail(p, "no answer: %s", strerror(errno));
		else if (n == 0)
			fail(p, "the server has closed the connection without an answer: it cannot "
				"reach the target, or may not, or method or password are others");
		else
			p->held += (size_t)n;
		if (n > 0)
			open_bytes(p);
	}
}

/* --- UDP */

static void send_datagram(struct probe *p)
{
	unsigned char *payload = p->buffer + PACKET_HEAD, *packet;
	size_t n;

	packet = packet_seal(p->key, &p->own, NULL, p->target, payload, question(p, payload), &n);
	/* A port that nobody listens at is told by the answer to an earlier one. */
	if (send(p->far.fd, packet, n, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
		fail(p, "the datagram cannot be sent: %s", strerror(errno));
	reactor_after(&p->again, AGAIN);
}

static void open_socket(struct probe *p, void (*wake)(struct source *))
{
	struct sockaddr_storage to;
	socklen_t len = endpoint_socket(p->hop, &to);
	int fd;

	if (p->hop->type == ENDPOINT_NAME) {
		if (p->lookup.status == RESOLVE_PENDING)
			return;
		if (p->lookup.status != RESOLVE_OK) {
			fail(p, p->lookup.status == RESOLVE_NOT_FOUND
					? "there is no such name, or it has no address"
					: "no name server answers");
			return;
		}
		note(p, &p->looked_up);
		len = address_socket(&p->lookup.answer->addresses[0], p->hop->port, &to);
	}
	fd = socket_send_to((struct sockaddr *)&to, len, true, p->options, false);
	if (fd < 0 || reactor_watch_input(&p->far, fd, wake) < 0) {
		fail(p, "no socket for datagrams: %s", strerror(errno));
		return;
	}
	send_datagram(p);
}

static void receive_datagram(struct probe *p)
{
	struct packet_opened opened;

	while (!is_over(p)) {
		ssize_t n = recv(p->far.fd, p->buffer, sizeof(p->buffer), 0);

		if (n < 0 && errno == EAGAIN) {
			p->far.ready &= (uint8_t)~READY_IN;
			return;
		}
		if (n < 0)
			fail(p, "no answer: %s", strerror(errno));
		else if (packet_open_answer(p->key, &p->own, p->peers, reactor_now(), p->buffer,
					    (size_t)n, &opened) == 0 &&
			 opened.n >= HEADER &&
			 count_expected(p, 0, opened.payload, HEADER) == HEADER)
			note(p, &p->answered);
	}
}

/* --- both */

static void woken(struct source *source);

static void look(struct probe *p)
{
	if (is_over(p))
		return;
	if (p->far.fd < 0 && p->udp)
		open_socket(p, woken);
	else if (!p->udp && !p->connected)
		connect_to(p, woken);
	if (p->udp && p->far.fd >= 0)
		receive_datagram(p);
	else if (p->connected)
		receive(p);
}

static void woken(struct source *source)
{
	look(container_of(source, struct probe, far));
}

static void changed(struct dial *dial)
{
	look(container_of(dial, struct probe, dial));
}

static void looked_up(struct lookup *lookup)
{
	look(container_of(lookup, struct probe, lookup));
}

static void lost(struct timer *timer)
{
	struct probe *p = container_of(timer, struct probe, again);

	if (!is_over(p))
		send_datagram(p);
}

/* Servers are silent about what does not authenticate. */
static void too_late(struct timer *timer)
{
	struct probe *p = container_of(timer, struct probe, limit);

	if (is_over(p))
		return;
	if (p->udp ? p->far.fd < 0 : !p->connected)
		fail(p, "nothing after %u ms", p->patience);
	else
		fail(p,
		     "no answer after %u ms: method, password or clock are others than the "
		     "server's, or it cannot reach the target",
		     p->patience);
}

static void begin(struct probe *p)
{
	p->far.fd = -1;
	timer_init(&p->limit, too_late);
	timer_init(&p->again, lost);
	p->began = microseconds();
	p->id = (uint16_t)randombytes_random();
	reactor_after(&p->limit, p->patience);
	if (!p->udp)
		dial_start(&p->dial, p->hop, p->options, 0, true, changed);
	else if (p->hop->type == ENDPOINT_NAME)
		p->lookup.status = (uint8_t)resolve_start(&p->lookup, p->hop->host, looked_up);
	look(p);
}

int probe_run(struct probe *p)
{
	begin(p);
	while (!is_over(p) && !reactor_stopping())
		reactor_turn(-1);
	if (!is_over(p))
		fail(p, "interrupted");
	dial_end(&p->dial);
	resolve_release(&p->lookup);
	reactor_cancel(&p->limit);
	reactor_cancel(&p->again);
	reactor_forget(&p->far);
	wire_wipe(&p->up);
	wire_wipe(&p->down);
	sodium_memzero(&p->own, sizeof(p->own));
	sodium_memzero(p->peers, sizeof(p->peers));
	return p->answered ? 0 : -1;
}
