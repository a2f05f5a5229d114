/*
 * Services that follow the places of the settings while the program runs. Those whose places are as
 * they were are not touched. One that has changed but for its addresses is another service, which
 * takes over the listeners: nobody who connects meanwhile is refused, and no privilege is needed.
 * One that is not there any more listens no longer. In either case connections of before end when
 * they end, and then their service is freed. Called by applet.c on SIGHUP, where nothing may end
 * the program.
 */
#include "applets/running.h"

#include "applets/secret.h"
#include "core/log.h"
#include "core/reactor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_server(const struct applet *applet)
{
	return applet->kind->role->near_sealed;
}

/* What configure() does at the start. False: no memory. */
static bool configure(struct applet *applet, struct service *service, unsigned i)
{
	const struct settings_place *place = settings_place(&applet->settings, i);

	if (!is_server(applet)) {
		service->upstreams = client_upstreams(&applet->settings);
		for (unsigned u = 0; service->upstreams && u < service->upstreams->count; u++)
			applet_lend(applet, &service->upstreams->all[u].key);
		return service->upstreams;
	}
	if (secret_copy(&service->key, &place->key) < 0)
		return false;
	applet_lend(applet, &service->key);
	if (place->users)
		service->key.users = applet_users(place);
	return !place->users == !service->key.users;
}

static struct service *make(struct applet *applet, unsigned i, const struct service *old)
{
	struct service *service = malloc(sizeof(*service));

	if (!service)
		return NULL;
	applet_fill(applet, service);
	service->number = i;
	service->gone = applet_free_service;
	if (old) { /* what belongs to where it listens */
		service->own = old->own;
		service->sockets = old->sockets;
	}
	if (configure(applet, service, i) && service_init(service) == 0)
		return service;
	applet_free_service(service);
	return NULL;
}

/* --- listeners */

static bool wants(const struct applet *applet, unsigned i, bool udp)
{
	return applet_mode(applet, i) != (udp ? MODE_TCP_ONLY : MODE_UDP_ONLY);
}

static void bind_each(struct applet *applet, struct service *service, unsigned i, bool udp)
{
	const struct endpoint *at;
	unsigned n = applet->kind->listen_on(service, &applet->settings, i, &at);
	char text[ENDPOINT_TEXT];

	for (unsigned a = 0; a < n; a++) {
		bool only6 = applet_v6only(&at[a], at, n);
		int result = udp ? service_listen_datagrams(service, &at[a], only6)
				 : service_listen(service, &at[a], only6);

		endpoint_print(&at[a], text, sizeof(text));
		if (result < 0)
			log_error("cannot listen on %s: %s", text, strerror(errno));
		else
			log_info("%s %s",
				 udp ? applet->kind->listening_udp : applet->kind->listening, text);
	}
}

static void open_listeners(struct applet *applet, struct service *service, unsigned i)
{
	for (int udp = 1; udp >= 0; udp--) {
		if (!wants(applet, i, udp) ||
		    (udp ? service->datagram_count : service->listener_count))
			continue;
		if (udp && applet->limits.assocs == 0)
			log_error("UDP where there was none: that takes a new start");
		else
			bind_each(applet, service, i, udp);
	}
	if (service_start(service) < 0)
		log_error("cannot watch the listeners: %s", strerror(errno));
}

static void take_over(struct applet *applet, struct service *old, struct service *fresh, unsigned i)
{
	for (int udp = 0; udp < 2; udp++)
		if (wants(applet, i, udp) && (udp ? old->datagram_count : old->listener_count))
			service_hand_over(old, fresh, udp);
}

/* --- the way in */

/* The number of the old service that the i-th one is, or follows, plus 1; 0: none. */
static unsigned origin(const struct applet *applet, unsigned i, bool same)
{
	const struct settings_place *place = settings_place(&applet->settings, i);

	if (!is_server(applet)) /* each has all places as upstreams */
		return same ? 0 : i + 1;
	return same ? place->was : place->heir_of;
}

static unsigned count(const struct applet *applet)
{
	return is_server(applet) ? applet->kind->count(&applet->settings) : applet->service_count;
}

/* All that the new list needs; those that stay are in it. False: no memory, and nothing is
 * changed. */
static bool make_all(struct applet *applet, struct service **fresh, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned was = origin(applet, i, true), heir = origin(applet, i, false);

		fresh[i] = was ? applet->services[was - 1]
			       : make(applet, i, heir ? applet->services[heir - 1] : NULL);
		if (fresh[i])
			continue;
		while (i-- > 0)
			if (!origin(applet, i, true))
				applet_free_service(fresh[i]);
		return false;
	}
	return true;
}

/* Those that are in the new list are not in the old one any more. */
static void leave_out(struct applet *applet, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (origin(applet, i, true))
			applet->services[origin(applet, i, true) - 1] = NULL;
}

static void retire_rest(struct applet *applet)
{
	for (unsigned i = 0; i < applet->service_count; i++) {
		if (!applet->services[i])
			continue;
		applet->services[i]->gone = applet_free_service;
		service_retire(applet->services[i]);
	}
}

bool applet_change_places(struct applet *applet)
{
	unsigned n = count(applet), heir;
	struct service **fresh = calloc(n + 1, sizeof(*fresh));

	applet->settings.places_read = false;
	if (!fresh || !make_all(applet, fresh, n)) {
		log_error("no memory for other servers: the program ends");
		free(fresh);
		applet->status = 255;
		reactor_stop();
		return false;
	}
	leave_out(applet, n);
	for (unsigned i = 0; i < n; i++)
		if ((heir = origin(applet, i, false)) && !origin(applet, i, true))
			take_over(applet, applet->services[heir - 1], fresh[i], i);
	retire_rest(applet);
	for (unsigned i = 0; i < n; i++) {
		fresh[i]->number = i;
		if (!origin(applet, i, true))
			open_listeners(applet, fresh[i], i);
	}
	free(applet->services);
	applet->services = fresh;
	applet->service_count = n;
	log_info("reloaded: other servers");
	return true;
}
