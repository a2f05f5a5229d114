/*
 * Datagrams in bursts: many are received with one call, what is sent is gathered until the end of
 * the turn of the reactor and leaves with as few calls as the kernel allows. A run of equal ones
 * between the same two sockets is one piece where the kernel can merge and cut (GRO, GSO); without
 * that, or where a piece is refused, each is a datagram of its own. Nothing here knows what is in
 * them. The memory they lie in is the process's, and is given back when traffic rests.
 */
#ifndef NET_DATAGRAM_H
#define NET_DATAGRAM_H

#include "core/reactor.h"

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

enum {
	DATAGRAM_MAX = 65507,	 /* bytes of payload that fit into the largest IPv4 packet */
	DATAGRAM_HEAD = 1408,	 /* bytes that may be written to in front of what was received, */
	DATAGRAM_TAIL = 64,	 /* and behind it */
	DATAGRAM_BURST = 64,	 /* received at a time */
	DATAGRAM_DRESS_MAX = 264 /* bytes of the head of one that is sent */
};

/* Where a datagram comes from or goes to. */
union inet {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The address of ours that it came to, where the socket listens on any: answers leave from
 * there. Or, where it takes datagrams to others, the address of whom it was for. */
struct origin {
	uint8_t family; /* 4 or 6; 0: not known, the socket's own */
	uint8_t ip[16];
	uint16_t port;	    /* of that other; else 0 */
	uint32_t interface; /* of a link-local address; else 0 */
};

/* One piece that was received: n bytes, which are datagrams of `segment` bytes each, the last
 * may be shorter. */
struct datagram {
	unsigned char *bytes;
	uint32_t n, segment;
	union inet from;
	struct origin to;
};

struct address;
struct endpoint;

socklen_t inet_len(const union inet *inet);
bool inet_equal(const union inet *a, const union inet *b);

/* What to send to. False: it has no address. */
bool inet_from_address(const struct address *address, uint16_t port, union inet *to);
bool inet_from_endpoint(const struct endpoint *endpoint, union inet *to);

/* Reserve the memory. 0, or -1 with errno. */
int datagram_open(void);
void datagram_close(void);

/* What the socket has now: how many pieces, 0: none (its readiness is cleared then). They stay
 * until the next call. *batch, zeroed at first, remembers how many come at a time. Errors that
 * ICMP brings are swallowed: they end nothing. */
int datagram_receive(struct source *source, uint8_t *batch, struct datagram **pieces);

/* Room for n bytes with head and tail, until the end of the turn: for what must be moved to be
 * sealed. */
unsigned char *datagram_room(size_t n);

/* Send dress[0..dress_len) followed by bytes[0..n), from socket `fd`, at the end of the turn:
 * the bytes lie in what was received, or in datagram_room(); the dress is copied. `to` NULL: the
 * socket is connected; `from` NULL: from the socket's own address. What the kernel does not take
 * then is lost. */
void datagram_send(int fd, const union inet *to, const struct origin *from, const void *dress,
		   size_t dress_len, unsigned char *bytes, size_t n);

/* Send now what was gathered. */
void datagram_flush(void);

/* The socket is about to be closed: what was gathered for it must go before. */
void datagram_leave(int fd);

/* A datagram was not sent because it is too large; it is counted. */
void datagram_too_large(void);

/* Once a second: give memory back after a peak, and say what was too large. */
void datagram_rest(uint64_t now);

/* The seam to the system: datagram_linux.c, datagram_bsd.c. */

/* What leaves as one piece. */
struct outgoing {
	struct iovec *iov;
	unsigned iovs;
	uint16_t segment; /* to be cut into datagrams of this size; 0: it is one */
	const union inet *to;
	const struct origin *from;
};

/* Receive into pieces[i].bytes, up to 65,535 bytes each, at most `max` <= DATAGRAM_BURST: how
 * many, or -1 with errno. */
int batch_receive(int fd, struct datagram *pieces, int max);

/* Send in order: how many went, or -1 with errno if the first did not. n <= DATAGRAM_BURST. */
int batch_send(int fd, const struct outgoing *out, int n);

#endif
