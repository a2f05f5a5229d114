/*
 * See service.h. Accepting is edge-triggered like everything else: until EAGAIN, a bounded number a
 * turn. When descriptors or sessions run short, strangers go first, then idle relays; if there are
 * none, accepting pauses until a session or an association has ended, or for a moment.
 */
#include "net/service.h"

#include "core/bytes.h"
#include "core/log.h"
#include "crypto/kdf.h"
#include "net/carry.h"
#include "net/datagram.h"
#include "net/plugin.h"
#include "net/resolve.h"
#include "net/session.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ACCEPTS = 64,		  /* a turn and listener */
	PAUSE = 100,		  /* ms until accepting is tried again */
	GRACE = 250,		  /* ms that a stranger is not sent away for another */
	CONNECT_TIME_MAX = 10000, /* ms */
	HANDSHAKE_MIN = 40000,
	HANDSHAKE_SPAN = 60000,		       /* ms */
	SERVER_IDLE_MIN = 24 * 60 * 60 * 1000, /* ms; as shadowsocks-libev 3.3.5 */
	ASSOC_MIN = 10000,		       /* ms; as shadowsocks-libev 3.3.5 */
	SESSION_MIN = 60000 /* of SIP022: whose packets are that long in time (SIP022, UDP) */
};

/* A time that neither tells what was sent nor which program answers: it hangs on the key alone. */
static uint64_t handshake_time(const struct wire_key *key)
{
	unsigned char bytes[4];

	kdf_hkdf_sha1(key->key, key->key_len, NULL, 0, "handshake time", 14, bytes, sizeof(bytes));
	return HANDSHAKE_MIN + get_u32be(bytes) % HANDSHAKE_SPAN;
}

static int lend_keys(struct service *service)
{
	if (service->role->near_sealed)
		return engine_lend(service->engine, &service->key);
	for (unsigned i = 0; i < service->upstreams->count; i++)
		if (engine_lend(service->engine, &service->upstreams->all[i].key) < 0)
			return -1;
	return 0;
}

static uint64_t assoc_time(const struct service *service)
{
	const struct wire_key *key = service->role->near_sealed
					     ? &service->key
					     : &upstream_of_datagrams(service->upstreams)->key;
	uint64_t time = service->udp_timeout;

	if (!time)
		time = service->timeout > ASSOC_MIN ? service->timeout : ASSOC_MIN;
	return key->format == &wire_2022 && time < SESSION_MIN ? SESSION_MIN : time;
}

static void pause_accepting(struct service *service)
{
	if (timer_pending(&service->pause))
		return;
	reactor_after(&service->pause, PAUSE);
	list_append(&service->engine->paused, &service->paused);
}

static void end_pause(struct service *service)
{
	list_remove(&service->paused);
	reactor_cancel(&service->pause);
}

static void go_on(struct service *service)
{
	end_pause(service);
	for (unsigned i = 0; i < service->listener_count; i++)
		reactor_again(&service->listeners[i].source);
}

static void pause_over(struct timer *timer)
{
	go_on(container_of(timer, struct service, pause));
}

/* One place is free, or a descriptor: one may try. What it does not take, others find when their
 * pause is over. */
static void end_first_pause(struct engine *engine)
{
	if (!list_empty(&engine->paused))
		go_on(container_of(engine->paused.next, struct service, paused));
}

int service_init(struct service *service)
{
	bool server = service->role->near_sealed;

	service->key.server = server;
	if (!service->traffic)
		service->traffic = &service->counts;
	service->handshake_time =
		handshake_time(server ? &service->key : &service->upstreams->all[0].key);
	service->connect_time =
		service->timeout < CONNECT_TIME_MAX ? service->timeout : CONNECT_TIME_MAX;
	service->idle_time = !server				  ? 0
			     : service->timeout > SERVER_IDLE_MIN ? service->timeout
								  : SERVER_IDLE_MIN;
	service->assoc_time = assoc_time(service);
	timer_init(&service->pause, pause_over);
	list_init(&service->paused);
	return lend_keys(service);
}

static bool is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static bool is_full(const struct engine *engine)
{
	return engine->sessions.live == engine->sessions.max;
}

static bool somebody_knocks(int listener)
{
	struct pollfd look = { .fd = listener, .events = POLLIN };

	return poll(&look, 1, 0) > 0;
}

static void log_full(const struct service *service)
{
	log_peer(LOG_KIND_ACCEPT, "no room for another session: the limit is %u",
		 service->engine->sessions.max);
}

/* There is room, unless what was closed is not buried yet. */
static void admit(struct service *service, int fd, const struct sockaddr_storage *peer)
{
	if (session_open(service, fd, peer))
		return;
	log_full(service);
	close(fd);
}

/* False: nothing is to be accepted now, but after this turn or the pause. Nobody is refused, which
 * would tell a server's strangers something, and users of a client no more than that they must ask
 * again: they wait to be accepted. Of a crowd that comes at once each has a moment to say who it
 * is. */
static bool make_room(struct service *service, struct source *listener)
{
	if (!is_full(service->engine) || !somebody_knocks(listener->fd))
		return true;
	if (engine_evict(service->engine, GRACE)) {
		reactor_again(listener); /* its memory is free after this turn */
		return false;
	}
	log_full(service);
	pause_accepting(service);
	return false;
}

static void listener_woken(struct source *source)
{
	struct service *service = container_of(source, struct listener, source)->service;

	for (int i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage peer;

		if (!make_room(service, source))
			return;
		int fd = socket_accept(source->fd, service->sockets, &peer);
		int error = errno;

		if (fd >= 0) {
			admit(service, fd, &peer);
			continue;
		}
		/* Some systems find that they have no descriptor before they find that nobody
		 * waits. */
		if (error == EAGAIN || (is_shortage(error) && !somebody_knocks(source->fd))) {
			source->ready &= (uint8_t)~READY_IN;
			return;
		}
		if (is_shortage(error) && !engine_evict(service->engine, 0)) {
			log_peer(LOG_KIND_ACCEPT, "cannot accept: %s", strerror(error));
			pause_accepting(service);
			return;
		}
	}
	reactor_again(source);
}

/* The address of one end of a socket; its port, 0 if there is none. */
static uint16_t address_of(int fd, int (*ask)(int, struct sockaddr *, socklen_t *),
			   struct address *to)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);

	*to = (struct address){ 0 };
	return ask(fd, (struct sockaddr *)&at, &len) < 0
		       ? 0
		       : address_from_socket(to, (struct sockaddr *)&at);
}

/* Is it an address of this machine? Whoever connects to one does so from the same; on the
 * loopback interface there are many. */
static bool is_ours(const struct address *to, const struct address *from)
{
	return address_equal(to, from) || (to->family == 4 && to->ip[0] == 127);
}

static bool covers(const struct address *bound, const struct address *to,
		   const struct address *from)
{
	if (!address_is_any(bound))
		return address_equal(bound, to);
	return (bound->family == 6 || to->family == 4) && is_ours(to, from);
}

bool service_is_plugged(const struct service *service, bool udp)
{
	return service->plugin && (udp ? service->plugin->udp : service->plugin->tcp);
}

uint8_t service_share(const struct service *service, const struct address *peer, uint16_t port,
		      bool udp)
{
	struct address who = *peer;

	if (service_is_plugged(service, udp))
		put_u16be(who.ip, port);
	return resolve_share(&who);
}

bool service_is_reached_by(const struct service *service, int fd)
{
	struct address to, from, bound;
	uint16_t port = address_of(fd, getpeername, &to);

	address_of(fd, getsockname, &from);
	for (unsigned i = 0; i < service->listener_count; i++) {
		const struct listener *listener = &service->listeners[i];

		if (port != listener->port)
			continue;
		address_of(listener->source.fd, getsockname, &bound);
		if (covers(&bound, &to, &from))
			return true;
	}
	return service_is_plugged(service, false) && port == service->plugin->servers[0].port &&
	       is_ours(&to, &from);
}

bool service_listens_at(const struct service *service, const struct endpoint *at, bool datagrams)
{
	const struct listener *all = datagrams ? service->datagrams : service->listeners;
	unsigned n = datagrams ? service->datagram_count : service->listener_count;
	struct address to, bound;

	if (!endpoint_address(at, &to))
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (all[i].port != at->port)
			continue;
		address_of(all[i].source.fd, getsockname, &bound);
		if (covers(&bound, &to, socket_is_ours(&to) != 0 ? &to : &bound))
			return true;
	}
	return false;
}

/* Listeners of one kind. */
struct kind {
	struct listener **all;
	uint8_t *count;
};

static struct kind kind_of(struct service *service, bool datagrams)
{
	if (datagrams)
		return (struct kind){ &service->datagrams, &service->datagram_count };
	return (struct kind){ &service->listeners, &service->listener_count };
}

/* One more of them, which do not move any more once they are watched. */
static int add_listener(struct service *service, bool datagrams, int fd)
{
	struct kind kind = kind_of(service, datagrams);
	uint8_t number = *kind.count;
	struct listener *more = realloc(*kind.all, (number + 1u) * sizeof(*more));
	struct address bound;

	if (!more) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	*kind.all = more;
	more[number] = (struct listener){
		.source.fd = fd,
		.service = service,
		.port = address_of(fd, getsockname, &bound),
		.number = number,
	};
	++*kind.count;
	return 0;
}

static int listen_at(struct service *service, const struct endpoint *at, bool v6only,
		     bool datagrams)
{
	bool whole = service->mtu && service->role->near_sealed;
	struct sockaddr_storage address;
	socklen_t len = endpoint_socket(at, &address);
	const struct sockaddr *where = (struct sockaddr *)&address;

	if (len == 0 || *kind_of(service, datagrams).count == LISTENERS_MAX) {
		errno = len == 0 ? EADDRNOTAVAIL : ENOSPC;
		return -1;
	}
	int fd = datagrams ? socket_receive(where, len, service->sockets, v6only, whole)
			   : socket_listen(where, len, service->sockets, v6only);
	return fd < 0 ? -1 : add_listener(service, datagrams, fd);
}

int service_listen(struct service *service, const struct endpoint *at, bool v6only)
{
	return listen_at(service, at, v6only, false);
}

int service_listen_datagrams(struct service *service, const struct endpoint *at, bool v6only)
{
	return listen_at(service, at, v6only, true);
}

void service_exchange_listener(struct service *service, unsigned i, int fd)
{
	close(service->listeners[i].source.fd);
	service->listeners[i].source.fd = fd;
}

void service_leave_datagrams(struct service *service)
{
	for (unsigned i = 0; i < service->datagram_count; i++) {
		close(service->datagrams[i].source.fd);
		service->datagrams[i].source.fd = -1;
	}
}

/* Those that came from another service are watched already, and it may have paused. */
static int watch(struct listener *listener, bool datagrams)
{
	struct source *source = &listener->source;

	if (source->fd < 0) /* another worker has it */
		return 0;
	if (source->wake) {
		reactor_again(source);
		return 0;
	}
	return datagrams ? reactor_watch_input(source, source->fd, carry_near_woken)
			 : reactor_watch(source, source->fd, READY_IN, listener_woken);
}

int service_start(struct service *service)
{
	for (unsigned i = 0; i < service->listener_count; i++)
		if (watch(&service->listeners[i], false) < 0)
			return -1;
	for (unsigned i = 0; i < service->datagram_count; i++)
		if (watch(&service->datagrams[i], true) < 0)
			return -1;
	return 0;
}

static void close_listeners(struct listener *all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		reactor_forget(&all[i].source);
}

void service_close(struct service *service)
{
	for (unsigned i = 0; i < service->datagram_count; i++)
		datagram_leave(service->datagrams[i].source.fd);
	close_listeners(service->datagrams, service->datagram_count);
	close_listeners(service->listeners, service->listener_count);
	service->listener_count = service->datagram_count = 0;
	end_pause(service);
}

void service_free(struct service *service)
{
	free(service->listeners);
	free(service->datagrams);
	service->listeners = service->datagrams = NULL;
}

void service_hand_over(struct service *from, struct service *to, bool datagrams)
{
	struct kind had = kind_of(from, datagrams), has = kind_of(to, datagrams);

	*has.all = *had.all;
	*has.count = *had.count;
	*had.all = NULL;
	*had.count = 0;
	for (unsigned i = 0; i < *has.count; i++)
		(*has.all)[i].service = to;
	end_pause(from); /* a place that is free is for one that accepts */
}

void service_release(struct service *service)
{
	end_first_pause(service->engine);
	if (--service->uses == 0 && service->ended) {
		service_free(service);
		service->gone(service);
	}
}

static void bury(struct burial *burial)
{
	service_release(container_of(burial, struct service, burial));
}

static void end(struct service *service, bool cut)
{
	service->ended = true;
	service->uses++; /* for this turn */
	service->burial.bury = bury;
	reactor_bury(&service->burial);
	service_close(service);
	if (cut)
		engine_cut(service->engine, service, false);
	else
		engine_cut_assocs(service->engine, service); /* which need the sockets */
}

void service_end(struct service *service)
{
	end(service, true);
}

void service_retire(struct service *service)
{
	end(service, false);
}
