/*
 * See handover.h. A message is one datagram with one descriptor.
 */
#include "net/handover.h"

#include "core/fd.h"
#include "core/log.h"
#include "net/service.h"
#include "net/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TAKES = 64 }; /* a turn */

struct message {
	uint32_t service;
	uint8_t socks;
};

/* Room for one descriptor, aligned as the kernel wants it. */
union ancillary {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

int handover_open(struct handover *handover, unsigned workers)
{
	*handover = (struct handover){ .source.fd = -1 };
	handover->boxes = calloc(workers, 2 * sizeof(int));
	if (!handover->boxes)
		return -1;
	for (unsigned i = 0; i < workers; i++)
		if (fd_pair(AF_UNIX, SOCK_DGRAM, &handover->boxes[2 * (size_t)i]) < 0)
			return -1;
	handover->workers = workers;
	return 0;
}

unsigned handover_place(const struct handover *handover, uint32_t service)
{
	return service % handover->workers;
}

bool handover_is_elsewhere(const struct service *service)
{
	const struct handover *handover = &service->engine->handover;

	return handover->workers > 0 &&
	       handover_place(handover, service->number) != handover->place;
}

int handover_give(const struct service *service, int fd, uint8_t socks)
{
	const struct handover *handover = &service->engine->handover;
	struct message message = { .service = service->number, .socks = socks };
	struct iovec bytes = { .iov_base = &message, .iov_len = sizeof(message) };
	union ancillary ancillary = { 0 };
	struct msghdr m = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = ancillary.room,
		.msg_controllen = sizeof(ancillary.room),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	size_t box = 2 * (size_t)handover_place(handover, service->number) + 1;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(handover->boxes[box], &m, 0) < 0 ? -1 : 0;
}

/* The next message; the descriptor that came with it, -1: none did; -2: there is no more. */
static int receive(int box, struct message *message)
{
	struct iovec bytes = { .iov_base = message, .iov_len = sizeof(*message) };
	union ancillary ancillary = { 0 };
	struct msghdr m = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = ancillary.room,
		.msg_controllen = sizeof(ancillary.room),
	};
	ssize_t n = fd_receive(box, &m);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
	int fd = -1;

	if (n < 0 && errno != EINTR)
		return -2;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

/* Go on with a connection; or close it, if it is over or there is no room. */
static void go_on(struct service *service, int fd, uint8_t socks)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);

	if (getpeername(fd, (struct sockaddr *)&peer, &len) < 0) {
		close(fd);
	} else if (!session_continue(service, fd, &peer, socks)) {
		log_peer(LOG_KIND_ACCEPT, "no room for another session: the limit is %u",
			 service->engine->sessions.max);
		close(fd);
	}
}

static void woken(struct source *source)
{
	struct handover *handover = container_of(source, struct handover, source);

	for (int i = 0; i < TAKES; i++) {
		struct message message = { 0 };
		int fd = receive(source->fd, &message);

		if (fd == -2) {
			source->ready &= (uint8_t)~READY_IN;
			return;
		}
		if (fd >= 0 && message.service < handover->service_count)
			go_on(handover->services[message.service], fd, message.socks);
		else if (fd >= 0)
			close(fd);
	}
	reactor_again(source);
}

int handover_start(struct handover *handover, unsigned place, struct service *const *services,
		   unsigned service_count)
{
	handover->place = place;
	handover->services = services;
	handover->service_count = service_count;
	return reactor_watch_input(&handover->source, handover->boxes[2 * (size_t)place], woken);
}
