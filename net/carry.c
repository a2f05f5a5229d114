/*
 * See carry.h. A datagram goes whole or not at all. Whatever is wrong with one ends it and nothing
 * else. What is sealed is sealed where it lies; only datagrams that came merged are moved, since
 * they have no room around them.
 */
#include "net/carry.h"

#include "core/log.h"
#include "net/assoc.h"
#include "net/engine.h"
#include "net/outward.h"
#include "net/parcel.h"
#include "net/route.h"
#include "net/service.h"
#include "net/socket.h"

#include <errno.h>
#include <sodium.h>
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

/* Up, at a server: from the client, sealed. */

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

/* Open a packet; whose it is, or NULL: nobody's, or there is no room. `fresh`, zeroed, is for the
 * session of one that is the first of its own. */
static struct assoc *open_sealed(struct listener *listener, const struct datagram *piece,
				 unsigned char *bytes, size_t n, struct packet_peer *fresh,
				 struct packet_opened *opened)
{
	struct service *service = listener->service;
	struct assocs *assocs = &service->engine->assocs;
	struct packet_front front;
	struct assoc *a;

	if (packet_begin(&service->key, bytes, n, &front) < 0) {
		log_stranger(piece);
		return NULL;
	}
	a = front.has_id ? assoc_find_id(assocs, service, front.id)
			 : assoc_find_client(assocs, service, listener->number, &piece->from);
	if (packet_open(&service->key, NULL, a && front.has_id ? &a->peers[0] : fresh, &front,
			bytes, n, opened) < 0) {
		log_stranger(piece);
		return NULL;
	}
	service->traffic->up += n;
	endpoint_normalise(&opened->address);
	if (!endpoint_resolvable(&opened->address))
		return NULL;
	return whose(a, listener, piece, front.has_id ? fresh : NULL);
}

static void up_sealed(struct listener *listener, const struct datagram *piece, unsigned char *bytes,
		      size_t n)
{
	struct packet_peer fresh = { .known = false };
	struct packet_opened opened;
	struct assoc *a = open_sealed(listener, piece, bytes, n, &fresh, &opened);

	sodium_memzero(fresh.subkey, sizeof fresh.subkey);
	if (!a)
		return;
	note_port(a, opened.address.port);
	count_up(a, opened.n);
	outward_send(a, &opened.address, opened.payload, opened.n);
}

/* Up, at a client: from an application. */

static void send_to_hop(struct assoc *a, unsigned char *packet, size_t n)
{
	int fd;

	if (!fits(a->service, &a->hop, n)) {
		datagram_too_large();
		return;
	}
	fd = assoc_far(a, family_of(&a->hop), &a->hop);
	if (fd < 0)
		outward_failed(a, errno);
	else
		datagram_send(fd, NULL, NULL, NULL, 0, packet, n);
}

static const struct endpoint *server_of(const struct assoc *a)
{
	return upstream_udp(upstream_of_datagrams(a->service->upstreams));
}

/* Take the first address of the server's that a socket can be connected to. */
static bool take_hop(struct assoc *a, const struct answer *answer)
{
	for (unsigned i = 0; i < answer->count; i++) {
		const struct address *address = &answer->addresses[i];
		union inet hop;

		if (!socket_may_reach(a->service->sockets, address) ||
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

	for (struct list *l = a->parcels.next, *next; l != &a->parcels; l = next) {
		struct parcel *parcel = container_of(l, struct parcel, link);
		size_t n;

		next = l->next;
		if (parcel->done)
			continue;
		if (known) {
			unsigned char *packet = parcel_unpack(parcel, NULL, &n);

			send_to_hop(a, packet, n);
		}
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

void carry_by_upstream(struct assoc *a, const struct endpoint *target, unsigned char *bytes,
		       size_t n)
{
	size_t length;
	unsigned char *packet;

	look_up_hop(a);
	packet = packet_seal(a->key, &a->own, NULL, target, bytes, n, &length);
	if (has_hop(a))
		send_to_hop(a, packet, length);
	else
		parcel_keep(a, packet, length);
}

static void up_plain(struct listener *listener, const struct datagram *piece, unsigned char *bytes,
		     size_t n)
{
	struct service *service = listener->service;
	struct endpoint target;
	struct assoc *a;

	if (!service->role->datagram_target(service, piece, &bytes, &n, &target))
		return;
	a = assoc_find_client(&service->engine->assocs, service, listener->number, &piece->from);
	a = whose(a, listener, piece, NULL);
	if (!a)
		return;
	note_port(a, target.port);
	count_up(a, n);
	outward_send(a, &target, bytes, n);
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
	struct address client;
	uint32_t at = 0;

	address_from_socket(&client, &piece->from.any);
	if (!route_admits(listener->service, &client, true))
		return;
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

/* To the client, from where it has written to; or from the source itself, as if nothing were
 * between. */
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

/* At a client: from a target. */
static void answer(struct assoc *a, const struct endpoint *source, unsigned char *bytes, size_t n)
{
	unsigned char dress[DATAGRAM_DRESS_MAX];
	size_t dress_len = a->service->role->datagram_dress(source, dress);

	if (dress_len + n > DATAGRAM_MAX) {
		datagram_too_large();
		return;
	}
	count_down(a, n);
	send_to_client(a, source, dress, dress_len, bytes, n);
}

static void down_sealed(struct assoc *a, unsigned char *bytes, size_t n)
{
	struct packet_opened opened;

	if (packet_open_answer(a->key, &a->own, a->peers, reactor_now(), bytes, n, &opened) == 0)
		answer(a, &opened.address, opened.payload, opened.n);
}

/* What came to the far socket `far`. */
static void down(struct assoc *a, int far, const struct datagram *piece)
{
	bool server = a->service->role->near_sealed;
	struct endpoint from;
	uint32_t at = 0;

	endpoint_from_socket(&from, &piece->from.any);
	do {
		uint32_t n = piece->n - at < piece->segment ? piece->n - at : piece->segment;
		unsigned char *bytes = piece->bytes + at;

		if (server)
			down_plain(a, &from, with_room(piece, bytes, n), n);
		else if (far >= FAR_DIRECT)
			answer(a, &from, bytes, n);
		else
			down_sealed(a, bytes, n);
		at += n;
	} while (at < piece->n);
}

static void far_woken(struct assoc *a, int far)
{
	struct source *source = &a->far[far];
	struct datagram *pieces;
	int n;

	for (int taken = 0; taken < TURN; taken += n) {
		n = datagram_receive(source, &a->batch[far], &pieces);
		if (n == 0)
			return;
		for (int i = 0; i < n; i++)
			down(a, far, &pieces[i]);
	}
	reactor_again(source);
}

/* One for each, since a source does not know which it is. */

static void far4_woken(struct source *source)
{
	far_woken(container_of(source, struct assoc, far[FAR_IPV4]), FAR_IPV4);
}

static void far6_woken(struct source *source)
{
	far_woken(container_of(source, struct assoc, far[FAR_IPV6]), FAR_IPV6);
}

static void direct4_woken(struct source *source)
{
	far_woken(container_of(source, struct assoc, far[FAR_DIRECT]), FAR_DIRECT);
}

static void direct6_woken(struct source *source)
{
	far_woken(container_of(source, struct assoc, far[FAR_DIRECT + 1]), FAR_DIRECT + 1);
}

void (*const carry_far_woken[])(struct source *) = {
	[FAR_IPV4] = far4_woken,
	[FAR_IPV6] = far6_woken,
	[FAR_DIRECT] = direct4_woken,
	[FAR_DIRECT + 1] = direct6_woken,
};
