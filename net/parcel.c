/*
 * See parcel.h.
 */
#include "net/parcel.h"

#include "net/engine.h"
#include "net/service.h"

#include <assert.h>

static struct engine *engine_of(const struct assoc *assoc)
{
	return assoc->service->engine;
}

int parcels_open(struct parcels *parcels)
{
	*parcels = (struct parcels){ 0 };
	return slab_open(&parcels->slab, sizeof(struct parcel), PARCELS_MAX);
}

void parcels_close(struct parcels *parcels)
{
	slab_close(&parcels->slab);
}

static uint32_t blocks_for(size_t n)
{
	return (uint32_t)((n + BLOCK_ROOM - 1) / BLOCK_ROOM);
}

static void count(struct parcel *parcel, int parcels, int blocks)
{
	struct parcels *all = &engine_of(parcel->assoc)->parcels;

	all->blocks += (uint32_t)blocks;
	all->shares[parcel->lookup.share].blocks += (uint32_t)blocks;
	all->shares[parcel->lookup.share].count += (uint16_t)parcels;
}

/* May a share hold that many blocks? One datagram always. */
static bool is_fair(const struct engine *engine, uint8_t share, uint32_t wanted)
{
	uint32_t held = engine->parcels.shares[share].blocks;

	return held == 0 ||
	       held + wanted <= engine->blocks.max / PARCEL_BLOCKS_SHARE / PARCEL_BLOCKS_QUARTER;
}

/* Sessions come first: parcels take only of what is plenty. */
static bool has_room(const struct engine *engine, uint8_t share, size_t n)
{
	const struct block_pool *blocks = &engine->blocks;

	return is_fair(engine, share, blocks_for(n)) &&
	       engine->parcels.blocks + blocks_for(n) <= blocks->max / PARCEL_BLOCKS_SHARE &&
	       list_empty(&engine->waiting) &&
	       blocks->max - blocks->leased >= blocks_for(n) + ENGINE_SERVING + ENGINE_RESERVE;
}

static bool fill(struct parcel *parcel, const unsigned char *head, size_t head_len,
		 const unsigned char *bytes, size_t n)
{
	struct engine *engine = engine_of(parcel->assoc);
	size_t all = head_len + n;

	if (all == 0)
		return true;
	if (!has_room(engine, parcel->lookup.share, all) ||
	    chain_append(&engine->blocks, &parcel->chain, head, head_len) < 0 ||
	    chain_append(&engine->blocks, &parcel->chain, bytes, n) < 0)
		return false;
	parcel->n = (uint32_t)all;
	count(parcel, 0, (int)blocks_for(all));
	return true;
}

bool parcel_fill(struct parcel *parcel, const struct endpoint *target, const unsigned char *bytes,
		 size_t n)
{
	unsigned char head[ENDPOINT_WIRE_MAX];

	return fill(parcel, head, endpoint_write(target, head), bytes, n);
}

/* Of those who ask together. */
static uint8_t share_of(const struct assoc *assoc)
{
	struct address peer;
	uint16_t port = address_from_socket(&peer, &assoc->client.any);

	return service_share(assoc->service, &peer, port, true);
}

struct parcel *parcel_keep(struct assoc *assoc, const unsigned char *bytes, size_t n)
{
	struct parcels *parcels = &engine_of(assoc)->parcels;
	uint8_t share = share_of(assoc);
	struct parcel *parcel = NULL;

	if (assoc->parcel_count < PARCELS_EACH && parcels->shares[share].count < PARCELS_SHARE)
		parcel = slab_take(&parcels->slab);
	if (!parcel)
		return NULL;
	parcel->assoc = assoc;
	parcel->lookup.share = share;
	count(parcel, 1, 0);
	assoc->parcel_count++;
	list_init(&parcel->link);
	list_append(&assoc->parcels, &parcel->link);
	if (fill(parcel, NULL, 0, bytes, n))
		return parcel;
	parcel_drop(parcel);
	return NULL;
}

static void answered(struct lookup *lookup)
{
	struct parcel *parcel = container_of(lookup, struct parcel, lookup);

	parcel->done(parcel);
}

enum resolve_status parcel_ask(struct parcel *parcel, const char *name,
			       void (*done)(struct parcel *))
{
	parcel->done = done;
	return resolve_start(&parcel->lookup, name, answered);
}

unsigned char *parcel_unpack(const struct parcel *parcel, struct endpoint *target, size_t *n)
{
	unsigned char *room = datagram_room(parcel->n);
	int head = 0;

	if (parcel->n > 0)
		chain_peek(&parcel->chain, room, parcel->n);
	if (target)
		head = endpoint_read(target, room, parcel->n);
	assert(head >= 0);
	*n = parcel->n - (size_t)head;
	return room + head;
}

void parcel_drop(struct parcel *parcel)
{
	struct engine *engine = engine_of(parcel->assoc);

	resolve_release(&parcel->lookup);
	chain_return(&engine->blocks, &parcel->chain);
	count(parcel, -1, -(int)blocks_for(parcel->n));
	parcel->assoc->parcel_count--;
	list_remove(&parcel->link);
	slab_give(&engine->parcels.slab, parcel);
	engine_serve_waiting(engine, NULL);
}

void parcels_drop(struct assoc *assoc)
{
	while (!list_empty(&assoc->parcels))
		parcel_drop(container_of(assoc->parcels.next, struct parcel, link));
}
