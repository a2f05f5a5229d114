/*
 * Datagrams one by one, for systems without calls for many. Called by datagram.c.
 */
#include "net/datagram.h"

#include "core/fd.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { PIECE_MAX = 65535 };

int batch_receive(int fd, struct datagram *pieces, int max)
{
	int i;

	for (i = 0; i < max; i++) {
		socklen_t len = sizeof pieces[i].from;
		ssize_t got =
			recvfrom(fd, pieces[i].bytes, PIECE_MAX, 0, &pieces[i].from.any, &len);

		if (got < 0)
			return i > 0 ? i : -1;
		pieces[i].n = pieces[i].segment = (uint32_t)got;
		pieces[i].to = (struct origin){ 0 };
	}
	return i;
}

int batch_send(int fd, const struct outgoing *o, int n)
{
	for (int i = 0; i < n; i++) {
		struct msghdr message = { .msg_iov = o[i].iov };

		message.msg_iovlen = (int)o[i].iovs;
		if (o[i].to) {
			message.msg_name = (void *)(uintptr_t)&o[i].to->any;
			message.msg_namelen = inet_len(o[i].to);
		}
		if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
			return i > 0 ? i : -1;
	}
	return n;
}
