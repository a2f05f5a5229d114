/*
 * What a program may hold at once: as much as its settings say, as descriptors allow, and as fits
 * into its part of the memory. Called once by applet.c, before anything is opened.
 */
#include "applets/running.h"

#include "applets/ceilings.h"
#include "core/log.h"
#include "core/machine.h"
#include "net/replay.h"
#include "net/salts.h"

enum {
	SPARE_DESCRIPTORS = 64, /* listeners, name look-ups, log, ... */
	SESSIONS_MAX = 1 << 18,
	ASSOCS_MAX = 1 << 14, /* unless the settings ask for more */
	BUFFER_LIMIT = 64,    /* MiB */
	BLOCKS_PER_MIB = (1 << 20) / BLOCK_SIZE,
	SALTS_CLIENT = 10000,
	SALTS_SERVER = 1000000
};

/* Is there a service that does not exclude this? */
static bool serves(const struct applet *applet, enum mode excluded)
{
	for (unsigned i = 0; i < applet->service_count; i++)
		if (applet_mode(applet, i) != excluded)
			return true;
	return applet->service_count == 0; /* a manager's may do either */
}

/* Answers may need sockets, too. */
static unsigned long spare(const struct applet *applet)
{
	unsigned long all = applet->descriptors, kept = SPARE_DESCRIPTORS;

	if (applet->kind->role->answers_as_source && applet->settings.mode != MODE_TCP_ONLY)
		kept += GUISES;
	return all > 2 * kept ? all - kept : all / 2;
}

/* What each of n workers gets of a limit that is the program's. */
static unsigned long part(unsigned long whole, unsigned n)
{
	return whole / n + (whole % n > 0);
}

/* Workers that have the datagrams of a service. */
static unsigned datagram_workers(const struct applet *applet)
{
	unsigned n = applet->settings.workers;

	return n < applet->service_count || !applet->service_count ? n : applet->service_count;
}

/* UDP takes a quarter of the descriptors at most, or what the settings say, but never so many that
 * TCP has less than a quarter. */
static uint32_t assoc_limit(const struct applet *applet)
{
	const struct settings *settings = &applet->settings;
	unsigned long all = spare(applet), limit = all / 4;
	unsigned long most = serves(applet, MODE_UDP_ONLY) ? all / 4 * 3 : all;

	if (!serves(applet, MODE_TCP_ONLY))
		return 0;
	if (limit > ASSOCS_MAX)
		limit = ASSOCS_MAX;
	if (settings->udp_max_associations)
		limit = part(settings->udp_max_associations, datagram_workers(applet));
	if (limit > most) {
		log_warn("udp_max_associations: %lu is all that the limit of open files (%lu) "
			 "allows",
			 most, applet->descriptors);
		limit = most;
	}
	return (uint32_t)(limit > 0 ? limit : 1);
}

static uint32_t session_limit(const struct applet *applet, uint32_t assocs)
{
	const struct settings *settings = &applet->settings;
	unsigned long limit = (spare(applet) - assocs) / 2;
	unsigned long most = settings->max_sessions ? settings->max_sessions : SESSIONS_MAX;

	most = part(most < SESSIONS_MAX ? most : SESSIONS_MAX, settings->workers);
	if (limit > most)
		limit = most;
	return (uint32_t)(limit > 0 ? limit : 1);
}

/* Each worker has its part; the least that is of use is more than that where buffer_limit is very
 * small. */
static uint32_t block_limit(const struct settings *settings)
{
	uint32_t all = settings->buffer_limit ? settings->buffer_limit : BUFFER_LIMIT;
	uint32_t n = all * BLOCKS_PER_MIB / settings->workers;

	return n > CEILINGS_BLOCKS ? n : CEILINGS_BLOCKS;
}

/* What a session needs beside itself (stream ciphers that have a large state), where one does at
 * the start. */
static size_t lease_size(const struct settings *settings)
{
	const struct settings_place *place;
	size_t most = 0, n;

	for (unsigned i = 0; (place = settings_place(settings, i)); i++)
		if (place->key.format && (n = wire_lease_size(&place->key)) > most)
			most = n;
	return most;
}

static uint32_t salts_wished(const struct applet *applet)
{
	uint32_t asked = applet->settings.replay_size;

	return asked ? asked : applet->kind->role->near_sealed ? SALTS_SERVER : SALTS_CLIENT;
}

/* All that files allow and the settings ask for. What they say themselves is lowered only if they
 * also say how much memory there is. */
static struct ceilings wishes(const struct applet *applet)
{
	const struct settings *settings = &applet->settings;
	bool server = applet->kind->role->near_sealed, ours = settings->memory_limit == 0;
	uint32_t assocs = assoc_limit(applet), salts = salts_wished(applet);
	struct engine_sizes size = engine_sizes(lease_size(settings), assocs > 0);

	if (server && salts < SALTS_LEAST)
		salts = SALTS_LEAST; /* of requests: nobody may fill it for all others */
	return (struct ceilings){
		.sessions = { session_limit(applet, assocs), size.session,
			      ours && settings->max_sessions },
		.assocs = { assocs, size.assoc, ours && settings->udp_max_associations },
		.blocks = { block_limit(settings), size.block, ours && settings->buffer_limit },
		.salts = { salts, (assocs ? 2 : 1) * REPLAY_BYTES + (server ? SALTS_BYTES : 0),
			   ours && settings->replay_size },
		.workers = settings->workers,
		.datagram_workers = datagram_workers(applet),
	};
}

/* What the settings ask for and do not get, they are told. */
static void warn(const char *setting, uint32_t asked, const struct ceiling *one, unsigned workers)
{
	uint64_t all = (uint64_t)one->most * workers;

	if (asked > all)
		log_warn("%s: %llu is all that memory_limit allows", setting,
			 (unsigned long long)all);
}

static void warn_of_less(const struct settings *settings, const struct ceilings *c)
{
	if (settings->memory_limit == 0)
		return;
	warn("max_sessions", settings->max_sessions, &c->sessions, c->workers);
	warn("udp_max_associations", settings->udp_max_associations, &c->assocs,
	     c->datagram_workers);
	warn("replay_size", settings->replay_size, &c->salts, 1);
	if ((uint64_t)c->blocks.most * c->workers <
	    (uint64_t)settings->buffer_limit * BLOCKS_PER_MIB)
		log_warn("buffer_limit: %llu KiB are all that memory_limit allows",
			 (unsigned long long)c->blocks.most * c->workers * (BLOCK_SIZE >> 10));
}

void applet_limits(struct applet *applet)
{
	const struct settings *settings = &applet->settings;
	uint32_t salts = salts_wished(applet);
	uint64_t limit = settings->memory_limit;
	struct ceilings c;

	applet->service_count = applet->kind->count ? applet->kind->count(settings) : 1;
	if (!limit)
		limit = ceilings_of_machine(machine_memory());
	c = wishes(applet);
	ceilings_lower(&c, limit);
	warn_of_less(settings, &c);
	applet->limits = (struct limits){
		.sessions = c.sessions.most,
		.assocs = c.assocs.most,
		.blocks = c.blocks.most,
		.salts = salts < c.salts.most ? salts : c.salts.most,
		.request_salts = c.salts.most,
	};
	log_debug("at most %u sessions, %u associations, %u blocks%s, %u salts", c.sessions.most,
		  c.assocs.most, c.blocks.most, settings->workers > 1 ? " in each worker" : "",
		  applet->limits.salts);
}
