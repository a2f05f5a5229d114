/*
 * See assoc.h. The table: a hash over what an association is found by, which peers cannot foresee.
 * The order of use is brought up to date once a second for each, so that a busy one costs nothing.
 */
#include "net/assoc.h"

#include "core/log.h"
#include "core/pages.h"
#include "net/carry.h"
#include "net/control.h"
#include "net/engine.h"
#include "net/parcel.h"
#include "net/service.h"
#include "net/socket.h"
#include "net/users.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

enum {
	/* closed ones whose memory is not free before the turn ends; or as many as live */
	SPARE = 1024,
	LISTED_FOR = 1000,     /* ms until a place in the order is looked after again */
	QUESTION_LIFE = 17000, /* ms of one that asked a name server once */
	HASH = crypto_shorthash_BYTES
};

int assocs_open(struct assocs *assocs, uint32_t max)
{
	*assocs = (struct assocs){ .max = max, .bucket_count = 16 };
	list_init(&assocs->order);
	while (assocs->bucket_count < max)
		assocs->bucket_count *= 2;
	randombytes_buf(assocs->hash_key, sizeof assocs->hash_key);
	if (slab_open(&assocs->slab, sizeof(struct assoc), max + (max < SPARE ? max : SPARE)) < 0)
		return -1;
	assocs->buckets = pages_reserve(assocs->bucket_count * sizeof(struct assoc *));
	if (!assocs->buckets) {
		slab_close(&assocs->slab);
		return -1;
	}
	return 0;
}

static struct assoc *oldest(const struct assocs *assocs)
{
	return list_empty(&assocs->order) ? NULL
					  : container_of(assocs->order.next, struct assoc, link);
}

void assocs_end(struct assocs *assocs)
{
	while (!list_empty(&assocs->order))
		assoc_close(oldest(assocs), "program ends");
}

void assocs_close(struct assocs *assocs)
{
	if (!assocs->buckets)
		return;
	pages_release(assocs->buckets, assocs->bucket_count * sizeof(struct assoc *));
	slab_close(&assocs->slab);
	assocs->buckets = NULL;
}

/* Finding. */

/* What a client's address is, and no more: the bytes of a union inet that count. */
struct address_key {
	const struct service *service;
	uint16_t port;
	uint8_t listener, family;
	unsigned char ip[16];
	uint32_t scope;
};

struct id_key {
	const struct service *service;
	unsigned char id[PACKET_ID];
};

static struct assoc **bucket(struct assocs *assocs, const void *key, size_t n)
{
	unsigned char hash[HASH];
	uint32_t number;

	crypto_shorthash(hash, key, n, assocs->hash_key);
	memcpy(&number, hash, sizeof number);
	return &assocs->buckets[number & (assocs->bucket_count - 1)];
}

static struct assoc **bucket_of_id(struct assocs *assocs, const struct service *service,
				   const unsigned char *id)
{
	struct id_key key;

	memset(&key, 0, sizeof key);
	key.service = service;
	memcpy(key.id, id, PACKET_ID);
	return bucket(assocs, &key, sizeof key);
}

static struct assoc **bucket_of_client(struct assocs *assocs, const struct service *service,
				       uint8_t listener, const union inet *client)
{
	struct address_key key;

	memset(&key, 0, sizeof key); /* also what lies between the members */
	key.service = service;
	key.listener = listener;
	key.family = client->any.sa_family == AF_INET6 ? 6 : 4;
	if (key.family == 6) {
		key.port = client->v6.sin6_port;
		key.scope = client->v6.sin6_scope_id;
		memcpy(key.ip, &client->v6.sin6_addr, sizeof key.ip);
	} else {
		key.port = client->v4.sin_port;
		memcpy(key.ip, &client->v4.sin_addr, sizeof client->v4.sin_addr);
	}
	return bucket(assocs, &key, sizeof key);
}

struct assoc *assoc_find_id(struct assocs *assocs, const struct service *service,
			    const unsigned char id[PACKET_ID])
{
	struct assoc *a = *bucket_of_id(assocs, service, id);

	while (a &&
	       !(a->by_id && a->service == service && memcmp(a->peers[0].id, id, PACKET_ID) == 0))
		a = a->next;
	return a;
}

struct assoc *assoc_find_client(struct assocs *assocs, const struct service *service,
				uint8_t listener, const union inet *client)
{
	struct assoc *a = *bucket_of_client(assocs, service, listener, client);

	while (a && !(!a->by_id && a->service == service && a->listener == listener &&
		      inet_equal(&a->client, client)))
		a = a->next;
	return a;
}

static struct assoc **bucket_of(struct assoc *a)
{
	struct assocs *assocs = &a->service->engine->assocs;

	if (a->by_id)
		return bucket_of_id(assocs, a->service, a->peers[0].id);
	return bucket_of_client(assocs, a->service, a->listener, &a->client);
}

static void unlist(struct assoc *a)
{
	struct assoc **at = bucket_of(a);

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
}

/* Life. */

const char *assoc_client(const struct assoc *a, char *to, size_t n)
{
	return socket_print(&a->client.any, true, to, n);
}

struct user *assoc_user(const struct assoc *a)
{
	return a->by_id ? a->peers[0].user : NULL;
}

/* A name server's answer is all that comes; who asks again does so from another port. */
static uint64_t life(const struct assoc *a)
{
	uint64_t all = a->service->assoc_time;

	return a->question && !a->by_id && all > QUESTION_LIFE ? QUESTION_LIFE : all;
}

static void close_fars(struct assoc *a)
{
	for (int i = 0; i < FARS; i++) {
		if (a->far[i].fd < 0)
			continue;
		datagram_leave(a->far[i].fd);
		reactor_forget(&a->far[i]);
		a->service->engine->assocs.far_live--;
	}
}

/* Lazy: datagrams only leave their time. A session must be remembered for a while, but of one
 * that asked a name server once the socket goes earlier. */
static void timer_fired(struct timer *timer)
{
	struct assoc *a = container_of(timer, struct assoc, timer);
	uint64_t now = reactor_now(), end = a->moved + life(a);

	if (a->question && a->by_id && end > a->moved + QUESTION_LIFE) {
		if (now >= a->moved + QUESTION_LIFE)
			close_fars(a);
		else
			end = a->moved + QUESTION_LIFE;
	}
	if (now >= end)
		assoc_close(a, "timed out");
	else
		reactor_after(timer, end - now);
}

static void bury(struct burial *burial)
{
	struct assoc *a = container_of(burial, struct assoc, burial);

	struct service *service = a->service;

	slab_give(&service->engine->assocs.slab, a);
	service_release(service);
}

struct assoc *assoc_new(struct service *service, uint8_t listener, const union inet *client,
			const struct packet_peer *peer)
{
	struct assocs *assocs = &service->engine->assocs;
	struct assoc *a;

	if (assocs->slab.live == assocs->slab.max) /* of those closed in this turn */
		return NULL;
	while (assocs->live >= assocs->max) {
		assocs->evicted++;
		assoc_close(oldest(assocs), "made room for others");
	}
	a = slab_take(&assocs->slab);
	a->service = service;
	a->listener = listener;
	a->client = *client;
	a->key = service->role->near_sealed ? &service->key
					    : &upstream_of_datagrams(service->upstreams)->key;
	if (peer) {
		a->by_id = true;
		a->peers[0] = *peer;
		if (peer->user)
			user_hold(peer->user);
	}
	for (int i = 0; i < FARS; i++)
		a->far[i].fd = -1;
	a->burial.bury = bury;
	a->began = a->moved = a->listed = reactor_now();
	list_init(&a->bound);
	list_init(&a->parcels);
	list_append(&assocs->order, &a->link);
	struct assoc **at = bucket_of(a);
	a->next = *at;
	*at = a;
	assocs->live++;
	service->assocs++;
	service->uses++;
	timer_init(&a->timer, timer_fired);
	reactor_after(&a->timer, life(a) < QUESTION_LIFE ? life(a) : QUESTION_LIFE);
	engine_stir(service->engine);
	control_bind(&service->engine->controls, a);
	return a;
}

void assoc_touch(struct assoc *a)
{
	struct engine *engine = a->service->engine;

	a->moved = reactor_now();
	if (a->moved - a->listed < LISTED_FOR)
		return;
	a->listed = a->moved;
	list_remove(&a->link);
	list_append(&engine->assocs.order, &a->link);
	control_bind(&engine->controls, a);
}

/* Opened under the ceiling: of sockets, too, there are no more than of associations. */
static int open_far(struct assoc *a, const union inet *to, bool connected)
{
	struct assocs *assocs = &a->service->engine->assocs;
	bool whole = a->service->mtu && connected; /* to the server */
	int fd;

	while (assocs->far_live >= assocs->max && oldest(assocs) != a) {
		assocs->evicted++;
		assoc_close(oldest(assocs), "made room for others");
	}
	do
		fd = socket_send_to(&to->any, inet_len(to), connected, a->service->sockets, whole);
	while (fd < 0 && (errno == EMFILE || errno == ENFILE) && oldest(assocs) != a &&
	       (assoc_close(oldest(assocs), "made room for others"), true));
	return fd;
}

int assoc_far(struct assoc *a, int which, const union inet *to)
{
	static const union inet any[] = {
		[FAR_IPV4].v4.sin_family = AF_INET, [FAR_IPV6].v6.sin6_family = AF_INET6
	};
	struct source *far = &a->far[which];
	int fd;

	if (far->fd >= 0)
		return far->fd;
	assoc_touch(a);
	list_remove(&a->link); /* not the one that makes room for itself */
	list_append(&a->service->engine->assocs.order, &a->link);
	fd = open_far(a, to ? to : &any[which % FAR_DIRECT], to);
	if (fd < 0)
		return -1;
	if (reactor_watch_input(far, fd, carry_far_woken[which]) < 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	a->service->engine->assocs.far_live++;
	return fd;
}

static void log_end(const struct assoc *a, const char *why)
{
	char client[ENDPOINT_TEXT];

	if (!log_verbose())
		return;
	log_debug("udp %s: %u datagrams and %llu bytes up, %u and %llu down, %llu s: %s",
		  assoc_client(a, client, sizeof client), a->up_count,
		  (unsigned long long)a->up_bytes, a->down_count, (unsigned long long)a->down_bytes,
		  (unsigned long long)(reactor_now() - a->began) / 1000, why);
}

void assoc_close(struct assoc *a, const char *why)
{
	struct assocs *assocs = &a->service->engine->assocs;

	if (a->closed)
		return;
	a->closed = true;
	log_end(a, why);
	close_fars(a);
	reactor_cancel(&a->timer);
	parcels_drop(a);
	resolve_release(&a->lookup);
	control_unbind(a);
	unlist(a);
	list_remove(&a->link);
	a->service->assocs--;
	user_leave(assoc_user(a), a->up_bytes, a->down_bytes);
	sodium_memzero(&a->own, sizeof a->own);
	sodium_memzero(a->peers, sizeof a->peers);
	assocs->live--;
	reactor_bury(&a->burial);
}
