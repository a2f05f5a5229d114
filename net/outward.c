/*
 * See outward.h. A datagram whose name is not known yet waits in a parcel, with its target.
 */
#include "net/outward.h"

#include "core/log.h"
#include "net/assoc.h"
#include "net/carry.h"
#include "net/engine.h"
#include "net/parcel.h"
#include "net/route.h"
#include "net/service.h"
#include "net/socket.h"

#include <errno.h>
#include <string.h>

void outward_failed(const struct assoc *a, int error)
{
	char client[ENDPOINT_TEXT];

	log_peer(LOG_KIND_CONNECT, "udp %s: cannot send: %s",
		 assoc_client(a, client, sizeof client), strerror(error));
}

/* A client's own port: it would take the datagram for one of another application. */
static bool loops(const struct assoc *a, const union inet *to)
{
	struct endpoint at;

	endpoint_from_socket(&at, &to->any);
	if (a->service->role->near_sealed || !service_listens_at(a->service, &at, true))
		return false;
	route_loop(a->service, &at);
	return true;
}

static void send_to_target(struct assoc *a, const union inet *to, unsigned char *bytes, size_t n)
{
	int family = to->any.sa_family == AF_INET6 ? FAR_IPV6 : FAR_IPV4;
	int fd;

	if (loops(a, to))
		return;
	fd = assoc_far(a, a->service->role->near_sealed ? family : FAR_DIRECT + family, NULL);
	if (fd < 0)
		outward_failed(a, errno);
	else
		datagram_send(fd, to, NULL, NULL, 0, bytes, n);
}

/* The first address of a name that may be used; false if there is none. */
static bool choose(const struct service *service, const struct answer *answer, uint32_t skip,
		   uint16_t port, union inet *to)
{
	for (unsigned i = 0; i < answer->count; i++)
		if (!(skip >> i & 1) && socket_may_reach(service->sockets, &answer->addresses[i]))
			return inet_from_address(&answer->addresses[i], port, to);
	return false;
}

/* The look-up of the target's name has ended. */
static void send_named(const struct parcel *parcel, const struct endpoint *target,
		       unsigned char *bytes, size_t n)
{
	struct assoc *a = parcel->assoc;
	const struct lookup *lookup = &parcel->lookup;
	struct route route = route_resolved(a->service, target, lookup);
	union inet to;

	if (route.verdict == ACL_REFUSE)
		route_refused(target, &route);
	else if (route.verdict == ACL_PROXY)
		carry_by_upstream(a, target, bytes, n);
	else if (lookup->status == RESOLVE_OK &&
		 choose(a->service, lookup->answer, route.skip, target->port, &to))
		send_to_target(a, &to, bytes, n);
}

static void target_known(struct parcel *parcel)
{
	struct endpoint target;
	unsigned char *bytes;
	size_t n;

	bytes = parcel_unpack(parcel, &target, &n);
	send_named(parcel, &target, bytes, n);
	parcel_drop(parcel);
}

/* A name that is known already takes no detour. */
static void send_to_name(struct assoc *a, const struct endpoint *target, unsigned char *bytes,
			 size_t n)
{
	struct parcel *parcel = parcel_keep(a, NULL, 0);

	if (!parcel)
		return;
	if (parcel_ask(parcel, target->host, target_known) != RESOLVE_PENDING) {
		send_named(parcel, target, bytes, n);
		parcel_drop(parcel);
	} else if (!parcel_fill(parcel, target, bytes, n)) {
		parcel_drop(parcel);
	}
}

void outward_send(struct assoc *a, const struct endpoint *target, unsigned char *bytes, size_t n)
{
	struct route route = route_target(a->service, target);
	union inet to;

	if (route.verdict == ACL_REFUSE)
		route_refused(target, &route);
	else if (route.verdict == ACL_PROXY)
		carry_by_upstream(a, target, bytes, n);
	else if (target->type == ENDPOINT_NAME)
		send_to_name(a, target, bytes, n);
	else if (inet_from_endpoint(target, &to))
		send_to_target(a, &to, bytes, n);
}
