/*
 * What one system calls the options of a socket, or that it has none: socket_linux.c or
 * socket_bsd.c. For net/socket*.c only.
 */
#ifndef NET_SOCKET_PLATFORM_H
#define NET_SOCKET_PLATFORM_H

#include <stdbool.h>

enum socket_option {
	OPTION_FAST_LISTEN,  /* TFO, for what listens: the queue's length */
	OPTION_FAST_CONNECT, /* TFO: connect() waits for the first bytes */
	OPTION_KEEP_IDLE,    /* seconds of silence until the first probe */
	OPTION_KEEP_EVERY,   /* seconds between probes */
	OPTION_KEEP_PROBES,  /* how many stay unanswered before the connection is given up */
	OPTION_LATE_ACK,  /* connect() ends without an acknowledgement: the first bytes bring it */
	OPTION_LATE_PORT, /* bind() to an address leaves the port to connect() */
	OPTION_MARK,
	OPTION_INTERFACE,  /* by name */
	OPTION_MERGE,	   /* GRO: datagrams of equal size come as one */
	OPTION_CONGESTION, /* its control, by name */
	OPTION_SEGMENT,	   /* GSO: one write leaves as datagrams of this size */
	OPTION_COUNT
};

struct option_name {
	int level, name; /* name 0: this system has no such option */
};

extern const struct option_name option_names[OPTION_COUNT];

/* Say where each datagram was sent to (net/datagram.h). 0, or -1 with errno. */
int platform_tell_origin(int fd, int family);

/* May datagrams be cut into fragments on their way? If not, they carry DF. 0, or -1 with errno. */
int platform_fragments(int fd, int family, bool may);

/* The ioctl that counts bytes not yet acknowledged, or 0. */
extern const unsigned long request_unsent;

/* The flag of a write that is followed by more, or by the end, at once; or 0. */
extern const int flag_more;

/* The protocol number of multipath TCP, or -1. */
extern const int protocol_multipath;

#endif
