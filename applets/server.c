/*
 * ss-server: the near side is sealed; the first opened bytes say where to go (PROTOCOL section 1).
 */
#include "applets/applet.h"
#include "core/log.h"
#include "net/handshake.h"

static const struct role server_role = {
	.name = "ss-server",
	.target = handshake_open,
	.near_sealed = true,
};

static void configure(struct service *service, const struct settings *settings)
{
	service->key = settings_place(settings, 0)->key;
	if (settings_place(settings, 1))
		log_warn("only the first of several servers is served yet");
}

static unsigned listen_on(const struct settings *settings, const struct endpoint **at)
{
	const struct settings_place *place = settings_place(settings, 0);

	*at = place->server;
	return place->servers;
}

int server_main(int argc, char **argv)
{
	static const struct applet_kind kind = {
		.program = PROGRAM_SERVER,
		.role = &server_role,
		.listening = "tcp server listening at",
		.configure = configure,
		.listen_on = listen_on,
	};

	return applet_run(&kind, argc, argv);
}
