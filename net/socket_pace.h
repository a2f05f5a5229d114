/*
 * TCP's congestion control. Connections within this machine are not paced. BBR lets bytes go by a
 * timer, which is right for a path that others share; over the loopback interface nobody does, and
 * arming that timer for every 64 KB costs a quarter of all that is spent on a byte. So where BBR is
 * what the system takes, such connections get Reno, which every kernel has and everybody may
 * choose; unless options->congestion says what all are to have, or, with "system", that they are
 * left alone. Called by socket.c and at the start; owns nothing.
 */
#ifndef NET_SOCKET_PACE_H
#define NET_SOCKET_PACE_H

#include "net/socket.h"

/* 0 if this process may have the control of that name, as NULL and "system"; else the errno: EPERM
 * if others may. */
int socket_pace_try(const char *congestion);

/* Set options->unpaced: nothing else is asked for, and the system paces those who do not say
 * otherwise. */
void socket_pace_open(struct socket_options *options);

/* The socket is to listen at, or to be connected to, `address`: it gets the control that the
 * options mean for it. If the kernel refuses, it is as it was. */
void socket_pace(int fd, const struct sockaddr *address, const struct socket_options *options);

#endif
