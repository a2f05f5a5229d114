/*
 * See socket_pace.h.
 */
#include "net/socket_pace.h"

#include "core/fd.h"
#include "net/socket_platform.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static const char paced[] = "bbr"; /* and what they call its successors */

static bool names_one(const char *congestion)
{
	return congestion && strcmp(congestion, "system") != 0;
}

static int choose(int fd, const char *name)
{
	const struct option_name *o = &option_names[OPTION_CONGESTION];

	return setsockopt(fd, o->level, o->name, name, (socklen_t)strlen(name));
}

int socket_pace_try(const char *congestion)
{
	int fd = names_one(congestion) ? fd_socket(AF_INET, SOCK_STREAM, 0) : -1, error = 0;

	if (fd < 0)
		return 0;
	if (!option_names[OPTION_CONGESTION].name)
		error = ENOPROTOOPT;
	else if (choose(fd, congestion) < 0)
		error = errno;
	close(fd);
	return error;
}

void socket_pace_open(struct socket_options *options)
{
	const struct option_name *o = &option_names[OPTION_CONGESTION];
	char name[16] = { 0 };
	socklen_t len = sizeof(name) - 1;
	int fd = options->congestion || !o->name ? -1 : fd_socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return;
	if (getsockopt(fd, o->level, o->name, name, &len) < 0)
		name[0] = 0;
	close(fd);
	options->unpaced = strncmp(name, paced, sizeof(paced) - 1) == 0;
}

static bool is_loopback(const struct sockaddr *address)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (address->sa_family == AF_INET6) {
		memcpy(&in6, address, sizeof(in6));
		return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) && in6.sin6_addr.s6_addr[12] == 127);
	}
	memcpy(&in, address, sizeof(in));
	return address->sa_family == AF_INET && ntohl(in.sin_addr.s_addr) >> 24 == 127;
}

void socket_pace(int fd, const struct sockaddr *address, const struct socket_options *options)
{
	if (names_one(options->congestion))
		choose(fd, options->congestion);
	else if (options->unpaced && is_loopback(address))
		choose(fd, "reno");
}
