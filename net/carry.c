/*
 * See carry.h. A datagram goes whole or not at all. Whatever is wrong with one ends it and nothing
 * else. What is sealed is sealed where it lies; only datagrams that came merged are moved, since
 * they have no room around them.
 */
#include "net/carry.h"

#include "core/log.h"
#include "net/assoc.h"
#include "net/engine.h"
#include "net/parcel.h"
#include "net/service.h"
#include "net/socket.h"

#include <errno.h>
#include <string.h>

enum {
	TURN = 256,	       /* pieces until others have their turn */
	QUESTION_PORT = 53,    /* of name servers */
	LOOK_UP_AGAIN = 60000, /* ms until a server's name is looked up again */
	LOOK_UP_FAILED = 1000, /* and after a failure */
	HEAD_IPV4 = 20 + 8,    /* bytes of IP and UDP headers */
	HEAD_IPV6 = 40 + 8
};

_Static_assert((int)DATAGRAM_HEAD >= (int)PACKET_HEAD, "a packet is sealed where it lies");
_Static_assert((int)DATAGRAM_TAIL >= (int)PACKET_TAIL, "with its tag");
_Static_assert((int)DATAGRAM_DRESS_MAX >= 3 + (int)ENDPOINT_WIRE_MAX, "the head of SOCKS5 fits");

static bool inet_from_address(const struct address *address, uint16_t port, union inet *to)
{
	struct sockaddr_storage storage;
	socklen_t len = address_socket(address, port, &storage);

	memcpy(to, &storage, len);
	return len > 0;
}

static bool inet_from_endpoint(const struct endpoint *endpoint, union inet *to)
{
	struct address address;

	return endpoint_address(endpoint, &address) &&
	       inet_from_address(&address, endpoint->port, to);
}

static bool is_mapped(const union inet *inet)
{
	return inet->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&inet->v6.sin6_addr);
}

static int family_of(const union inet *inet)
{
	return inet->any.sa_family == AF_INET6 ? FAR_IPV6 : FAR_IPV4;
}

/* Does it fit, sealed, between client and server? */
static bool fits(const struct service *service, const union inet *to, size_t n)
{
	size_t head = family_of(to) == FAR_IPV6 && !is_mapped(to) ? HEAD_IPV6 : HEAD_IPV4;

	return n <= DATAGRAM_MAX && (!service->mtu || n + head <= service->mtu);
}

/* The outgoing sockets may be bound to an address of one family only. */
static bool may_use(const struct service *service, const struct address *address)
{
	const struct socket_options *o = service->sockets;

	return (o->source4.family == 0 && o->source6.family == 0) ||
	       (address->family == 6 ? o->source6.family : o->source4.family) != 0;
}

/* Logged, and rationed: what peers ask for and cannot have. */
static void log_far(const struct assoc *a, int error)
{
	char client[ENDPOINT_TEXT];

	log_peer(LOG_KIND_CONNECT, "udp %s: cannot send: %s",
		 assoc_client(a, client, sizeof client), strerror(error));
}

static void log_answer(const struct assoc *a, const struct endpoint *source, int error)
{
	char client[ENDPOINT_TEXT], from[ENDPOINT_TEXT];

	log_peer(LOG_KIND_CONNECT, "udp %s: cannot answer from %s: %s",
		 assoc_client(a, client, sizeof client), endpoint_print(source, from, sizeof from),
		 strerror(error));
}

static void count_up(struct assoc *a, size_t n)
{
	a->up_count++;
	a->up_bytes += n;
}

/* One datagram to a name server's port, and nothing else so far. */
static void note_port(struct assoc *a, uint16_t port)
{
	a->question = a->up_count == 0 && port == QUESTION_PORT;
}

/* Up, at a server: from the client, sealed, to any target. */

static void send_to_target(struct assoc *a, const union inet *to, unsigned char *bytes, size_t n)
{
	int fd = assoc_far(a, family_of(to), NULL);

	if (fd < 0)
		log_far(a, errno);
	else
		datagram_send(fd, to, NULL, NULL, 0, bytes, n);
}

/* The first address of a name that may be used; false if there is none. */
static bool choose(const struct service *service, const struct answer *answer, uint16_t port,
		   union inet *to)
{
	for (unsigned i = 0; i < answer->count; i++)
		if (may_use(service, &answer->addresses[i]))
			return inet_from_address(&answer->addresses[i], port, to);
	return false;
}

static void send_named(const struct parcel *parcel, unsigned char *bytes, size_t n)
{
	union inet to;

	if (parcel->lookup.status == RESOLVE_OK &&
	    choose(parcel->assoc->service, parcel->lookup.answer, parcel->port, &to))
		send_to_target(parcel->assoc, &to, bytes, n);
}

static void target_known(struct parcel *parcel)
{
	send_named(parcel, parcel_unpack(parcel), parcel->n);
	parcel_drop(parcel);
}

/* A name that is known already takes no detour. */
static void send_to_name(struct assoc *a, const struct endpoint *target, unsigned char *bytes,
			 size_t n)
{
	struct parcel *parcel = parcel_keep(a, NULL, 0);

	if (!parcel)
		return;
	parcel->port = target->port;
	if (parcel_ask(parcel, target->host, target_known) != RESOLVE_PENDING) {
		send_named(parcel, bytes, n);
		parcel_drop(parcel);
	} else if (!parcel_fill(parcel, bytes, n)) {
		parcel_drop(parcel);
	}
}

static void up_opened(struct assoc *a, const struct packet_opened *opened)
{
	union inet to;

	note_port(a, opened->address.port);
	count_up(a, opened->n);
	if (opened->address.type == ENDPOINT_NAME)
		send_to_name(a, &opened->address, opened->payload, opened->n);
	else if (inet_from_endpoint(&opened->address, &to))
		send_to_target(a, &to, opened->payload, opened->n);
}

/* A packet that does not open: noise, or another key. The sender's address may be forged, so
 * this is not the line that firewalls act on. */
static void log_stranger(const struct datagram *piece)
{
	char from[ENDPOINT_TEXT];

	log_peer(LOG_KIND_PACKET, "udp %s: not a packet for us",
		 socket_print(&piece->from.any, true, from, sizeof from));
}

/* The association of a packet that was opened, new if need be. A session stays the same wherever
 * the client writes from; only a packet that was right moves it. */
static struct assoc *whose(struct assoc *a, struct listener *listener, const struct datagram *piece,
			   const struct packet_peer *fresh)
{
	if (!a)
		a = assoc_new(listener->service, listener->number, &piece->from, fresh);
	if (!a)
		return NULL;
	if (a->by_id) {
		a->client = piece->from;
		a->listener = listener->number;
	}
	a->origin = piece->to;
	assoc_touch(a);
	return a;
}

static void up_sealed(struct listener *listener, const struct datagram *piece, unsigned char *bytes,
		      size_t n)
{
	struct service *service = listener->service;
	struct assocs *assocs = &service->engine->assocs;
	struct packet_peer fresh = { .known = false }, *peer = &fresh;
	struct packet_front front;
	struct packet_opened opened;
	struct assoc *a;

	if (packet_begin(&service->key, bytes, n, &front) < 0) {
		log_stranger(piece);
		return;
	}
	a = front.has_id ? assoc_find_id(assocs, service, front.id)
			 : assoc_find_client(assocs, service, listener->number, &piece->from);
	if (a && front.has_id)
		peer = &a->peers[0];
	if (packet_open(&service->key, NULL, peer, &front, bytes, n, &opened) < 0) {
		log_stranger(piece);
		return;
	}
	service->traffic->up += n;
	endpoint_normalise(&opened.address);
	if (!endpoint_resolvable(&opened.address))
		return;
	a = whose(a, listener, piece, front.has_id ? &fresh : NULL);
	if (a)
		up_opened(a, &opened);
}

/* Up, at a client: from an application, to the server. */

static void send_to_hop(struct assoc *a, unsigned char *packet, size_t n)
{
	int fd;

	if (!fits(a->service, &a->hop, n)) {
		datagram_too_large();
		return;
	}
	fd = assoc_far(a, family_of(&a->hop), &a->hop);
	if (fd < 0)
		log_far(a, errno);
	else
		datagram_send(fd, NULL, NULL, NULL, 0, packet, n);
}

static const struct endpoint *server_of(const struct assoc *a)
{
	return &a->service->upstreams->all[0].where;
}

/* Take the first address of the server's that a socket can be connected to. */
static bool take_hop(struct assoc *a, const struct answer *answer)
{
	for (unsigned i = 0; i < answer->count; i++) {
		const struct address *address = &answer->addresses[i];
		union inet hop;

		if (!may_use(a->service, address) ||
		    !inet_from_address(address, server_of(a)->port, &hop))
			continue;
		if (inet_equal(&hop, &a->hop))
			return true;
		struct source *far = &a->far[family_of(&hop)];
		if (far->fd >= 0 ? socket_reconnect(far->fd, &hop.any, inet_len(&hop)) == 0
				 : assoc_far(a, family_of(&hop), &hop) >= 0) {
			a->hop = hop;
			return true;
		}
	}
	return false;
}

static bool has_hop(const struct assoc *a)
{
	return a->hop.any.sa_family != AF_UNSPEC;
}

/* The look-up has ended. If it failed, what was known before still holds. */
static bool hop_answered(struct assoc *a)
{
	bool found = a->lookup.status == RESOLVE_OK && take_hop(a, a->lookup.answer);
	char text[ENDPOINT_TEXT];

	resolve_release(&a->lookup);
	if (!found)
		log_peer(LOG_KIND_RESOLVE, "%s: no address to send datagrams to",
			 endpoint_print(server_of(a), text, sizeof text));
	return has_hop(a);
}

static void hop_known(struct lookup *lookup)
{
	struct assoc *a = container_of(lookup, struct assoc, lookup);
	bool known = hop_answered(a);

	while (!list_empty(&a->parcels)) {
		struct parcel *parcel = container_of(a->parcels.next, struct parcel, link);

		if (known)
			send_to_hop(a, parcel_unpack(parcel), parcel->n);
		parcel_drop(parcel);
	}
}

/* A name is asked for again from time to time: servers move. */
static void look_up_hop(struct assoc *a)
{
	uint64_t now = reactor_now(), since = now - a->looked_up;

	if (server_of(a)->type != ENDPOINT_NAME) {
		inet_from_endpoint(server_of(a), &a->hop);
		return;
	}
	if (a->lookup.status == RESOLVE_PENDING && a->looked_up)
		return;
	if (a->looked_up && since < (has_hop(a) ? LOOK_UP_AGAIN : LOOK_UP_FAILED))
		return;
	a->looked_up = now;
	if (resolve_start(&a->lookup, server_of(a)->host, hop_known) != RESOLVE_PENDING)
		hop_answered(a);
}

static void up_plain(struct listener *listener, const struct datagram *piece, unsigned char *bytes,
		     size_t n)
{
	struct service *service = listener->service;
	struct endpoint target;
	unsigned char *packet;
	struct assoc *a;
	size_t length;

	if (!service->role->datagram_target(service, piece, &bytes, &n, &target))
		return;
	a = assoc_find_client(&service->engine->assocs, service, listener->number, &piece->from);
	a = whose(a, listener, piece, NULL);
	if (!a)
		return;
	look_up_hop(a);
	note_port(a, target.port);
	count_up(a, n);
	packet = packet_seal(a->key, &a->own, NULL, &target, bytes, n, &length);
	if (has_hop(a))
		send_to_hop(a, packet, length);
	else
		parcel_keep(a, packet, length);
}

/* Bytes that may be sealed where they lie. */
static unsigned char *with_room(const struct datagram *piece, unsigned char *bytes, size_t n)
{
	unsigned char *room;

	if (piece->n <= piece->segment)
		return bytes;
	room = datagram_room(n);
	memcpy(room, bytes, n);
	return room;
}

static void up(struct listener *listener, const struct datagram *piece)
{
	bool sealed = listener->service->role->near_sealed;
	uint32_t at = 0;

	do { /* once for an empty one */
		uint32_t n = piece->n - at < piece->segment ? piece->n - at : piece->segment;
		unsigned char *bytes = piece->bytes + at;

		if (sealed)
			up_sealed(listener, piece, bytes, n);
		else
			up_plain(listener, piece, with_room(piece, bytes, n), n);
		at += n;
	} while (at < piece->n);
}

void carry_near_woken(struct source *source)
{
	struct listener *listener = container_of(source, struct listener, source);
	struct datagram *pieces;
	int n;

	for (int taken = 0; taken < TURN; taken += n) {
		n = datagram_receive(source, &listener->batch, &pieces);
		if (n == 0)
			return;
		for (int i = 0; i < n; i++)
			up(listener, &pieces[i]);
	}
	reactor_again(source);
}

/* Down. */

static int near_of(const struct assoc *a)
{
	return a->service->datagrams[a->listener].source.fd;
}

static void count_down(struct assoc *a, size_t n)
{
	a->down_count++;
	a->down_bytes += n;
	a->service->traffic->down += n;
	assoc_touch(a);
}

/* At a server: from whoever answers. */
static void down_plain(struct assoc *a, const struct endpoint *from, unsigned char *bytes, size_t n)
{
	unsigned char *packet;
	size_t length;

	packet = packet_seal(a->key, &a->own, &a->peers[0], from, bytes, n, &length);
	if (!fits(a->service, &a->client, length)) {
		datagram_too_large();
		return;
	}
	count_down(a, n);
	datagram_send(near_of(a), &a->client, &a->origin, NULL, 0, packet, length);
}

/* To the client, from where it has written to; or from the source itself, as if nothing were between. */
static void send_to_client(struct assoc *a, const struct endpoint *source, const void *dress,
			   size_t dress_len, unsigned char *bytes, size_t n)
{
	union inet client;
	int fd;

	if (!a->service->role->answers_as_source) {
		datagram_send(near_of(a), &a->client, &a->origin, dress, dress_len, bytes, n);
		return;
	}
	fd = guise_take(&a->service->engine->guises, source, &a->client, &client);
	if (fd < 0)
		log_answer(a, source, errno);
	else
		datagram_send(fd, &client, NULL, dress, dress_len, bytes, n);
}

/* At a client: from the server. */
static void down_sealed(struct assoc *a, unsigned char *bytes, size_t n)
{
	unsigned char dress[DATAGRAM_DRESS_MAX];
	struct packet_opened opened;
	size_t dress_len;

	if (packet_open_answer(a->key, &a->own, a->peers, reactor_now(), bytes, n, &opened) < 0)
		return;
	dress_len = a->service->role->datagram_dress(&opened.address, dress);
	if (dress_len + opened.n > DATAGRAM_MAX) {
		datagram_too_large();
		return;
	}
	count_down(a, opened.n);
	send_to_client(a, &opened.address, dress, dress_len, opened.payload, opened.n);
}

static void down(struct assoc *a, const struct datagram *piece)
{
	bool sealed = !a->service->role->near_sealed;
	struct endpoint from;
	uint32_t at = 0;

	if (!sealed)
		endpoint_from_socket(&from, &piece->from.any);
	do {
		uint32_t n = piece->n - at < piece->segment ? piece->n - at : piece->segment;
		unsigned char *bytes = piece->bytes + at;

		if (sealed)
			down_sealed(a, bytes, n);
		else
			down_plain(a, &from, with_room(piece, bytes, n), n);
		at += n;
	} while (at < piece->n);
}

static void far_woken(struct assoc *a, int family)
{
	struct source *source = &a->far[family];
	struct datagram *pieces;
	int n;

	for (int taken = 0; taken < TURN; taken += n) {
		n = datagram_receive(source, &a->batch[family], &pieces);
		if (n == 0)
			return;
		for (int i = 0; i < n; i++)
			down(a, &pieces[i]);
	}
	reactor_again(source);
}

void carry_far4_woken(struct source *source)
{
	far_woken(container_of(source, struct assoc, far[FAR_IPV4]), FAR_IPV4);
}

void carry_far6_woken(struct source *source)
{
	far_woken(container_of(source, struct assoc, far[FAR_IPV6]), FAR_IPV6);
}
