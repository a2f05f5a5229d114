/*
 * Listeners: bound for each address of each service, before privileges go. And the look-ups that
 * this, or a start, waits for.
 */
#include "applets/running.h"

#include "core/log.h"
#include "core/reactor.h"
#include "net/plugin.h"
#include "net/resolve.h"

#include <errno.h>
#include <string.h>

bool applet_v6only(const struct endpoint *at, const struct endpoint *all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (all[i].type == ENDPOINT_IPV4 && all[i].port == at->port)
			return true;
	return false;
}

const char *applet_resolve(const struct endpoint *name, struct endpoint *literal)
{
	struct lookup lookup = { 0 };
	enum resolve_status status;

	*literal = *name;
	if (name->type != ENDPOINT_NAME)
		return NULL;
	status = resolve_wait(&lookup, name->host);
	if (status == RESOLVE_OK)
		endpoint_from_address(literal, &lookup.answer->addresses[0], name->port);
	resolve_release(&lookup);
	if (status == RESOLVE_OK)
		return NULL;
	return status == RESOLVE_NOT_FOUND ? "this is no address, and there is no such name"
					   : "this is no address, and no name server answers";
}

/* Listen on an address, or on the first address of a name. NULL, or why that failed. */
static const char *listen_on(struct service *service, const struct endpoint *at, bool only6,
			     int (*begin)(struct service *, const struct endpoint *, bool))
{
	struct endpoint literal;
	const char *why = applet_resolve(at, &literal);

	if (why)
		return why;
	return begin(service, &literal, only6) < 0 ? strerror(errno) : NULL;
}

/* The addresses of the i-th service; what comes through a plugin comes from here. */
static unsigned addresses(const struct applet *applet, unsigned i, bool udp,
			  const struct endpoint **at)
{
	const struct service *service = applet->services[i];

	if (service_is_plugged(service, udp)) {
		*at = &service->plugin->inner;
		return 1;
	}
	return applet->kind->listen_on(applet->services[i], &applet->settings, i, at);
}

/* Listen on each of the addresses of the i-th service; how many it could. */
static unsigned listen_on_each(struct applet *applet, unsigned i, const char *listening,
			       int (*begin)(struct service *, const struct endpoint *, bool))
{
	const struct endpoint *at;
	unsigned n = addresses(applet, i, begin == service_listen_datagrams, &at), could = 0;
	char text[ENDPOINT_TEXT];

	for (unsigned a = 0; a < n; a++) {
		struct service *service = applet->services[i];
		bool only6 = applet_v6only(&at[a], at, n);
		const char *why = listen_on(service, &at[a], only6, begin);

		endpoint_print(&at[a], text, sizeof(text));
		if (why) {
			log_warn("cannot listen on %s: %s", text, why);
			continue;
		}
		if (begin == service_listen && crew_listen(applet, service, only6) < 0)
			die("cannot listen on %s for each of %u workers: %s", text,
			    applet->settings.workers, strerror(errno));
		log_info("%s %s", listening, text);
		could++;
	}
	return could;
}

void applet_listen(struct applet *applet)
{
	unsigned listeners = 0;

	for (unsigned i = 0; i < applet->service_count; i++) {
		/* Datagrams first: whoever sees the program listen may send them at once. */
		if (applet_mode(applet, i) != MODE_TCP_ONLY)
			listeners += listen_on_each(applet, i, applet->kind->listening_udp,
						    service_listen_datagrams);
		if (applet_mode(applet, i) != MODE_UDP_ONLY)
			listeners +=
				listen_on_each(applet, i, applet->kind->listening, service_listen);
	}
	if (listeners == 0 && applet->service_count > 0)
		die("failed to listen on any address");
}

/* Nothing of ours goes to the server itself. */
static bool is_plugins_business(const struct applet *applet, const struct upstream *upstream)
{
	const struct plugin *plugin = upstream->plugin;
	enum mode mode = applet_mode(applet, 0);

	return plugin && (plugin->tcp || mode == MODE_UDP_ONLY) &&
	       (plugin->udp || mode == MODE_TCP_ONLY);
}

/* A server's name that does not exist is a mistake; one that nobody answers for may be known
 * later. */
void applet_check_upstreams(struct applet *applet)
{
	struct upstreams *upstreams = applet->service_count ? applet->services[0]->upstreams : NULL;

	for (unsigned i = 0; upstreams && i < upstreams->count && !reactor_stopping(); i++) {
		const struct endpoint *where = &upstreams->all[i].where;
		struct lookup lookup = { 0 };

		if (where->type != ENDPOINT_NAME || is_plugins_business(applet, &upstreams->all[i]))
			continue;
		switch (resolve_wait(&lookup, where->host)) {
		case RESOLVE_NOT_FOUND:
			die("failed to resolve the provided hostname: %s does not exist",
			    where->host);
		case RESOLVE_FAILED:
			log_warn("no name server answers for %s; trying on", where->host);
			break;
		default:
			break;
		}
		resolve_release(&lookup);
	}
}
