#include "net/upstream.h"

#include "net/plugin.h"

#include <sodium.h>

const struct upstream *upstream_choose(const struct upstreams *upstreams)
{
	return &upstreams->all[upstreams->count > 1 ? randombytes_uniform(upstreams->count) : 0];
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
