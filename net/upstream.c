/*
 * See upstream.h. Called where a session or an association takes its way; owns nothing.
 */
#include "net/upstream.h"

#include "net/plugin.h"

#include <sodium.h>

/* Settings see to it that there is one where it is needed. */
const struct upstream *upstream_choose(const struct upstreams *upstreams)
{
	const struct upstream *able[UPSTREAMS_MAX] = { &upstreams->all[0] };
	unsigned n = 0;

	for (unsigned i = 0; i < upstreams->count; i++)
		if (!upstreams->all[i].no_tcp)
			able[n++] = &upstreams->all[i];
	return able[n > 1 ? randombytes_uniform(n) : 0];
}

const struct upstream *upstream_of_datagrams(const struct upstreams *upstreams)
{
	for (unsigned i = 0; i < upstreams->count; i++)
		if (!upstreams->all[i].no_udp)
			return &upstreams->all[i];
	return &upstreams->all[0];
}

const struct endpoint *upstream_tcp(const struct upstream *upstream)
{
	const struct plugin *plugin = upstream->plugin;

	return plugin && plugin->tcp ? &plugin->inner : &upstream->where;
}

const struct endpoint *upstream_udp(const struct upstream *upstream)
{
	const struct plugin *plugin = upstream->plugin;

	return plugin && plugin->udp ? &plugin->inner : &upstream->where;
}
