/*
 * Whoever serves: a reactor, the services, the clock of what they hold. Called by applet.c.
 */
#include "applets/running.h"

#include "core/log.h"
#include "core/reactor.h"
#include "net/replay.h"
#include "net/resolve.h"

#include <errno.h>
#include <string.h>

void applet_report(const struct applet *applet)
{
	uint32_t salts = replay_count(applet->replay);

	if (applet->packet_replay)
		salts += replay_count(applet->packet_replay);
	engine_report(&applet->engine, salts, applet->salts);
}

static void end(struct applet *applet)
{
	for (unsigned i = 0; i < applet->service_count; i++)
		service_close(&applet->services[i]);
	engine_close(&applet->engine);
	resolve_close();
	reactor_close();
}

int applet_serve(struct applet *applet, void (*started)(struct applet *))
{
	for (unsigned i = 0; i < applet->service_count; i++)
		if (service_start(&applet->services[i]) < 0)
			die("cannot watch the listeners: %s", strerror(errno));
	started(applet);
	reactor_run();
	end(applet);
	return 0;
}
