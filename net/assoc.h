/*
 * One UDP client: what is known of it, and the sockets that were opened for it. It comes with a
 * datagram and goes by its timer, when its place is wanted, or with the SOCKS5 connection it
 * belongs to (net/control.h). All associations of the process are in one table with a ceiling. What
 * is done with datagrams is in carry.c. Nothing in it is allocated.
 */
#ifndef NET_ASSOC_H
#define NET_ASSOC_H

#include "core/list.h"
#include "core/slab.h"
#include "net/datagram.h"
#include "net/packet.h"
#include "net/resolve.h"

struct control;
struct service;

/* The far sockets: one for each family, which at a client are connected to the server; and at a
 * client whose rules say so those for the targets themselves. */
enum { FAR_IPV4, FAR_IPV6, FAR_DIRECT /* plus one of the former */, FARS = FAR_DIRECT + 2 };

struct assoc {
	struct assoc *next;  /* in its bucket */
	struct list link;    /* in the table's order of use */
	struct list bound;   /* in its control's, or in no list */
	struct list parcels; /* datagrams that wait for a name */
	struct control *control;
	struct service *service;
	const struct wire_key *key;
	/* whoever is written to may answer, and all others where it is not connected */
	struct source far[FARS];
	struct timer timer;
	struct burial burial;
	struct lookup lookup;		  /* far side sealed: of the server's name */
	union inet client, hop;		  /* hop: far side sealed: the server, once it is known */
	struct origin origin;		  /* the address of ours that the client writes to */
	uint64_t began, moved, looked_up; /* ms */
	uint64_t listed;		  /* when it came to its place in the order, ms */
	uint64_t up_bytes, down_bytes;
	uint32_t up_count, down_count;
	uint8_t batch[FARS];
	uint8_t listener; /* of the service: where the client's datagrams come */
	uint8_t parcel_count;
	bool by_id;    /* found by the ID of its session, not by its address */
	bool question; /* all that was sent is one datagram to a name server's port */
	bool closed;
	struct packet_own own;
	struct packet_peer peers[PACKET_PEERS]; /* a server knows one session: the client's */
};

struct assocs {
	struct slab slab;
	struct assoc **buckets;
	uint32_t bucket_count; /* a power of two */
	uint32_t max, live;    /* associations */
	uint32_t far_live;     /* their sockets, no more than `max` either */
	unsigned char hash_key[16];
	struct list order; /* by use, longest unused first; exact to a second */
	uint64_t evicted;
};

/* Of memory for each, with closed ones whose memory is not free before the turn ends, and the
 * table. */
enum { ASSOC_BYTES = 2 * ((sizeof(struct assoc) + 15) / 16 * 16) + 2 * sizeof(struct assoc *) };

/* Room for so many. 0, or -1 with errno. */
int assocs_open(struct assocs *assocs, uint32_t max);

/* Ends all; their memory is free after this turn. */
void assocs_end(struct assocs *assocs);
void assocs_close(struct assocs *assocs);

/* The association of a session, or of a client's address. NULL: there is none. */
struct assoc *assoc_find_id(struct assocs *assocs, const struct service *service,
			    const unsigned char id[PACKET_ID]);
struct assoc *assoc_find_client(struct assocs *assocs, const struct service *service,
				uint8_t listener, const union inet *client);

/* A new one, for which there is none yet; at the ceiling the one longest unused makes room.
 * `peer`: the session it is found by, or NULL: by its address. NULL: no room before the end of
 * this turn. */
struct assoc *assoc_new(struct service *service, uint8_t listener, const union inet *client,
			const struct packet_peer *peer);

/* A datagram passed. */
void assoc_touch(struct assoc *assoc);

/* A far socket (FAR_IPV4, ...), opened if need be; connected to `to` if it is not NULL. -1 with
 * errno. */
int assoc_far(struct assoc *assoc, int which, const union inet *to);

void assoc_close(struct assoc *assoc, const char *why);

/* Whose it is (SIP023), or NULL. */
struct user *assoc_user(const struct assoc *assoc);

/* "ip:port" of the client; returns `to`. */
const char *assoc_client(const struct assoc *assoc, char *to, size_t n);

#endif
