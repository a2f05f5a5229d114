/*
 * Sockets that send from addresses of others: an answer to a client of a transparent proxy leaves
 * from whom the client had written to. There is one for each such address, the latest GUISES of
 * them; the one longest unused makes room. Nothing is received here: what a client writes to those
 * addresses comes to our listener. Opened once, called by carry.c for each answer; nothing is
 * allocated.
 */
#ifndef NET_GUISE_H
#define NET_GUISE_H

#include "core/list.h"
#include "core/slab.h"
#include "net/datagram.h"
#include "net/endpoint.h"

enum { GUISES = 256, GUISE_BUCKETS = 64 };

struct guise {
	struct guise *next; /* in its bucket */
	struct list link;   /* in the order of use */
	union inet from;
	uint64_t used; /* ms */
	int fd;
};

struct guises {
	struct slab slab;
	struct guise *buckets[GUISE_BUCKETS];
	struct list order; /* longest unused first */
	unsigned mark;	   /* of what they send; 0: none */
};

/* 0, or -1 with errno. */
int guises_open(struct guises *guises, unsigned mark);
void guises_close(struct guises *guises);

/* The socket that sends from `source`; *to: the client, as that socket writes it. -1 with errno:
 * EAFNOSUPPORT if their families differ, EADDRNOTAVAIL for a source that nobody can be, or that is
 * this machine itself, whose services would be bereft of what is meant for them. */
int guise_take(struct guises *guises, const struct endpoint *source, const union inet *client,
	       union inet *to);

/* Close those unused for a minute; or, where nobody is left to answer, all. */
void guises_rest(struct guises *guises, uint64_t now);
void guises_drop(struct guises *guises);

#endif
