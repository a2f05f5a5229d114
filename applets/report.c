/*
 * ss-server's reports to the manager that started it (--manager-address): every five seconds, and
 * for each port, one datagram with what it has passed since the start, as shadowsocks-libev sends
 * it.
 */
#include "applets/inbox.h"
#include "applets/running.h"
#include "applets/workdir.h"
#include "core/fd.h"
#include "core/log.h"
#include "net/socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVERY = 5000 /* ms */ };

struct reports {
	struct applet *applet;
	struct timer timer;
	struct sender to;
	int fd;
	char path[40]; /* of our end; or empty */
};

static void send_one(const struct reports *r, unsigned i)
{
	struct traffic traffic = applet_traffic(r->applet, i);
	const struct settings_place *place = settings_place(&r->applet->settings, i);
	char text[64];
	int n = snprintf(text, sizeof text, "stat: {\"%u\":%" PRIu64 "}", place->server[0].port,
			 traffic.up + traffic.down);

	/* With the NUL, as they are used to. */
	if (sendto(r->fd, text, (size_t)n + 1, MSG_NOSIGNAL, (const struct sockaddr *)&r->to.at,
		   r->to.len) < 0)
		log_debug("the manager does not hear of port %u: %s", place->server[0].port,
			  strerror(errno));
}

static void send_all(struct timer *timer)
{
	struct reports *r = container_of(timer, struct reports, timer);

	for (unsigned i = 0; i < r->applet->service_count; i++)
		send_one(r, i);
	reactor_after(timer, EVERY);
}

/* Our end of a Unix socket has the name that it always had. If that cannot be had, it has none: no
 * answer comes. */
static int open_path(struct reports *r)
{
	struct sender at;
	int fd;

	snprintf(r->path, sizeof r->path, "/tmp/shadowsocks.%u",
		 settings_place(&r->applet->settings, 0)->server[0].port);
	unlink(r->path);
	if (inbox_path(&at, r->path)) {
		fd = socket_mailbox((const struct sockaddr *)&at.at, at.len);
		if (fd >= 0)
			return fd;
	}
	r->path[0] = 0;
	return socket_mailbox((const struct sockaddr *)&r->to.at, 0);
}

static int open_end(struct reports *r, const char *address)
{
	struct endpoint endpoint;
	const char *why;

	if (!workdir_is_port(address, &endpoint)) {
		if (!inbox_path(&r->to, address))
			die("the path of the manager's socket is too long: %.200s", address);
		return open_path(r);
	}
	why = applet_resolve(&endpoint, &endpoint);
	if (why)
		die("invalid manager address %.300s: %s", address, why);
	r->to.len = endpoint_socket(&endpoint, &r->to.at);
	return socket_mailbox((const struct sockaddr *)&r->to.at, 0);
}

static void begin(struct applet *applet)
{
	const char *address = applet->settings.manager_address;
	struct reports *r;

	if (applet->kind->program != PROGRAM_SERVER || !address)
		return;
	r = applet->reports = calloc(1, sizeof *r);
	if (!r)
		die("no memory for reports");
	r->applet = applet;
	r->fd = open_end(r, address);
	if (r->fd < 0)
		die("cannot report to %s: %s", address, strerror(errno));
	timer_init(&r->timer, send_all);
	reactor_after(&r->timer, EVERY);
}

static void end(struct applet *applet)
{
	struct reports *r = applet->reports;

	if (!r)
		return;
	if (r->timer.fire) {
		reactor_cancel(&r->timer);
		close(r->fd);
	}
	if (r->path[0])
		unlink(r->path);
	free(r);
	applet->reports = NULL;
}

const struct applet_part report_part = {
	.begin = begin,
	.end = end,
};
