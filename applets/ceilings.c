/*
 * See ceilings.h. Called once, before anything is opened.
 */
#include "applets/ceilings.h"

/* Bring it down to its share; the bytes that it may come to. */
static uint64_t lower(struct ceiling *one, uint64_t share)
{
	uint64_t fit = share / one->size;

	if (!one->fixed && one->most > fit)
		one->most = (uint32_t)fit;
	return (uint64_t)one->most * one->size;
}

void ceilings_lower(struct ceilings *c, uint64_t limit)
{
	uint64_t least = (uint64_t)CEILINGS_LEAST * c->workers, all, each, used, rest;

	all = limit > least ? limit : least;
	each = all / c->workers;
	used = lower(&c->salts, all / 4) / c->workers;
	used += lower(&c->sessions, each / 4);
	used += lower(&c->assocs, all / 8 / c->datagram_workers) * c->datagram_workers / c->workers;
	rest = each > used ? each - used : 0;
	/* where others are fixed, that is their excess, not the blocks' loss */
	lower(&c->blocks, rest > each / 8 * 3 ? rest : each / 8 * 3);
}

uint64_t ceilings_of_machine(uint64_t memory)
{
	return memory ? memory / 4 : UINT64_MAX;
}
