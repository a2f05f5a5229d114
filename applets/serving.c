/*
 * Whoever serves, the main process or a worker: names, services, the end of them. Called by
 * applet.c and crew.c.
 */
#include "applets/running.h"

#include "core/log.h"
#include "core/reactor.h"
#include "net/replay.h"
#include "net/resolve.h"
#include "net/users.h"
#include "net/splice.h"

#include <errno.h>
#include <string.h>

enum { USERS_SAID = 100 };

void applet_open_names(const struct applet *applet)
{
	const struct resolve_options names = {
		.servers = applet->settings.nameserver,
		.ipv6_first = applet->settings.ipv6_first,
		/* Rules that turn traffic to us must not turn our own questions. */
		.mark = applet->kind->role->answers_mark,
	};

	if (resolve_open(&names) < 0)
		die("cannot resolve names");
}

void applet_start(struct applet *applet)
{
	/* Here, since no two processes may share one: a client with rules may connect directly. */
	if (applet->acl && !applet->kind->role->near_sealed)
		splice_open(&applet->engine.splice);
	for (unsigned i = 0; i < applet->service_count; i++)
		if (service_start(applet->services[i]) < 0)
			die("cannot watch the listeners: %s", strerror(errno));
}

/* Of each user who has moved something, up to a number that a log bears. */
static void report_users(const struct service *service, unsigned *said)
{
	const struct users *users = service->key.users;
	uint64_t up, down;

	for (size_t i = 0; users && i < users_count(users) && *said < USERS_SAID; i++) {
		const struct user *user = users_at(users, i);

		user_traffic(user, &up, &down);
		if (up == 0 && down == 0)
			continue;
		log_info("user %s: %llu bytes up, %llu down", user->name, (unsigned long long)up,
			 (unsigned long long)down);
		++*said;
	}
}

void applet_report(const struct applet *applet, const struct engine_state *state)
{
	uint32_t salts = replay_count(applet->replay);

	if (applet->packet_replay)
		salts += replay_count(applet->packet_replay);
	engine_report(state, salts, applet->salts);
	for (unsigned i = 0, said = 0; i < applet->service_count; i++)
		report_users(applet->services[i], &said);
}
