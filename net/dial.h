/*
 * One outgoing TCP connection to a name or an address: look-up, then the addresses in turn, the
 * next one after a short while or as soon as one fails (RFC 8305); the first that answers wins.
 * Embedded in its owner, allocates nothing.
 */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include "core/reactor.h"
#include "net/resolve.h"
#include "net/role.h"
#include "net/socket.h"

enum {
	DIAL_AT_ONCE = 3,    /* attempts under way at a time */
	DIAL_STAGGER = 250,  /* ms until the next address is tried beside a silent one */
	DIAL_PATIENCE = 2000 /* ms until the oldest attempt makes room for one more address */
};

struct dial;

struct attempt {
	struct source source;
	struct dial *dial;
};

struct dial {
	struct lookup lookup;
	struct timer stagger;
	const struct endpoint *to; /* the owner's; must stay */
	const struct socket_options *options;
	void (*changed)(struct dial *); /* look again: dial_run() */
	struct attempt attempts[DIAL_AT_ONCE];
	struct source *only;	      /* under way to the only address there is; else NULL */
	uint8_t number[DIAL_AT_ONCE]; /* which address each attempt tries */
	uint8_t next;		      /* the address to be tried next */
	uint32_t skip;		      /* bit i: the i-th is not to be tried; the owner's to set */
	bool early;		      /* the owner will write at once: fast open is worth it */
	bool may_start;		      /* the stagger has passed, or an attempt failed */
	int error;		      /* errno of the last attempt that failed */
};

/* Begin, for a peer of this share (resolve_share(); 0: of our own accord). changed() is called
 * later, from the reactor, whenever dial_run() may have more to say. */
void dial_start(struct dial *dial, const struct endpoint *to, const struct socket_options *options,
		uint8_t share, bool early, void (*changed)(struct dial *));

/* DONE: the connection is given to `to`, watched, to wake by `wake`. WAIT: `to`, which is the same
 * each time, may have a descriptor already, and wake() is another changed(). FAIL: dial->error,
 * which is EHOSTUNREACH if the name has no address and EAGAIN if no name server answered. */
enum step dial_run(struct dial *dial, struct source *to, void (*wake)(struct source *));

/* It failed because there is no descriptor left: dial_run() may be called again once there is
 * one. */
bool dial_is_short(const struct dial *dial);

/* Give everything back; idempotent, also for a zeroed dial. */
void dial_end(struct dial *dial);

#endif
