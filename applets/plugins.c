/*
 * The plugins of a program: one for each place of the settings that has one. They are started when
 * privileges are dropped; nothing is served before they are ready, or have kept everybody waiting
 * for too long. What a plugin is, is in net/plugin.c.
 */
#include "applets/running.h"

#include "core/log.h"
#include "core/process.h"
#include "core/reactor.h"
#include "net/plugin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PATIENCE = 10000, /* ms that all of them have to become ready */
	PRIVILEGED = 1024 /* ports below are for root */
};

struct plugin *applet_plugin(const struct applet *applet, unsigned place)
{
	return place < applet->plugin_count && applet->plugins[place].program
		       ? &applet->plugins[place]
		       : NULL;
}

/* The mode of the i-th place: applet_mode() is of services, and a client has one for all places. */
static enum mode mode_of(const struct applet *applet, unsigned i)
{
	return applet_mode(applet, applet->kind->role->near_sealed ? i : 0);
}

/* Of the program's traffic, what goes through it. */
static void make(struct applet *applet, unsigned i)
{
	const struct settings_place *place = settings_place(&applet->settings, i);
	struct plugin *plugin = &applet->plugins[i];
	enum mode all = mode_of(applet, i), its = (enum mode)place->plugin_mode;

	*plugin = (struct plugin){
		.own = applet,
		.options = place->plugin_opts,
		.servers = place->server,
		.server_count = place->servers,
		.server = applet->kind->role->near_sealed,
		.tcp = all != MODE_UDP_ONLY && its != MODE_UDP_ONLY,
		.udp = all != MODE_TCP_ONLY && its != MODE_TCP_ONLY,
	};
	if (!place->plugin)
		return;
	if (!plugin->tcp && !plugin->udp) {
		log_warn("the plugin %s is not started: by mode and plugin_mode nothing goes "
			 "through it",
			 place->plugin);
		return;
	}
	plugin->program = place->plugin;
	if (plugin_open(plugin) < 0)
		die("no port for the plugin %s: %s", plugin->program, strerror(errno));
}

void applet_make_plugins(struct applet *applet)
{
	const struct settings_place *place;
	unsigned n = 0;
	bool any = false;

	for (; (place = settings_place(&applet->settings, n)); n++)
		any |= place->plugin != NULL;
	if (!any || applet->kind->program == PROGRAM_MANAGER) /* whose ports' servers have them */
		return;
	applet->plugins = calloc(n, sizeof(*applet->plugins));
	if (!applet->plugins)
		die("no memory for the plugins");
	applet->plugin_count = n;
	for (unsigned i = 0; i < n; i++)
		make(applet, i);
}

/* Before privileges are dropped. */
static void bound(struct applet *applet)
{
	const struct plugin *plugin;

	for (unsigned i = 0; i < applet->plugin_count; i++)
		if ((plugin = applet_plugin(applet, i)) && plugin->server &&
		    plugin->servers[0].port < PRIVILEGED)
			process_keep_ports();
}

static bool are_starting(const struct applet *applet)
{
	bool any = false;

	for (unsigned i = 0; i < applet->plugin_count; i++) {
		if (applet->plugins[i].state == PLUGIN_FAILED)
			die("%s", applet->plugins[i].why);
		any |= applet->plugins[i].state == PLUGIN_STARTING;
	}
	return any;
}

/* It was not ready while we waited, and never will be. */
static void failed_late(struct plugin *plugin)
{
	struct applet *applet = plugin->own;

	if (plugin->state != PLUGIN_FAILED)
		return;
	log_error("%s", plugin->why);
	applet->status = 255;
	crew_stop(applet);
}

static void begin(struct applet *applet)
{
	uint64_t began = reactor_now();
	struct plugin *plugin;

	for (unsigned i = 0; i < applet->plugin_count; i++) {
		if (!(plugin = applet_plugin(applet, i)))
			continue;
		log_info("plugin \"%s\" enabled", plugin->program);
		plugin_start(plugin);
	}
	while (are_starting(applet) && !reactor_stopping() && reactor_now() - began < PATIENCE)
		reactor_turn(PATIENCE);
	for (unsigned i = 0; i < applet->plugin_count; i++) {
		applet->plugins[i].changed = failed_late;
		if (applet->plugins[i].state == PLUGIN_STARTING && !reactor_stopping())
			log_warn("the plugin %s does not listen after %d s: going on",
				 applet->plugins[i].program, PATIENCE / 1000);
	}
}

static void reap(struct applet *applet, pid_t pid, int status)
{
	(void)applet;
	child_reap(pid, status);
}

static void end(struct applet *applet)
{
	for (unsigned i = 0; i < applet->plugin_count; i++) {
		struct plugin *plugin = &applet->plugins[i];

		plugin->changed = NULL;
		if (plugin->state != PLUGIN_OFF)
			reactor_cancel(&plugin->timer);
	}
	child_stop_all();
}

const struct applet_part plugins_part = {
	.bound = bound,
	.begin = begin,
	.child = reap,
	.end = end,
};
