/*
 * See guise.h. Whose address it is decides the peer of our server, or who forges that: so an
 * address of this machine is never taken, and a flood of sources costs a socket each and no more
 * memory.
 */
#include "net/guise.h"

#include "core/reactor.h"
#include "net/socket.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { UNUSED_FOR = 60000 /* ms */ };

int guises_open(struct guises *guises, unsigned mark)
{
	*guises = (struct guises){ .mark = mark };
	list_init(&guises->order);
	return slab_open(&guises->slab, sizeof(struct guise), GUISES);
}

static bool is_open(const struct guises *guises)
{
	return guises->slab.base;
}

void guises_close(struct guises *guises)
{
	if (!is_open(guises))
		return;
	guises_drop(guises);
	slab_close(&guises->slab);
	*guises = (struct guises){ .mark = 0 };
}

static struct guise **bucket(struct guises *guises, const union inet *from)
{
	const unsigned char *ip = (const void *)&from->v6.sin6_addr;
	uint32_t hash = from->v4.sin_port, n = sizeof from->v6.sin6_addr;

	if (from->any.sa_family == AF_INET) {
		ip = (const void *)&from->v4.sin_addr;
		n = sizeof from->v4.sin_addr;
	}
	for (uint32_t i = 0; i < n; i++)
		hash = (hash ^ ip[i]) * 16777619u;
	return &guises->buckets[(hash >> 16) % GUISE_BUCKETS];
}

static void drop(struct guises *guises, struct guise *guise)
{
	struct guise **at = bucket(guises, &guise->from);

	while (*at != guise)
		at = &(*at)->next;
	*at = guise->next;
	list_remove(&guise->link);
	datagram_leave(guise->fd);
	close(guise->fd);
	slab_give(&guises->slab, guise);
}

static struct guise *oldest(const struct guises *guises)
{
	return container_of(guises->order.next, struct guise, link);
}

void guises_drop(struct guises *guises)
{
	while (is_open(guises) && !list_empty(&guises->order))
		drop(guises, oldest(guises));
}

void guises_rest(struct guises *guises, uint64_t now)
{
	while (is_open(guises) && !list_empty(&guises->order) &&
	       now - oldest(guises)->used >= UNUSED_FOR)
		drop(guises, oldest(guises));
}

/* No descriptor was left: the oldest of ours goes. False: that is not it, or there is none. */
static bool make_room(struct guises *guises)
{
	if ((errno != EMFILE && errno != ENFILE) || list_empty(&guises->order))
		return false;
	drop(guises, oldest(guises));
	return true;
}

/* An address that a datagram can come from, and that is not ours to lose. */
static bool can_be(struct guises *guises, const struct address *source)
{
	uint8_t first = source->ip[0];
	int ours;

	if (address_is_any(source))
		return false;
	if (source->family == 4 ? first == 0 || first == 127 || first >= 224 : first == 0xff)
		return false;
	do
		ours = socket_is_ours(source);
	while (ours < 0 && make_room(guises));
	return ours == 0;
}

static int open_guise(struct guises *guises, const union inet *from)
{
	int fd;

	do
		fd = socket_send_from(&from->any, inet_len(from), guises->mark);
	while (fd < 0 && make_room(guises));
	return fd;
}

static struct guise *new_guise(struct guises *guises, const union inet *from)
{
	struct guise **at = bucket(guises, from), *guise;

	if (guises->slab.live == GUISES)
		drop(guises, oldest(guises));
	int fd = open_guise(guises, from);

	if (fd < 0)
		return NULL;
	guise = slab_take(&guises->slab);
	guise->fd = fd;
	guise->from = *from;
	guise->next = *at;
	*at = guise;
	list_append(&guises->order, &guise->link);
	return guise;
}

static struct guise *find(struct guises *guises, const union inet *from)
{
	struct guise *guise = *bucket(guises, from);

	while (guise && !inet_equal(&guise->from, from))
		guise = guise->next;
	return guise;
}

/* A client of a socket for both families writes IPv4 as IPv6. */
static bool client_of(const union inet *client, int family, union inet *to)
{
	struct sockaddr_storage plain;
	struct address address;
	uint16_t port = address_from_socket(&address, &client->any);

	*to = *client;
	if (address.family == 4) {
		socklen_t n = address_socket(&address, port, &plain);

		memcpy(to, &plain, n);
	}
	return to->any.sa_family == family;
}

int guise_take(struct guises *guises, const struct endpoint *source, const union inet *client,
	       union inet *to)
{
	struct sockaddr_storage storage;
	struct address address;
	struct guise *guise;
	union inet from;
	socklen_t n;

	errno = EADDRNOTAVAIL;
	if (source->port == 0 || !endpoint_address(source, &address))
		return -1;
	memset(&from, 0, sizeof from);
	n = address_socket(&address, source->port, &storage);
	memcpy(&from, &storage, n);
	errno = EAFNOSUPPORT;
	if (!client_of(client, from.any.sa_family, to))
		return -1;
	guise = find(guises, &from);
	errno = EADDRNOTAVAIL;
	if (!guise && can_be(guises, &address))
		guise = new_guise(guises, &from);
	if (!guise)
		return -1;
	guise->used = reactor_now();
	list_remove(&guise->link);
	list_append(&guises->order, &guise->link);
	return guise->fd;
}
