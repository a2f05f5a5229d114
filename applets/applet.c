/*
 * The common life of the applets that serve. What exists once comes first: settings, daemon,
 * listeners, replay memory, privileges. serve() is what a worker does, with a reactor of its own.
 */
#include "applets/applet.h"

#include "core/log.h"
#include "core/options.h"
#include "core/process.h"
#include "net/resolve.h"
#include "net/salts.h"
#include "net/users.h"

#include <errno.h>
#include <net/if.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SPARE_DESCRIPTORS = 64, /* listeners, name look-ups, log, ... */
	SESSIONS_MAX = 1 << 18,
	ASSOCS_MAX = 1 << 14, /* unless the settings ask for more */
	BLOCKS_PER_MIB = (1 << 20) / BLOCK_SIZE
};

/* What exists once in the process. */
struct program_state {
	const struct applet_kind *kind;
	struct settings settings;
	struct engine engine;
	struct service *services;
	unsigned service_count;
	uint32_t assocs; /* UDP clients at once; 0: no UDP */
	struct replay *replay, *packet_replay;
	struct salts *salts; /* a server's */
};

static struct program_state program; /* signals need to find it */

static void report(void)
{
	uint32_t salts = replay_count(program.replay);

	if (program.packet_replay)
		salts += replay_count(program.packet_replay);
	engine_report(&program.engine, salts, program.salts);
}

static void reload(void)
{
	struct options_reason reason;

	if (settings_reload(&program.settings, &reason) < 0)
		log_error("not reloaded, everything stays as it is: %s", reason.text);
	else if (program.kind->reload)
		program.kind->reload(program.services, &program.settings);
	else
		log_warn("%s can reload nothing yet: everything stays as it is",
			 program.settings.name);
}

static void answered(struct lookup *lookup)
{
	(void)lookup; /* its status tells */
}

/* Wait for the addresses of a name, turning the reactor; what is served already goes on. */
static enum resolve_status resolve_now(struct lookup *lookup, const struct endpoint *name)
{
	enum resolve_status status = resolve_start(lookup, name->host, answered);

	while (status == RESOLVE_PENDING && !reactor_stopping()) {
		reactor_turn(-1);
		status = lookup->status;
	}
	return status;
}

/* What the i-th service does. */
static enum mode mode_of(unsigned i)
{
	const struct settings_place *place = settings_place(&program.settings, i);
	bool own = program.kind->role->near_sealed && place->mode;

	return own ? (enum mode)(place->mode - 1) : (enum mode)program.settings.mode;
}

static unsigned count_services(void)
{
	unsigned n = 1;

	while (program.kind->role->near_sealed && settings_place(&program.settings, n))
		n++;
	return n;
}

/* Is there a service that does not exclude this? */
static bool serves(enum mode excluded)
{
	unsigned n = count_services();

	for (unsigned i = 0; i < n; i++)
		if (mode_of(i) != excluded)
			return true;
	return false;
}

static unsigned long spare(unsigned long descriptors)
{
	return descriptors > 2 * SPARE_DESCRIPTORS ? descriptors - SPARE_DESCRIPTORS
						   : descriptors / 2;
}

/* UDP takes a quarter of the descriptors at most, or what the settings say, but never so many that TCP has less than a
 * quarter. */
static uint32_t assoc_limit(const struct settings *settings, unsigned long descriptors)
{
	unsigned long all = spare(descriptors), limit = all / 4;
	unsigned long most = serves(MODE_UDP_ONLY) ? all / 4 * 3 : all;

	if (!serves(MODE_TCP_ONLY))
		return 0;
	if (limit > ASSOCS_MAX)
		limit = ASSOCS_MAX;
	if (settings->udp_max_associations)
		limit = settings->udp_max_associations;
	if (limit > most) {
		log_warn("udp_max_associations: %lu is all that the limit of open files (%lu) "
			 "allows",
			 most, descriptors);
		limit = most;
	}
	return (uint32_t)(limit > 0 ? limit : 1);
}

static uint32_t session_limit(const struct settings *settings, unsigned long descriptors)
{
	unsigned long limit = (spare(descriptors) - program.assocs) / 2;

	if (limit > SESSIONS_MAX)
		limit = SESSIONS_MAX;
	if (settings->max_sessions && settings->max_sessions < limit)
		limit = settings->max_sessions;
	return (uint32_t)(limit > 0 ? limit : 1);
}

/* One service for each place of a server, one for all upstreams of a client. */
static void make_service(struct service *service, unsigned i, uint32_t sessions)
{
	const struct settings *settings = &program.settings;

	*service = (struct service){
		.engine = &program.engine,
		.role = program.kind->role,
		.sockets = &settings->socket,
		.own = settings,
		.timeout = (uint64_t)settings->timeout * 1000,
		.udp_timeout = (uint64_t)settings->udp_timeout * 1000,
		.mtu = settings->mtu,
	};
	program.kind->configure(service, settings, i);
	service->key.replay = program.replay;
	service->key.packet_replay = program.packet_replay;
	service->key.packet_padding = settings->udp_padding;
	service->key.salts = program.salts;
	for (unsigned u = 0; service->upstreams && u < service->upstreams->count; u++) {
		service->upstreams->all[u].key.replay = program.replay;
		service->upstreams->all[u].key.packet_replay = program.packet_replay;
		service->upstreams->all[u].key.packet_padding = settings->udp_padding;
	}
	if (service_init(service) < 0)
		die("no memory for the ciphers of %u sessions: %s (see max_sessions)", sessions,
		    strerror(errno));
}

static void open_replay(struct replay **replay)
{
	*replay = replay_open(program.settings.replay_size);
	if (!*replay)
		die("no memory for the replay memory of %u salts: %s (see replay_size)",
		    program.settings.replay_size, strerror(errno));
}

/* A stream of datagrams would flush what TCP remembers in seconds: each has its own. */
static void open_datagrams(void)
{
	if (program.assocs == 0)
		return;
	if (engine_open_datagrams(&program.engine, program.assocs) < 0)
		die("no memory for %u associations: %s (see udp_max_associations)", program.assocs,
		    strerror(errno));
	open_replay(&program.packet_replay);
}

/* Where replay_size is less, nobody may fill it for all others. */
static void open_salts(void)
{
	uint32_t size = program.settings.replay_size;

	if (size < SALTS_LEAST)
		size = SALTS_LEAST;
	program.salts = salts_open(size);
	if (!program.salts)
		die("no memory for %u salts of a minute: %s (see replay_size)", size,
		    strerror(errno));
}

static void make_services(unsigned long descriptors)
{
	const struct settings *settings = &program.settings;
	program.assocs = assoc_limit(settings, descriptors);
	uint32_t sessions = session_limit(settings, descriptors);

	if (engine_open(&program.engine, sessions, settings->buffer_limit * BLOCKS_PER_MIB) < 0)
		die("no memory for %u sessions and %u MiB of buffers: %s (see max_sessions and "
		    "buffer_limit)",
		    sessions, settings->buffer_limit, strerror(errno));
	open_replay(&program.replay);
	open_datagrams();
	if (program.kind->role->near_sealed)
		open_salts();
	program.service_count = count_services();
	program.services = calloc(program.service_count, sizeof(*program.services));
	if (!program.services)
		die("no memory for %u servers", program.service_count);
	for (unsigned i = 0; i < program.service_count; i++)
		make_service(&program.services[i], i, sessions);
}

/* `::` stands for both families, unless an IPv4 address of the same port is listed too. */
static bool v6only(const struct endpoint *at, const struct endpoint *all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (all[i].type == ENDPOINT_IPV4 && all[i].port == at->port)
			return true;
	return false;
}

/* Listen on an address, or on the first address of a name. NULL, or why that failed. */
static const char *listen_on(struct service *service, const struct endpoint *at, bool only6,
			     int (*begin)(struct service *, const struct endpoint *, bool))
{
	struct endpoint literal = *at;

	if (at->type == ENDPOINT_NAME) {
		struct lookup lookup = { 0 };

		enum resolve_status status = resolve_now(&lookup, at);

		if (status != RESOLVE_OK) {
			resolve_release(&lookup);
			return status == RESOLVE_NOT_FOUND
				       ? "this is no address, and there is no such name"
				       : "this is no address, and no name server answers";
		}
		endpoint_from_address(&literal, &lookup.answer->addresses[0], at->port);
		resolve_release(&lookup);
	}
	return begin(service, &literal, only6) < 0 ? strerror(errno) : NULL;
}

/* Listen on each of the addresses of the i-th service; how many it could. */
static unsigned listen_on_each(unsigned i, const char *listening,
			       int (*begin)(struct service *, const struct endpoint *, bool))
{
	const struct endpoint *at;
	unsigned n = program.kind->listen_on(&program.settings, i, &at), could = 0;
	char text[ENDPOINT_TEXT];

	for (unsigned a = 0; a < n; a++) {
		const char *why =
			listen_on(&program.services[i], &at[a], v6only(&at[a], at, n), begin);

		endpoint_print(&at[a], text, sizeof(text));
		if (why) {
			log_warn("cannot listen on %s: %s", text, why);
		} else {
			log_info("%s %s", listening, text);
			could++;
		}
	}
	return could;
}

static void listen_on_all(void)
{
	unsigned listeners = 0;

	for (unsigned i = 0; i < program.service_count; i++) {
		if (mode_of(i) != MODE_UDP_ONLY)
			listeners += listen_on_each(i, program.kind->listening, service_listen);
		if (mode_of(i) != MODE_TCP_ONLY)
			listeners += listen_on_each(i, program.kind->listening_udp,
						    service_listen_datagrams);
	}
	if (listeners == 0)
		die("failed to listen on any address");
}

/* A server's name that does not exist is a mistake; one that nobody answers for may be known later. */
static void check_upstreams(void)
{
	struct upstreams *upstreams = program.services[0].upstreams;

	for (unsigned i = 0; upstreams && i < upstreams->count && !reactor_stopping(); i++) {
		const struct endpoint *where = &upstreams->all[i].where;
		struct lookup lookup = { 0 };

		if (where->type != ENDPOINT_NAME)
			continue;
		switch (resolve_now(&lookup, where)) {
		case RESOLVE_NOT_FOUND:
			die("failed to resolve the provided hostname: %s does not exist",
			    where->host);
		case RESOLVE_FAILED:
			log_warn("no name server answers for %s; trying on", where->host);
			break;
		default:
			break;
		}
		resolve_release(&lookup);
	}
}

/* What a worker does. */
static int serve(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < program.service_count; i++)
		if (service_start(&program.services[i]) < 0)
			die("cannot watch the listeners: %s", strerror(errno));
	check_upstreams();
	process_ready();
	reactor_run();
	return 0;
}

static void forget_service(struct service *service)
{
	if (service->key.users)
		users_close(service->key.users);
	if (service->upstreams)
		sodium_memzero(service->upstreams, sizeof(*service->upstreams));
	free(service->upstreams);
	service_free(service);
}

static void close_all(void)
{
	for (unsigned i = 0; i < program.service_count; i++)
		service_close(&program.services[i]);
	engine_close(&program.engine);
	resolve_close();
	reactor_close();
	replay_close(program.replay);
	if (program.packet_replay)
		replay_close(program.packet_replay);
	if (program.salts)
		salts_close(program.salts);
	for (unsigned i = 0; i < program.service_count; i++)
		forget_service(&program.services[i]);
	sodium_memzero(program.services, program.service_count * sizeof(*program.services));
	free(program.services);
	settings_free(&program.settings);
	log_debug("closed gracefully");
	log_close();
}

/* What is permitted now and works later only if something changes. */
static void warn_of_later(const struct settings *settings)
{
	if (settings->interface && if_nametoindex(settings->interface) == 0)
		log_warn("there is no interface %s now: no connection is made before there is",
			 settings->interface);
	if (settings->socket.mark && !process_may_mark())
		log_warn("fwmark: this process may not mark connections (it lacks CAP_NET_ADMIN): "
			 "none will be made");
	if (settings->config && access(settings->config, R_OK) < 0)
		log_warn("SIGHUP will reload nothing: this process may not read %s any more (%s)",
			 settings->config, strerror(errno));
}

int applet_run(const struct applet_kind *kind, int argc, char **argv)
{
	static const struct process_calls calls = { .reload = reload, .report = report };
	struct settings *settings = &program.settings;

	program.kind = kind;
	process_start();
	if (crypto_open() < 0)
		die("the system gives no random bytes");
	settings_read(settings, kind->program, argc, argv);
	log_open(settings->name, settings->syslog, settings->verbose);
	unsigned long descriptors = process_limits(settings->nofile);
	if (settings->pid_file)
		process_daemon(settings->pid_file);

	const struct resolve_options names = { .servers = settings->nameserver,
					       .ipv6_first = settings->ipv6_first };

	if (reactor_open() < 0)
		die("cannot open an event queue: %s", strerror(errno));
	process_signals(&calls);
	if (resolve_open(&names) < 0)
		die("cannot resolve names");
	settings_announce(settings);
	make_services(descriptors);
	listen_on_all();
	if (settings->socket.mark)
		process_keep_marking();
	if (settings->user)
		process_user(settings->user);
	else if (geteuid() == 0)
		log_info("running from root user");
	process_no_new_privs();
	warn_of_later(settings);

	int status = process_workers(1, serve, NULL);

	close_all();
	return status;
}
