/*
 * See ports.h. To replace a port, a new service takes the old one's listeners over before the old
 * one ends: nobody who connects meanwhile is refused, and nobody else can take the port. Only one
 * that is to listen at other addresses stops for that moment.
 */
#include "applets/ports.h"

#include "core/log.h"
#include "net/users.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { FAST_OPEN = 1, NO_DELAY = 2, SPARE = 512 /* descriptors that ports leave to connections */ };

struct ports *ports_open(struct applet *applet, struct tally *tally)
{
	const struct settings *settings = &applet->settings;
	struct ports *ports = calloc(1, sizeof *ports);
	char text[ENDPOINT_TEXT];

	if (!ports)
		return NULL;
	ports->applet = applet;
	ports->tally = tally;
	for (unsigned i = 0; i < 4; i++) {
		ports->sockets[i] = settings->socket;
		ports->sockets[i].fast_open = i & FAST_OPEN;
		ports->sockets[i].no_delay = i & NO_DELAY;
	}
	for (unsigned i = 0; i < settings->top.servers; i++) {
		const struct endpoint *at = &settings->top.server[i];
		const char *why = applet_resolve(at, &ports->at[ports->at_count]);

		if (why)
			log_warn("cannot listen on %s: %s", endpoint_print(at, text, sizeof text),
				 why);
		else
			ports->at_count++;
	}
	if (ports->at_count == 0)
		die("failed to listen on any address");
	return ports;
}

/* --- making one */

static uint8_t mode_of(const struct ports *ports, const struct settings_place *place)
{
	return place->mode ? place->mode - 1 : ports->applet->settings.mode;
}

static const struct socket_options *sockets_of(const struct ports *ports,
					       const struct settings_place *place)
{
	const struct socket_options *all = &ports->applet->settings.socket;
	bool fast_open = place->fast_open ? place->fast_open - 1 : all->fast_open;
	bool no_delay = place->no_delay ? place->no_delay - 1 : all->no_delay;

	return &ports->sockets[(fast_open ? FAST_OPEN : 0) | (no_delay ? NO_DELAY : 0)];
}

static void free_port(struct port *port)
{
	if (port->service.key.users)
		users_close(port->service.key.users);
	wire_key_wipe(&port->service.key);
	if (port->password)
		sodium_memzero(port->password, strlen(port->password));
	free(port->password);
	free(port->plugin);
	free(port->own);
	free(port);
}

static void gone(struct service *service)
{
	free_port(container_of(service, struct port, service));
}

/* The plugin with its options, to be compared. */
static char *plugin_of(const struct settings_place *place)
{
	char *text;

	if (asprintf(&text, "%u %s;%s", place->plugin_mode, place->plugin,
		     place->plugin_opts ? place->plugin_opts : "") < 0)
		return NULL;
	return text;
}

static bool same_plugin(const struct port *port, const struct settings_place *place)
{
	char *plugin = place->plugin ? plugin_of(place) : NULL;
	bool same = plugin && port->plugin ? !strcmp(plugin, port->plugin)
					   : !place->plugin && !port->plugin;

	free(plugin);
	return same;
}

struct port *ports_make(struct ports *ports, struct settings_place *place, bool configured)
{
	struct port *port = calloc(1, sizeof *port);
	struct service *service;

	if (!port)
		return NULL;
	service = &port->service;
	applet_fill(ports->applet, service);
	service->sockets = sockets_of(ports, place);
	service->traffic = tally_of(ports->tally, place->server_port);
	service->gone = gone;
	port->number = place->server_port;
	port->mode = mode_of(ports, place);
	port->configured = configured;
	port->method = place->method;
	port->password = strdup(place->password ? place->password : "");
	port->own_count = place->servers;
	if (place->plugin)
		port->plugin = plugin_of(place);
	if (place->servers)
		port->own = malloc(place->servers * sizeof *port->own);
	if (place->users)
		service->key.users = applet_users(place);
	if (!port->password || (place->plugin && !port->plugin) || (place->servers && !port->own) ||
	    (place->users && !service->key.users)) {
		free_port(port);
		return NULL;
	}
	if (place->servers)
		memcpy(port->own, place->server, place->servers * sizeof *port->own);
	place->key.users = service->key.users;
	service->key = place->key;
	memset(&place->key, 0, sizeof place->key); /* it is ours now, with what hangs on it */
	applet_lend(ports->applet, &service->key);
	if (service_init(service) == 0)
		return port;
	free_port(port);
	return NULL;
}

/* --- binding one */

/* An address that this machine does not have, or not now, is passed over if there are others. */
static bool is_no_address(int error)
{
	return error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
}

/* The system gives the lowest number that is free. */
static bool is_short(const struct ports *ports, const struct port *port, bool datagrams)
{
	const struct service *service = &port->service;
	unsigned long limit = ports->applet->descriptors;
	int fd = datagrams ? service->datagrams[service->datagram_count - 1].source.fd
			   : service->listeners[service->listener_count - 1].source.fd;

	return (unsigned long)fd >= limit - (limit > 8 * SPARE ? SPARE : limit / 8);
}

static const char *const words[] = { "tcp server listening at", "udp server listening at" };

/* Listen for connections or for datagrams on each address; 0, or the errno. */
static int bind_each(const struct ports *ports, struct port *port, bool datagrams, bool aloud)
{
	unsigned n = port->own ? port->own_count : ports->at_count, could = 0;
	struct endpoint at[SETTINGS_SERVERS];
	char text[ENDPOINT_TEXT];
	int error = EADDRNOTAVAIL;

	memcpy(at, port->own ? port->own : ports->at, n * sizeof at[0]);
	for (unsigned i = 0; i < n; i++)
		at[i].port = port->number;
	for (unsigned i = 0; i < n; i++) {
		bool only6 = applet_v6only(&at[i], at, n);
		int result = datagrams ? service_listen_datagrams(&port->service, &at[i], only6)
				       : service_listen(&port->service, &at[i], only6);

		endpoint_print(&at[i], text, sizeof text);
		if (result == 0 && is_short(ports, port, datagrams))
			return EMFILE;
		if (result == 0) {
			if (aloud)
				log_info("%s %s", words[datagrams], text);
			could++;
			continue;
		}
		error = errno;
		if (error == EMFILE || error == ENFILE)
			return error; /* which is no matter of this address */
		log_warn("cannot listen on %s: %s", text, strerror(error));
		if (!is_no_address(error))
			return error;
	}
	return could > 0 ? 0 : error;
}

static bool wants(const struct port *port, bool datagrams)
{
	return port->mode != (datagrams ? MODE_TCP_ONLY : MODE_UDP_ONLY);
}

static unsigned has(const struct port *port, bool datagrams)
{
	return datagrams ? port->service.datagram_count : port->service.listener_count;
}

/* Take over what the old one has and the new one wants. */
static void take_over(struct port *old, struct port *fresh)
{
	for (int datagrams = 0; datagrams < 2; datagrams++)
		if (has(old, datagrams) && wants(fresh, datagrams))
			service_hand_over(&old->service, &fresh->service, datagrams);
}

/* Bind what is wanted and missing: 0, or the errno. Datagrams first: whoever sees the port listen
 * may send them at once. */
static int complete(const struct ports *ports, struct port *port)
{
	int error = 0;

	for (int datagrams = 1; !error && datagrams >= 0; datagrams--)
		if (wants(port, datagrams) && !has(port, datagrams))
			error = bind_each(ports, port, datagrams, true);
	if (!error && service_start(&port->service) < 0)
		error = errno;
	return error;
}

/* What it took over goes back; the rest is closed. */
static void give_back(struct port *old, struct port *fresh, const bool took[2])
{
	for (int datagrams = 0; datagrams < 2; datagrams++)
		if (took[datagrams])
			service_hand_over(&fresh->service, &old->service, datagrams);
	service_start(&old->service);
}

static bool same_endpoint(const struct endpoint *a, const struct endpoint *b)
{
	return a->type == b->type && a->len == b->len && !memcmp(a->host, b->host, a->len);
}

static bool same_addresses(const struct port *port, const struct endpoint *own, unsigned n)
{
	for (unsigned i = 0; i < n && i < port->own_count; i++)
		if (!same_endpoint(&port->own[i], &own[i]))
			return false;
	return port->own_count == n;
}

static void say_shortage(const struct ports *ports, int error)
{
	if (error == EMFILE || error == ENFILE)
		log_error("no descriptor is left for another port: %u ports are served under a "
			  "limit of %lu open files (see nofile)",
			  ports->count, ports->applet->descriptors);
}

static void drop(struct ports *ports, struct port *port)
{
	ports->all[port->number] = NULL;
	ports->count--;
	service_end(&port->service);
}

/* Listen again where it has just been closed. What was closed may be in the reactor's queue for
 * this turn, and stays as long as `fresh`, which never listened. */
static void listen_again(struct ports *ports, struct port *old, struct port *fresh,
			 const unsigned had[2])
{
	service_free(&fresh->service);
	for (int datagrams = 0; datagrams < 2; datagrams++)
		service_hand_over(&old->service, &fresh->service, datagrams);
	if (complete(ports, old) == 0 && had[0] == has(old, false) && had[1] == has(old, true))
		return;
	log_error("port %u is lost: it cannot listen again where it did", old->number);
	drop(ports, old);
}

/* Listen at other addresses than `old`, which may be in the way: it stops listening, and begins
 * again if they cannot be had. */
static int move(struct ports *ports, struct port *old, struct port *fresh)
{
	const unsigned had[2] = { has(old, false), has(old, true) };
	int error;

	service_close(&old->service);
	error = complete(ports, fresh);
	if (error) {
		service_close(&fresh->service);
		listen_again(ports, old, fresh, had);
	}
	return error;
}

/* Listen where `old` does. */
static int succeed(const struct ports *ports, struct port *old, struct port *fresh)
{
	bool took[2] = { has(old, false) && wants(fresh, false),
			 has(old, true) && wants(fresh, true) };
	int error;

	take_over(old, fresh);
	error = complete(ports, fresh);
	if (error)
		give_back(old, fresh, took);
	return error;
}

static int settle(struct ports *ports, struct port *old, struct port *fresh)
{
	if (!old)
		return complete(ports, fresh);
	if (same_addresses(old, fresh->own, fresh->own_count))
		return succeed(ports, old, fresh);
	return move(ports, old, fresh);
}

/* Put `fresh` in the place of `old` (NULL: none). */
static enum port_result replace(struct ports *ports, struct port *old, struct port *fresh)
{
	int error = settle(ports, old, fresh);

	if (error) {
		service_end(&fresh->service);
		say_shortage(ports, error);
		errno = error;
		return PORT_TAKEN;
	}
	ports->count += old ? 0 : 1;
	ports->all[fresh->number] = fresh;
	if (old)
		service_end(&old->service);
	return PORT_OK;
}

/* --- the ways in */

bool ports_is_same(const struct ports *ports, const struct port *port,
		   const struct settings_place *place)
{
	const struct wire_key *key = &port->service.key;

	return port->method == place->method && port->mode == mode_of(ports, place) &&
	       !strcmp(port->password, place->password ? place->password : "") &&
	       key->key_len == place->key.key_len &&
	       !sodium_memcmp(key->key, place->key.key, sizeof key->key) &&
	       port->service.sockets == sockets_of(ports, place) &&
	       same_addresses(port, place->server, place->servers) && same_plugin(port, place) &&
	       !key->users == !place->users;
}

/* Who is not in the table any more is cut off. */
static void change_users(struct port *port, struct users *fresh)
{
	struct service *service = &port->service;

	service->key.users = users_replace(service->key.users, fresh);
	engine_cut(service->engine, service, true);
}

enum port_result ports_put(struct ports *ports, struct settings_place *place, bool configured)
{
	struct port *old = ports->all[place->server_port], *fresh;

	for (unsigned i = 0; i < place->servers; i++) {
		if (place->server[i].type != ENDPOINT_NAME)
			continue;
		log_error("port %u: %s is no address to listen at", place->server_port,
			  place->server[i].host);
		return PORT_FAILED;
	}
	if (old && ports_is_same(ports, old, place)) {
		struct users *users = place->users ? applet_users(place) : NULL;

		old->configured |= configured;
		if (users)
			change_users(old, users);
		return place->users && !users ? PORT_FAILED : PORT_OK;
	}
	fresh = ports_make(ports, place, configured);
	if (!fresh) {
		log_error("port %u: no memory for it", place->server_port);
		return PORT_FAILED;
	}
	return replace(ports, old, fresh);
}

void ports_discard(struct port *port)
{
	service_end(&port->service);
}

bool ports_are_free(const struct ports *ports, struct port *port)
{
	int error = 0;

	for (int datagrams = 0; !error && datagrams < 2; datagrams++)
		if (wants(port, datagrams))
			error = bind_each(ports, port, datagrams, false);
	service_close(&port->service);
	service_free(&port->service);
	return !error;
}

void ports_exchange(struct ports *ports, struct port *port)
{
	struct port **at = &ports->all[port->number];

	if (*at)
		ports_discard(*at);
	else
		ports->count++;
	*at = port;
}

bool ports_remove(struct ports *ports, uint16_t number)
{
	struct port *port = ports->all[number];

	if (!port)
		return false;
	drop(ports, port);
	*tally_of(ports->tally, number) = (struct traffic){ 0, 0 };
	return true;
}

enum port_result ports_add_user(struct ports *ports, uint16_t number, const char *name,
				const unsigned char *key)
{
	struct port *port = ports->all[number];
	struct wire_key *service = port ? &port->service.key : NULL;
	struct users *fresh;

	if (!port || !service->users)
		return PORT_FAILED;
	fresh = users_copy(service->users, name, service->key_len);
	if (!fresh)
		return PORT_FAILED;
	if (users_add(fresh, name, key, service->key_len) != USERS_ADDED) {
		users_close(fresh);
		return PORT_FAILED;
	}
	change_users(port, fresh);
	return PORT_OK;
}

enum port_result ports_remove_user(struct ports *ports, uint16_t number, const char *name)
{
	struct port *port = ports->all[number];
	struct users *users = port ? port->service.key.users : NULL, *fresh;

	if (!users)
		return PORT_FAILED;
	fresh = users_copy(users, name, port->service.key.key_len);
	if (!fresh || users_count(fresh) == users_count(users)) {
		if (fresh)
			users_close(fresh);
		return PORT_FAILED;
	}
	change_users(port, fresh);
	return PORT_OK;
}

void ports_close(struct ports *ports)
{
	for (unsigned i = 0; i < 1 << 16; i++)
		if (ports->all[i])
			service_end(&ports->all[i]->service);
	reactor_turn(0); /* buries them */
	free(ports);
}
