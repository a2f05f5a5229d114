/*
 * How netfilter tells: REDIRECT through the options SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST,
 * TPROXY by the socket's own address. CAP_NET_ADMIN is needed for addresses that are not ours.
 */
#include "net/origdst.h"

#include "core/process.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* Of <linux/netfilter_ipv4.h> and its sibling, which do not go with <netinet/in.h> everywhere;
 * IPV6_TRANSPARENT is missing in older headers. */
enum { ORIGINAL_DST = 80, TRANSPARENT6 = 75, TELL6 = 74 };

int origdst_open(void)
{
	return 0;
}

/* The right is the same. */
const char *origdst_lacks(bool divert, bool datagrams)
{
	if ((!divert && !datagrams) || process_may_mark())
		return NULL;
	return "is by TPROXY, for which this process must have CAP_NET_ADMIN: start it as root, "
	       "or give that to its file with setcap";
}

static bool own_address(int fd, struct sockaddr_storage *to)
{
	socklen_t len = sizeof *to;

	memset(to, 0, sizeof *to);
	return getsockname(fd, (struct sockaddr *)to, &len) == 0;
}

/* An IPv4 connection of an IPv6 socket counts as IPv4. */
static bool is_ipv6(const struct sockaddr_storage *at)
{
	struct sockaddr_in6 in6;

	memcpy(&in6, at, sizeof in6);
	return at->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr);
}

bool origdst_of(int fd, bool divert, struct sockaddr_storage *to)
{
	socklen_t len = sizeof *to;
	int level;

	if (!own_address(fd, to))
		return false;
	if (divert)
		return true;
	level = is_ipv6(to) ? IPPROTO_IPV6 : IPPROTO_IP;
	memset(to, 0, sizeof *to);
	return getsockopt(fd, level, ORIGINAL_DST, to, &len) == 0;
}

static int set(int fd, int level, int name)
{
	int on = 1;

	return setsockopt(fd, level, name, &on, sizeof on);
}

static int set_for(int fd, int family, bool both, int name4, int name6)
{
	if (family == AF_INET6 && set(fd, IPPROTO_IPV6, name6) < 0)
		return -1;
	return family == AF_INET || both ? set(fd, IPPROTO_IP, name4) : 0;
}

int origdst_allow(int fd, int family, bool both)
{
	return set_for(fd, family, both, IP_TRANSPARENT, TRANSPARENT6);
}

int origdst_tell(int fd, int family, bool both)
{
	return set_for(fd, family, both, IP_RECVORIGDSTADDR, TELL6);
}
