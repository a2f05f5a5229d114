/*
 * Linux's options of a socket, but for those that net/datagram_bsd.c does not go with: there the kernel
 * neither merges datagrams nor cuts them.
 */
#include <netinet/in.h>
#include <netinet/udp.h>

#undef UDP_GRO
#undef UDP_SEGMENT
#define UDP_GRO 0
#define UDP_SEGMENT 0

#include "net/socket_linux.c"
