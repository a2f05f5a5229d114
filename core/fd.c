/*
 * See fd.h. For Linux and the BSDs.
 */
#include "core/fd.h"

#include <fcntl.h>
#include <unistd.h>

enum { KIND = SOCK_NONBLOCK | SOCK_CLOEXEC };

int fd_pipe(int ends[2], int flags)
{
	return pipe2(ends, flags | O_CLOEXEC);
}

int fd_socket(int family, int type, int protocol)
{
	return socket(family, type | KIND, protocol);
}

int fd_pair(int family, int type, int ends[2])
{
	return socketpair(family, type | KIND, 0, ends);
}

int fd_accept(int listener, struct sockaddr *peer, socklen_t *len)
{
	return accept4(listener, peer, len, KIND);
}

ssize_t fd_receive(int fd, struct msghdr *message)
{
	return recvmsg(fd, message, MSG_CMSG_CLOEXEC);
}
