/*
 * How pf tells: rdr-to through an ioctl of /dev/pf, with both ends of the connection as the kernel
 * sees them now; divert-to, and fwd of ipfw, by the socket's own address. Datagrams of others are
 * not taken here. Needs <net/pfvar.h>.
 */
#include "net/origdst.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>

#include <net/pfvar.h>

/* One per process, opened before privileges are dropped; -1: there is no pf. */
static int pf = -1;

int origdst_open(void)
{
	if (pf < 0)
		pf = open("/dev/pf", O_RDONLY | O_CLOEXEC);
	return pf < 0 ? -1 : 0;
}

const char *origdst_lacks(bool divert, bool datagrams)
{
	(void)divert;
	return datagrams ? "cannot be redirected here, only TCP can: leave out -u and -U" : NULL;
}

static void fill(struct pf_addr *address, in_port_t *port, const struct sockaddr_storage *from)
{
	if (from->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)from;

		address->v6 = in6->sin6_addr;
		*port = in6->sin6_port;
	} else {
		const struct sockaddr_in *in = (const void *)from;

		address->v4 = in->sin_addr;
		*port = in->sin_port;
	}
}

static void read_back(const struct pfioc_natlook *look, struct sockaddr_storage *to)
{
	memset(to, 0, sizeof *to);
	to->ss_family = look->af;
	if (look->af == AF_INET6) {
		struct sockaddr_in6 *in6 = (void *)to;

		in6->sin6_addr = look->rdaddr.v6;
		in6->sin6_port = look->rdport;
	} else {
		struct sockaddr_in *in = (void *)to;

		in->sin_addr = look->rdaddr.v4;
		in->sin_port = look->rdport;
	}
}

bool origdst_of(int fd, bool divert, struct sockaddr_storage *to)
{
	struct pfioc_natlook look = { .direction = PF_OUT, .proto = IPPROTO_TCP };
	struct sockaddr_storage peer;
	socklen_t len = sizeof *to, peer_len = sizeof peer;

	if (getsockname(fd, (struct sockaddr *)to, &len) < 0)
		return false;
	if (divert)
		return true;
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0)
		return false;
	look.af = to->ss_family;
	fill(&look.saddr, &look.sport, &peer);
	fill(&look.daddr, &look.dport, to);
	if (ioctl(pf, DIOCNATLOOK, &look) < 0)
		return false;
	read_back(&look, to);
	return true;
}

/* A listener needs nothing to take what is diverted to it. */
int origdst_allow(int fd, int family, bool both)
{
	(void)fd, (void)family, (void)both;
	return 0;
}

int origdst_tell(int fd, int family, bool both)
{
	(void)fd, (void)family, (void)both;
	errno = EOPNOTSUPP;
	return -1;
}
