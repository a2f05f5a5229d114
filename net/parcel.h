/*
 * Datagrams that wait for the address of a name: a target's, or a server's. Their bytes lie in
 * blocks. There are few, in all, of each association, and of those who ask from one address, who
 * may have many: more are lost, as on any full queue, and others' are not.
 */
#ifndef NET_PARCEL_H
#define NET_PARCEL_H

#include "core/block.h"
#include "net/assoc.h"
#include "net/dns.h"

enum {
	PARCELS_MAX = 512,
	PARCELS_EACH = 64,	 /* of one association */
	PARCELS_SHARE = 128,	 /* of those who have one share (resolve_share()) */
	PARCEL_BLOCKS_SHARE = 4, /* at most this part of all blocks, */
	/* and of these at most this part for one share, or one datagram */
	PARCEL_BLOCKS_QUARTER = 4
};

struct parcel {
	struct list link; /* in the association's */
	struct assoc *assoc;
	struct chain chain;
	uint32_t n;
	struct lookup lookup; /* of the target's name */
	/* Its name has an answer, or none. NULL: it waits for its association's server. */
	void (*done)(struct parcel *);
};

struct parcels {
	struct slab slab;
	uint32_t blocks; /* that parcels hold */
	struct {
		uint16_t count;
		uint32_t blocks;
	} shares[DNS_SHARES];
};

int parcels_open(struct parcels *parcels);
void parcels_close(struct parcels *parcels);

/* Keep n bytes, or none yet (NULL, 0), for this association. NULL: there is no room. */
struct parcel *parcel_keep(struct assoc *assoc, const unsigned char *bytes, size_t n);

/* Ask for the name that the bytes are to go to. done() is called later if the answer is
 * RESOLVE_PENDING. */
enum resolve_status parcel_ask(struct parcel *parcel, const char *name,
			       void (*done)(struct parcel *));

/* Put n bytes, with their target, into one that has none. False: there is no room. */
bool parcel_fill(struct parcel *parcel, const struct endpoint *target, const unsigned char *bytes,
		 size_t n);

/* Its bytes in datagram_room(); they may be sealed and sent from there. Their number is parcel->n;
 * with the target that was put there (NULL: none was), *n. */
unsigned char *parcel_unpack(const struct parcel *parcel, struct endpoint *target, size_t *n);

void parcel_drop(struct parcel *parcel);

/* All of an association. */
void parcels_drop(struct assoc *assoc);

#endif
