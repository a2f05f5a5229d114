/*
 * What the applets in front of a server have in common: where its servers are, and where they
 * listen.
 */
#include "applets/applet.h"
#include "applets/secret.h"
#include "core/log.h"

#include <stdlib.h>

void client_forget_upstreams(struct upstreams *upstreams)
{
	for (unsigned i = 0; upstreams && i < upstreams->count; i++)
		secret_forget(&upstreams->all[i].key);
	free(upstreams);
}

/* One more; its key is its own. */
static bool add(struct upstreams *upstreams, const struct settings_place *place, unsigned i,
		const struct endpoint *where)
{
	struct upstream *upstream = &upstreams->all[upstreams->count];

	*upstream = (struct upstream){
		.where = *where,
		.place = (uint8_t)i,
		.no_tcp = place->mode == MODE_UDP_ONLY + 1,
		.no_udp = place->mode == MODE_TCP_ONLY + 1,
	};
	if (secret_copy(&upstream->key, &place->key) < 0)
		return false;
	upstreams->count++;
	return true;
}

/* Each address of each place, with the key of its place. */
struct upstreams *client_upstreams(const struct settings *settings)
{
	struct upstreams *upstreams = calloc(1, sizeof(*upstreams));
	const struct settings_place *place;

	for (unsigned i = 0; upstreams && (place = settings_place(settings, i)); i++) {
		/* A plugin is told all its servers; datagrams beside it go to the first. */
		bool one = place->plugin && place->plugin_mode != MODE_UDP_ONLY;
		unsigned servers = one ? 1 : place->servers;

		for (unsigned j = 0; j < servers; j++) {
			if (upstreams->count == UPSTREAMS_MAX) {
				log_warn("%d servers at most, the rest is ignored", UPSTREAMS_MAX);
				return upstreams;
			}
			if (!add(upstreams, place, i, &place->server[j])) {
				client_forget_upstreams(upstreams);
				return NULL;
			}
		}
	}
	return upstreams;
}

void client_configure(struct service *service, const struct settings *settings, unsigned only)
{
	(void)only;
	service->upstreams = client_upstreams(settings);
	if (!service->upstreams)
		die("no memory for the servers");
}

unsigned client_listen_on(const struct service *service, const struct settings *settings,
			  unsigned only, const struct endpoint **at)
{
	(void)service, (void)only;
	*at = &settings->local;
	return 1;
}
