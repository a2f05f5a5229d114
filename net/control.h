/*
 * SOCKS5 connections that asked for UDP ASSOCIATE (RFC 1928). They carry nothing; but when the last
 * one of an address is closed, the associations of that address end. Which of a program's sockets
 * belongs to which of its connections cannot be known: the address is all that both have.
 */
#ifndef NET_CONTROL_H
#define NET_CONTROL_H

#include "core/list.h"
#include "core/slab.h"
#include "net/endpoint.h"

struct assoc;
struct assocs;

enum { CONTROL_BUCKETS = 256 };

/* All such connections of one address. */
struct control {
	struct control *next; /* in its bucket */
	struct address address;
	uint32_t connections;
	struct list bound; /* associations */
};

struct controls {
	struct slab slab;
	struct control *buckets[CONTROL_BUCKETS];
	unsigned char hash_key[16];
};

/* Room for so many addresses. 0, or -1 with errno. */
int controls_open(struct controls *controls, uint32_t max);
void controls_close(struct controls *controls);

/* A connection from this address asked. NULL: no room. To be given back with control_leave(). */
struct control *control_join(struct controls *controls, const struct address *address);
void control_leave(struct controls *controls, struct control *control);

/* Is there such a connection of the address? */
bool control_exists(struct controls *controls, const struct address *address);

/* The association belongs to the connections of its client's address, if there are any and if it
 * does not yet. */
void control_bind(struct controls *controls, struct assoc *assoc);
void control_unbind(struct assoc *assoc);

#endif
