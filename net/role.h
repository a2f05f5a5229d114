/*
 * A role is all that makes one applet differ from another to the engine: how a connection says
 * where it wants to go, and which side is sealed. Applets define roles; the engine calls them.
 */
#ifndef NET_ROLE_H
#define NET_ROLE_H

#include <stdbool.h>
#include <stddef.h>

struct datagram;
struct endpoint;
struct service;
struct session;

/* What a step of a session's life answers. A step looks at facts, not at events, does what is
 * possible, and may be called again at any time. */
enum step {
	DONE, /* the next step may begin */
	WAIT, /* a descriptor, an answer or the clock must move first */
	FAIL, /* the session ends; session->why tells why */
	MUTE, /* the peer did not prove that it knows the key: read and discard, say nothing */
	STAY  /* there is no relay: the connection is all there is, until the near side leaves */
};

struct role {
	const char *name;

	/* Learn session->target from the near side. */
	enum step (*target)(struct session *session);

	/* Datagrams of a near side that is not sealed (a sealed one says it all itself). NULL:
	 * none. Where does the datagram (*bytes)[0..*n), part of `piece`, go? Its own head is
	 * passed over. False: it is dropped. */
	bool (*datagram_target)(struct service *service, const struct datagram *piece,
				unsigned char **bytes, size_t *n, struct endpoint *target);

	/* What an answer from `source` is dressed in, to[0..result), at most DATAGRAM_DRESS_MAX. */
	size_t (*datagram_dress)(const struct endpoint *source, unsigned char *to);

	/* An answer leaves from the address of its source, which is not ours (net/guise.h). */
	bool answers_as_source;
	unsigned answers_mark; /* their mark then, for rules of the kernel */

	/* The near side speaks shadowsocks (server), otherwise the far side does. */
	bool near_sealed;
};

#endif
