/*
 * Its pf answers only to programs that come with the system's private headers.
 */
#include "net/origdst.h"

#include <errno.h>

int origdst_open(void)
{
	errno = ENOTSUP;
	return -1;
}

const char *origdst_lacks(bool divert, bool datagrams)
{
	(void)divert, (void)datagrams;
	return "cannot be redirected here: macOS does not tell programs where it was bound for";
}

bool origdst_of(int fd, bool divert, struct sockaddr_storage *to)
{
	(void)fd, (void)divert, (void)to;
	errno = ENOTSUP;
	return false;
}

int origdst_allow(int fd, int family, bool both)
{
	(void)fd, (void)family, (void)both;
	errno = ENOTSUP;
	return -1;
}

int origdst_tell(int fd, int family, bool both)
{
	(void)fd, (void)family, (void)both;
	errno = ENOTSUP;
	return -1;
}
