/*
 * The directory in which a manager keeps its files, and the address it is asked at: where both are
 * unless somebody says otherwise, for the manager and for who asks it.
 */
#ifndef APPLETS_WORKDIR_H
#define APPLETS_WORKDIR_H

#include <stdbool.h>

struct endpoint;

/* The directory of the effective user: ~/.shadowsocks, or /tmp/.shadowsocks for one without a home.
 * Allocated; dies without memory. */
char *workdir_default(void);

/* Make the directory, for its owner alone, if it is not there. False with errno: it cannot be had,
 * or (EPERM) it is in /tmp and somebody else's. */
bool workdir_make(const char *path);

/* DIRECTORY/NAME, allocated; dies without memory. */
char *workdir_file(const char *directory, const char *name);

/* An address is host:port, and *endpoint says so; all else is the path of a socket: false. */
bool workdir_is_port(const char *address, struct endpoint *endpoint);

#define WORKDIR_SOCKET ".ss-manager.socks"

#endif
