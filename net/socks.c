/*
 * SOCKS5 as bytes: what a client says and what it is answered. Called by the applet that listens
 * to applications; owns nothing. The messages are those of RFC 1928 and RFC 1929.
 */
#include "net/socks.h"

#include <assert.h>
#include <string.h>

enum { SOCKS_VERSION = 5, LOGIN_VERSION = 1, REQUEST_HEAD = 3 };

/* RFC 1928 3: version, count, methods */
int socks_read_greeting(const unsigned char *bytes, size_t n, enum socks_method wanted,
			enum socks_method *method)
{
	if (n > 0 && bytes[0] != SOCKS_VERSION)
		return -1;
	if (n < 2 || n < 2U + bytes[1])
		return 0;
	*method = memchr(bytes + 2, (int)wanted, bytes[1]) != NULL ? wanted : SOCKS_NONE;
	return 2 + bytes[1];
}

/* RFC 1929 2: version, length, user, length, password. A field of no bytes is read like any
 * other: it is for the caller to find that it matches nobody. */
int socks_read_login(const unsigned char *bytes, size_t n, struct socks_login *login)
{
	if (n > 0 && bytes[0] != LOGIN_VERSION)
		return -1;
	if (n < 2)
		return 0;
	size_t password = 2 + (size_t)bytes[1] + 1;
	if (n < password || n < password + bytes[password - 1])
		return 0;
	*login = (struct socks_login){
		.user = bytes + 2,
		.user_len = bytes[1],
		.password = bytes + password,
		.password_len = bytes[password - 1],
	};
	return (int)(password + login->password_len);
}

/* RFC 1928 4: version, command, reserved, address */
int socks_read_request(const unsigned char *bytes, size_t n, unsigned *command,
		       struct endpoint *target, enum socks_reply *reply)
{
	if (n > 0 && bytes[0] != SOCKS_VERSION)
		return -1;
	if (n < REQUEST_HEAD)
		return 0;
	int used = endpoint_read(target, bytes + REQUEST_HEAD, n - REQUEST_HEAD);
	if (used == 0)
		return 0;
	*command = bytes[1];
	*reply = used > 0 ? SOCKS_OK : SOCKS_BAD_ADDRESS;
	return used > 0 ? REQUEST_HEAD + used : (int)n;
}

/* RFC 1928 6: version, reply, reserved, address */
size_t socks_write_reply(unsigned char *to, enum socks_reply reply, const struct endpoint *bound)
{
	static const struct endpoint nowhere = { .type = ENDPOINT_IPV4, .len = 4 };

	if (bound == NULL || bound->type == ENDPOINT_NONE)
		bound = &nowhere;
	assert(bound->type != ENDPOINT_NAME);
	to[0] = SOCKS_VERSION;
	to[1] = (unsigned char)reply;
	to[2] = 0;
	return REQUEST_HEAD + endpoint_write(bound, to + REQUEST_HEAD);
}

int socks_read_datagram(const unsigned char *bytes, size_t n, struct endpoint *target)
{
	int used;

	if (n < 3 || bytes[2] != 0)
		return -1;
	used = endpoint_read(target, bytes + 3, n - 3);
	return used > 0 ? 3 + used : -1;
}

size_t socks_write_datagram(unsigned char *to, const struct endpoint *source)
{
	to[0] = to[1] = to[2] = 0;
	return 3 + endpoint_write(source, to + 3);
}
