/*
 * Datagrams one by one, for systems without calls for many. Where they came to and leave from is
 * said as in datagram_linux.c, but for IPv4 on FreeBSD. Called by datagram.c.
 */
#define __APPLE_USE_RFC_3542 /* IPV6_PKTINFO */

#include "net/datagram.h"

#include "core/fd.h"

#include <string.h>
#include <sys/uio.h>

enum { PIECE_MAX = 65535 };

union control {
	struct cmsghdr align;
	unsigned char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + 32];
};

#ifdef IP_SENDSRCADDR

/* The address alone. */
struct info4 {
	struct in_addr at;
};

enum { TYPE4_IN = IP_RECVDSTADDR, TYPE4_OUT = IP_SENDSRCADDR };

static const struct in_addr *came_to(const struct info4 *info)
{
	return &info->at;
}

static struct in_addr *leaves_from(struct info4 *info)
{
	return &info->at;
}

#else

struct info4 {
	struct in_pktinfo pkt;
};

enum { TYPE4_IN = IP_PKTINFO, TYPE4_OUT = IP_PKTINFO };

static const struct in_addr *came_to(const struct info4 *info)
{
	return &info->pkt.ipi_addr;
}

static struct in_addr *leaves_from(struct info4 *info)
{
	return &info->pkt.ipi_spec_dst;
}

#endif

static void read_control(struct msghdr *message, struct origin *to)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == TYPE4_IN) {
			struct info4 info;

			memcpy(&info, CMSG_DATA(c), sizeof info);
			to->family = 4;
			memcpy(to->ip, came_to(&info), sizeof(struct in_addr));
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof info);
			to->family = 6;
			memcpy(to->ip, &info.ipi6_addr, sizeof info.ipi6_addr);
			if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
				to->interface = info.ipi6_ifindex;
		}
	}
}

int batch_receive(int fd, struct datagram *pieces, int max)
{
	int i;

	for (i = 0; i < max; i++) {
		union control control;
		struct iovec bytes = { .iov_base = pieces[i].bytes, .iov_len = PIECE_MAX };
		struct msghdr message = {
			.msg_name = &pieces[i].from,
			.msg_namelen = sizeof pieces[i].from,
			.msg_iov = &bytes,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof control.bytes,
		};
		ssize_t got = recvmsg(fd, &message, 0);

		if (got < 0)
			return i > 0 ? i : -1;
		pieces[i].n = pieces[i].segment = (uint32_t)got;
		pieces[i].to = (struct origin){ 0 };
		if (message.msg_controllen > 0)
			read_control(&message, &pieces[i].to);
	}
	return i;
}

static void put_control(struct msghdr *message, union control *control, int level, int type,
			const void *value, size_t n)
{
	struct cmsghdr *c;

	message->msg_control = control->bytes;
	message->msg_controllen = CMSG_SPACE(n);
	c = CMSG_FIRSTHDR(message);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), value, n);
}

static void write_control(struct msghdr *message, union control *control, const struct origin *from)
{
	struct in6_pktinfo info6 = { .ipi6_ifindex = from->interface };
	struct info4 info4 = { 0 };

	if (from->family == 4) {
		memcpy(leaves_from(&info4), from->ip, sizeof(struct in_addr));
		put_control(message, control, IPPROTO_IP, TYPE4_OUT, &info4, sizeof info4);
	} else if (from->family == 6) {
		memcpy(&info6.ipi6_addr, from->ip, sizeof info6.ipi6_addr);
		put_control(message, control, IPPROTO_IPV6, IPV6_PKTINFO, &info6, sizeof info6);
	}
}

static int send_one(int fd, const struct outgoing *o)
{
	union control control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = o->iov };

	message.msg_iovlen = (int)o->iovs;
	if (o->to) {
		message.msg_name = (void *)(uintptr_t)&o->to->any;
		message.msg_namelen = inet_len(o->to);
	}
	if (o->from)
		write_control(&message, &control, o->from);
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int batch_send(int fd, const struct outgoing *o, int n)
{
	for (int i = 0; i < n; i++)
		if (send_one(fd, &o[i]) < 0)
			return i > 0 ? i : -1;
	return n;
}
