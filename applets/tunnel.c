/*
 * ss-tunnel: what comes to its port goes to one fixed target, through a shadowsocks server. Nothing
 * is asked and nothing is answered: TCP as it is, datagrams as they are.
 */
#include "applets/applet.h"
#include "net/session.h"

static enum step take_target(struct session *s)
{
	const struct settings *settings = s->service->own;

	s->target = settings->tunnel;
	session_trust(s);
	return DONE;
}

static bool datagram_target(struct service *service, const struct datagram *piece,
			    unsigned char **bytes, size_t *n, struct endpoint *target)
{
	const struct settings *settings = service->own;

	(void)piece, (void)bytes, (void)n;
	*target = settings->tunnel;
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

int tunnel_main(int argc, char **argv)
{
	static const struct applet_kind kind = {
		.program = PROGRAM_TUNNEL,
		.role = &tunnel_role,
		.listening = "listening at",
		.listening_udp = "UDP relay enabled at",
		.configure = client_configure,
		.listen_on = client_listen_on,
	};

	return applet_run(&kind, argc, argv);
}
