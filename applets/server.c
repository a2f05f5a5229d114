/*
 * ss-server: the near side is sealed; the first opened bytes say where to go.
 */
#include "applets/running.h"

#include "applets/secret.h"
#include "core/log.h"
#include "net/handshake.h"
#include "net/users.h"

static const struct role server_role = {
	.name = "ss-server",
	.target = handshake_open,
	.near_sealed = true,
};

/* Where several workers serve, they count together. */
static void count_together(struct users *users, const struct service *service)
{
	size_t without;

	if (!service->engine->ledger)
		return;
	without = users_count_in(users, service->engine->ledger, service->number);
	if (without)
		log_warn("the bytes of %zu users are not counted before a new start", without);
}

/* A table of a place's users; NULL: no memory. */
static struct users *list_users(const struct service *service, const struct settings_place *place)
{
	struct users *users = applet_users(place);

	if (users)
		count_together(users, service);
	return users;
}

static void configure(struct service *service, const struct settings *settings, unsigned i)
{
	const struct settings_place *place = settings_place(settings, i);

	if (secret_copy(&service->key, &place->key) < 0)
		die("no memory for the key of a server");
	if (place->users && !(service->key.users = list_users(service, place)))
		die("no memory for %u users", place->user_count);
}

/* Sessions keep the user they began with. */
static void reload(struct service *const *services, const struct settings *settings)
{
	const struct settings_place *place;
	unsigned count = 0;

	for (unsigned i = 0; (place = settings_place(settings, i)); i++) {
		struct users *fresh = place->users ? list_users(services[i], place) : NULL;

		if (fresh)
			services[i]->key.users = users_replace(services[i]->key.users, fresh);
		else if (place->users)
			log_error("not reloaded: no memory for %u users", place->user_count);
		count += fresh ? place->user_count : 0;
	}
	if (count)
		log_info("reloaded: %u users", count);
}

static unsigned count(const struct settings *settings)
{
	unsigned n = 0;

	while (settings_place(settings, n))
		n++;
	return n;
}

static unsigned listen_on(const struct service *service, const struct settings *settings,
			  unsigned i, const struct endpoint **at)
{
	const struct settings_place *place = settings_place(settings, i);

	(void)service;
	*at = place->server;
	return place->servers;
}

int server_main(int argc, char **argv)
{
	static const struct applet_kind kind = {
		.program = PROGRAM_SERVER,
		.role = &server_role,
		.listening = "tcp server listening at",
		.listening_udp = "udp server listening at",
		.count = count,
		.configure = configure,
		.reload = reload,
		.listen_on = listen_on,
	};

	return applet_run(&kind, argc, argv);
}
