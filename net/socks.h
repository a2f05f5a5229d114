/*
 * SOCKS5 messages (RFC 1928, RFC 1929): parsers and writers, no I/O. Parsers return
 * > 0 bytes used, 0 need more, -1 malformed; they may be called with any prefix.
 */
#ifndef NET_SOCKS_H
#define NET_SOCKS_H

#include "net/endpoint.h"

enum { SOCKS_CONNECT = 1, SOCKS_BIND = 2, SOCKS_ASSOCIATE = 3 };

enum socks_method { SOCKS_NO_AUTH = 0x00, SOCKS_PASSWORD = 0x02, SOCKS_NONE = 0xff };

enum socks_reply {
	SOCKS_OK = 0,
	SOCKS_FAILURE = 1,
	SOCKS_NOT_ALLOWED = 2,
	SOCKS_NET_UNREACHABLE = 3,
	SOCKS_HOST_UNREACHABLE = 4,
	SOCKS_REFUSED = 5,
	SOCKS_BAD_COMMAND = 7,
	SOCKS_BAD_ADDRESS = 8
};

/* The largest message of a client: a login with two fields of 255 bytes. */
enum { SOCKS_MESSAGE_MAX = 513, SOCKS_REPLY_MAX = 22 };

/* The fields of a login, which lie in the parsed bytes. */
struct socks_login {
	const unsigned char *user, *password;
	unsigned char user_len, password_len;
};

/* version, count, methods. *method: `wanted` if it is among those offered, else SOCKS_NONE. */
int socks_read_greeting(const unsigned char *bytes, size_t n, enum socks_method wanted,
			enum socks_method *method);

int socks_read_login(const unsigned char *bytes, size_t n, struct socks_login *login);

/* version, command, reserved, address. *reply: SOCKS_OK, or why the request must be refused (the
 * version is right, but the address type is not known: SOCKS_BAD_ADDRESS, n is used up). An empty
 * name is SOCKS_BAD_ADDRESS too. Any command is returned as it is. */
int socks_read_request(const unsigned char *bytes, size_t n, unsigned *command,
		       struct endpoint *target, enum socks_reply *reply);

/* version, reply, reserved, address; `bound` NULL: 0.0.0.0:0. The bytes written, at most
 * SOCKS_REPLY_MAX; a bound name is not possible. */
size_t socks_write_reply(unsigned char *to, enum socks_reply reply, const struct endpoint *bound);

/* A datagram's head (RFC 1928, 7): its bytes, or -1: malformed, or a fragment, which nobody
 * sends. An empty name is malformed. */
int socks_read_datagram(const unsigned char *bytes, size_t n, struct endpoint *target);

/* The head of an answer; `to` has SOCKS_DATAGRAM_MAX bytes. The bytes written. */
enum { SOCKS_DATAGRAM_MAX = 3 + ENDPOINT_WIRE_MAX };
size_t socks_write_datagram(unsigned char *to, const struct endpoint *source);

#endif
