/*
 * See socket_pace.h.
 */
#include "net/socket_pace.h"

#include "core/fd.h"
#include "net/socket_platform.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static const char paced[] = "bbr"; /* and what they call its successors */
static const char unpaced[] = "reno";

bool socket_system_paces(void)
{
	const struct option_name *o = &option_names[OPTION_CONGESTION];
	char name[16] = { 0 };
	socklen_t len = sizeof(name) - 1;
	int fd = o->name ? fd_socket(AF_INET, SOCK_STREAM, 0) : -1;

	if (fd < 0)
		return false;
	if (getsockopt(fd, o->level, o->name, name, &len) < 0)
		name[0] = 0;
	close(fd);
	return strncmp(name, paced, sizeof(paced) - 1) == 0;
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

void socket_unpace(int fd, const struct sockaddr *address)
{
	const struct option_name *o = &option_names[OPTION_CONGESTION];

	if (is_loopback(address))
		setsockopt(fd, o->level, o->name, unpaced, sizeof(unpaced) - 1);
}
