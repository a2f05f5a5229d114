/*
 * Endpoints and addresses: the wire's form, the socket's form and the people's form, and the
 * ways between them. Called by everything that knows where a connection goes; owns nothing.
 *
 * Whether a name may be looked up is decided here once: what spells an address becomes one
 * before any rule looks at it, and the spellings that only inet_aton() takes for addresses are
 * refused, so that "127.1" cannot slip past a rule about 127.0.0.0/8.
 */
#include "net/endpoint.h"

#include "core/bytes.h"
#include "core/text.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_MAX = 63, NAME_TEXT_MAX = 253, IPV4_BYTES = 4, IPV6_BYTES = 16 };

_Static_assert(sizeof(struct endpoint) == 260, "an endpoint is meant to be small");
_Static_assert(ENDPOINT_WIRE_MAX == 1 + 1 + ENDPOINT_NAME_MAX + 2, "type, length, name, port");

static const unsigned char mapped_prefix[12] = { [10] = 0xff, [11] = 0xff }; /* ::ffff:0:0/96 */

static void set_host(struct endpoint *endpoint, enum endpoint_type type, const void *host, size_t n)
{
	endpoint->type = (uint8_t)type;
	endpoint->len = (uint8_t)n;
	memmove(endpoint->host, host, n);
	endpoint->host[n] = '\0';
}

static void set_ipv6_unmapped(struct endpoint *endpoint, const unsigned char ip[IPV6_BYTES])
{
	if (memcmp(ip, mapped_prefix, sizeof(mapped_prefix)) == 0)
		set_host(endpoint, ENDPOINT_IPV4, ip + sizeof(mapped_prefix), IPV4_BYTES);
	else
		set_host(endpoint, ENDPOINT_IPV6, ip, IPV6_BYTES);
}

/* The wire: as SOCKS5 writes addresses (RFC 1928, 5), which all of shadowsocks shares */

int endpoint_read(struct endpoint *endpoint, const unsigned char *bytes, size_t n)
{
	if (n < 1)
		return 0;
	size_t at = 1, len;
	switch (bytes[0]) {
	case ENDPOINT_IPV4:
		len = IPV4_BYTES;
		break;
	case ENDPOINT_IPV6:
		len = IPV6_BYTES;
		break;
	case ENDPOINT_NAME:
		if (n < 2)
			return 0;
		len = bytes[1];
		if (len == 0)
			return -1;
		at = 2;
		break;
	default:
		return -1;
	}
	if (n < at + len + 2)
		return 0;
	if (bytes[0] == ENDPOINT_NAME && memchr(bytes + at, '\0', len) != NULL)
		return -1;
	set_host(endpoint, bytes[0], bytes + at, len);
	endpoint->port = get_u16be(bytes + at + len);
	return (int)(at + len + 2);
}

size_t endpoint_write(const struct endpoint *endpoint, unsigned char *to)
{
	assert(endpoint->type != ENDPOINT_NONE);
	size_t n = 0;
	to[n++] = endpoint->type;
	if (endpoint->type == ENDPOINT_NAME)
		to[n++] = endpoint->len;
	memcpy(to + n, endpoint->host, endpoint->len);
	n += endpoint->len;
	put_u16be(to + n, endpoint->port);
	return n + 2;
}

/* Names */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The address that `name` spells, with or without brackets and a final dot: its family (4, 6),
 * or 0. */
static int literal_family(const char *name, size_t n, unsigned char ip[IPV6_BYTES])
{
	char text[INET6_ADDRSTRLEN];

	if (n > 0 && name[n - 1] == '.')
		n--;
	bool brackets = n >= 2 && name[0] == '[' && name[n - 1] == ']';
	if (brackets) {
		name++;
		n -= 2;
	}
	if (n >= sizeof(text))
		return 0;
	/* nearly all names are told apart by this, at once */
	if (n == 0 || (!is_digit(name[n - 1]) && memchr(name, ':', n) == NULL))
		return 0;
	memcpy(text, name, n);
	text[n] = '\0';
	if (!brackets && inet_pton(AF_INET, text, ip) == 1)
		return 4;
	return inet_pton(AF_INET6, text, ip) == 1 ? 6 : 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_label(const char *label, size_t n)
{
	if (n == 0 || n > LABEL_MAX || label[0] == '-' || label[n - 1] == '-')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_letter(label[i]) && !is_digit(label[i]) && label[i] != '-' &&
		    label[i] != '_')
			return false;
	return true;
}

/* Decimal, octal or hexadecimal, as inet_aton() reads the parts of an address. */
static bool is_number(const char *label, size_t n)
{
	bool hex = n >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X');
	for (size_t i = hex ? 2 : 0; i < n; i++)
		if (hex ? text_hex(label[i]) < 0 : !is_digit(label[i]))
			return false;
	return true;
}

/* No top-level domain is a number, so a name whose last label is one can only be meant for
 * inet_aton(), or is a mistake. */
static bool is_name(const char *name, size_t n)
{
	if (n > 0 && name[n - 1] == '.')
		n--;
	if (n == 0 || n > NAME_TEXT_MAX)
		return false;
	for (;;) {
		const char *dot = memchr(name, '.', n);
		size_t len = dot != NULL ? (size_t)(dot - name) : n;
		if (!is_label(name, len))
			return false;
		if (dot == NULL)
			return !is_number(name, len);
		name += len + 1;
		n -= len + 1;
	}
}

bool endpoint_resolvable(const struct endpoint *endpoint)
{
	unsigned char ip[IPV6_BYTES];

	if (endpoint->type != ENDPOINT_NAME)
		return endpoint->type != ENDPOINT_NONE;
	return is_name(endpoint->host, endpoint->len) ||
	       literal_family(endpoint->host, endpoint->len, ip) != 0;
}

void endpoint_normalise(struct endpoint *endpoint)
{
	unsigned char ip[IPV6_BYTES];

	if (endpoint->type == ENDPOINT_IPV6) {
		memcpy(ip, endpoint->host, IPV6_BYTES);
		set_ipv6_unmapped(endpoint, ip);
	}
	if (endpoint->type != ENDPOINT_NAME)
		return;
	int family = literal_family(endpoint->host, endpoint->len, ip);
	if (family == 4)
		set_host(endpoint, ENDPOINT_IPV4, ip, IPV4_BYTES);
	else if (family == 6)
		set_ipv6_unmapped(endpoint, ip);
}

/* People */

/* One to five digits up to 65535; no text at all leaves the port as it is. */
static bool parse_port(const char *text, uint16_t *port)
{
	unsigned value = 0;
	size_t n = strlen(text);

	if (n == 0)
		return true;
	if (n > 5)
		return false;
	for (; *text != '\0'; text++) {
		if (!is_digit(*text))
			return false;
		value = value * 10 + (unsigned)(*text - '0');
	}
	if (value > UINT16_MAX)
		return false;
	*port = (uint16_t)value;
	return true;
}

/* Where the host ends in "host", "host:port", "[v6]", "[v6]:port", "v6". */
static size_t host_length(const char *text)
{
	if (text[0] == '[') {
		const char *end = strchr(text, ']');
		return end != NULL ? (size_t)(end - text) + 1 : strlen(text);
	}
	const char *colon = strchr(text, ':');
	if (colon == NULL || strchr(colon + 1, ':') != NULL)
		return strlen(text);
	return (size_t)(colon - text);
}

int endpoint_parse(struct endpoint *endpoint, const char *text, uint16_t port)
{
	size_t n = host_length(text);

	if (n == 0 || n > ENDPOINT_NAME_MAX)
		return -1;
	if (text[n] == ':' ? !parse_port(text + n + 1, &port) : text[n] != '\0')
		return -1;
	set_host(endpoint, ENDPOINT_NAME, text, n);
	endpoint->port = port;
	if (!endpoint_resolvable(endpoint))
		return -1;
	endpoint_normalise(endpoint);
	return 0;
}

static void printable(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i] > ' ' && from[i] <= '~' ? from[i] : '?';
	to[n] = '\0';
}

const char *endpoint_print(const struct endpoint *endpoint, char *to, size_t n)
{
	char host[ENDPOINT_NAME_MAX + 1] = "-";
	const char *format = "%s:%u";

	if (endpoint->type == ENDPOINT_IPV4) {
		inet_ntop(AF_INET, endpoint->host, host, sizeof(host));
	} else if (endpoint->type == ENDPOINT_IPV6) {
		inet_ntop(AF_INET6, endpoint->host, host, sizeof(host));
		format = "[%s]:%u";
	} else if (endpoint->type == ENDPOINT_NAME) {
		printable(host, endpoint->host, endpoint->len);
	}
	snprintf(to, n, format, host, (unsigned)endpoint->port);
	return to;
}

/* Addresses */

void address_set(struct address *address, int family, const void *ip)
{
	bool mapped = family == 6 && memcmp(ip, mapped_prefix, sizeof(mapped_prefix)) == 0;

	if (mapped)
		ip = (const unsigned char *)ip + sizeof(mapped_prefix);
	address->family = mapped ? 4 : (uint8_t)family;
	memset(address->ip, 0, sizeof(address->ip));
	memcpy(address->ip, ip, address->family == 4 ? IPV4_BYTES : IPV6_BYTES);
}

bool address_read(struct address *address, const char *text, size_t n)
{
	unsigned char ip[IPV6_BYTES];
	int family = literal_family(text, n, ip);

	if (family == 0)
		return false;
	address_set(address, family, ip);
	return true;
}

bool address_equal(const struct address *a, const struct address *b)
{
	return a->family == b->family && memcmp(a->ip, b->ip, address_len(a)) == 0;
}

bool address_is_any(const struct address *address)
{
	static const unsigned char any[IPV6_BYTES];

	return memcmp(address->ip, any, address_len(address)) == 0;
}

bool address_lead_home(struct address *address)
{
	if (!address_is_any(address))
		return false;
	if (address->family == 4)
		address->ip[0] = 127;
	address->ip[address_len(address) - 1] = 1;
	return true;
}

bool endpoint_address(const struct endpoint *endpoint, struct address *to)
{
	if (endpoint->type != ENDPOINT_IPV4 && endpoint->type != ENDPOINT_IPV6)
		return false;
	address_set(to, endpoint->type == ENDPOINT_IPV4 ? 4 : 6, endpoint->host);
	return true;
}

/* Sockets */

static socklen_t make_socket(int family, const void *ip, uint16_t port, struct sockaddr_storage *to)
{
	memset(to, 0, sizeof(*to));
	if (family == 4) {
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
		memcpy(&in.sin_addr, ip, IPV4_BYTES);
		memcpy(to, &in, sizeof(in));
		return sizeof(in);
	}
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	memcpy(&in6.sin6_addr, ip, IPV6_BYTES);
	memcpy(to, &in6, sizeof(in6));
	return sizeof(in6);
}

socklen_t endpoint_socket(const struct endpoint *endpoint, struct sockaddr_storage *to)
{
	if (endpoint->type != ENDPOINT_IPV4 && endpoint->type != ENDPOINT_IPV6)
		return 0;
	return make_socket(endpoint->type == ENDPOINT_IPV4 ? 4 : 6, endpoint->host, endpoint->port,
			   to);
}

socklen_t address_socket(const struct address *address, uint16_t port, struct sockaddr_storage *to)
{
	return make_socket(address->family, address->ip, port, to);
}

void endpoint_from_address(struct endpoint *endpoint, const struct address *address, uint16_t port)
{
	if (address->family == 4)
		set_host(endpoint, ENDPOINT_IPV4, address->ip, IPV4_BYTES);
	else
		set_ipv6_unmapped(endpoint, address->ip);
	endpoint->port = port;
}

uint16_t address_from_socket(struct address *address, const struct sockaddr *from)
{
	struct endpoint endpoint;

	endpoint_from_socket(&endpoint, from);
	if (!endpoint_address(&endpoint, address))
		*address = (struct address){ 0 };
	return endpoint.port;
}

void endpoint_from_socket(struct endpoint *endpoint, const struct sockaddr *from)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	switch (from->sa_family) {
	case AF_INET:
		memcpy(&in, from, sizeof(in));
		set_host(endpoint, ENDPOINT_IPV4, &in.sin_addr, IPV4_BYTES);
		endpoint->port = ntohs(in.sin_port);
		break;
	case AF_INET6:
		memcpy(&in6, from, sizeof(in6));
		set_ipv6_unmapped(endpoint, in6.sin6_addr.s6_addr);
		endpoint->port = ntohs(in6.sin6_port);
		break;
	default: /* unix, or nothing yet */
		set_host(endpoint, ENDPOINT_NONE, "", 0);
		endpoint->port = 0;
	}
}

const char *socket_print(const struct sockaddr *from, bool with_port, char *to, size_t n)
{
	char ip[INET6_ADDRSTRLEN] = "-";
	struct endpoint endpoint;

	endpoint_from_socket(&endpoint, from);
	if (with_port)
		return endpoint_print(&endpoint, to, n);
	if (endpoint.type == ENDPOINT_IPV4)
		inet_ntop(AF_INET, endpoint.host, ip, sizeof(ip));
	else if (endpoint.type == ENDPOINT_IPV6)
		inet_ntop(AF_INET6, endpoint.host, ip, sizeof(ip));
	snprintf(to, n, "%s", ip);
	return to;
}
