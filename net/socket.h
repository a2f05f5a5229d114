/*
 * Sockets. Here, in net/socket_*.c and in net/origdst_*.c is every bind(), connect() and
 * setsockopt() of the program, but for the two Unix sockets that core/syslog.c and core/notify.c
 * connect. All descriptors are non-blocking and close-on-exec. Options that the kernel refuses and
 * that only make things faster (fast open, multipath) fall back by themselves, with one log line;
 * options that say where traffic goes (interface, mark, source address) are errors.
 */
#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include "net/endpoint.h"

#include <sys/uio.h>

struct socket_options {
	bool no_delay;	  /* TCP_NODELAY; on by default */
	bool fast_open;	  /* TFO: listening, and connecting with the first bytes */
	bool multipath;	  /* MPTCP */
	bool near_single; /* but not for what is accepted */
	bool reuse_port;  /* share the port with any process of this user that does so */
	bool several;	  /* TCP is listened to by several processes of ours, and no others */
	int keep_alive;	  /* seconds until the first probe; 0: off */
	int near_sndbuf, near_rcvbuf;	 /* of accepted sockets, bytes; 0: the kernel's */
	int far_sndbuf, far_rcvbuf;	 /* of connections we open */
	unsigned mark;			 /* SO_MARK of what we open; 0: none */
	int dscp;			 /* 0..63 of what we open; -1: none */
	const char *interface;		 /* SO_BINDTODEVICE of what we open; NULL: none */
	const char *congestion;		 /* see socket_pace.h; NULL: as it chooses */
	struct address source4, source6; /* bind what we open to; family 0: none */
	bool transparent;		 /* accept connections to others' addresses */
	bool transparent_datagrams;	 /* take datagrams to others' addresses */
	bool unpaced;			 /* what stays within this machine (socket_pace.h) */
};

/* Which of the options that say where traffic goes this system has nothing like: a sentence. NULL:
 * none. */
const char *socket_lacks(const struct socket_options *options);

/* A listening TCP socket. v6only: only IPv6 on `::`. fd, or -1 with errno. */
int socket_listen(const struct sockaddr *address, socklen_t len,
		  const struct socket_options *options, bool v6only);

/* Another one at the address of `fd`, which was opened with options->several or reuse_port: the
 * kernel spreads connections over both. If it was passed to us and its address is not to be shared,
 * another descriptor of the same: whoever is first accepts. fd, or -1 with errno. */
int socket_listen_beside(int fd, const struct socket_options *options, bool v6only);

/* The next waiting connection, with the options of near sockets set; *peer is filled. fd, or -1
 * with errno (EAGAIN: none waits; EMFILE, ENFILE, ENOBUFS, ENOMEM: pause; others: look again). */
int socket_accept(int listener, const struct socket_options *options,
		  struct sockaddr_storage *peer);

/* Begin a TCP connection. fd, or -1 with errno. *connected: the socket may be written at once
 * (a local connection; or fast open: the first write goes out with the SYN, and that the peer is
 * not there is seen only afterwards). `early`: bytes to send are at hand or will be soon, so fast
 * open is worth it, or else they may bring the last packet of TCP's handshake. A source address of
 * the other family than the target's is an error (EADDRNOTAVAIL), never a connection from
 * elsewhere. */
int socket_connect(const struct sockaddr *address, socklen_t len,
		   const struct socket_options *options, bool early, bool *connected);

/* Probe the peer of a connection of ours from now on, when it is silent. Not done from the
 * beginning, since most do not live to see a probe. */
void socket_keep_alive(int fd, const struct socket_options *options);

/* The outcome of a connect that was in progress, once writable: 0 or the errno. */
int socket_error(int fd);

/* False while a connect is under way, also where fast open took bytes for it already, and once the
 * connection is over. */
bool socket_connected(int fd);

/* When it is closed, the peer gets a reset, not an end. fd may be -1. */
void socket_reset_on_close(int fd);

/* Read from, and write to, a connection; like readv() and writev(). `more`: another write or the
 * end follows at once, and may travel together with these bytes. */
ssize_t socket_read(int fd, const struct iovec *iov, int n);
ssize_t socket_write(int fd, const struct iovec *iov, int n, bool more);

/* Bytes written that the peer's kernel has not acknowledged; 0 also where the system cannot
 * tell. */
int socket_unsent(int fd);

/* Datagrams. What is received and sent in one piece is in net/datagram.h. */

/* A datagram socket that listens; on any address it says where each datagram was sent to, and
 * always where it takes those to others. `whole`: none that it sends is cut into fragments (DF).
 * fd, or -1 with errno. */
int socket_receive(const struct sockaddr *address, socklen_t len,
		   const struct socket_options *options, bool v6only, bool whole);

/* A datagram socket that we send from. `to` has the family, and the address if `connected`: then
 * only that one may answer. fd, or -1 with errno; a source address of the other family is an error
 * (EADDRNOTAVAIL). */
int socket_send_to(const struct sockaddr *to, socklen_t len, bool connected,
		   const struct socket_options *options, bool whole);

/* A datagram socket that sends from `from`, which need not be an address of ours, with this mark
 * (0: none). fd, or -1 with errno. */
int socket_send_from(const struct sockaddr *from, socklen_t len, unsigned mark);

/* What is opened to send from may be bound to an address of one family only. */
bool socket_may_reach(const struct socket_options *options, const struct address *address);

/* A datagram socket of any family, also of paths (which only its owner may write to then), bound to
 * an address and with room for a burst; bound to none, if the address is no more than a family. fd,
 * or -1 with errno. */
int socket_mailbox(const struct sockaddr *address, socklen_t len);

/* How many bytes of what it sends the kernel keeps; and how many it has now, which are those that
 * nobody has read if it is a Unix socket (0 where the kernel does not tell). */
int socket_room(int fd);
int socket_unread(int fd);

/* Connect it anew, to another address of the family. 0, or -1 with errno. */
int socket_reconnect(int fd, const struct sockaddr *to, socklen_t len);

/* True if the kernel can cut one write into many datagrams. */
bool socket_segments(int fd);

/* The address of ours that a connection came to. False if it is no more. */
bool socket_name(int fd, struct sockaddr_storage *name);

/* 1: this is an address of this machine. 0: it is not. -1 with errno: it cannot be told now. */
int socket_is_ours(const struct address *address);

#endif
