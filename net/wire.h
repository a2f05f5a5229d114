/*
 * Wire formats: what lies on the sealed side of a relay. A method name picks a format and a cipher;
 * a key belongs to a service or an upstream; each direction of a session has a small state. No I/O:
 * callers read and write, these functions seal and open in the caller's scratch buffer.
 *
 * Sealing a burst: wire_slots() says where the payload must be read to, the caller reads, and
 * wire_seal() turns what was read into one run of sealed bytes. The first flight of a direction
 * goes through wire_first(), which puts the salt and, upward, the address header in front.
 *
 * Opening a burst: wire_open() opens every whole chunk that lies in the buffer, in place, and
 * points an iovec at the payloads.
 */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include "crypto/aead.h"
#include "crypto/stream.h"
#include "net/endpoint.h"
#include "net/replay.h"

#include <stdbool.h>
#include <sys/uio.h>

enum {
	WIRE_KEY_MAX = 32,
	WIRE_SALT_MAX = 32,
	WIRE_PREFIX_MAX = 16,	  /* fixed bytes of a salt; at most half of a salt, too */
	WIRE_IDENTITIES = 8,	  /* keys before the last of a chain */
	WIRE_PADDING_MAX = 900,	  /* bytes in a request (SIP022) */
	WIRE_CHUNK = 16383,	  /* the largest payload of a SIP004 chunk */
	WIRE_IOV = 128,		  /* entries that wire_open() and wire_slots() use at most */
	WIRE_FIRST_ROOM = 1408,	  /* bytes that wire_first() may add to its payload */
	WIRE_FIRST_PAYLOAD = 8192 /* payload of a first flight at most */
};

struct wire_format;
struct packet_format;
struct salts;
struct slab;
struct user;
struct users;

/* A method: a row of the table in wire.c. */
struct wire_method {
	const char *name;
	const struct wire_format *format;
	const char *cipher;	   /* name for aead_find() or stream_find() */
	const char *packet_cipher; /* the same for packets; NULL: no other */
};

/* Which packets of SIP022 are padded, with up to padding_max bytes less what they carry. */
enum packet_padding { PADDING_DNS, PADDING_NONE, PADDING_ALL };

/* One link of a client's chain of identity keys (SIP023). */
struct wire_identity {
	unsigned char key[WIRE_KEY_MAX];
	unsigned char next[16]; /* hash of the key that comes next */
};

/* A method with its key, made at start; shared by all sessions of a service or an upstream. */
struct wire_key {
	const struct wire_format *format;
	const struct wire_method *method;
	const struct aead *aead;
	const struct aead *packet_aead;
	struct replay *replay;	      /* salts seen; NULL: not checked */
	struct replay *packet_replay; /* the same for packets */
	unsigned char key[WIRE_KEY_MAX];
	unsigned char key_len, salt_len;
	bool server; /* opens requests and seals answers, not the other way round */

	/* Stream ciphers. */
	const struct stream *stream;
	void *schedule; /* the expanded key */
	/* of objects of wire_lease_size(), two for each session: the owner sets it */
	struct slab *leases;

	/* SIP022. */
	struct salts *salts;	  /* of requests, for a server; NULL: not checked */
	uint64_t (*clock)(void);  /* Unix time in seconds; wire_key_set() takes the system's */
	uint64_t (*steady)(void); /* seconds that never step; the same */
	/* bytes of padding in a request, chosen at random between these: 0 and 900 by default, at
	 * least 1 without payload */
	uint16_t padding_min, padding_max;
	uint8_t packet_padding;		  /* enum packet_padding */
	bool split_reads;		  /* a request may come in pieces: behind a plugin */
	struct wire_identity *identities; /* a client's, outermost first (SIP023) */
	unsigned identity_count;
	struct users *users; /* a server's (SIP023); NULL: clients know the key itself */

	/* A client's salts. */
	unsigned char prefix[WIRE_PREFIX_MAX]; /* with which they begin */
	unsigned char prefix_len;
	bool printable_salt; /* the rest of them is printable ASCII */
};

/* One direction of a session. Zeroed: nothing sent or seen yet. */
struct wire_state {
	union {
		unsigned char subkey[WIRE_KEY_MAX];
		struct stream_state stream;
	};
	uint64_t nonce; /* seals or opens done */
	/* of the chunk whose length is opened but whose payload is not here yet */
	uint32_t payload;
	bool begun;	       /* the salt was sent or taken */
	bool length_open : 1;  /* `payload` is valid */
	bool header_open : 1;  /* and that is the rest of the header of a request (SIP022) */
	bool salts_full : 1;   /* broken, but not by the peer: see SALTS_FULL and */
	bool salts_unsure : 1; /* SALTS_UNSURE */
	bool broken;	       /* forged, malformed or replayed: it opens nothing more */
	bool leased;	       /* stream.extra belongs to key->leases */
	/* of the request, where the answer must name it (SIP022) */
	unsigned char salt[WIRE_SALT_MAX];
	struct user *user; /* who sent the request (SIP023); NULL: the key's owner */
};

/* What wire_open() found. */
struct wire_opened {
	int iovs;	/* entries of the iovec that point at payloads */
	size_t payload; /* bytes in them */
	/* bytes of the buffer that are done with; the rest is an unfinished chunk */
	size_t used;
	/* bytes that the unfinished chunk must have in all before it is worth a call */
	size_t need;
};

/* The method of this name (any case; also by an alias of other programs), or NULL. wire_list: for
 * listing, without the aliases; NULL after the last. */
const struct wire_method *wire_find(const char *name);
const struct wire_method *wire_list(unsigned i);

/* Bytes of the key of a method that is built. */
size_t wire_key_len(const struct wire_method *method);

/* False: this build or its libraries lack what the method needs, and no key can be made. */
bool wire_built(const struct wire_method *method);

/* Make a key from its method and raw key bytes (wire_key_len() of them). All that is optional is
 * off then: set it afterwards. crypto_open() has run. 0, or -1: no memory. The key may be copied;
 * its owner wipes one of the copies, when the others are used no more. */
int wire_key_set(struct wire_key *key, const struct wire_method *method,
		 const unsigned char *bytes);
void wire_key_wipe(struct wire_key *key);

/* Bytes that a direction needs beside its wire_state, from key->leases; 0: none. */
size_t wire_lease_size(const struct wire_key *key);

/* Give a client's key its chain: chain[i].key is filled in for i < n <= WIRE_IDENTITIES, outermost
 * first; the hashes are made here. `chain` lives as long as the key; its owner wipes it. */
void wire_key_chain(struct wire_key *key, struct wire_identity *chain, unsigned n);

/* Where to read payload for a burst of at most `batch` payload bytes into buf[0..size): entries of
 * iov (at most WIRE_IOV). Their lengths add up to at most `batch`. */
int wire_slots(const struct wire_key *key, unsigned char *buf, size_t size, size_t batch,
	       struct iovec *iov);

/* Seal the `n` > 0 payload bytes that were read into those slots. The sealed bytes lie at
 * buf[0..result). wire_first() has run for this state. */
size_t wire_seal(const struct wire_key *key, struct wire_state *state, unsigned char *buf,
		 size_t n);

/* The first flight: salt, then one chunk of header || payload. `header` is the target upward, NULL
 * downward (payload must not be empty then). The sealed bytes lie at buf[0..result), which has room
 * for WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD; `payload` lies elsewhere. The salt enters the replay
 * memory. */
size_t wire_first(const struct wire_key *key, struct wire_state *state,
		  const struct endpoint *header, const unsigned char *payload, size_t n,
		  unsigned char *buf);

/* Open what lies in buf[0..n), in place: 0 with *opened filled, or -1: forged, malformed or
 * replayed. iov has WIRE_IOV entries. Chunks that are good are delivered whatever comes after them,
 * however the stream is cut: -1 means that nothing new was found, and then every later call gives
 * -1. What lies behind opened->used is kept by the caller and put in front of what is read next.
 * Call again at once while that is at least opened->need bytes: the iovec was full, or what follows
 * is forged. The payload may be empty although bytes were used. Payloads that are small move
 * together, so that few entries do. */
int wire_open(const struct wire_key *key, struct wire_state *state, unsigned char *buf, size_t n,
	      struct iovec *iov, struct wire_opened *opened);

/* The direction `down` answers the direction `up`: it learns of it what its format needs. For the
 * server before wire_first() of the answer, for the client after wire_first() of the request. */
void wire_answers(struct wire_state *down, const struct wire_state *up);

/* Forget the keys of a direction, and give back what it holds; it is as new. */
void wire_wipe(struct wire_state *state);

/* True once the peer has proved that it knows the key, or has sent as much as would have to prove
 * it, where a format is forgeable. */
static inline bool wire_authenticated(const struct wire_state *state)
{
	return state->begun;
}

/* The rest of the interface is for the formats themselves (wire_aead.c, ...). */
struct wire_format {
	const struct packet_format *packets;
	/* whatever comes opens to something: no peer ever proves that it knows the key */
	bool forgeable;
	/* the first read of a server brings all it needs to authenticate, or it never will */
	bool first_read;
	int (*slots)(const struct wire_key *, unsigned char *, size_t, size_t, struct iovec *);
	size_t (*seal)(const struct wire_key *, struct wire_state *, unsigned char *, size_t);
	size_t (*first)(const struct wire_key *, struct wire_state *, const struct endpoint *,
			const unsigned char *, size_t, unsigned char *);
	int (*open)(const struct wire_key *, struct wire_state *, unsigned char *, size_t,
		    struct iovec *, struct wire_opened *);
};

extern const struct wire_format wire_aead, wire_stream, wire_2022;

/* A salt or IV that this program never saw: the same one twice would be the same key stream twice.
 * It is remembered, so that our own bytes sent back to us are a replay. */
void wire_fresh_salt(const struct wire_key *key, struct replay *replay, unsigned char *salt);

/* Give back what a direction leased. */
void wire_stream_return(struct wire_state *state);

#endif
