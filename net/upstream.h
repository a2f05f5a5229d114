/*
 * The servers that a client relays through, and the choice between them.
 */
#ifndef NET_UPSTREAM_H
#define NET_UPSTREAM_H

#include "net/endpoint.h"
#include "net/wire.h"

struct plugin;

enum { UPSTREAMS_MAX = 10 };

struct upstream {
	struct endpoint where;
	struct wire_key key;
	uint8_t place;		     /* of the settings, to which it belongs */
	bool no_tcp, no_udp;	     /* it is not for connections; not for datagrams */
	const struct plugin *plugin; /* what carries connections to it, or datagrams; or NULL */
};

struct upstreams {
	unsigned count;
	struct upstream all[UPSTREAMS_MAX];
};

/* One of those for connections, uniformly at random, as shadowsocks-libev chooses. */
const struct upstream *upstream_choose(const struct upstreams *upstreams);

/* The first of those for datagrams, which all go through one. */
const struct upstream *upstream_of_datagrams(const struct upstreams *upstreams);

/* Where to connect to it, and where to send datagrams for it: its address, or its plugin's. */
const struct endpoint *upstream_tcp(const struct upstream *upstream);
const struct endpoint *upstream_udp(const struct upstream *upstream);

#endif
