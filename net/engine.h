/*
 * What all services of one serving process share: the sessions, the blocks, and the order in
 * which something must go when there is not enough.
 */
#ifndef NET_ENGINE_H
#define NET_ENGINE_H

#include "core/block.h"
#include "core/list.h"
#include "core/slab.h"
#include "core/timer.h"
#include "net/assoc.h"
#include "net/control.h"
#include "net/guise.h"
#include "net/handover.h"
#include "net/parcel.h"
#include "net/splice.h"

#include <stdbool.h>

struct ledger;
struct salts;
struct service;
struct session;
struct wire_key;

/* Kinds of lines that peers cause, each with a ration of its own (log_peer). */
enum log_kind {
	LOG_KIND_ACCEPT,
	LOG_KIND_RESOLVE,
	LOG_KIND_CONNECT,
	LOG_KIND_REFUSED,
	LOG_KIND_PACKET,
	LOG_KIND_SALTS
};

enum {
	ENGINE_SERVING = 2, /* blocks that are enough for the smallest step of any flow */
	/* blocks that only those may take who thereby finish a chunk, and give more back */
	ENGINE_RESERVE = 2
};

struct engine {
	struct slab sessions;
	struct block_pool blocks;
	/* what directions hold beside their wire_state; opened when a key needs it */
	struct slab leases;
	/* sessions that have proved nothing yet, or were silenced; oldest first */
	struct list strangers;
	struct list guests;	/* all others, oldest first */
	struct list waiting;	/* sessions that wait for blocks, first come first served */
	struct list paused;	/* services that wait to accept, the same */
	struct session *served; /* was woken from there and has not run yet, or NULL */
	struct assocs assocs;	/* UDP; opened by engine_open_datagrams() */
	struct controls controls;
	struct parcels parcels;
	struct guises guises; /* opened where answers leave from addresses of others */
	struct handover handover;
	struct ledger *ledger;	   /* bytes of users; NULL: one process counts them itself */
	struct splice_pipe splice; /* for flows that are copied; opened by who expects them */
	uint64_t idle_after;	   /* before that no guest is idle enough to be evicted */
	struct timer tick;	   /* once a second while there is anything to look after */
	unsigned quiet_ticks;	   /* since the last session ended */
};

/* Bytes of memory that a session, an association and a block come to, with all that is kept for
 * them; `lease`: wire_lease_size(), `datagrams`: there are some. */
struct engine_sizes {
	uint32_t session, assoc, block;
};
struct engine_sizes engine_sizes(size_t lease, bool datagrams);

/* Room for so many sessions and blocks. 0, or -1 with errno. After reactor_open(). */
int engine_open(struct engine *engine, uint32_t sessions, uint32_t blocks);

/* Room for so many associations, too. 0, or -1 with errno. */
int engine_open_datagrams(struct engine *engine, uint32_t assocs);

/* Give a key access to the leases that its method may need. Before it is used. 0, or -1 with
 * errno. */
int engine_lend(struct engine *engine, struct wire_key *key);

/* Ends all sessions. */
void engine_close(struct engine *engine);

/* End the sessions and associations of one service; or only those of users that its key has no
 * more. */
void engine_cut(struct engine *engine, const struct service *service, bool lost_only);
/* The associations alone. */
void engine_cut_assocs(struct engine *engine, const struct service *service);

/* Find out what the live sessions and associations of a service have moved for its users. */
void engine_count_live(struct engine *engine, const struct service *service);

/* The addresses of the near sides of a service's sessions and associations, each as often as it has
 * some, at most `max`: how many were put to `to`. */
unsigned engine_clients(const struct engine *engine, const struct service *service,
			struct address *to, unsigned max);

/* Something ran short (descriptors, sessions): end the oldest stranger, if it came `grace` ms ago
 * or earlier; if there is none, the guest whose relay has been idle for longest, if that is a
 * minute. False if there is nobody to go. */
bool engine_evict(struct engine *engine, uint64_t grace);

/* There is a session or an association again: keep the tick going. */
void engine_stir(struct engine *engine);

/* A session must wait for blocks, once: at the end of the queue for ENGINE_SERVING beside the
 * reserve; or at its head for one block, if that is enough for it to finish a chunk. */
void engine_wait(struct engine *engine, struct session *session, bool finishes);

/* Bytes of free blocks that `session` must leave to others: the reserve, and what is kept for those
 * who came before it. */
size_t engine_reserve(const struct engine *engine, const struct session *session);

/* A session (or nobody: NULL) has run, or is closed. Blocks may have come back: wake the first who
 * waits for some. */
void engine_serve_waiting(struct engine *engine, const struct session *ran);

/* What a process holds. */
struct engine_state {
	uint32_t sessions, assocs, blocks, descriptors, lookups;
};

struct engine_state engine_state(const struct engine *engine);

/* One line about it, to the log; `salts` of SIP004, and of requests (NULL: none). */
void engine_report(const struct engine_state *state, uint32_t salts, const struct salts *requests);

#endif
