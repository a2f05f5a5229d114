/* See socket_ares.h. Used by dns.c, which owns the sockets. */
#include "net/socket_ares.h"

#include "core/fd.h"
#include "net/socket_platform.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	ROUNDS = 100,		    /* of one wake-up; then others have their turn */
	RECEIVE_BUFFER = 512 * 1024 /* the usual one is full with 277 answers; 512 may be out */
};

static struct ares_source *find(struct ares_sockets *sockets, int fd)
{
	for (unsigned i = 0; i < ARES_SOCKETS; i++)
		if (sockets->sources[i].source.fd == fd)
			return &sockets->sources[i];
	return NULL;
}

static struct ares_sockets *owner_of(struct ares_source *s)
{
	return container_of(s - s->index, struct ares_sockets, sources);
}

/* What there is for c-ares to do here; called until it stops at EAGAIN, has closed the socket, or
 * takes no notice. */
static bool look(struct ares_sockets *sockets, struct ares_source *s)
{
	int fd = s->source.fd;
	bool in = fd >= 0 && s->source.ready & (READY_IN | READY_EOF | READY_ERROR);
	bool out = fd >= 0 && s->wants_out && s->source.ready & READY_OUT;

	if (!in && !out)
		return false;
	s->tried = false;
	ares_process_fd(sockets->channel, in ? fd : ARES_SOCKET_BAD, out ? fd : ARES_SOCKET_BAD);
	return s->tried;
}

static void wake(struct source *source)
{
	struct ares_source *s = container_of(source, struct ares_source, source);
	struct ares_sockets *sockets = owner_of(s);
	unsigned rounds = 0;

	while (rounds < ROUNDS && look(sockets, s))
		rounds++;
	if (rounds == ROUNDS && source->fd >= 0)
		reactor_again(source);
	sockets->after();
}

static ares_socket_t open_socket(int family, int type, int protocol, void *data)
{
	int fd = fd_socket(family, type, protocol);
	const struct option_name *mark = &option_names[OPTION_MARK];
	const struct ares_sockets *sockets = data;
	int room = RECEIVE_BUFFER;

	if (fd >= 0 && sockets->mark && mark->name) /* or as the rules will have it */
		setsockopt(fd, mark->level, mark->name, &sockets->mark, sizeof(sockets->mark));
	if (fd >= 0 && type == SOCK_DGRAM)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)); /* or what there is */
	return fd;
}

static int close_socket(ares_socket_t fd, void *data)
{
	struct ares_source *s = find(data, fd);

	if (s == NULL)
		return close(fd);
	reactor_forget(&s->source);
	return 0;
}

/* Watched from here on: before connect() the poller would call a TCP socket hung up. */
static int connect_socket(ares_socket_t fd, const struct sockaddr *to, ares_socklen_t len,
			  void *data)
{
	struct ares_source *s = find(data, -1);

	if (s == NULL) {
		errno = EMFILE;
		return -1;
	}
	int result = connect(fd, to, len);
	int saved = errno;
	if (result < 0 && saved != EINPROGRESS)
		return -1;
	s->wants_out = false;
	if (reactor_watch(&s->source, fd, 0, wake) < 0)
		return -1;
	errno = saved;
	return result;
}

static ares_ssize_t receive(ares_socket_t fd, void *to, size_t n, int flags, struct sockaddr *from,
			    ares_socklen_t *len, void *data)
{
	struct ares_source *s = find(data, fd);
	ares_ssize_t got = recvfrom(fd, to, n, flags, from, len);

	if (s == NULL)
		return got;
	s->tried = true;
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		s->source.ready &= (uint8_t) ~(READY_IN | READY_EOF | READY_ERROR);
	return got;
}

static ares_ssize_t send_all(ares_socket_t fd, const struct iovec *parts, int count, void *data)
{
	struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts };
	struct ares_source *s = find(data, fd);

	message.msg_iovlen = (unsigned)count;
	ares_ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	if (s == NULL)
		return sent;
	s->tried = true;
	if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		s->source.ready &= (uint8_t)~READY_OUT;
	return sent;
}

void ares_sockets_init(struct ares_sockets *sockets, void (*after)(void), unsigned mark)
{
	sockets->after = after;
	sockets->mark = mark;
	for (unsigned i = 0; i < ARES_SOCKETS; i++) {
		sockets->sources[i].source.fd = -1;
		sockets->sources[i].index = (uint8_t)i;
	}
}

void ares_sockets_state(void *data, ares_socket_t fd, int readable, int writable)
{
	struct ares_source *s = find(data, fd);

	(void)readable; /* it always reads */
	if (s == NULL)
		return;
	s->wants_out = writable != 0;
	if (s->wants_out && s->source.ready & READY_OUT)
		reactor_again(&s->source);
}

void ares_sockets_attach(struct ares_sockets *sockets, ares_channel channel)
{
	static const struct ares_socket_functions functions = {
		.asocket = open_socket,
		.aclose = close_socket,
		.aconnect = connect_socket,
		.arecvfrom = receive,
		.asendv = send_all,
	};

	sockets->channel = channel;
	ares_set_socket_functions(channel, &functions, sockets);
}
