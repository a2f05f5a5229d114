/*
 * One TCP relay: a near socket that was accepted, a far one that is opened for it, and a life that
 * is an array of steps (session.c). Lives in the engine's slab; nothing in it is allocated.
 */
#ifndef NET_SESSION_H
#define NET_SESSION_H

#include "core/reactor.h"
#include "net/dial.h"
#include "net/endpoint.h"
#include "net/flow.h"
#include "net/role.h"
#include "net/wire.h"

struct control;
struct service;

/* Why a session ended; the words of its log line are in session.c. */
enum why {
	WHY_DONE,	/* both sides said so */
	WHY_LEFT,	/* the near side left before there was a relay */
	WHY_RESET,	/* one side reset the connection: passed on */
	WHY_TIMEOUT,	/* nothing moved for too long */
	WHY_HANDSHAKE,	/* no valid request in time */
	WHY_SILENCED,	/* did not prove that it knows the key */
	WHY_FORGED,	/* sent, after a good beginning, what does not open */
	WHY_REFUSED,	/* asked for what this applet does not do */
	WHY_NO_NAME,	/* the name of the hop has no address, or no name server answered */
	WHY_NO_CONNECT, /* no connection to the hop */
	WHY_MEMORY,	/* held a block without progress while others waited */
	WHY_EVICTED,	/* made room: descriptors or sessions ran short */
	WHY_STOPPED,	/* the program ends */
	WHY_PASSED,	/* another worker goes on with the connection */
	WHY_COUNT
};

enum side { SIDE_NEAR = 1, SIDE_FAR = 2 };

enum {
	SESSION_SHAKE = 516,	/* bytes of the longest SOCKS login, rounded up */
	SESSION_EARLY = 320,	/* bytes that may be left of them when the request has been read */
	FIRST_PAYLOAD_WAIT = 50 /* ms that the address header waits for the first payload */
};

/* What a flow of a relay holds: since when it has neither let go of all nor passed a block's worth
 * on. */
struct holding {
	uint64_t since;	 /* ms; 0: it holds nothing */
	uint32_t passed; /* bytes passed on until then, modulo 2^32 */
};

struct session {
	struct source near, far;
	struct timer timer;
	struct burial burial;
	struct list link;    /* in the engine's strangers or guests */
	struct list waiting; /* in the engine's waiting, or in no list */
	struct service *service;
	const struct wire_key *key; /* of the sealed side */
	struct control *control;    /* it asked for UDP ASSOCIATE; else NULL */
	struct flow up, down;
	struct wire_state up_wire, down_wire;
	uint64_t up_bytes, down_bytes; /* payload that was passed on */
	uint64_t began;		       /* when it was accepted, ms */
	uint64_t arrived;	       /* when the step began, ms */
	uint64_t asked;		       /* when the target was known, ms */
	uint64_t moved;		       /* when bytes last moved, ms */
	struct endpoint target;
	const struct endpoint *hop; /* the target, or an upstream's address */
	struct address peer;
	uint16_t peer_port;
	uint8_t step;	/* index into the life (session.c) */
	uint8_t why;	/* enum why */
	uint8_t socks;	/* what local has read so far (applets/local.c) */
	uint8_t broken; /* enum side: sides whose connection failed */
	bool closed : 1;
	bool left : 1;	    /* its near side ended, at `moved`, before there was a relay */
	bool undecided : 1; /* CONNECT: whether it goes there hangs on the target's addresses */
	bool finishes : 1;  /* waits for one block, to finish a chunk (engine_wait) */
	bool lasts : 1;	    /* it is no short connection: its far side is probed */
	uint16_t shake_len; /* bytes in `shake`: read, not yet used */
	union {
		unsigned char shake[SESSION_SHAKE]; /* before the target is known */
		struct {
			unsigned char early[SESSION_EARLY]; /* payload that came with the request */
			union {
				struct dial dial;
				struct holding holding[2]; /* RELAY: of up, of down */
			};
		};
	};
};

/* Take over an accepted socket. False if there is no room: the caller closes it. */
bool session_open(struct service *service, int fd, const struct sockaddr_storage *peer);

/* The same for one whose near side has been heard by another worker, up to here. */
bool session_continue(struct service *service, int fd, const struct sockaddr_storage *peer,
		      uint8_t socks);

/* Do what can be done, whatever woke it. The session may be closed afterwards. */
void session_run(struct session *session);

/* The only end of a session. */
void session_close(struct session *session, enum why why);

/* The near side proved itself: no longer first to go when something runs short. */
void session_trust(struct session *session);

/* True once bytes are relayed. */
bool session_has_relay(const struct session *session);

/* Since when this flow, up or down, holds blocks without progress, ms; 0: it holds none. */
uint64_t session_holds_since(const struct session *session, bool up);

/* "ip:port" of the near side; returns `to`. */
const char *session_peer(const struct session *session, char *to, size_t n);

#endif
