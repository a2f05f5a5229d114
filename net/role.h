/*
 * A role is all that makes one applet differ from another to the engine: how a connection says
 * where it wants to go, and which side is sealed. Applets define roles; the engine calls them.
 */
#ifndef NET_ROLE_H
#define NET_ROLE_H

#include <stdbool.h>

struct session;

/* What a step of a session's life answers. A step looks at facts, not at events, does what is
 * possible, and may be called again at any time. */
enum step {
	DONE, /* the next step may begin */
	WAIT, /* a descriptor, an answer or the clock must move first */
	FAIL, /* the session ends; session->why tells why */
	MUTE  /* the peer did not prove that it knows the key: read and discard, say nothing */
};

struct role {
	const char *name;

	/* Learn session->target from the near side. */
	enum step (*target)(struct session *session);

	/* The near side speaks shadowsocks (server), otherwise the far side does. */
	bool near_sealed;
};

#endif
