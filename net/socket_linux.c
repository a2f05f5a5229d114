/*
 * The options of a socket, as Linux calls them. A kernel too old for one answers ENOPROTOOPT.
 */
#include "net/socket_platform.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

const struct option_name option_names[OPTION_COUNT] = {
	[OPTION_FAST_LISTEN] = { IPPROTO_TCP, TCP_FASTOPEN },
	[OPTION_FAST_CONNECT] = { IPPROTO_TCP, TCP_FASTOPEN_CONNECT },
	[OPTION_KEEP_IDLE] = { IPPROTO_TCP, TCP_KEEPIDLE },
	[OPTION_KEEP_EVERY] = { IPPROTO_TCP, TCP_KEEPINTVL },
	[OPTION_KEEP_PROBES] = { IPPROTO_TCP, TCP_KEEPCNT },
	[OPTION_LATE_ACK] = { IPPROTO_TCP, TCP_DEFER_ACCEPT },
	[OPTION_LATE_PORT] = { IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT },
	[OPTION_MARK] = { SOL_SOCKET, SO_MARK },
	[OPTION_INTERFACE] = { SOL_SOCKET, SO_BINDTODEVICE },
	[OPTION_MERGE] = { IPPROTO_UDP, UDP_GRO },
	[OPTION_CONGESTION] = { IPPROTO_TCP, TCP_CONGESTION },
	[OPTION_SEGMENT] = { IPPROTO_UDP, UDP_SEGMENT },
};

int platform_tell_origin(int fd, int family)
{
	int on = 1;

	if (family == AF_INET6)
		return setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
	return setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
}

/* IPv4 without DF needs no path MTU, which ICMP from anywhere could lower; IPv6 is never cut on the
 * way, so there it is the sender who cuts. */
int platform_fragments(int fd, int family, bool may)
{
	int v4 = may ? IP_PMTUDISC_OMIT : IP_PMTUDISC_DO;
	int v6 = may ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_DO;

	if (family == AF_INET6)
		return setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &v6, sizeof v6);
	if (setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &v4, sizeof v4) == 0 || !may)
		return 0;
	v4 = IP_PMTUDISC_DONT; /* kernels before 3.15 */
	return setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &v4, sizeof v4);
}

const unsigned long request_unsent = SIOCOUTQ;
const int flag_more = MSG_MORE;
const int protocol_multipath = 262; /* IPPROTO_MPTCP, which older headers lack */
