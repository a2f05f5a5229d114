/*
 * Ports for other programs: one of the loopback interface that is free, and whether somebody
 * listens on one. For plugins, which are told a port and open it themselves.
 */
#ifndef NET_SOCKET_PORT_H
#define NET_SOCKET_PORT_H

#include "net/endpoint.h"

/* Give loopback (127.0.0.1, or ::1 if `v6`) a port that nobody uses, TCP or UDP, and that the
 * system gives to no connection by itself. Other programs of ours do not choose it while *hold, a
 * descriptor of the caller's, is open; -1: this system has nothing like it. 0, or -1 with errno. */
int socket_port_choose(bool v6, struct endpoint *loopback, int *hold);

/* Does a socket listen there (`udp`: receive), or on any address of the port? For TCP by the table
 * of the kernel; for UDP, or where that cannot be read, because bind() fails, which takes the port
 * for a moment if it is free. For a name: on any address. */
bool socket_port_used(const struct endpoint *at, bool udp);

#endif
