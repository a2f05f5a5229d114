/*
 * Many datagrams with one call, as Linux does it: recvmmsg and sendmmsg, UDP_GRO and UDP_SEGMENT,
 * IP_PKTINFO for the address of ours, and IP_ORIGDSTADDR for that of others. Called by datagram.c.
 */
#include "net/datagram.h"

#include "net/endpoint.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PIECE_MAX = 65535,
	ORIGDSTADDR6 = 74, /* IPV6_ORIGDSTADDR, which older headers lack */
	CONTROL = CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)) + 32
};

/* The headers of a call. All zero between calls but what each call sets, so that padding which a C
 * library may have in them stays zero. */
static struct mmsghdr in[DATAGRAM_BURST], out[DATAGRAM_BURST];
static struct iovec in_iov[DATAGRAM_BURST];
static union control {
	struct cmsghdr align;
	unsigned char bytes[CONTROL];
} in_control[DATAGRAM_BURST], out_control[DATAGRAM_BURST];

/* Whom a datagram was for that was turned to us. */
static void read_origdst(const void *data, struct origin *to)
{
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	struct address address;

	memcpy(&at.ss_family, data, sizeof at.ss_family);
	memcpy(&at, data,
	       at.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	to->port = address_from_socket(&address, (struct sockaddr *)&at);
	to->family = address.family;
	memcpy(to->ip, address.ip, sizeof to->ip);
}

static void read_control(struct msghdr *message, struct datagram *piece)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			int size;

			memcpy(&size, CMSG_DATA(c), sizeof size);
			if (size > 0)
				piece->segment = (uint32_t)size;
		} else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_ORIGDSTADDR) ||
			   (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == ORIGDSTADDR6)) {
			read_origdst(CMSG_DATA(c), &piece->to);
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof info);
			piece->to.family = 4;
			memcpy(piece->to.ip, &info.ipi_spec_dst, sizeof info.ipi_spec_dst);
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof info);
			piece->to.family = 6;
			memcpy(piece->to.ip, &info.ipi6_addr, sizeof info.ipi6_addr);
			if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
				piece->to.interface = info.ipi6_ifindex;
		}
	}
}

int batch_receive(int fd, struct datagram *pieces, int max)
{
	int got;

	for (int i = 0; i < max; i++) {
		in_iov[i] = (struct iovec){ pieces[i].bytes, PIECE_MAX };
		in[i].msg_hdr.msg_name = &pieces[i].from;
		in[i].msg_hdr.msg_namelen = sizeof pieces[i].from;
		in[i].msg_hdr.msg_iov = &in_iov[i];
		in[i].msg_hdr.msg_iovlen = 1;
		in[i].msg_hdr.msg_control = in_control[i].bytes;
		in[i].msg_hdr.msg_controllen = sizeof in_control[i].bytes;
	}
	got = recvmmsg(fd, in, (unsigned)max, 0, NULL);
	for (int i = 0; i < got; i++) {
		pieces[i].n = pieces[i].segment = in[i].msg_len;
		pieces[i].to = (struct origin){ 0 };
		if (in[i].msg_hdr.msg_controllen > 0)
			read_control(&in[i].msg_hdr, &pieces[i]);
	}
	return got;
}

static void put_control(struct msghdr *message, struct cmsghdr **at, int level, int type,
			const void *value, size_t n)
{
	struct cmsghdr *c = *at ? *at : CMSG_FIRSTHDR(message);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), value, n);
	*at = (struct cmsghdr *)(void *)((unsigned char *)c + CMSG_SPACE(n));
}

static void write_control(struct msghdr *message, union control *control, const struct outgoing *o)
{
	struct cmsghdr *at = NULL;

	message->msg_control = control->bytes;
	message->msg_controllen = sizeof control->bytes;
	if (o->from && o->from->family == 4) {
		struct in_pktinfo info = { 0 };

		memcpy(&info.ipi_spec_dst, o->from->ip, sizeof info.ipi_spec_dst);
		put_control(message, &at, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
	} else if (o->from && o->from->family == 6) {
		struct in6_pktinfo info = { .ipi6_ifindex = o->from->interface };

		memcpy(&info.ipi6_addr, o->from->ip, sizeof info.ipi6_addr);
		put_control(message, &at, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
	}
	if (o->segment)
		put_control(message, &at, IPPROTO_UDP, UDP_SEGMENT, &o->segment, sizeof o->segment);
	message->msg_controllen = at ? (size_t)((unsigned char *)at - control->bytes) : 0;
	if (!at)
		message->msg_control = NULL;
}

static void put_message(struct msghdr *message, union control *control, const struct outgoing *o)
{
	message->msg_name = NULL;
	message->msg_namelen = 0;
	if (o->to) {
		message->msg_name = (void *)(uintptr_t)&o->to->any;
		message->msg_namelen = inet_len(o->to);
	}
	message->msg_iov = o->iov;
	message->msg_iovlen = o->iovs;
	write_control(message, control, o);
}

/* musl's sendmmsg is a loop. */
static int send_many(int fd, unsigned n)
{
	return (int)syscall(SYS_sendmmsg, fd, out, n, MSG_NOSIGNAL);
}

int batch_send(int fd, const struct outgoing *o, int n)
{
	for (int i = 0; i < n; i++)
		put_message(&out[i].msg_hdr, &out_control[i], &o[i]);
	if (n == 1)
		return sendmsg(fd, &out[0].msg_hdr, MSG_NOSIGNAL) < 0 ? -1 : 1;
	return send_many(fd, (unsigned)n);
}
