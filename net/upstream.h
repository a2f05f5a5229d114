/*
 * The servers that a client relays through, and the choice between them.
 */
#ifndef NET_UPSTREAM_H
#define NET_UPSTREAM_H

#include "net/endpoint.h"
#include "net/wire.h"

enum { UPSTREAMS_MAX = 10 };

struct upstream {
	struct endpoint where;
	struct wire_key key;
};

struct upstreams {
	unsigned count;
	struct upstream all[UPSTREAMS_MAX];
};

/* One of them, uniformly at random, as shadowsocks-libev chooses. */
const struct upstream *upstream_choose(const struct upstreams *upstreams);

#endif
