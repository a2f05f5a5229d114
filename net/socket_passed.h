/*
 * Sockets that whoever started the program has bound for it: LISTEN_FDS in the environment, as
 * systemd's socket units do (sd_listen_fds(3)). One that is bound to the address that is to be
 * listened on is taken instead of a new one.
 */
#ifndef NET_SOCKET_PASSED_H
#define NET_SOCKET_PASSED_H

#include <sys/socket.h>

/* Take the variables from the environment. Before the process forks or opens anything else. */
void socket_passed_open(void);

/* The one that is bound there, of SOCK_STREAM or SOCK_DGRAM, non-blocking; the caller's from now
 * on.
 * -1: there is none. */
int socket_passed(const struct sockaddr *address, int type);

/* Close those that nobody took, and warn of them. */
void socket_passed_close(void);

#endif
