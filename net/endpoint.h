/*
 * Where a connection goes: an address or a host name, and a port. The only parser and printer
 * of type/host/port in the program, for the wire (as in SOCKS5: RFC 1928, 5), for sockets and
 * for people. No I/O.
 */
#ifndef NET_ENDPOINT_H
#define NET_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum endpoint_type { ENDPOINT_NONE = 0, ENDPOINT_IPV4 = 1, ENDPOINT_NAME = 3, ENDPOINT_IPV6 = 4 };

enum {
	ENDPOINT_NAME_MAX = 255,
	ENDPOINT_WIRE_MAX = 259, /* type, length, name, port */
	ENDPOINT_TEXT = 300	 /* "[v6]:port", "name:port" and the NUL */
};

struct endpoint {
	uint16_t port;
	uint8_t type;			  /* enum endpoint_type: the ATYP of the wire */
	uint8_t len;			  /* bytes of host: 4, 16 or the name's */
	char host[ENDPOINT_NAME_MAX + 1]; /* address in network order, or the name and a NUL */
};

/* An IP address without a port: what a name resolves to. */
struct address {
	uint8_t family; /* 4 or 6 */
	uint8_t ip[16];
};

/* Read type, host and port from the wire: > 0 bytes used, 0 need more, -1 malformed (type, empty
 * name, NUL inside the name). The name is taken as sent; see endpoint_resolvable(). */
int endpoint_read(struct endpoint *endpoint, const unsigned char *bytes, size_t n);

/* Write them to `to`, which has ENDPOINT_WIRE_MAX bytes; the bytes written. */
size_t endpoint_write(const struct endpoint *endpoint, unsigned char *to);

/* A name that may be given to the resolver or dialled: a literal, or labels of 1..63 letters,
 * digits, '-' and '_' that neither start nor end with '-'; at most 253 bytes and a final dot. */
bool endpoint_resolvable(const struct endpoint *endpoint);

/* A name that spells an IP address ("192.0.2.1", "::1", "[::1]", also with a final dot) becomes
 * that address; spellings of inet_aton ("127.1", "0x7f.1") stay names, never resolvable.
 * IPv4-mapped IPv6 becomes IPv4. */
void endpoint_normalise(struct endpoint *endpoint);

/* "host", "host:port", "[v6]:port", "[v6]", "v6": 0, or -1 malformed. Without a port in the text
 * port is `port`. The result is normalised. */
int endpoint_parse(struct endpoint *endpoint, const char *text, uint16_t port);

/* "host:port" for people, with brackets around IPv6; returns `to`, cut to n bytes and terminated.
 * Bytes that do not print are replaced by '?'. */
const char *endpoint_print(const struct endpoint *endpoint, char *to, size_t n);

/* `ip` has 4 or 16 bytes; IPv4-mapped IPv6 becomes IPv4. */
void address_set(struct address *address, int family, const void *ip);

/* The address that text[0..n) spells, as in endpoint_normalise(); false: it spells none. */
bool address_read(struct address *address, const char *text, size_t n);

/* Bytes of its `ip` that count. */
static inline size_t address_len(const struct address *address)
{
	return address->family == 4 ? 4 : 16;
}

bool address_equal(const struct address *a, const struct address *b);

/* 0.0.0.0 or ::, or none at all. */
bool address_is_any(const struct address *address);

/* 0.0.0.0 and :: lead to this host: they become 127.0.0.1 and ::1. Where they stay what they are,
 * the system may take the address that we send from in their place. False: it is another
 * address. */
bool address_lead_home(struct address *address);

/* The address of an endpoint that has one; false for a name. */
bool endpoint_address(const struct endpoint *endpoint, struct address *to);

/* Addresses and sockets. endpoint_socket: the length of the socket address, 0 for a name. */
socklen_t endpoint_socket(const struct endpoint *endpoint, struct sockaddr_storage *to);
void endpoint_from_socket(struct endpoint *endpoint, const struct sockaddr *from);
/* The port; an IPv4-mapped address becomes IPv4. Of another family: family 0, port 0. */
uint16_t address_from_socket(struct address *address, const struct sockaddr *from);
void endpoint_from_address(struct endpoint *endpoint, const struct address *address, uint16_t port);
socklen_t address_socket(const struct address *address, uint16_t port, struct sockaddr_storage *to);

/* "ip" or "ip:port" of a socket address, IPv4-mapped printed as IPv4; returns `to`. */
const char *socket_print(const struct sockaddr *from, bool with_port, char *to, size_t n);

#endif
