/*
 * Connections within this machine are not paced. BBR lets bytes go by a timer, which is right for a path that
 * others share; over the loopback interface nobody does, and arming that timer for every 64 KB costs a quarter
 * of all that is spent on a byte. So where BBR is what the system takes, such connections get Reno, which every
 * kernel has and everybody may choose. Called by socket.c; owns nothing.
 */
#ifndef NET_SOCKET_PACE_H
#define NET_SOCKET_PACE_H

#include <stdbool.h>
#include <sys/socket.h>

/* Does the system pace the connections of those who do not say otherwise? */
bool socket_system_paces(void);

/* The socket is to listen at, or to be connected to, `address`: if that is of the loopback interface, it is not
 * to be paced. If the kernel refuses, it is as it was. */
void socket_unpace(int fd, const struct sockaddr *address);

#endif
