/*
 * The options of a socket, as Linux calls them. A kernel too old for one answers ENOPROTOOPT.
 */
#include "net/socket_platform.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

const struct option_name option_names[OPTION_COUNT] = {
	[OPTION_FAST_LISTEN] = { IPPROTO_TCP, TCP_FASTOPEN },
	[OPTION_FAST_CONNECT] = { IPPROTO_TCP, TCP_FASTOPEN_CONNECT },
	[OPTION_KEEP_IDLE] = { IPPROTO_TCP, TCP_KEEPIDLE },
	[OPTION_KEEP_EVERY] = { IPPROTO_TCP, TCP_KEEPINTVL },
	[OPTION_KEEP_PROBES] = { IPPROTO_TCP, TCP_KEEPCNT },
	[OPTION_LATE_PORT] = { IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT },
	[OPTION_MARK] = { SOL_SOCKET, SO_MARK },
	[OPTION_INTERFACE] = { SOL_SOCKET, SO_BINDTODEVICE },
};

const unsigned long request_unsent = SIOCOUTQ;
const int protocol_multipath = 262; /* IPPROTO_MPTCP, which older headers lack */
