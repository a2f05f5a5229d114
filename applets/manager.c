/*
 * ss-manager: serves as many ports as it is told to, by its configuration file and by requests at a
 * socket (request.h), all of them in this process. Its life is that of all programs that serve
 * (running.h); this is the part that the others do not have.
 */
#include "applets/manager.h"

#include "applets/servers.h"
#include "applets/workdir.h"
#include "core/log.h"
#include "core/options.h"
#include "net/handshake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DESCRIPTORS = 1 << 17 /* ten thousand ports, and their connections */ };

static const struct role manager_role = {
	.name = "ss-manager",
	.target = handshake_open,
	.near_sealed = true,
};

/* --- the ports of the configuration file */

struct seen {
	unsigned char bits[(1 << 16) / 8];
};

static void put(struct manager *m, struct settings_place *place, struct seen *seen)
{
	uint16_t number = place->server_port;
	const struct port *port = m->ports->all[number];

	seen->bits[number / 8] |= (unsigned char)(1 << number % 8);
	/* What a request has added or changed is the requester's. */
	if (port && !port->configured)
		return;
	if (m->phase != LIVE && servers_wants(m, place) != (m->phase == BEGINS))
		return;
	if (servers_wants(m, place))
		servers_put(m, place, true, NULL);
	else
		ports_put(m->ports, place, true);
}

/* The lists of the file become ports; the longer one is not needed any more then. Those that are
 * served here are bound while there may be root's privileges; those with a server of their own come
 * when it is known where files are. */
static void put_all(struct manager *m, struct seen *seen)
{
	struct settings *settings = &m->applet->settings;
	struct options_reason reason;

	memset(seen, 0, sizeof *seen);
	for (unsigned i = 0; i < settings->ports; i++) {
		struct settings_place place;

		if (settings_read_port(settings, i, &place, &reason) < 0) {
			log_error("%s", reason.text);
			continue;
		}
		put(m, &place, seen);
		settings_free_place(settings, &place);
	}
	for (unsigned i = 0; i < settings->enabled_count; i++)
		put(m, &settings->elements[settings->enabled[i]], seen);
	if (m->phase == BOUND)
		return; /* they are needed once more */
	settings_drop_servers(settings);
	settings->ports_read = false;
}

static void remove_unseen(struct manager *m, const struct seen *seen)
{
	for (unsigned i = 1; i < 1 << 16; i++) {
		const struct port *port = m->ports->all[i];

		if (!port || !port->configured || seen->bits[i / 8] & 1 << i % 8)
			continue;
		servers_remove(m, (uint16_t)i);
	}
}

/* --- where it is asked */

static void find_workdir(struct manager *m)
{
	const struct settings *settings = &m->applet->settings;
	char *path = settings->workdir ? workdir_file(settings->workdir, ".") : workdir_default();

	if (settings->workdir)
		path[strlen(path) - 2] = 0;
	if (workdir_make(path)) {
		m->workdir = path;
		return;
	}
	if (settings->workdir || !settings->manager_address)
		die("unable to create working directory %s: %s", path, strerror(errno));
	log_warn("unable to create working directory %s: %s: the counters end with this program",
		 path, strerror(errno));
	free(path);
}

static void find_address(const struct manager *m, struct sender *at, const char *address)
{
	struct endpoint endpoint;
	const char *why;

	if (!workdir_is_port(address, &endpoint)) {
		if (!inbox_path(at, address))
			die("the path of the manager's socket is too long: %.200s", address);
		return;
	}
	why = applet_resolve(&endpoint, &endpoint);
	if (why)
		die("invalid manager address %.300s: %s", address, why);
	at->len = endpoint_socket(&endpoint, &at->at);
	(void)m;
}

static void open_inbox(struct manager *m)
{
	const char *given = m->applet->settings.manager_address;
	char *address = given ? strdup(given) : workdir_file(m->workdir, WORKDIR_SOCKET);
	struct sender at;

	if (!address)
		die("no memory for an address");
	find_address(m, &at, address);
	m->inbox.take = manager_take;
	if (inbox_open(&m->inbox, &at) < 0)
		die("cannot take requests at %s: %s", address, strerror(errno));
	log_info("manager listening at %s", address);
	m->address = address;
}

/* --- its life */

static bool is_manager(const struct applet *applet)
{
	return applet->kind->program == PROGRAM_MANAGER;
}

static void bound(struct applet *applet)
{
	struct seen seen;
	struct manager *m;

	if (!is_manager(applet))
		return;
	m = calloc(1, sizeof *m);
	if (!m)
		die("no memory for the manager");
	applet->manager = m;
	m->applet = applet;
	m->inbox.source.fd = -1;
	m->tally = tally_open();
	m->ports = m->tally ? ports_open(applet, m->tally) : NULL;
	if (!m->ports)
		die("no memory for ports: %s", strerror(errno));
	servers_open(m);
	put_all(m, &seen);
}

static void begin(struct applet *applet)
{
	struct manager *m = applet->manager;
	struct seen seen;
	char *file;

	if (!is_manager(applet))
		return;
	find_workdir(m);
	if (m->workdir) {
		file = workdir_file(m->workdir, ".ss-manager.state");
		tally_keep(m->tally, file);
		free(file);
	}
	open_inbox(m);
	servers_begin(m);
	m->phase = BEGINS;
	put_all(m, &seen);
	m->phase = LIVE;
}

static void child(struct applet *applet, pid_t pid, int status)
{
	(void)status;
	if (is_manager(applet) && applet->manager)
		tally_reap(applet->manager->tally, pid);
}

static void reload(struct applet *applet)
{
	struct seen seen;

	if (!is_manager(applet))
		return;
	if (!applet->settings.ports_read)
		return;
	put_all(applet->manager, &seen);
	remove_unseen(applet->manager, &seen);
	log_info("reloaded: %u ports", applet->manager->ports->count);
}

static void end(struct applet *applet)
{
	struct manager *m = applet->manager;

	if (!is_manager(applet) || !m)
		return;
	if (m->servers)
		servers_close(m);
	if (m->inbox.take)
		inbox_close(&m->inbox);
	if (m->ports)
		ports_close(m->ports);
	if (m->tally)
		tally_close(m->tally);
	free(m->workdir);
	free(m->address);
	free(m);
	applet->manager = NULL;
}

const struct applet_part manager_part = {
	.bound = bound,
	.begin = begin,
	.child = child,
	.reload = reload,
	.end = end,
};

/* Services are not made from the settings: ports.c makes them. */
static unsigned count(const struct settings *settings)
{
	(void)settings;
	return 0;
}

int manager_main(int argc, char **argv)
{
	static const struct applet_kind kind = {
		.program = PROGRAM_MANAGER,
		.role = &manager_role,
		.descriptors = DESCRIPTORS,
		.count = count,
	};

	return applet_run(&kind, argc, argv);
}
