/*
 * See route.h.
 *
 *	near side sealed	allow, or refuse (a server)
 *	far side sealed		by an upstream, or direct: both sides are plain then, both flows copy
 */
#include "net/route.h"

#include "core/log.h"
#include "net/dns.h"
#include "net/engine.h"
#include "net/plugin.h"
#include "net/service.h"
#include "net/session.h"

#include <stdio.h>
#include <string.h>

_Static_assert(RESOLVE_ADDRESSES <= 32, "an address is a bit of route.skip");

/* Without a list, and what becomes of names that have no address. */
static enum acl_verdict usual(const struct service *service)
{
	return service->role->near_sealed ? ACL_ALLOW : ACL_PROXY;
}

/* Is a name without a dot blocked as what the search list may make of it? */
static bool blocked_within(const struct acl *acl, const struct endpoint *target, unsigned *line)
{
	int n = target->len;
	const char *suffix;

	if (target->type != ENDPOINT_NAME)
		return false;
	n -= n > 1 && target->host[n - 1] == '.';
	if (memchr(target->host, '.', (size_t)n))
		return false;
	for (unsigned i = 0; (suffix = dns_suffix(i)); i++) {
		struct endpoint full = { .type = ENDPOINT_NAME };
		int length =
			snprintf(full.host, sizeof(full.host), "%.*s.%s", n, target->host, suffix);

		full.len = (uint8_t)length;
		if (length <= ENDPOINT_NAME_MAX &&
		    acl_outbound(acl, &full, NULL, line) == ACL_REFUSE && *line > 0)
			return true;
	}
	return false;
}

static enum acl_verdict ask(const struct service *service, const struct endpoint *target,
			    const struct address *resolved, unsigned *line)
{
	if (!service->role->near_sealed)
		return acl_target(*service->rules, target, resolved, line);
	if (blocked_within(*service->rules, target, line))
		return ACL_REFUSE;
	return acl_outbound(*service->rules, target, resolved, line);
}

struct route route_target(const struct service *service, const struct endpoint *target)
{
	struct route route = { .verdict = usual(service) };

	if (service->rules)
		route.verdict = ask(service, target, NULL, &route.line);
	return route;
}

/* A client's target goes the way of its first address, a server's is refused if all are; the others
 * are left out. */
static struct route weigh(const struct service *service, const struct endpoint *target,
			  const struct answer *answer)
{
	struct route route = { .verdict = ACL_REFUSE };

	for (unsigned i = 0; i < answer->count; i++) {
		unsigned line;
		enum acl_verdict verdict = ask(service, target, &answer->addresses[i], &line);
		bool first = i == 0 || (route.verdict == ACL_REFUSE && verdict == ACL_ALLOW);

		if (first)
			route.verdict = verdict, route.line = line;
		if (verdict != route.verdict || verdict == ACL_REFUSE)
			route.skip |= (uint32_t)1 << i;
	}
	return route;
}

struct route route_resolved(const struct service *service, const struct endpoint *target,
			    const struct lookup *lookup)
{
	struct route route = route_target(service, target);

	if (route.verdict != ACL_BY_ADDRESS)
		return route;
	if (lookup->status != RESOLVE_OK)
		return (struct route){ .verdict = usual(service) };
	return weigh(service, target, lookup->answer);
}

bool route_admits(const struct service *service, const struct address *client, bool udp)
{
	struct sockaddr_storage address;
	char text[ENDPOINT_TEXT];
	unsigned line;

	if (!service->rules || !service->role->near_sealed || service_is_plugged(service, udp) ||
	    acl_client(*service->rules, client, &line) == ACL_ALLOW)
		return true;
	address_socket(client, 0, &address);
	log_peer(LOG_KIND_REFUSED, "%s: not served: access control list, line %u",
		 socket_print((struct sockaddr *)&address, false, text, sizeof(text)), line);
	return false;
}

void route_refused(const struct endpoint *target, const struct route *route)
{
	char text[ENDPOINT_TEXT];

	log_peer(LOG_KIND_REFUSED, "%s: refused: access control list, line %u",
		 endpoint_print(target, text, sizeof(text)), route->line);
}

void route_loop(const struct service *service, const struct endpoint *target)
{
	char text[ENDPOINT_TEXT];

	log_peer(LOG_KIND_REFUSED, "%s: refused: it is this %s itself",
		 endpoint_print(target, text, sizeof(text)),
		 service->role->near_sealed ? "server" : "program");
}

/* Sessions. */

static void dial_target(struct session *s, void (*changed)(struct dial *))
{
	/* Bytes that are there already may go with the first packet; others would have to wait for
	 * what the target says first. */
	bool early = s->service->role->near_sealed ? s->up.out > 0 : s->shake_len > 0;
	uint8_t share = service_share(s->service, &s->peer, s->peer_port, false);

	s->hop = &s->target;
	dial_start(&s->dial, s->hop, s->service->sockets, share, early, changed);
}

static void dial_upstream(struct session *s, void (*changed)(struct dial *))
{
	const struct upstream *upstream = upstream_choose(s->service->upstreams);

	s->hop = upstream_tcp(upstream);
	s->key = &upstream->key;
	flow_init(&s->up, true, FLOW_SEAL);
	flow_init(&s->down, false, FLOW_OPEN);
	/* The name of an upstream is our own question. The header follows soon; but a plugin begins
	 * with its own connection when it is reached by ours. */
	dial_start(&s->dial, s->hop, s->service->sockets, 0, s->hop == &upstream->where, changed);
}

static void log_way(const struct session *s, const struct route *route, const char *way)
{
	char peer[ENDPOINT_TEXT], target[ENDPOINT_TEXT];

	if (s->service->rules && log_verbose())
		log_debug("%s -> %s: %s: access control list, line %u",
			  session_peer(s, peer, sizeof(peer)),
			  endpoint_print(&s->target, target, sizeof(target)), way, route->line);
}

/* Go the way that was found. The target is being dialled already if it had to be looked up. */
static enum step go(struct session *s, const struct route *route, void (*changed)(struct dial *))
{
	bool dials = s->dial.changed;

	switch (route->verdict) {
	case ACL_REFUSE:
		s->why = WHY_REFUSED;
		route_refused(&s->target, route);
		return FAIL;
	case ACL_PROXY:
		log_way(s, route, "by the server");
		dial_end(&s->dial);
		dial_upstream(s, changed);
		return DONE;
	case ACL_DIRECT:
		flow_init(&s->up, true, FLOW_COPY);
		flow_init(&s->down, false, FLOW_COPY);
		log_way(s, route, "direct");
		break;
	default:
		flow_init(&s->down, false, FLOW_SEAL);
	}
	if (!dials)
		dial_target(s, changed);
	s->dial.skip = route->skip;
	return DONE;
}

enum step route_session(struct session *s, void (*changed)(struct dial *))
{
	struct route route = route_target(s->service, &s->target);

	s->dial.changed = NULL;
	s->undecided = route.verdict == ACL_BY_ADDRESS;
	if (!s->undecided)
		return go(s, &route, changed);
	dial_target(s, changed);
	return DONE;
}

uint64_t route_patience(const struct session *s)
{
	return s->service->role->near_sealed ? s->service->connect_time
					     : s->service->connect_time / 2;
}

enum step route_decide(struct session *s)
{
	bool late = !s->service->role->near_sealed && reactor_now() >= s->asked + route_patience(s);
	struct route route;

	if (s->dial.lookup.status == RESOLVE_PENDING && !late)
		return WAIT;
	s->undecided = false;
	if (late)
		s->asked = reactor_now();
	route = route_resolved(s->service, &s->target, &s->dial.lookup);
	return go(s, &route, s->dial.changed);
}

static bool is_own_target(const struct session *s)
{
	const struct service *service = s->service;

	if (s->hop != &s->target)
		return false;
	if (service_is_plugged(service, false) &&
	    service->plugin->servers[0].port == s->target.port)
		return service_is_reached_by(service, s->far.fd);
	for (unsigned i = 0; i < service->listener_count; i++)
		if (service->listeners[i].port == s->target.port)
			return service_is_reached_by(service, s->far.fd);
	return false;
}

bool route_loops(struct session *s)
{
	if (!is_own_target(s))
		return false;
	s->why = WHY_REFUSED;
	route_loop(s->service, &s->target);
	return true;
}
