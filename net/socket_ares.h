/*
 * The sockets of c-ares as sources of the reactor. c-ares opens, reads and closes through
 * functions of ours, so that an EAGAIN it sees is seen here too: that is what edge-triggered
 * readiness needs, and c-ares has no way to tell.
 */
#ifndef NET_SOCKET_ARES_H
#define NET_SOCKET_ARES_H

#include "core/reactor.h"

#define CARES_NO_DEPRECATED /* 1.28 and later prefer functions that 1.18 has not got */
#include <ares.h>

enum { ARES_SOCKETS = 64 };

struct ares_source {
	struct source source;
	bool wants_out; /* c-ares has bytes to send that did not go yet */
	bool tried;	/* it has read or written since it was last called */
	uint8_t index;	/* among the sources of its struct ares_sockets */
};

struct ares_sockets {
	ares_channel channel;
	void (*after)(void); /* called when c-ares has looked at a socket */
	unsigned mark;	     /* of each socket, if we may; 0: none */
	struct ares_source sources[ARES_SOCKETS];
};

/* They are zero, or were in use before; all are closed. */
void ares_sockets_init(struct ares_sockets *sockets, void (*after)(void), unsigned mark);

/* For ares_options: the callback, whose data is the struct ares_sockets. */
void ares_sockets_state(void *data, ares_socket_t fd, int readable, int writable);

/* Let the channel use them, from before its first question. */
void ares_sockets_attach(struct ares_sockets *sockets, ares_channel channel);

#endif
