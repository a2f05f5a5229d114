#include "net/upstream.h"

#include <sodium.h>

const struct upstream *upstream_choose(const struct upstreams *upstreams)
{
	return &upstreams->all[upstreams->count > 1 ? randombytes_uniform(upstreams->count) : 0];
}
