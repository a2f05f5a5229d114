/*
 * Descriptors that programs we start do not inherit. With one call where the system has it
 * (fd.c), with several where not (fd_macos.c).
 */
#ifndef CORE_FD_H
#define CORE_FD_H

#include <sys/socket.h>
#include <sys/types.h>

/* Some systems lack it; there, as everywhere, process_start() has SIGPIPE ignored. */
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

/* As pipe(): 0, or -1 with errno. `flags`: O_NONBLOCK for both ends, or 0. */
int fd_pipe(int ends[2], int flags);

/* As socket(), socketpair() and accept(); what they open does not block. */
int fd_socket(int family, int type, int protocol);
int fd_pair(int family, int type, int ends[2]);
int fd_accept(int listener, struct sockaddr *peer, socklen_t *len);

/* As recvmsg(), also for descriptors that come with the message. */
ssize_t fd_receive(int fd, struct msghdr *message);

#endif
