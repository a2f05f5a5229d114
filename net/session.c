/*
 * The life of a session, read from top to bottom:
 *
 *     LEARN ──> ROUTE ──> CONNECT ──> RELAY ──> closed
 *       └────────────────────┴───────────┴────> SILENT ──> closed
 *
 * LEARN: the role reads where the near side wants to go. ROUTE: the hop is chosen. CONNECT: it is
 * dialled. RELAY: two flows are pumped until both have ended. SILENT lies off the path: a near side
 * that does not prove that it knows the key is read and discarded until it leaves or its handshake
 * time, counted from accept, is over. Where nothing can be proved (stream ciphers), that is the
 * answer to a target that cannot be reached, too; and an end of the near side before there is a
 * relay is answered by ours after a while that is always the same. ATTEND is the other side path: a
 * near side that asked for UDP ASSOCIATE has no relay; its connection says how long its
 * associations live, and that is all.
 */
#include "net/session.h"

#include "core/log.h"
#include "net/control.h"
#include "net/engine.h"
#include "net/handshake.h"
#include "net/route.h"
#include "net/service.h"
#include "net/users.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { LEARN, ROUTE, CONNECT, RELAY, SILENT, ATTEND };

/* Of the handshake time: until an end of the near side is answered by ours. */
enum { FAREWELL_PART = 60 };

/* ms after which a relay is no short one. */
enum { LASTING = 5000 };

/* ms between looks whether the kernel has sent everything before a reset: as long as nothing
 * moved. */
enum { UNSENT_LOOK_MIN = 20, UNSENT_LOOK_MAX = 1000 };

static const char *const why_text[WHY_COUNT] = {
	[WHY_DONE] = "done",
	[WHY_LEFT] = "left before there was a relay",
	[WHY_RESET] = "connection reset",
	[WHY_TIMEOUT] = "timed out",
	[WHY_HANDSHAKE] = "no request in time",
	[WHY_SILENCED] = "silenced",
	[WHY_FORGED] = "forged or damaged data",
	[WHY_REFUSED] = "refused",
	[WHY_NO_NAME] = "name not resolved",
	[WHY_NO_CONNECT] = "no connection",
	[WHY_MEMORY] = "held memory that others waited for",
	[WHY_EVICTED] = "made room for others",
	[WHY_STOPPED] = "program ends",
	[WHY_PASSED] = "passed on to the worker that serves UDP",
};

const char *session_peer(const struct session *s, char *to, size_t n)
{
	struct sockaddr_storage peer;

	address_socket(&s->peer, s->peer_port, &peer);
	return socket_print((struct sockaddr *)&peer, true, to, n);
}

static void near_woken(struct source *source)
{
	session_run(container_of(source, struct session, near));
}

static void far_woken(struct source *source)
{
	session_run(container_of(source, struct session, far));
}

static void timer_fired(struct timer *timer)
{
	session_run(container_of(timer, struct session, timer));
}

static void dial_changed(struct dial *dial)
{
	session_run(container_of(dial, struct session, dial));
}

static void bury(struct burial *burial)
{
	struct session *s = container_of(burial, struct session, burial);

	struct service *service = s->service;

	slab_give(&service->engine->sessions, s);
	service_release(service);
}

/* Where the format proves nothing, a prober's noise may have made the target: it must not learn of
 * it. */
static bool keeps_quiet(const struct session *s)
{
	return s->service->role->near_sealed && s->key->format->forgeable;
}

/* The near side ended before there is a relay. FAIL: it is over. WAIT: not at once, since when we
 * end must not tell whether there was a target: one that answers in a while still gets its
 * relay. */
static enum step take_leave(struct session *s)
{
	if (!keeps_quiet(s) || s->broken & SIDE_NEAR || s->near.ready & READY_ERROR)
		return FAIL;
	if (!s->left)
		s->moved = reactor_now();
	s->left = true;
	return WAIT;
}

/* Steps. */

static enum step learn(struct session *s)
{
	enum step step = s->service->role->target(s);

	if (step == DONE)
		s->asked = s->moved = reactor_now();
	return step == FAIL && s->why == WHY_LEFT ? take_leave(s) : step;
}

/* Refused; where nothing can be proved, in silence. */
static enum step unless_refused(const struct session *s, enum step step)
{
	return step == FAIL && keeps_quiet(s) ? MUTE : step;
}

static enum step route(struct session *s)
{
	return unless_refused(s, route_session(s, dial_changed));
}

static enum step connect_failed(struct session *s)
{
	char hop[ENDPOINT_TEXT];
	bool no_name = s->dial.lookup.status != RESOLVE_OK;

	s->why = no_name ? WHY_NO_NAME : WHY_NO_CONNECT;
	endpoint_print(s->hop, hop, sizeof(hop));
	if (no_name)
		log_peer(LOG_KIND_RESOLVE, "%s: %s", hop,
			 s->dial.error == EAGAIN ? "no name server answered"
						 : "the name has no address");
	else
		log_peer(LOG_KIND_CONNECT, "%s: cannot connect: %s", hop, strerror(s->dial.error));
	if (s->hop != &s->target && s->hop->type == ENDPOINT_NAME)
		resolve_forget(s->hop->host); /* it may have moved */
	return keeps_quiet(s) ? MUTE : FAIL;
}

static enum step dial_hop(struct session *s)
{
	enum step step = dial_run(&s->dial, &s->far, far_woken);

	while (step == FAIL && dial_is_short(&s->dial) && engine_evict(s->service->engine, 0))
		step = dial_run(&s->dial, &s->far, far_woken);
	return step == FAIL ? connect_failed(s) : step;
}

static enum step connect_hop(struct session *s)
{
	enum step step = s->undecided ? route_decide(s) : DONE;

	if (step == FAIL)
		return unless_refused(s, step);
	if (step == DONE)
		step = dial_hop(s);
	if (step == FAIL || step == MUTE)
		return step;
	if (step == WAIT && s->near.ready & READY_ERROR) {
		s->why = WHY_LEFT;
		return FAIL;
	}
	if (step == WAIT && s->near.ready & READY_EOF && keeps_quiet(s))
		return take_leave(s);
	if (step == DONE && route_loops(s))
		return unless_refused(s, FAIL);
	if (step == DONE) {
		dial_end(&s->dial);
		memset(s->holding, 0, sizeof(s->holding));
	}
	return step;
}

static bool falls_silent(const struct session *s)
{
	return s->why == WHY_FORGED && s->service->role->near_sealed;
}

/* All that arrived before a flow's source failed was passed on. */
static enum step broken(struct session *s)
{
	if (s->why != WHY_FORGED)
		s->why = WHY_RESET;
	return falls_silent(s) ? MUTE : FAIL;
}

/* The sealed side sent, after a good beginning, what does not open: the other side gets what was
 * good, and must see that the stream is cut. Toward its peer a server falls silent then. */
static enum step forged(struct session *s, struct flow *flow)
{
	s->why = WHY_FORGED;
	flow->state = FLOW_BREAKS;
	return flow_pump(s, flow) == FLOW_BROKEN ? broken(s) : WAIT;
}

static enum step relay(struct session *s)
{
	struct flow *flows[2] = { &s->up, &s->down };
	enum flow_result result[2];
	uint8_t known;

	do { /* a side that failed as one flow wrote to it is news to the other */
		known = s->broken;
		for (int i = 0; i < 2; i++) {
			/* its source, our destination, is gone */
			if (flows[!i]->state == FLOW_BREAKS) {
				result[i] = FLOW_WAITS;
				continue;
			}
			result[i] = flow_pump(s, flows[i]);
			if (result[i] == FLOW_BROKEN)
				return broken(s);
			if (result[i] == FLOW_FORGED)
				return forged(s, flows[i]);
		}
	} while (s->broken != known);
	if (s->broken == (SIDE_NEAR | SIDE_FAR))
		return broken(s);
	if (result[0] == FLOW_ENDED && result[1] == FLOW_ENDED) {
		s->why = WHY_DONE;
		return FAIL;
	}
	return WAIT;
}

static enum step silent(struct session *s)
{
	if (handshake_discard(s) == WAIT)
		return WAIT;
	s->why = WHY_SILENCED;
	return take_leave(s);
}

static enum step attend(struct session *s)
{
	if (handshake_discard(s) == WAIT)
		return WAIT;
	s->why = WHY_DONE;
	return FAIL;
}

static enum step (*const life[])(struct session *) = {
	[LEARN] = learn, [ROUTE] = route,   [CONNECT] = connect_hop,
	[RELAY] = relay, [SILENT] = silent, [ATTEND] = attend,
};

/* The keys of both directions go; what was moved counts for the user who moved it. */
static void forget_keys(struct session *s)
{
	user_leave(s->up_wire.user, s->up_bytes, s->down_bytes);
	wire_wipe(&s->up_wire);
	wire_wipe(&s->down_wire);
}

/* A peer falls silent whom we did not understand; or could not let in, which is not held against
 * it. */
static void log_silence(const struct session *s)
{
	char peer[ENDPOINT_TEXT];
	const char *reason = s->step == LEARN ? "authentication error" : why_text[WHY_FORGED];
	struct sockaddr_storage address;

	address_socket(&s->peer, 0, &address);
	if (s->up_wire.salts_full)
		log_peer(LOG_KIND_SALTS, "no room for the salts of more requests in a minute: some "
					 "are refused (see replay_size)");
	else if (s->up_wire.salts_unsure)
		log_peer(LOG_KIND_SALTS, "the clock was set back: until it has caught up, requests "
					 "are refused that may have come before");
	else if (service_is_plugged(s->service, false)) /* nobody must ban our own address */
		log_peer(LOG_KIND_REFUSED, "failed handshake through the plugin: %s", reason);
	else
		log_handshake(socket_print((struct sockaddr *)&address, false, peer, sizeof(peer)),
			      reason);
}

/* Fall silent: everything goes but the near socket. */
static void fall_silent(struct session *s)
{
	if (s->step == CONNECT)
		dial_end(&s->dial);
	s->arrived = s->step == RELAY ? reactor_now() : s->began;
	s->step = SILENT;
	socket_reset_on_close(s->far.fd);
	reactor_forget(&s->far);
	flow_drop(s, &s->up);
	flow_drop(s, &s->down);
	forget_keys(s);
	list_remove(&s->waiting);
	list_remove(&s->link);
	list_append(&s->service->engine->strangers, &s->link);
}

/* One side's connection failed, or both sides ended. */
static bool failed(const struct session *s)
{
	return s->broken || (s->near.ready | s->far.ready) & READY_ERROR;
}

/* When the step is over, if nothing happens; 0: never. */
static uint64_t limit_of_step(const struct session *s)
{
	const struct service *service = s->service;

	switch (s->step) {
	case LEARN:
		return s->began + service->handshake_time;
	case SILENT:
		return s->arrived + service->handshake_time;
	case ATTEND:
		return 0;
	case RELAY:
		if (s->up.state != FLOW_RUNS || s->down.state != FLOW_RUNS || failed(s))
			return s->moved + service->timeout;
		return service->idle_time ? s->moved + service->idle_time : 0;
	default:
		return s->asked + (s->undecided ? route_patience(s) : service->connect_time);
	}
}

/* When the session is to be ended, if nothing happens; 0: never. */
static uint64_t limit(const struct session *s)
{
	uint64_t end = limit_of_step(s), farewell;

	if (!s->left || s->step == RELAY)
		return end;
	farewell = s->moved + s->service->handshake_time / FAREWELL_PART;
	return farewell < end ? farewell : end;
}

/* The source failed, and nothing but the kernel holds bytes for the destination: no event tells
 * when they are sent. */
static bool awaits_sending(const struct flow *f)
{
	return f->state == FLOW_BREAKS && f->out == 0;
}

static uint64_t next_unsent_look(const struct session *s)
{
	uint64_t now = reactor_now(), still = now - s->moved;

	if (still < UNSENT_LOOK_MIN)
		return now + UNSENT_LOOK_MIN;
	return now + (still < UNSENT_LOOK_MAX ? still : UNSENT_LOOK_MAX);
}

/* 0: never. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/* When to look again although no event comes; 0: no need. */
static uint64_t next_look(const struct session *s)
{
	uint64_t end = limit(s);

	if (s->step != RELAY)
		return end;
	if (s->up.code == FLOW_SEAL && !s->up_wire.begun &&
	    reactor_now() < s->asked + FIRST_PAYLOAD_WAIT)
		return s->asked + FIRST_PAYLOAD_WAIT;
	if (awaits_sending(&s->up) || awaits_sending(&s->down))
		return earlier(end, next_unsent_look(s));
	return s->lasts ? end : earlier(end, s->asked + LASTING);
}

/* The timer is lazy: it is only ever moved forward when it has fired. */
static void arm(struct session *s)
{
	uint64_t now = reactor_now(), look = next_look(s);

	if (look == 0 || (timer_pending(&s->timer) && s->timer.due <= look))
		return;
	reactor_after(&s->timer, look > now ? look - now : 1);
}

static bool is_over(const struct session *s)
{
	uint64_t end = limit(s);

	return end != 0 && reactor_now() >= end;
}

/* The time of the step is over. */
static enum step expire(struct session *s)
{
	static const uint8_t why[] = {
		[LEARN] = WHY_HANDSHAKE,
		[ROUTE] = WHY_NO_CONNECT,
		[RELAY] = WHY_TIMEOUT,
		[SILENT] = WHY_SILENCED,
	};

	if (s->step == RELAY && falls_silent(s))
		return MUTE;
	if (s->left && (s->step == LEARN || s->step == CONNECT)) {
		s->why = WHY_LEFT;
		return FAIL;
	}
	if (s->step == CONNECT) {
		s->dial.error = s->dial.lookup.status == RESOLVE_PENDING ? EAGAIN : ETIMEDOUT;
		return connect_failed(s);
	}
	s->why = why[s->step];
	return FAIL;
}

/* A relay that is no short one is worth the calls that have its far side probed. */
static void note_lasting(struct session *s)
{
	if (s->lasts || s->step != RELAY || reactor_now() < s->asked + LASTING)
		return;
	s->lasts = true;
	socket_keep_alive(s->far.fd, s->service->sockets);
}

static void advance(struct session *s)
{
	for (;;) {
		enum step step = life[s->step](s);

		/* Looked at afterwards: what wakes a session may be the very thing it waited
		 * for. */
		if (step == WAIT && is_over(s))
			step = expire(s);
		switch (step) {
		case DONE:
			s->step++;
			s->arrived = reactor_now();
			break;
		case WAIT:
			note_lasting(s);
			arm(s);
			return;
		case MUTE:
			/* what else there is, is in the log, and no offence */
			if (s->step == LEARN || s->step == RELAY)
				log_silence(s);
			fall_silent(s);
			break;
		case STAY:
			s->step = ATTEND;
			break;
		case FAIL:
			session_close(s, s->why);
			return;
		}
	}
}

/* Looked at when the session rests, so that a chunk which ends as the next one begins is not yet
 * progress: its peer would keep a block for a few bytes now and then. */
static void note_holding(struct holding *holding, const struct flow *f, uint64_t bytes)
{
	uint32_t passed = (uint32_t)bytes - f->out;

	if (!f->held.head) {
		holding->since = 0;
	} else if (holding->since == 0 || passed - holding->passed - BLOCK_ROOM < UINT32_MAX / 2) {
		holding->since = reactor_now();
		holding->passed = passed;
	}
}

bool session_has_relay(const struct session *s)
{
	return s->step == RELAY;
}

uint64_t session_holds_since(const struct session *s, bool up)
{
	if (!(up ? &s->up : &s->down)->held.head)
		return 0;
	return s->step == RELAY ? s->holding[up ? 0 : 1].since : s->arrived;
}

void session_run(struct session *s)
{
	struct engine *engine = s->service->engine;

	if (s->closed)
		return;
	advance(s);
	if (!s->closed && s->step == RELAY) {
		note_holding(&s->holding[0], &s->up, s->up_bytes);
		note_holding(&s->holding[1], &s->down, s->down_bytes);
	}
	engine_serve_waiting(engine, s);
}

static struct session *open_session(struct service *service, int fd,
				    const struct sockaddr_storage *peer)
{
	struct engine *engine = service->engine;
	struct session *s = slab_take(&engine->sessions);

	if (!s)
		return NULL;
	s->service = service;
	s->near.fd = s->far.fd = -1;
	s->burial.bury = bury;
	s->began = s->arrived = s->asked = s->moved = reactor_now();
	timer_init(&s->timer, timer_fired);
	list_init(&s->waiting);
	list_init(&s->link);
	s->peer_port = address_from_socket(&s->peer, (const struct sockaddr *)peer);
	if (service->role->near_sealed) {
		s->key = &service->key;
		flow_init(&s->up, true, FLOW_OPEN);
	}
	if (reactor_watch(&s->near, fd, READY_OUT, near_woken) < 0) {
		slab_give(&engine->sessions, s);
		return NULL;
	}
	list_append(&engine->strangers, &s->link);
	service->accepted++;
	service->sessions++;
	service->uses++;
	engine_stir(engine);
	if (!route_admits(service, &s->peer, false))
		fall_silent(s);
	arm(s);
	return s;
}

bool session_open(struct service *service, int fd, const struct sockaddr_storage *peer)
{
	return open_session(service, fd, peer);
}

bool session_continue(struct service *service, int fd, const struct sockaddr_storage *peer,
		      uint8_t socks)
{
	struct session *s = open_session(service, fd, peer);

	if (!s)
		return false;
	s->socks = socks;
	session_run(s);
	return true;
}

void session_trust(struct session *s)
{
	list_remove(&s->link);
	list_append(&s->service->engine->guests, &s->link);
}

/* A server that cannot open what it gets is silent, and ends when we do: that must not look like a
 * short talk. */
static const char *why_of(const struct session *s)
{
	if (s->down.code == FLOW_OPEN && s->up_bytes > 0 && s->down_bytes == 0 &&
	    (s->why == WHY_DONE || s->why == WHY_RESET) && !s->service->role->near_sealed)
		return "the server ended it before the first answer: not its password or method, "
		       "or its target said nothing";
	return why_text[s->why];
}

static void log_end(const struct session *s)
{
	char peer[ENDPOINT_TEXT], target[ENDPOINT_TEXT];

	if (!log_verbose())
		return;
	session_peer(s, peer, sizeof(peer));
	if (s->target.type == ENDPOINT_NONE)
		snprintf(target, sizeof(target), "-");
	else
		endpoint_print(&s->target, target, sizeof(target));
	const struct user *user = s->up_wire.user;

	log_debug("%s%s%s%s -> %s: %llu bytes up, %llu down, %llu s: %s", peer, user ? " (" : "",
		  user ? user->name : "", user ? ")" : "", target, (unsigned long long)s->up_bytes,
		  (unsigned long long)s->down_bytes,
		  (unsigned long long)(reactor_now() - s->began) / 1000, why_of(s));
}

/* An end that cuts something off must not look like one that does not. */
static bool is_abort(const struct session *s)
{
	if (s->why == WHY_RESET || s->why == WHY_FORGED || s->why == WHY_MEMORY)
		return true;
	return s->step == RELAY && s->why != WHY_DONE &&
	       (failed(s) || s->up.held.head || s->down.held.head);
}

void session_close(struct session *s, enum why why)
{
	struct engine *engine = s->service->engine;

	if (s->closed)
		return;
	s->closed = true;
	s->why = (uint8_t)why;
	log_end(s);
	if (is_abort(s)) {
		socket_reset_on_close(s->near.fd);
		socket_reset_on_close(s->far.fd);
	} else if (s->up.state != FLOW_SHUT) {
		s->near.ready |= READY_IN;
		handshake_discard(s); /* what lies unread would turn the end into a reset */
	}
	if (s->step == LEARN)
		sodium_memzero(s->shake, sizeof(s->shake)); /* perhaps half a login */
	if (s->step == CONNECT)
		dial_end(&s->dial);
	if (s->control)
		control_leave(&engine->controls, s->control);
	reactor_forget(&s->near);
	reactor_forget(&s->far);
	reactor_cancel(&s->timer);
	flow_drop(s, &s->up);
	flow_drop(s, &s->down);
	list_remove(&s->waiting);
	list_remove(&s->link);
	s->service->sessions--;
	forget_keys(s);
	reactor_bury(&s->burial);
	engine_serve_waiting(engine, s);
}
