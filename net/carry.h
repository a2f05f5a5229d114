/*
 * The way of a datagram: from a client's to its target or its server, and back. Called by the
 * reactor when sockets have something; what it is about is in net/assoc.h.
 *
 *	up	near socket, shared by all clients ──> open or seal ──> far socket of the association
 *	down	far socket ──> seal or open ──> near socket
 */
#ifndef NET_CARRY_H
#define NET_CARRY_H

#include "core/reactor.h"

/* A near socket, which is a struct listener of a service, has datagrams. */
void carry_near_woken(struct source *source);

/* A far socket, which is in a struct assoc, has datagrams. */
void carry_far4_woken(struct source *source);
void carry_far6_woken(struct source *source);

#endif
