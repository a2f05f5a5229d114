/*
 * From settings to services: how many there are, what they share. Called once by applet.c, in the
 * main process; limits.c has said what they may hold.
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

enum mode applet_mode(const struct applet *applet, unsigned i)
{
	bool server = applet->kind->role->near_sealed;
	const struct settings_place *place = server ? settings_place(&applet->settings, i) : NULL;

	return place && place->mode ? (enum mode)(place->mode - 1)
				    : (enum mode)applet->settings.mode;
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
		    applet->limits.sessions, strerror(errno));
}

static struct replay *open_replay(const struct applet *applet)
{
	struct replay *replay = replay_open(applet->limits.salts);

	if (!replay)
		die("no memory for the replay memory of %u salts: %s (see replay_size)",
		    applet->limits.salts, strerror(errno));
	return replay;
}

/* A stream of datagrams would flush what TCP remembers in seconds: each has its own. */
static void open_datagrams(struct applet *applet)
{
	if (applet->limits.assocs == 0)
		return;
	if (engine_open_datagrams(&applet->engine, applet->limits.assocs) < 0)
		die("no memory for %u associations: %s (see udp_max_associations)",
		    applet->limits.assocs, strerror(errno));
	applet->packet_replay = open_replay(applet);
}

static void open_guises(struct applet *applet)
{
	const struct role *role = applet->kind->role;

	if (role->answers_as_source && applet->limits.assocs > 0 &&
	    guises_open(&applet->engine.guises, role->answers_mark) < 0)
		die("no memory for the sockets of answers: %s", strerror(errno));
}

static void open_salts(struct applet *applet)
{
	uint32_t size = applet->limits.request_salts;

	applet->salts = salts_open(size);
	if (!applet->salts)
		die("no memory for %u salts of a minute: %s (see replay_size)", size,
		    strerror(errno));
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
	const struct limits *limits = &applet->limits;

	if (engine_open(&applet->engine, limits->sessions, limits->blocks) < 0)
		die("no memory for %u sessions and %u blocks: %s (see max_sessions, buffer_limit "
		    "and "
		    "memory_limit)",
		    limits->sessions, limits->blocks, strerror(errno));
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
