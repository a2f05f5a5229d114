/*
 * The options of a socket, as FreeBSD and macOS call them. What is missing falls back, or is an
 * error, as net/socket.h says.
 */
#define __APPLE_USE_RFC_3542 /* IPV6_DONTFRAG, IPV6_RECVPKTINFO */

#include "net/socket_platform.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/filio.h>
#include <sys/socket.h>

#ifndef TCP_KEEPIDLE
#define TCP_KEEPIDLE TCP_KEEPALIVE
#endif
#ifdef __FreeBSD__
enum { FAST_LISTEN = TCP_FASTOPEN, UNSENT = FIONWRITE, TELL4 = IP_RECVDSTADDR };
#else
enum { FAST_LISTEN = 0, UNSENT = 0, TELL4 = IP_RECVPKTINFO };
#endif

const struct option_name option_names[OPTION_COUNT] = {
	[OPTION_FAST_LISTEN] = { IPPROTO_TCP, FAST_LISTEN },
	[OPTION_KEEP_IDLE] = { IPPROTO_TCP, TCP_KEEPIDLE },
	[OPTION_KEEP_EVERY] = { IPPROTO_TCP, TCP_KEEPINTVL },
	[OPTION_KEEP_PROBES] = { IPPROTO_TCP, TCP_KEEPCNT },
};

int platform_tell_origin(int fd, int family)
{
	int on = 1;

	if (family == AF_INET6)
		return setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
	return setsockopt(fd, IPPROTO_IP, TELL4, &on, sizeof on);
}

int platform_fragments(int fd, int family, bool may)
{
	int whole = !may;

	if (family == AF_INET6)
		return setsockopt(fd, IPPROTO_IPV6, IPV6_DONTFRAG, &whole, sizeof whole);
	return setsockopt(fd, IPPROTO_IP, IP_DONTFRAG, &whole, sizeof whole);
}

const unsigned long request_unsent = UNSENT;
const int flag_more = 0;
const int protocol_multipath = -1;
