/*
 * See socket_port.h. Called by plugin.c, some times a second while a plugin starts, and by
 * ss-check.
 */
#include "net/socket_port.h"

#include "core/fd.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	PORT_MIN = 16384, /* above what services have, below what systems give to connections */
	PORT_MAX = 32767,
	TRIES = 200,
	LISTENS = 0x0a /* the state in /proc/net/tcp */
};

/* --- the kernel's table */

/* One socket of /proc/net/tcp or tcp6: */
struct row {
	struct address address;
	uint32_t port, state;
};

/* As many hexadecimal digits; false if there are fewer. */
static bool read_hex(const char **text, unsigned digits, uint32_t *value)
{
	static const char all[] = "0123456789ABCDEF";

	for (*value = 0; digits > 0; digits--, (*text)++) {
		const char *digit = **text ? strchr(all, **text) : NULL;

		if (!digit)
			return false;
		*value = *value << 4 | (uint32_t)(digit - all);
	}
	return true;
}

/* "  0: 0100007F:0CEA 00000000:0000 0A ...": an address is words of 32 bits in the byte order of
 * the machine. */
static bool read_row(const char *line, struct row *row)
{
	const char *p = strstr(line, ": ");
	uint32_t words[4];
	unsigned n = 0;

	for (p = p ? p + 2 : ""; n < 4 && read_hex(&p, 8, &words[n]); n++)
		;
	if ((n != 1 && n != 4) || *p++ != ':' || !read_hex(&p, 4, &row->port) || *p++ != ' ')
		return false;
	address_set(&row->address, n == 1 ? 4 : 6, words);
	p = strchr(p, ' '); /* behind the peer's */
	if (!p)
		return false;
	p++;
	return read_hex(&p, 2, &row->state);
}

static bool matches(const struct row *row, const struct endpoint *at)
{
	struct address wanted;

	if (row->port != at->port)
		return false;
	return !endpoint_address(at, &wanted) || address_is_any(&wanted) ||
	       address_is_any(&row->address) || address_equal(&wanted, &row->address);
}

/* 1, 0, or -1: the table cannot be read. Those that listen come first. */
static int find_in(const char *path, const struct endpoint *at)
{
	FILE *table = fopen(path, "re");
	char line[256];
	struct row row;
	int found = 0;

	if (!table)
		return -1;
	if (!fgets(line, sizeof(line), table)) /* what the columns are */
		found = -1;
	while (!found && fgets(line, sizeof(line), table)) {
		if (!read_row(line, &row) || row.state != LISTENS)
			break;
		found = matches(&row, at);
	}
	fclose(table);
	return found;
}

/* --- by trying */

static int try_bind(const struct sockaddr_storage *address, socklen_t len, bool udp, bool reuse)
{
	int fd = fd_socket(address->ss_family, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
	int on = reuse, error = 0;

	if (fd < 0)
		return errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)address, len) < 0)
		error = errno;
	close(fd);
	return error;
}

/* Linux goes through its table of UDP from the beginning for each page that is read: with ten
 * thousand sockets that takes a second. */
bool socket_port_used(const struct endpoint *at, bool udp)
{
	int v4 = udp ? -1 : find_in("/proc/net/tcp", at);
	int v6 = udp ? -1 : find_in("/proc/net/tcp6", at);
	struct sockaddr_storage address;
	struct endpoint any;
	socklen_t len;

	if (v4 >= 0)
		return v4 > 0 || v6 > 0;
	len = endpoint_socket(at, &address);
	if (len == 0 && endpoint_parse(&any, "0.0.0.0", at->port) == 0)
		len = endpoint_socket(&any, &address);
	/* Once more where time-wait is in the way; SO_REUSEADDR does not share with who listens. */
	return try_bind(&address, len, udp, !udp) == EADDRINUSE;
}

/* --- a free one */

/* A name in Linux's abstract space, which lives and dies with its descriptor and belongs to the
 * same network as the port. 0, EADDRINUSE, or there is nothing like it. */
static int reserve(unsigned port, int *hold)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "shadowsocks-port-%u", port);

	*hold = fd_socket(AF_UNIX, SOCK_DGRAM, 0);
	if (*hold < 0 ||
	    bind(*hold, (struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)n) == 0)
		return 0;

	int error = errno;
	close(*hold);
	*hold = -1;
	return error == EADDRINUSE ? error : 0;
}

int socket_port_choose(bool v6, struct endpoint *loopback, int *hold)
{
	int error = EADDRINUSE;

	endpoint_parse(loopback, v6 ? "::1" : "127.0.0.1", 0);
	for (int i = 0; i < TRIES && error == EADDRINUSE; i++) {
		struct sockaddr_storage address;

		loopback->port =
			(uint16_t)(PORT_MIN + randombytes_uniform(PORT_MAX - PORT_MIN + 1));
		error = reserve(loopback->port, hold);
		if (error)
			continue;
		socklen_t len = endpoint_socket(loopback, &address);
		error = try_bind(&address, len, false, false);
		error = error ? error : try_bind(&address, len, true, false);
		if (error && *hold >= 0)
			close(*hold);
	}
	errno = error;
	return error ? -1 : 0;
}
