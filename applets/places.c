/*
 * From settings to services: how many there are, what they may hold, what they share. Called once by
 * applet.c, in the main process.
 */
#include "applets/running.h"

#include "applets/secret.h"
#include "core/log.h"
#include "core/reactor.h"
#include "net/acl.h"
#include "net/ledger.h"
#include "net/replay.h"
#include "net/resolve.h"
#include "net/salts.h"
#include "net/users.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
	SPARE_DESCRIPTORS = 64, /* listeners, name look-ups, log, ... */
	SESSIONS_MAX = 1 << 18,
	ASSOCS_MAX = 1 << 14, /* unless the settings ask for more */
	BLOCKS_PER_MIB = (1 << 20) / BLOCK_SIZE,
	BLOCKS_LEAST = 16
};

enum mode applet_mode(const struct applet *applet, unsigned i)
{
	bool server = applet->kind->role->near_sealed;
	const struct settings_place *place = server ? settings_place(&applet->settings, i) : NULL;

	return place && place->mode ? (enum mode)(place->mode - 1)
				    : (enum mode)applet->settings.mode;
}

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

/* UDP takes a quarter of the descriptors at most, or what the settings say, but never so many that TCP has less than a
 * quarter. */
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

static uint32_t session_limit(const struct applet *applet)
{
	const struct settings *settings = &applet->settings;
	unsigned long limit = (spare(applet) - applet->assocs) / 2;
	unsigned long most = settings->max_sessions ? settings->max_sessions : SESSIONS_MAX;

	most = part(most < SESSIONS_MAX ? most : SESSIONS_MAX, settings->workers);
	if (limit > most)
		limit = most;
	return (uint32_t)(limit > 0 ? limit : 1);
}

void applet_fill(struct applet *applet, struct service *service)
{
	const struct settings *settings = &applet->settings;

	*service = (struct service){
		.engine = &applet->engine,
		.role = applet->kind->role,
		.sockets = &settings->socket,
		.own = settings,
		.rules = applet->acl ? &applet->acl : NULL,
		.timeout = (uint64_t)settings->timeout * 1000,
		.udp_timeout = (uint64_t)settings->udp_timeout * 1000,
		.mtu = settings->mtu,
	};
}

void applet_lend(const struct applet *applet, struct wire_key *key)
{
	key->replay = applet->replay;
	key->packet_replay = applet->packet_replay;
	key->packet_padding = applet->settings.udp_padding;
	key->salts = applet->salts;
}

struct users *applet_users(const struct settings_place *place)
{
	struct users *users = users_open(place->user_count);

	for (unsigned i = 0; users && i < place->user_count; i++) {
		const struct settings_user *user = &place->users[i];

		if (users_add(users, user->name, user->key, place->key.key_len) != USERS_ADDED) {
			users_close(users);
			users = NULL;
		}
	}
	return users;
}

static void make_service(struct applet *applet, unsigned i)
{
	struct service *service = applet->services[i];

	applet_fill(applet, service);
	service->number = i;
	applet->kind->configure(service, &applet->settings, i);
	applet_lend(applet, &service->key);
	if (applet->kind->role->near_sealed)
		service->plugin = applet_plugin(applet, i);
	service->key.split_reads = service_is_plugged(service, false);
	for (unsigned u = 0; service->upstreams && u < service->upstreams->count; u++) {
		struct upstream *upstream = &service->upstreams->all[u];

		applet_lend(applet, &upstream->key);
		upstream->plugin = applet_plugin(applet, upstream->place);
	}
	if (service_init(service) < 0)
		die("no memory for the ciphers of %u sessions: %s (see max_sessions)",
		    applet->sessions, strerror(errno));
}

static struct replay *open_replay(const struct applet *applet)
{
	struct replay *replay = replay_open(applet->settings.replay_size);

	if (!replay)
		die("no memory for the replay memory of %u salts: %s (see replay_size)",
		    applet->settings.replay_size, strerror(errno));
	return replay;
}

/* A stream of datagrams would flush what TCP remembers in seconds: each has its own. */
static void open_datagrams(struct applet *applet)
{
	if (applet->assocs == 0)
		return;
	if (engine_open_datagrams(&applet->engine, applet->assocs) < 0)
		die("no memory for %u associations: %s (see udp_max_associations)", applet->assocs,
		    strerror(errno));
	applet->packet_replay = open_replay(applet);
}

static void open_guises(struct applet *applet)
{
	const struct role *role = applet->kind->role;

	if (role->answers_as_source && applet->assocs > 0 &&
	    guises_open(&applet->engine.guises, role->answers_mark) < 0)
		die("no memory for the sockets of answers: %s", strerror(errno));
}

/* Where replay_size is less, nobody may fill it for all others. */
static void open_salts(struct applet *applet)
{
	uint32_t size = applet->settings.replay_size;

	if (size < SALTS_LEAST)
		size = SALTS_LEAST;
	applet->salts = salts_open(size);
	if (!applet->salts)
		die("no memory for %u salts of a minute: %s (see replay_size)", size,
		    strerror(errno));
}

/* Each worker has its part; the least that is of use is more than that where buffer_limit is very small. */
static uint32_t blocks_of_each(const struct applet *applet)
{
	uint32_t n = applet->settings.buffer_limit * BLOCKS_PER_MIB / applet->settings.workers;

	return n > BLOCKS_LEAST ? n : BLOCKS_LEAST;
}

void applet_limits(struct applet *applet)
{
	applet->service_count = applet->kind->count ? applet->kind->count(&applet->settings) : 1;
	applet->assocs = assoc_limit(applet);
	applet->sessions = session_limit(applet);
}

/* Users may come with a reload: four times as many as there are now, and some. */
static void open_ledger(struct applet *applet)
{
	const struct settings_place *place;
	uint32_t users = 0;

	for (unsigned i = 0; (place = settings_place(&applet->settings, i)); i++)
		users += place->user_count;
	if (applet->settings.workers == 1 || users == 0)
		return;
	applet->engine.ledger = ledger_open(4 * users, applet->settings.workers);
	if (!applet->engine.ledger)
		die("no memory to count for %u users: %s", users, strerror(errno));
}

void applet_make(struct applet *applet)
{
	unsigned buffers = applet->settings.buffer_limit;

	if (engine_open(&applet->engine, applet->sessions, blocks_of_each(applet)) < 0)
		die("no memory for %u sessions and %u MiB of buffers: %s (see max_sessions and "
		    "buffer_limit)",
		    applet->sessions, buffers, strerror(errno));
	applet_open_rules(applet);
	applet->replay = open_replay(applet);
	open_datagrams(applet);
	if (applet->kind->role->near_sealed) {
		open_salts(applet);
		open_ledger(applet);
	}
	applet_make_plugins(applet);
	applet->services = calloc(applet->service_count + 1, sizeof(*applet->services));
	for (unsigned i = 0; applet->services && i < applet->service_count; i++) {
		applet->services[i] = malloc(sizeof(**applet->services));
		if (!applet->services[i])
			die("no memory for %u services", applet->service_count);
		make_service(applet, i);
	}
	if (!applet->services)
		die("no memory for %u services", applet->service_count);
	open_guises(applet);
}

void applet_free_service(struct service *service)
{
	if (service->key.users)
		users_close(service->key.users);
	secret_forget(&service->key);
	client_forget_upstreams(service->upstreams);
	service_free(service);
	free(service);
}

void applet_close(struct applet *applet)
{
	for (unsigned i = 0; i < applet->service_count; i++)
		service_close(applet->services[i]);
	engine_close(&applet->engine);
	resolve_close();
	reactor_close();
	crew_close(applet);
	replay_close(applet->replay);
	replay_close(applet->packet_replay);
	salts_close(applet->salts);
	acl_close(applet->acl);
	for (unsigned i = 0; i < applet->service_count; i++) {
		if (applet->kind->forget)
			applet->kind->forget(applet->services[i]);
		applet_free_service(applet->services[i]);
	}
	free(applet->services);
	free(applet->plugins);
	settings_free(&applet->settings);
}
