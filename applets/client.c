/*
 * What the applets in front of a server have in common: where its servers are, and where they
 * listen.
 */
#include "applets/applet.h"
#include "core/log.h"

#include <stdlib.h>

/* Each address of each place is an upstream, with the key of its place. */
void client_configure(struct service *service, const struct settings *settings, unsigned only)
{
	struct upstreams *upstreams = calloc(1, sizeof(*upstreams));
	const struct settings_place *place;

	(void)only;
	if (!upstreams)
		die("no memory for the servers");
	service->upstreams = upstreams;
	for (unsigned i = 0; (place = settings_place(settings, i)); i++) {
		/* A plugin is told all its servers; datagrams beside it go to the first. */
		bool one = place->plugin && place->plugin_mode != MODE_UDP_ONLY;
		unsigned servers = one ? 1 : place->servers;

		for (unsigned j = 0; j < servers; j++) {
			if (upstreams->count == UPSTREAMS_MAX) {
				log_warn("%d servers at most, the rest is ignored", UPSTREAMS_MAX);
				return;
			}
			upstreams->all[upstreams->count++] = (struct upstream){
				.where = place->server[j],
				.key = place->key,
				.place = (uint8_t)i,
			};
		}
	}
}

unsigned client_listen_on(const struct service *service, const struct settings *settings,
			  unsigned only, const struct endpoint **at)
{
	(void)service, (void)only;
	*at = &settings->local;
	return 1;
}
