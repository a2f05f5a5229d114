/*
 * The way of a datagram: from a client's to its target or its server, and back. Called by the
 * reactor when sockets have something; what it is about is in net/assoc.h.
 *
 *	up	near socket, shared by all clients ──> open or seal ──> far socket of the association
 *	down	far socket ──> seal or open ──> near socket
 *
 * Which target, and which way, is in net/outward.h.
 */
#ifndef NET_CARRY_H
#define NET_CARRY_H

#include "core/reactor.h"

#include <stddef.h>

struct assoc;
struct endpoint;

/* A near socket, which is a struct listener of a service, has datagrams. */
void carry_near_woken(struct source *source);

/* A far socket, which is assoc->far[i], has datagrams: what the i-th is to be woken by. */
extern void (*const carry_far_woken[])(struct source *);

/* At a client: seal the datagram, and send it to the server. There is room around it, as in what
 * was received. */
void carry_by_upstream(struct assoc *assoc, const struct endpoint *target, unsigned char *bytes,
		       size_t n);

#endif
