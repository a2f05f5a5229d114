/*
 * See fd.h. A program that another thread starts in between could inherit what is opened here; we
 * have one thread.
 */
#include "core/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static int close_failed(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
	return -1;
}

/* The descriptor, or -1 with errno and it closed. */
static int prepare(int fd, int flags)
{
	if (fd < 0)
		return -1;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || (flags && fcntl(fd, F_SETFL, flags) < 0))
		return close_failed(fd);
	return fd;
}

static int prepare_both(int ends[2], int flags)
{
	if (prepare(ends[0], flags) < 0)
		return close_failed(ends[1]);
	if (prepare(ends[1], flags) < 0)
		return close_failed(ends[0]);
	return 0;
}

int fd_pipe(int ends[2], int flags)
{
	return pipe(ends) < 0 ? -1 : prepare_both(ends, flags);
}

int fd_socket(int family, int type, int protocol)
{
	return prepare(socket(family, type, protocol), O_NONBLOCK);
}

int fd_pair(int family, int type, int ends[2])
{
	return socketpair(family, type, 0, ends) < 0 ? -1 : prepare_both(ends, O_NONBLOCK);
}

int fd_accept(int listener, struct sockaddr *peer, socklen_t *len)
{
	return prepare(accept(listener, peer, len), O_NONBLOCK);
}

ssize_t fd_receive(int fd, struct msghdr *message)
{
	ssize_t n = recvmsg(fd, message, 0);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(message);

	for (; c; c = CMSG_NXTHDR(message, c)) {
		size_t size = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
			int passed;

			memcpy(&passed, CMSG_DATA(c) + at, sizeof(int));
			fcntl(passed, F_SETFD, FD_CLOEXEC);
		}
	}
	return n;
}
