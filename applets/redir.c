/*
 * ss-redir: a transparent proxy. What a router's rules turn to it goes, through a shadowsocks
 * server, to where it was bound for, and neither side need know. TCP by REDIRECT, or with -T by
 * TPROXY; datagrams by TPROXY, and answers come from whom the client wrote to.
 *
 * What we open ourselves carries a mark, which rules spare, or it would come back to us. Rules that
 * do not spare it are seen by what they turn to us: what was bound for our own listener, or what
 * this machine sends to our server. Each rule of `dscp` is a service of its own, with a port of its
 * own.
 */
#include "applets/redir.h"

#include "applets/applet.h"
#include "core/log.h"
#include "core/process.h"
#include "net/origdst.h"
#include "net/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a service of ours needs besides. */
struct redir {
	bool divert; /* TCP comes by TPROXY */
	struct socket_options sockets;
	struct endpoint at; /* where it listens */
};

static bool same_endpoint(const struct endpoint *a, const struct endpoint *b)
{
	return a->type == b->type && a->port == b->port && a->len == b->len &&
	       memcmp(a->host, b->host, a->len) == 0;
}

static void answered(struct lookup *lookup)
{
	(void)lookup;
}

/* Is this one of the addresses of a name that is known at once? */
static bool is_address_of(const struct endpoint *name, const struct endpoint *target)
{
	struct lookup lookup = { 0 };
	struct endpoint one;
	bool found = false;

	if (resolve_start(&lookup, name->host, answered) == RESOLVE_OK) {
		for (unsigned i = 0; !found && i < lookup.answer->count; i++) {
			endpoint_from_address(&one, &lookup.answer->addresses[i], name->port);
			found = same_endpoint(&one, target);
		}
	}
	resolve_release(&lookup);
	return found;
}

static bool is_upstream(const struct service *service, const struct endpoint *target)
{
	for (unsigned i = 0; i < service->upstreams->count; i++) {
		const struct endpoint *where = &service->upstreams->all[i].where;

		if (where->port != target->port)
			continue;
		if (where->type == ENDPOINT_NAME ? is_address_of(where, target)
						 : same_endpoint(where, target))
			return true;
	}
	return false;
}

/* Why it must not be relayed, or NULL. */
static const char *loop(const struct service *service, const struct endpoint *target,
			const struct address *peer, bool datagram)
{
	if (target->type == ENDPOINT_NONE || target->port == 0)
		return "has no destination";
	if (service_listens_at(service, target, datagram))
		return "was sent to this port itself, not turned to it";
	if (is_upstream(service, target) && socket_is_ours(peer) != 0)
		return "is what this machine sends to our server: the rules must spare its mark "
		       "(fwmark)";
	return NULL;
}

static enum step refuse(struct session *s, const char *what)
{
	char peer[ENDPOINT_TEXT], target[ENDPOINT_TEXT] = "-";

	s->why = WHY_REFUSED;
	if (s->target.type != ENDPOINT_NONE)
		endpoint_print(&s->target, target, sizeof(target));
	log_peer(LOG_KIND_REFUSED, "%s -> %s: refused: it %s", session_peer(s, peer, sizeof(peer)),
		 target, what);
	return FAIL;
}

static enum step take_target(struct session *s)
{
	const struct redir *redir = s->service->own;
	struct sockaddr_storage to;
	const char *why;

	if (!origdst_of(s->near.fd, redir->divert, &to))
		return refuse(s, "was not turned to us by any rule");
	endpoint_from_socket(&s->target, (struct sockaddr *)&to);
	why = loop(s->service, &s->target, &s->peer, false);
	if (why)
		return refuse(s, why);
	session_trust(s);
	return DONE;
}

static bool datagram_target(struct service *service, const struct datagram *piece,
			    unsigned char **bytes, size_t *n, struct endpoint *target)
{
	char from[ENDPOINT_TEXT], to[ENDPOINT_TEXT];
	struct address address, peer;
	const char *why;

	(void)bytes, (void)n;
	if (piece->to.family == 0)
		return false;
	address_set(&address, piece->to.family, piece->to.ip);
	endpoint_from_address(target, &address, piece->to.port);
	address_from_socket(&peer, &piece->from.any);
	why = loop(service, target, &peer, true);
	if (why)
		log_peer(LOG_KIND_REFUSED, "udp %s -> %s: dropped: it %s",
			 socket_print(&piece->from.any, true, from, sizeof(from)),
			 endpoint_print(target, to, sizeof(to)), why);
	return !why;
}

static size_t datagram_dress(const struct endpoint *source, unsigned char *to)
{
	(void)source, (void)to;
	return 0;
}

static const struct role redir_role = {
	.name = "ss-redir",
	.target = take_target,
	.near_sealed = false,
	.datagram_target = datagram_target,
	.datagram_dress = datagram_dress,
	.answers_as_source = true,
	.answers_mark = REDIR_MARK,
};

static void need(const char *what, bool divert, bool datagrams)
{
	const char *why = origdst_lacks(divert, datagrams);

	if (why)
		die("%s %s", what, why);
}

/* Without CAP_NET_ADMIN, which is kept when the user changes, nothing can be marked, and nothing
 * can be taken by TPROXY; REDIRECT goes on. Other systems know no marks. */
static void look_at_rights(const struct settings *settings)
{
	process_keep_marking();
	if (settings->mode != MODE_UDP_ONLY)
		need(settings->tproxy ? "-T" : "TCP", settings->tproxy, false);
	if (settings->mode != MODE_TCP_ONLY)
		need("UDP", false, true);
	if (!settings->tproxy && origdst_open() < 0)
		log_warn("cannot ask where connections were bound for: %s", strerror(errno));
	if (!settings->socket.mark && !process_may_mark())
		log_warn("connections will not be marked (that takes Linux, and CAP_NET_ADMIN): "
			 "rules must spare the server's address");
}

static unsigned mark_of(const struct settings *settings)
{
	if (settings->socket.mark)
		return settings->socket.mark;
	return process_may_mark() ? REDIR_MARK : 0;
}

static void configure(struct service *service, const struct settings *settings, unsigned i)
{
	struct redir *redir = calloc(1, sizeof(*redir));

	if (!redir)
		die("no memory for the services");
	if (i == 0)
		look_at_rights(settings);
	client_configure(service, settings, 0);
	redir->divert = settings->tproxy;
	redir->sockets = settings->socket;
	redir->sockets.transparent = settings->tproxy;
	redir->sockets.transparent_datagrams = true;
	/* The system does not tell where a connection of several paths was bound for. */
	redir->sockets.near_single = true;
	redir->sockets.mark = mark_of(settings);
	redir->at = settings->local;
	if (i > 0) {
		redir->at.port = settings->dscp[i - 1].port;
		redir->sockets.dscp = settings->dscp[i - 1].dscp;
	}
	service->sockets = &redir->sockets;
	service->own = redir;
}

static unsigned count(const struct settings *settings)
{
	return 1 + settings->dscp_rules;
}

static unsigned listen_on(const struct service *service, const struct settings *settings,
			  unsigned i, const struct endpoint **at)
{
	const struct redir *redir = service->own;

	(void)settings, (void)i;
	*at = &redir->at;
	return 1;
}

static void forget(struct service *service)
{
	free((void *)(uintptr_t)service->own);
}

int redir_main(int argc, char **argv)
{
	static const struct applet_kind kind = {
		.program = PROGRAM_REDIR,
		.role = &redir_role,
		.listening = "listening at",
		.listening_udp = "UDP relay enabled at",
		.configure = configure,
		.listen_on = listen_on,
		.count = count,
		.forget = forget,
	};

	return applet_run(&kind, argc, argv);
}
