/*
 * ss-tunnel: what comes to a port of it goes to one fixed target, through a shadowsocks server.
 * Nothing is asked and nothing is answered: TCP as it is, datagrams as they are. Each tunnel is a
 * service of its own.
 */
#include "applets/applet.h"
#include "net/session.h"

static const struct endpoint *target_of(const struct service *service)
{
	const struct settings_tunnel *tunnel = service->own;

	return &tunnel->target;
}

static enum step take_target(struct session *s)
{
	s->target = *target_of(s->service);
	session_trust(s);
	return DONE;
}

static bool datagram_target(struct service *service, const struct datagram *piece,
			    unsigned char **bytes, size_t *n, struct endpoint *target)
{
	(void)piece, (void)bytes, (void)n;
	*target = *target_of(service);
	return true;
}

static size_t datagram_dress(const struct endpoint *source, unsigned char *to)
{
	(void)source, (void)to;
	return 0;
}

static const struct role tunnel_role = {
	.name = "ss-tunnel",
	.target = take_target,
	.near_sealed = false,
	.datagram_target = datagram_target,
	.datagram_dress = datagram_dress,
};

static unsigned count(const struct settings *settings)
{
	return settings->tunnel_count;
}

static void configure(struct service *service, const struct settings *settings, unsigned i)
{
	client_configure(service, settings, i);
	service->own = &settings->tunnels[i];
}

static unsigned listen_on(const struct service *service, const struct settings *settings,
			  unsigned i, const struct endpoint **at)
{
	(void)service;
	*at = &settings->tunnels[i].local;
	return 1;
}

int tunnel_main(int argc, char **argv)
{
	static const struct applet_kind kind = {
		.program = PROGRAM_TUNNEL,
		.role = &tunnel_role,
		.listening = "listening at",
		.listening_udp = "UDP relay enabled at",
		.count = count,
		.configure = configure,
		.listen_on = listen_on,
	};

	return applet_run(&kind, argc, argv);
}
