/*
 * See socket.h. Called by service.c for listeners, by dial.c for connections, by assoc.c and
 * guise.c for datagrams; owns nothing. What options are called where is in socket_linux.c and
 * socket_bsd.c.
 */
#include "net/socket.h"

#include "core/fd.h"
#include "core/log.h"
#include "net/origdst.h"
#include "net/socket_pace.h"
#include "net/socket_passed.h"
#include "net/socket_platform.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BACKLOG = 4096,	     /* the kernel cuts it to its own limit; SOMAXCONN is 128 in musl */
	FAST_BACKLOG = 1024, /* fast open connections not yet confirmed */
	KEEP_PROBES = 5,
	KEEP_IDLE_MAX = 32767, /* the kernel's limit */
	KEEP_EVERY_MAX = 75,
	/* bytes, for the datagrams of all clients; the kernel's limit may be less */
	NEAR_BUFFER = 4 << 20,
	FAR_BUFFER = 1 << 20, /* for those of one */
	BUFFER_MIN = 1 << 16
};

/* What only makes things faster, by its bit in `said`. */
enum extra {
	EXTRA_MULTIPATH,
	EXTRA_FAST_LISTEN,
	EXTRA_FAST_CONNECT,
	EXTRA_DSCP,
	EXTRA_WHOLE,
	EXTRA_OTHER
};

static const char *const extra_names[] = {
	[EXTRA_MULTIPATH] = "multipath TCP",
	[EXTRA_FAST_LISTEN] = "TCP fast open for accepted connections",
	[EXTRA_FAST_CONNECT] = "TCP fast open",
	[EXTRA_DSCP] = "the DSCP mark",
	[EXTRA_WHOLE] = "forbidding that datagrams are cut into fragments",
	[EXTRA_OTHER] = "a socket option",
};

/* The kernel refuses this: go on without it, and say so once per program. */
static void fall_back(enum extra extra)
{
	static unsigned said;

	if (!(said & 1u << extra))
		log_warn("%s is not available here (%s): going on without", extra_names[extra],
			 strerror(errno));
	said |= 1u << extra;
}

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static int set_option(int fd, enum socket_option option, const void *value, size_t n)
{
	const struct option_name *o = &option_names[option];

	if (o->name == 0) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return setsockopt(fd, o->level, o->name, value, (socklen_t)n);
}

const char *socket_lacks(const struct socket_options *options)
{
	if (options->mark && !option_names[OPTION_MARK].name)
		return "fwmark: this system does not mark connections, only Linux does";
	if (options->interface && !option_names[OPTION_INTERFACE].name)
		return "interface: this system does not tie connections to one, only Linux does";
	return NULL;
}

static int set_number(int fd, enum socket_option option, int value)
{
	return set_option(fd, option, &value, sizeof(value));
}

static int close_failed(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
	return -1;
}

static bool short_of_memory(void)
{
	return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

static int open_stream(int family, bool multipath)
{
	if (multipath) {
		int fd = -1;

		errno = EPROTONOSUPPORT;
		if (protocol_multipath >= 0)
			fd = fd_socket(family, SOCK_STREAM, protocol_multipath);
		if (fd >= 0 || short_of_memory())
			return fd;
		fall_back(EXTRA_MULTIPATH);
	}
	return fd_socket(family, SOCK_STREAM, 0);
}

/* Probes so close together that a dead peer is found after twice the idle time, at most. */
void socket_keep_alive(int fd, const struct socket_options *options)
{
	int idle = options->keep_alive < KEEP_IDLE_MAX ? options->keep_alive : KEEP_IDLE_MAX;
	int every = idle / KEEP_PROBES;

	if (idle <= 0)
		return;
	every = every < 1 ? 1 : every > KEEP_EVERY_MAX ? KEEP_EVERY_MAX : every;
	if (set(fd, SOL_SOCKET, SO_KEEPALIVE, 1) < 0 ||
	    set_number(fd, OPTION_KEEP_IDLE, idle) < 0 ||
	    set_number(fd, OPTION_KEEP_EVERY, every) < 0 ||
	    set_number(fd, OPTION_KEEP_PROBES, KEEP_PROBES) < 0)
		fall_back(EXTRA_OTHER);
}

static void set_no_delay(int fd, const struct socket_options *options)
{
	if (options->no_delay && set(fd, IPPROTO_TCP, TCP_NODELAY, 1) < 0)
		fall_back(EXTRA_OTHER);
}

/* Of what we accept. */
static void set_manners(int fd, const struct socket_options *options)
{
	set_no_delay(fd, options);
	socket_keep_alive(fd, options);
}

/* The first bytes follow at once: let them go with the SYN, or with the answer to the peer's. */
static void expect_early(int fd, const struct socket_options *options)
{
	if (options->fast_open && set_number(fd, OPTION_FAST_CONNECT, 1) < 0)
		fall_back(EXTRA_FAST_CONNECT);
	if (!options->fast_open && !options->multipath)
		set_number(fd, OPTION_LATE_ACK, 1);
}

/* Or as much as there may be: Linux sees to that, others refuse what is more. */
static void set_buffer(int fd, int name, int bytes)
{
	while (bytes > 0 && set(fd, SOL_SOCKET, name, bytes) < 0) {
		if (errno != ENOBUFS || bytes < BUFFER_MIN) {
			fall_back(EXTRA_OTHER);
			return;
		}
		bytes /= 2;
	}
}

/* The receive buffer decides the window scale: to be set before listen() or connect(). */
static void set_buffers(int fd, int sndbuf, int rcvbuf)
{
	set_buffer(fd, SO_SNDBUF, sndbuf);
	set_buffer(fd, SO_RCVBUF, rcvbuf);
}

/* The traffic class of what we send. */
static void set_dscp(int fd, int family, int dscp)
{
	bool v6 = family == AF_INET6;

	if (dscp >= 0 &&
	    set(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS, dscp << 2) < 0)
		fall_back(EXTRA_DSCP);
}

/* Linux cuts a name that is too long, and might then find another interface. */
static int set_interface(int fd, const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n >= IFNAMSIZ) {
		errno = ENODEV;
		return -1;
	}
	return set_option(fd, OPTION_INTERFACE, name, n + 1);
}

static bool is_mapped(const struct sockaddr *address)
{
	struct sockaddr_in6 in6;

	if (address->sa_family != AF_INET6)
		return false;
	memcpy(&in6, address, sizeof(in6));
	return IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr);
}

static bool is_any(const struct sockaddr *address)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (address->sa_family == AF_INET6) {
		memcpy(&in6, address, sizeof(in6));
		return IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr);
	}
	memcpy(&in, address, sizeof(in));
	return in.sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Leave from the address the user chose, or not at all. */
static int bind_source(int fd, const struct sockaddr *target, const struct socket_options *options)
{
	bool v6 = target->sa_family == AF_INET6;
	const struct address *source = v6 ? &options->source6 : &options->source4;
	struct sockaddr_storage from;
	socklen_t len;

	if (options->source4.family == 0 && options->source6.family == 0)
		return 0;
	errno = EADDRNOTAVAIL;
	if (source->family != (v6 ? 6 : 4) || is_mapped(target))
		return -1;
	len = address_socket(source, 0, &from);
	/* Else each source port could serve one target only; without it that is so. */
	set_number(fd, OPTION_LATE_PORT, 1);
	return bind(fd, (struct sockaddr *)&from, len);
}

/* Where traffic goes: nothing here may be left out silently. */
static int set_path(int fd, const struct sockaddr *target, const struct socket_options *options)
{
	if (options->mark && set_option(fd, OPTION_MARK, &options->mark, sizeof(options->mark)) < 0)
		return -1;
	if (options->interface && set_interface(fd, options->interface) < 0)
		return -1;
	return bind_source(fd, target, options);
}

/* What accepted sockets inherit, and what it takes to accept. */
static int set_near(int fd, const struct sockaddr *address, const struct socket_options *options,
		    bool v6only)
{
	if (options->fast_open && set_number(fd, OPTION_FAST_LISTEN, FAST_BACKLOG) < 0)
		fall_back(EXTRA_FAST_LISTEN);
	set_buffers(fd, options->near_sndbuf, options->near_rcvbuf);
	set_manners(fd, options);
	socket_pace(fd, address, options);
	return options->transparent ? origdst_allow(fd, address->sa_family, !v6only) : 0;
}

/* A TCP socket with this address, which does not listen yet. */
static int open_bound(const struct sockaddr *address, socklen_t len,
		      const struct socket_options *options, bool v6only, bool share)
{
	int fd = open_stream(address->sa_family, options->multipath && !options->near_single);

	if (fd < 0)
		return -1;
	/* Connections of the last run in TIME_WAIT do not hinder a restart. */
	if (set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0)
		return close_failed(fd);
	if (share && set(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0)
		return close_failed(fd);
	/* Said either way: the system's default may be either. */
	if (address->sa_family == AF_INET6 && set(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6only) < 0)
		return close_failed(fd);
	if (set_near(fd, address, options, v6only) < 0)
		return close_failed(fd);
	return bind(fd, address, len) < 0 ? close_failed(fd) : fd;
}

int socket_listen(const struct sockaddr *address, socklen_t len,
		  const struct socket_options *options, bool v6only)
{
	bool share = options->reuse_port;
	int fd = socket_passed(address, SOCK_STREAM);

	if (fd >= 0)
		return set_near(fd, address, options, v6only) < 0 || listen(fd, BACKLOG) < 0
			       ? close_failed(fd)
			       : fd;
	/* Sharing is not to hide that another program has the port: see first that nobody does. */
	if (options->several && !share) {
		fd = open_bound(address, len, options, v6only, false);
		if (fd < 0)
			return -1;
		close(fd);
		share = true;
	}
	fd = open_bound(address, len, options, v6only, share);
	return fd >= 0 && listen(fd, BACKLOG) < 0 ? close_failed(fd) : fd;
}

/* What was passed to us may belong to another user, or be shared with nobody. */
static bool is_refused_beside(int error)
{
	return error == EADDRINUSE || error == EACCES;
}

int socket_listen_beside(int fd, const struct socket_options *options, bool v6only)
{
	struct socket_options sharing = *options;
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int own;

	sharing.reuse_port = true;
	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0)
		return -1;
	own = socket_listen((struct sockaddr *)&name, len, &sharing, v6only);
	return own < 0 && is_refused_beside(errno) ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : own;
}

int socket_accept(int listener, const struct socket_options *options, struct sockaddr_storage *peer)
{
	socklen_t len = sizeof(*peer);
	int fd;

	memset(peer, 0, sizeof(*peer));
	do
		fd = fd_accept(listener, (struct sockaddr *)peer, &len);
	while (fd < 0 && errno == EINTR);
	/* All comes from the listener; old kernels pass on nothing of multipath TCP's. */
	if (fd >= 0 && options->multipath && !options->near_single)
		set_manners(fd, options);
	return fd;
}

int socket_connect(const struct sockaddr *address, socklen_t len,
		   const struct socket_options *options, bool early, bool *connected)
{
	int fd = open_stream(address->sa_family, options->multipath);

	if (fd < 0)
		return -1;
	if (set_path(fd, address, options) < 0)
		return close_failed(fd);
	set_dscp(fd, address->sa_family, options->dscp);
	set_no_delay(fd, options);
	set_buffers(fd, options->far_sndbuf, options->far_rcvbuf);
	socket_pace(fd, address, options);
	if (early)
		expect_early(fd, options);
	*connected = connect(fd, address, len) == 0;
	/* EINTR: it goes on without us. */
	if (!*connected && errno != EINPROGRESS && errno != EINTR)
		return close_failed(fd);
	return fd;
}

int socket_error(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}

bool socket_connected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

void socket_reset_on_close(int fd)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* For one piece, the calls that cost the kernel least. */
ssize_t socket_read(int fd, const struct iovec *iov, int n)
{
	return n == 1 ? recv(fd, iov->iov_base, iov->iov_len, 0) : readv(fd, iov, n);
}

ssize_t socket_write(int fd, const struct iovec *iov, int n, bool more)
{
	int flags = MSG_NOSIGNAL | (more ? flag_more : 0);
	struct msghdr message = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (unsigned)n };

	return n == 1 ? send(fd, iov->iov_base, iov->iov_len, flags) : sendmsg(fd, &message, flags);
}

int socket_unsent(int fd)
{
	int bytes = 0;

	return request_unsent && ioctl(fd, request_unsent, &bytes) == 0 ? bytes : 0;
}

/* What both kinds have in common. Merging only makes things faster: a kernel without it says no. */
static void set_datagram_manners(int fd, int family, const struct socket_options *options,
				 bool whole, int buffer)
{
	set_dscp(fd, family, options->dscp);
	set_buffers(fd, buffer, buffer);
	set_number(fd, OPTION_MERGE, 1);
	if (platform_fragments(fd, family, !whole) < 0)
		fall_back(EXTRA_WHOLE);
}

static int open_datagram(int family)
{
	return fd_socket(family, SOCK_DGRAM, 0);
}

/* Datagrams say where they were sent to: to others' addresses, or, on any, to which of ours. */
static int tell_origin(int fd, const struct sockaddr *address, bool others, bool v6only)
{
	int family = address->sa_family;

	if (others)
		return origdst_allow(fd, family, !v6only) < 0 ? -1
							      : origdst_tell(fd, family, !v6only);
	return is_any(address) ? platform_tell_origin(fd, family) : 0;
}

int socket_receive(const struct sockaddr *address, socklen_t len,
		   const struct socket_options *options, bool v6only, bool whole)
{
	int family = address->sa_family, fd = socket_passed(address, SOCK_DGRAM);
	bool bound = fd >= 0;

	if (!bound)
		fd = open_datagram(family);
	if (fd < 0)
		return -1;
	if (!bound && options->reuse_port && set(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0)
		return close_failed(fd);
	if (!bound && family == AF_INET6 && set(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6only) < 0)
		return close_failed(fd);
	if (tell_origin(fd, address, options->transparent_datagrams, v6only) < 0)
		return close_failed(fd);
	set_datagram_manners(fd, family, options, whole, NEAR_BUFFER);
	if (!bound && bind(fd, address, len) < 0)
		return close_failed(fd);
	/* Beside it answers from others' addresses with the same port are bound, but no second
	 * listener: so not before. */
	if (options->transparent_datagrams && set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0)
		return close_failed(fd);
	return fd;
}

int socket_send_to(const struct sockaddr *to, socklen_t len, bool connected,
		   const struct socket_options *options, bool whole)
{
	int family = to->sa_family, fd = open_datagram(family);

	if (fd < 0)
		return -1;
	if (family == AF_INET6 && set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0)
		return close_failed(fd);
	if (set_path(fd, to, options) < 0)
		return close_failed(fd);
	set_datagram_manners(fd, family, options, whole, FAR_BUFFER);
	if (connected && connect(fd, to, len) < 0)
		return close_failed(fd);
	return fd;
}

/* Nothing is to be received: who writes to that address writes to our listener. What comes all the
 * same, by rules that should not be, is not kept. */
int socket_send_from(const struct sockaddr *from, socklen_t len, unsigned mark)
{
	int family = from->sa_family, fd = open_datagram(family);

	if (fd < 0)
		return -1;
	/* The address may be bound by another process of ours, and a listener of this machine's. */
	if (origdst_allow(fd, family, false) < 0 || set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0)
		return close_failed(fd);
	if (family == AF_INET6 && set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0)
		return close_failed(fd);
	if (mark && set_option(fd, OPTION_MARK, &mark, sizeof(mark)) < 0)
		return close_failed(fd);
	if (platform_fragments(fd, family, true) < 0 || set(fd, SOL_SOCKET, SO_RCVBUF, 1) < 0)
		fall_back(EXTRA_OTHER);
	if (bind(fd, from, len) < 0)
		return close_failed(fd);
	return fd;
}

bool socket_may_reach(const struct socket_options *o, const struct address *address)
{
	return (o->source4.family == 0 && o->source6.family == 0) ||
	       (address->family == 6 ? o->source6.family : o->source4.family) != 0;
}

int socket_mailbox(const struct sockaddr *address, socklen_t len)
{
	int fd = open_datagram(address->sa_family);
	mode_t mask;
	int error;

	if (fd < 0)
		return -1;
	set_buffers(fd, NEAR_BUFFER, NEAR_BUFFER);
	if (address->sa_family == AF_INET6 && set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0)
		return close_failed(fd);
	mask = umask(0177);
	error = len > offsetof(struct sockaddr, sa_data) ? bind(fd, address, len) : 0;
	umask(mask);
	return error < 0 ? close_failed(fd) : fd;
}

int socket_room(int fd)
{
	socklen_t len = sizeof(int);
	int bytes = 0;

	return getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &len) < 0 ? 0 : bytes;
}

int socket_unread(int fd)
{
	int bytes = 0;

	return ioctl(fd, TIOCOUTQ, &bytes) < 0 ? 0 : bytes;
}

int socket_reconnect(int fd, const struct sockaddr *to, socklen_t len)
{
	return connect(fd, to, len);
}

bool socket_segments(int fd)
{
	return set_number(fd, OPTION_SEGMENT, 0) == 0;
}

bool socket_name(int fd, struct sockaddr_storage *name)
{
	socklen_t len = sizeof(*name);

	memset(name, 0, sizeof(*name));
	return getsockname(fd, (struct sockaddr *)name, &len) == 0;
}

/* Whoever writes to himself does so from the address he writes to; nothing is sent. */
int socket_is_ours(const struct address *address)
{
	struct sockaddr_storage at, from;
	socklen_t len = address_socket(address, 9, &at);
	struct address self = { .family = 0 };
	int fd = open_datagram(at.ss_family);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&at, len) == 0 && socket_name(fd, &from))
		address_from_socket(&self, (struct sockaddr *)&from);
	close(fd);
	return address_equal(&self, address);
}
