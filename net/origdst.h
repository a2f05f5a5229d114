/*
 * Transparent proxying: where a connection was bound for before the system turned it to us, and
 * how a socket is made to take or to send what carries addresses of others. What a system calls
 * that is in origdst_linux.c, origdst_bsd.c, or origdst_macos.c, which has nothing. Called by
 * socket.c and by applets/redir.c. That a datagram says where it was bound for is read in
 * datagram_linux.c.
 */
#ifndef NET_ORIGDST_H
#define NET_ORIGDST_H

#include <stdbool.h>
#include <sys/socket.h>

/* Open what is needed to ask, while there are privileges to. 0, or -1 with errno. */
int origdst_open(void);

/* What hinders this process, or its system, from taking what is turned to it: what follows "TCP",
 * "-T" or "UDP" in a sentence. NULL: nothing. */
const char *origdst_lacks(bool divert, bool datagrams);

/* Where the connection was bound for. `divert`: its own address is that (TPROXY, divert-to);
 * else the system has rewritten that and is asked (REDIRECT, rdr-to). False with errno: it was
 * not turned to us, or the system does not tell. */
bool origdst_of(int fd, bool divert, struct sockaddr_storage *to);

/* Before bind(): the socket, of this family, may take and send what carries addresses that are not
 * ours. `both`: it is IPv6 and serves IPv4 too. 0, or -1 with errno: EPERM without the
 * privilege. */
int origdst_allow(int fd, int family, bool both);

/* Each datagram of this socket says where it was bound for. 0, or -1 with errno. */
int origdst_tell(int fd, int family, bool both);

#endif
