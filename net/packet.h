/*
 * Datagrams of the sealed side, every method family (SIP004, SIP022 and SIP023, UDP). One
 * engine drives them all; it keeps the states below in its associations. No I/O, no heap.
 *
 * Sealing builds the packet around a payload that has PACKET_HEAD bytes of room in front and
 * PACKET_TAIL behind. Opening has two halves, because a server must know whose packet it is before
 * it can open it with the keys it has, and must not make a session for it before it has opened it:
 *
 *	packet_begin()	reads what stands in front: the session, the number, the user
 *	packet_open()	opens the rest with what is known of that session, or with a zeroed struct for
 *			one that is new, and changes it only if everything is right
 *
 * Families without sessions (stream ciphers, SIP004) leave front.has_id false: the association is
 * then found by the sender's address, and the peer's state is not used.
 */
#ifndef NET_PACKET_H
#define NET_PACKET_H

#include "net/endpoint.h"
#include "net/window.h"
#include "net/wire.h"

enum {
	PACKET_ID = 8,	    /* bytes of a session ID */
	PACKET_HEAD = 1408, /* room in front of a payload that is to be sealed */
	PACKET_TAIL = 16,   /* and behind it */
	PACKET_PEERS = 2 /* server sessions that a client keeps: the server may be started anew */
};

/* What this side seals with, one per association. Zeroed: nothing was sent yet. */
struct packet_own {
	unsigned char id[PACKET_ID];
	uint64_t number; /* of the next packet */
	unsigned char subkey[WIRE_KEY_MAX];
	bool begun;
};

/* What is known of a session of the other side. Zeroed: nothing. */
struct packet_peer {
	unsigned char id[PACKET_ID];
	unsigned char subkey[WIRE_KEY_MAX];
	struct window window;
	uint64_t heard;	   /* ms; for packet_open_answer() */
	struct user *user; /* at a server: who it is (SIP023); NULL: the key's owner */
	bool known;
};

/* What packet_begin() found. */
struct packet_front {
	bool has_id;
	unsigned char id[PACKET_ID]; /* of the sender's session */
	uint64_t number;
	struct user *user;
	size_t at; /* where in the buffer the rest begins */
};

struct packet_opened {
	struct endpoint address; /* the target (server) or the source (client) */
	unsigned char *payload;	 /* inside the buffer */
	size_t n;		 /* may be 0 */
};

/* Seal payload[0..n) for `address` (client: the target; server: where it came from). At a server
 * `to` is the session that is answered; a client passes NULL. Returns where the packet begins, in
 * front of the payload, and its length. */
unsigned char *packet_seal(const struct wire_key *key, struct packet_own *own,
			   const struct packet_peer *to, const struct endpoint *address,
			   unsigned char *payload, size_t n, size_t *length);

/* Read the front of the packet buf[0..n), in place: 0, or -1: not for us. Nothing is proved yet. */
int packet_begin(const struct wire_key *key, unsigned char *buf, size_t n,
		 struct packet_front *front);

/* Open the rest, in place: 0, or -1: forged, malformed, replayed, too old. `peer` is the state of
 * the session front->id, or zeroed; a client passes what it seals with as `own`, a server NULL. */
int packet_open(const struct wire_key *key, const struct packet_own *own, struct packet_peer *peer,
		const struct packet_front *front, unsigned char *buf, size_t n,
		struct packet_opened *opened);

/* Both halves for a client, which keeps the latest two server sessions: a third takes the place of
 * one that was not heard for a minute. `now` in ms, monotonic. */
int packet_open_answer(const struct wire_key *key, const struct packet_own *own,
		       struct packet_peer peers[PACKET_PEERS], uint64_t now, unsigned char *buf,
		       size_t n, struct packet_opened *opened);

/* The interface of a family. */
struct packet_format {
	unsigned char *(*seal)(const struct wire_key *, struct packet_own *,
			       const struct packet_peer *, const struct endpoint *, unsigned char *,
			       size_t, size_t *);
	int (*begin)(const struct wire_key *, unsigned char *, size_t, struct packet_front *);
	int (*open)(const struct wire_key *, const struct packet_own *, struct packet_peer *,
		    const struct packet_front *, unsigned char *, size_t, struct packet_opened *);
};

extern const struct packet_format packet_aead, packet_stream, packet_2022;

#endif
