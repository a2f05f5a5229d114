/*
 * Names to addresses, without waiting: literals and localhost at once, then the hosts file, then a
 * cache, then DNS through c-ares on the reactor. Answers carry both families, in the order in
 * which they should be tried (RFC 8305: families alternate, the preferred one first). Nothing here
 * allocates after resolve_open(): c-ares lives in a fixed pool of ours, entries in a slab. At most
 * 256 names are asked at once; the same name is asked once; the rest wait in queues, one for each
 * share of those who ask, so that nobody's names keep those of others waiting.
 */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "core/list.h"
#include "net/endpoint.h"

enum { RESOLVE_ADDRESSES = 32 }; /* kept of one name; more are dropped */

enum resolve_status {
	RESOLVE_PENDING,
	RESOLVE_OK,	   /* answer has at least one address */
	RESOLVE_NOT_FOUND, /* the name does not exist, or has no address */
	RESOLVE_FAILED	   /* no name server answered, or the tables are full: may work later */
};

struct answer {
	uint8_t count;
	struct address addresses[RESOLVE_ADDRESSES];
};

/* One question; embedded in its owner. Zero it before the first use. */
struct lookup {
	struct list link;
	void (*done)(struct lookup *); /* called once, later, if the status was pending */
	const struct answer *answer;   /* valid until resolve_release() */
	uint8_t status;		       /* enum resolve_status */
	/* whose question it is: resolve_share() of a peer, 0: our own. Set before it is asked */
	uint8_t share;
};

struct resolve_options {
	/* "ip[:port],..." as with -d; NULL: those of resolv.conf, also when it changes. */
	const char *servers;
	bool ipv6_first;
	const char *hosts, *resolv_conf; /* NULL: /etc/hosts, /etc/resolv.conf; for tests */
	unsigned timeout_ms;		 /* of one look-up as a whole; 0: 10 s */
	unsigned mark;			 /* of questions to name servers, if we may; 0: none */
};

/* 0, or -1 with a reason in the log (a malformed server list, no memory). After reactor_open(). */
int resolve_open(const struct resolve_options *options);

/* After every lookup has been released. */
void resolve_close(void);

/* The share of a peer: peers of one address, or of one /64 of IPv6, have the same; others mostly
 * not. */
uint8_t resolve_share(const struct address *peer);

/* Ask for the addresses of `name` (NUL-terminated, up to 255 bytes). Returns the status; PENDING:
 * done() follows from the reactor, never from inside this call. With OK, answer is set. */
enum resolve_status resolve_start(struct lookup *lookup, const char *name,
				  void (*done)(struct lookup *));

/* The same, turning the reactor until the answer is there or the program is to end (then the status
 * is PENDING). What is served already goes on. */
enum resolve_status resolve_wait(struct lookup *lookup, const char *name);

/* Give the answer back, or leave a question whose answer is no longer wanted. Idempotent. */
void resolve_release(struct lookup *lookup);

/* Forget what is cached of this name: its addresses did not work. */
void resolve_forget(const char *name);

/* Look-ups that are out, for the line of state. */
unsigned resolve_pending(void);

#endif
