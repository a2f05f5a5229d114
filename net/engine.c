/*
 * See engine.h. The tick looks, once a second, after what no event would: log summaries, blocks
 * held without progress while others wait, memory of blocks after a peak.
 */
#include "net/engine.h"

#include "core/log.h"
#include "core/reactor.h"
#include "net/expanded.h"
#include "net/resolve.h"
#include "net/salts.h"
#include "net/service.h"
#include "net/session.h"
#include "net/users.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

enum {
	TICK = 1000,	  /* ms */
	STUCK = 10000,	  /* ms without progress that a holder is granted while others wait */
	IDLE = 60000,	  /* ms without traffic after which a relay may have to make room */
	CLOSED_MAX = 64,  /* of them a tick at most: each takes a look at all sessions */
	KEPT_BLOCKS = 16, /* free blocks whose memory stays with us */
	/* seconds that the tick outlives the last session: summaries are due then */
	TICKS_AFTER_LAST = 90
};

/* A session that holds blocks without progress. */
struct stuck {
	struct session *session; /* NULL: none was found */
	uint64_t since;
	bool unfinished; /* what it holds is the beginning of a chunk */
};

/* Keep the one that has to go first: unfinished chunks before others, oldest first. */
static void compare_stuck(struct stuck *worst, struct session *s, bool up)
{
	struct stuck one = {
		.session = s,
		.since = session_holds_since(s, up),
		.unfinished = (up ? &s->up : &s->down)->raw > 0,
	};

	if (one.since == 0 || reactor_now() - one.since < STUCK)
		return;
	if (!worst->session || one.unfinished > worst->unfinished ||
	    (one.unfinished == worst->unfinished && one.since < worst->since))
		*worst = one;
}

static struct session *stuck_holder(struct engine *engine)
{
	struct stuck worst = { 0 };

	for (struct list *l = engine->guests.next; l != &engine->guests; l = l->next) {
		struct session *s = container_of(l, struct session, link);

		compare_stuck(&worst, s, true);
		compare_stuck(&worst, s, false);
	}
	return worst.session;
}

static struct session *first_waiting(const struct engine *engine)
{
	return list_empty(&engine->waiting)
		       ? NULL
		       : container_of(engine->waiting.next, struct session, waiting);
}

/* True if there is nobody who waits for more than there is. */
static bool can_serve(const struct engine *engine)
{
	const struct session *s = first_waiting(engine);

	if (!s)
		return true;
	return engine->blocks.max - engine->blocks.leased >=
	       (s->finishes ? 1 : ENGINE_SERVING + ENGINE_RESERVE);
}

/* True if there is enough for all who wait, one after the other. */
static bool can_serve_all(const struct engine *engine)
{
	uint32_t free = engine->blocks.max - engine->blocks.leased, wanted = ENGINE_RESERVE;

	for (struct list *l = engine->waiting.next; l != &engine->waiting; l = l->next)
		if ((wanted += ENGINE_SERVING) > free)
			return false;
	return true;
}

/* Somebody waits, and in vain: close who holds blocks without progress, until there is enough for
 * all. */
static void close_stuck(struct engine *engine)
{
	struct session *stuck;

	if (can_serve(engine))
		return;
	for (int i = 0; i < CLOSED_MAX && !can_serve_all(engine); i++) {
		stuck = stuck_holder(engine);
		if (!stuck)
			return;
		session_close(stuck, WHY_MEMORY);
	}
}

static void tick(struct timer *timer)
{
	struct engine *engine = container_of(timer, struct engine, tick);

	close_stuck(engine);
	engine_serve_waiting(engine, NULL);
	block_trim(&engine->blocks, KEPT_BLOCKS);
	datagram_rest(reactor_now());
	expanded_forget();
	if (engine->assocs.live > 0)
		guises_rest(&engine->guises, reactor_now());
	else
		guises_drop(&engine->guises);
	log_flush(reactor_now());
	bool busy = engine->sessions.live > 0 || engine->assocs.live > 0;
	engine->quiet_ticks = busy ? 0 : engine->quiet_ticks + 1;
	if (engine->quiet_ticks < TICKS_AFTER_LAST)
		reactor_after(&engine->tick, TICK);
}

struct engine_sizes engine_sizes(size_t lease, bool datagrams)
{
	size_t session = slab_size(sizeof(struct session)) + 2 * slab_size(lease);

	if (datagrams)
		session += slab_size(sizeof(struct control));
	return (struct engine_sizes){
		.session = (uint32_t)session,
		.assoc = ASSOC_BYTES,
		.block = BLOCK_SIZE + sizeof(uint32_t),
	};
}

int engine_open(struct engine *engine, uint32_t sessions, uint32_t blocks)
{
	*engine = (struct engine){ .splice = { .in = -1, .out = -1 } };
	if (blocks < ENGINE_SERVING + ENGINE_RESERVE) {
		errno = EINVAL;
		return -1;
	}
	list_init(&engine->strangers);
	list_init(&engine->guests);
	list_init(&engine->waiting);
	list_init(&engine->paused);
	timer_init(&engine->tick, tick);
	if (slab_open(&engine->sessions, sizeof(struct session), sessions) < 0)
		return -1;
	if (block_open(&engine->blocks, blocks) < 0) {
		slab_close(&engine->sessions);
		return -1;
	}
	return 0;
}

int engine_open_datagrams(struct engine *engine, uint32_t assocs)
{
	if (datagram_open() < 0 || assocs_open(&engine->assocs, assocs) < 0)
		return -1;
	return parcels_open(&engine->parcels) < 0 ||
			       controls_open(&engine->controls, engine->sessions.max) < 0
		       ? -1
		       : 0;
}

int engine_lend(struct engine *engine, struct wire_key *key)
{
	size_t size = wire_lease_size(key);

	if (size == 0)
		return 0;
	if (!engine->leases.base && slab_open(&engine->leases, size, 2 * engine->sessions.max) < 0)
		return -1;
	key->leases = &engine->leases;
	return 0;
}

static void close_all(struct list *list)
{
	while (!list_empty(list))
		session_close(container_of(list->next, struct session, link), WHY_STOPPED);
}

void engine_close(struct engine *engine)
{
	close_all(&engine->strangers);
	close_all(&engine->guests);
	if (engine->assocs.buckets)
		assocs_end(&engine->assocs);
	reactor_cancel(&engine->tick);
	reactor_turn(0); /* buries them */
	assocs_close(&engine->assocs);
	controls_close(&engine->controls);
	parcels_close(&engine->parcels);
	guises_close(&engine->guises);
	datagram_close();
	splice_close(&engine->splice);
	block_close(&engine->blocks);
	slab_close(&engine->leases);
	slab_close(&engine->sessions);
}

/* Looks no further once the service has no session left. */
static void cut_sessions(struct list *list, const struct service *service, bool lost_only)
{
	for (struct list *l = list->next, *next; l != list && service->sessions > 0; l = next) {
		struct session *s = container_of(l, struct session, link);

		next = l->next;
		if (s->service == service &&
		    (!lost_only || users_lost(service->key.users, s->up_wire.user)))
			session_close(s, WHY_STOPPED);
	}
}

static void cut_assocs(struct list *order, const struct service *service, bool lost_only)
{
	for (struct list *l = order->next, *next; l != order && service->assocs > 0; l = next) {
		struct assoc *a = container_of(l, struct assoc, link);

		next = l->next;
		if (a->service == service &&
		    (!lost_only || users_lost(service->key.users, assoc_user(a))))
			assoc_close(a, "its port is closed");
	}
}

void engine_cut(struct engine *engine, const struct service *service, bool lost_only)
{
	cut_sessions(&engine->guests, service, lost_only);
	cut_sessions(&engine->strangers, service, lost_only);
	if (service->assocs > 0)
		cut_assocs(&engine->assocs.order, service, lost_only);
}

void engine_cut_assocs(struct engine *engine, const struct service *service)
{
	if (service->assocs > 0)
		cut_assocs(&engine->assocs.order, service, false);
}

void engine_count_live(struct engine *engine, const struct service *service)
{
	struct users *users = service->key.users;
	struct list *l;

	users_none_live(users);
	for (l = engine->guests.next; l != &engine->guests && service->sessions > 0; l = l->next) {
		const struct session *s = container_of(l, struct session, link);

		if (s->service == service)
			users_count_live(users, s->up_wire.user, s->up_bytes, s->down_bytes);
	}
	for (l = engine->assocs.order.next; service->assocs > 0 && l != &engine->assocs.order;
	     l = l->next) {
		const struct assoc *a = container_of(l, struct assoc, link);

		if (a->service == service)
			users_count_live(users, assoc_user(a), a->up_bytes, a->down_bytes);
	}
}

unsigned engine_clients(const struct engine *engine, const struct service *service,
			struct address *to, unsigned max)
{
	const struct list *l;
	unsigned n = 0;

	for (l = engine->guests.next; l != &engine->guests && service->sessions > 0; l = l->next) {
		const struct session *s = container_of(l, struct session, link);

		if (s->service == service && n < max)
			to[n++] = s->peer;
	}
	for (l = engine->assocs.order.next; service->assocs > 0 && l != &engine->assocs.order;
	     l = l->next) {
		const struct assoc *a = container_of(l, struct assoc, link);

		if (a->service == service && n < max)
			address_from_socket(&to[n++], &a->client.any);
	}
	return n;
}

/* The guest that has been idle for longest, or NULL if that is not long. Not looked for again
 * before there can be one. */
static struct session *idle_guest(struct engine *engine)
{
	uint64_t now = reactor_now(), oldest = now;
	struct session *found = NULL;

	if (now < engine->idle_after)
		return NULL;
	for (struct list *l = engine->guests.next; l != &engine->guests; l = l->next) {
		struct session *s = container_of(l, struct session, link);

		if (session_has_relay(s) && s->moved < oldest) {
			oldest = s->moved;
			found = s;
		}
	}
	if (now - oldest >= IDLE)
		return found;
	engine->idle_after = oldest + IDLE;
	return NULL;
}

/* The oldest stranger, or NULL: there is none. */
static struct session *first_stranger(struct engine *engine)
{
	return list_empty(&engine->strangers)
		       ? NULL
		       : container_of(engine->strangers.next, struct session, link);
}

bool engine_evict(struct engine *engine, uint64_t grace)
{
	struct session *goes = first_stranger(engine);

	if (goes && reactor_now() - goes->began < grace)
		return false;
	if (!goes)
		goes = idle_guest(engine);
	if (!goes)
		return false;
	session_close(goes, WHY_EVICTED);
	return true;
}

void engine_stir(struct engine *engine)
{
	engine->quiet_ticks = 0;
	if (!timer_pending(&engine->tick))
		reactor_after(&engine->tick, TICK);
}

void engine_wait(struct engine *engine, struct session *session, bool finishes)
{
	if (finishes && !session->finishes)
		list_remove(&session->waiting); /* to the head, from wherever it stood */
	session->finishes = finishes || (session->finishes && !list_empty(&session->waiting));
	if (list_empty(&session->waiting))
		list_append(finishes ? engine->waiting.next : &engine->waiting, &session->waiting);
}

size_t engine_reserve(const struct engine *engine, const struct session *session)
{
	bool alone = engine->served == session || (!engine->served && list_empty(&engine->waiting));

	return (size_t)(alone ? ENGINE_RESERVE : ENGINE_RESERVE + ENGINE_SERVING) * BLOCK_ROOM;
}

void engine_serve_waiting(struct engine *engine, const struct session *ran)
{
	if (engine->served == ran)
		engine->served = NULL;
	if (engine->served || list_empty(&engine->waiting) || !can_serve(engine))
		return;
	engine->served = first_waiting(engine);
	list_remove(&engine->served->waiting);
	reactor_again(&engine->served->near);
}

static unsigned count_descriptors(void)
{
	DIR *dir = opendir("/dev/fd");
	unsigned n = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n > 3 ? n - 3 : 0; /* ".", ".." and the directory itself */
}

struct engine_state engine_state(const struct engine *engine)
{
	return (struct engine_state){
		.sessions = engine->sessions.live,
		.assocs = engine->assocs.live,
		.blocks = engine->blocks.leased,
		.descriptors = count_descriptors(),
		.lookups = resolve_pending(),
	};
}

void engine_report(const struct engine_state *state, uint32_t salts, const struct salts *requests)
{
	char more[64] = "";

	if (requests)
		snprintf(more, sizeof(more), ", %u request salts of at most %u",
			 salts_count(requests), salts_capacity(requests));
	log_info("state: %u sessions, %u associations, %u blocks held, %u descriptors, %u look-ups "
		 "out, %u salts%s",
		 state->sessions, state->assocs, state->blocks, state->descriptors, state->lookups,
		 salts, more);
}
