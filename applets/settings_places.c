/*
 * Where and with which keys: what must be there of each place, and what is made of it once all has
 * been read. Called by settings_read.c; the keys it makes belong to struct settings.
 */
#include "applets/settings.h"

#include "applets/secret.h"
#include "applets/settings_table.h"
#include "applets/settings_value.h"
#include "core/log.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- which places there are */

static bool top_counts(const struct settings *s)
{
	return s->top.servers || !s->element_count || s->program == PROGRAM_MANAGER;
}

const struct settings_place *settings_place(const struct settings *s, unsigned i)
{
	if (top_counts(s) && i-- == 0)
		return &s->top;
	return i < s->enabled_count ? &s->elements[s->enabled[i]] : NULL;
}

/* To work on them while they are being filled in. */
static struct settings_place *place_at(struct settings *s, unsigned i)
{
	return (struct settings_place *)settings_place(s, i);
}

/* --- what must be there */

static bool has_ports(const struct settings_place *place)
{
	bool all = place->servers;

	for (unsigned i = 0; i < place->servers; i++)
		all = all && place->server[i].port;
	return all || place->server_port;
}

static bool lacks_secret(const struct settings_place *place)
{
	return !place->password && !place->key_text && !place->kept &&
	       secret_family(place->method) != SECRET_NONE;
}

/* Of the top level `text` is missing, of an element `own`. */
static int lacks(const struct settings *s, const struct settings_place *place, const char *text,
		 const char *own, struct options_reason *reason)
{
	if (place == &s->top)
		return settings_fail(reason, OPTIONS_USAGE, "%s", text);
	settings_fail(reason, OPTIONS_FATAL, "%s", own);
	return settings_concerns(s, place, &place->at, reason);
}

/* The top level of a manager says what its ports have in common, and is none. */
static bool is_ports(const struct settings *s, const struct settings_place *place)
{
	return s->program == PROGRAM_MANAGER && place != &s->top;
}

/* In parentheses are shadowsocks-libev's words, which tools may look for. */
static int check_address(struct settings *s, struct settings_place *place,
			 struct options_reason *reason)
{
	if ((s->program & PROGRAM_CLIENTS) && !place->servers)
		return lacks(s, place,
			     "no server is given: use -s or the key 'server' (remote_num is 0)",
			     "no server is given: it needs a key 'server' (remote_num is 0)",
			     reason);
	if (is_ports(s, place) && !place->server_port)
		return lacks(s, place, NULL, "it needs a key 'server_port'", reason);
	if ((s->program & PROGRAM_RELAYS) && !has_ports(place))
		return lacks(s, place,
			     "no server port is given: use -p or the key 'server_port' "
			     "(remote_port is NULL)",
			     "no server port is given: it needs a key 'server_port', or the top "
			     "level one, or -p (remote_port is NULL)",
			     reason);
	return 0;
}

static int check_secret(struct settings *s, struct settings_place *place,
			struct options_reason *reason)
{
	if (!(s->program & PROGRAM_RELAYS || is_ports(s, place)) || !lacks_secret(place))
		return 0;
	return lacks(s, place,
		     "no password or key is given: use -k, --key, the keys 'password' or 'key', "
		     "SS_PASSWORD or PASSWORD_FILE (both password and key are NULL)",
		     "no password or key is given: it needs a key 'password' or 'key' of its own; "
		     "those of the top level, of options and of the environment are not for it "
		     "(both password and key are NULL)",
		     reason);
}

static int check_near(struct settings *s, struct options_reason *reason)
{
	bool several = s->tunnel_count && !s->raw.tunnel.type; /* which have ports of their own */

	if ((s->program & PROGRAM_CLIENTS) && !s->raw.local_port && !s->local.port && !several)
		return settings_fail(
			reason, OPTIONS_USAGE,
			"no local port is given: use -l or the key 'local_port' (local_port "
			"is NULL)");
	if ((s->program & PROGRAM_TUNNEL) && !s->raw.tunnel.type && !s->tunnel_count)
		return settings_fail(
			reason, OPTIONS_USAGE,
			"no target is given: use -L or the keys 'tunnel_address' or 'tunnels' "
			"(tunnel_addr is NULL)");
	return 0;
}

static char *copy(const char *text, bool *failed)
{
	char *own = text ? strdup(text) : NULL;

	*failed |= text && !own;
	return own;
}

/* A plugin of the top level is one for all, unless the top level is a place itself. */
static int inherit_plugin(struct settings *s, struct settings_place *place)
{
	bool failed = false;

	if (place->plugin || top_counts(s))
		return 0;
	place->plugin = copy(s->top.plugin, &failed);
	if (!place->plugin_opts)
		place->plugin_opts = copy(s->top.plugin_opts, &failed);
	place->plugin_mode = s->top.plugin_mode;
	return failed ? -1 : 0;
}

/* Elements have what they lack from the top level, but not its password: who puts a key into a file
 * with many means one place by it. */
static int inherit(struct settings *s, struct options_reason *reason)
{
	for (unsigned i = 0; i < s->element_count; i++) {
		if (!s->elements[i].method)
			s->elements[i].method = s->top.method;
		if (!s->elements[i].server_port)
			s->elements[i].server_port = s->top.server_port;
		if (inherit_plugin(s, &s->elements[i]) < 0)
			return settings_fail(reason, OPTIONS_FATAL,
					     "the settings do not fit into memory");
	}
	return 0;
}

/* Look at each place: 0, or -1 after a fault. */
static int each_place(struct settings *s,
		      int (*look)(struct settings *, struct settings_place *,
				  struct options_reason *),
		      struct options_reason *reason)
{
	int result = 0;

	for (unsigned i = 0; settings_place(s, i); i++)
		if (look(s, place_at(s, i), reason) < 0) {
			result = -1;
			if (!settings_told(s, reason))
				break;
		}
	return result;
}

static int check_addresses(struct settings *s, struct options_reason *reason)
{
	return each_place(s, check_address, reason);
}

static int check_secrets(struct settings *s, struct options_reason *reason)
{
	return each_place(s, check_secret, reason);
}

int places_complete(struct settings *s, struct options_reason *reason)
{
	static const settings_step steps[] = { check_addresses, check_near, check_secrets, NULL };

	if (inherit(s, reason) < 0)
		return -1;
	if (!settings_place(s, 0))
		return settings_fail(reason, OPTIONS_FATAL, "all servers are disabled");
	return settings_steps(s, steps, reason);
}

/* --- what follows */

static void fill_servers(const struct settings *s, struct settings_place *place)
{
	if (!place->servers && !is_ports(s, place)) /* those listen where the manager does */
		endpoint_parse(&place->server[place->servers++], "0.0.0.0", 0);
	for (unsigned i = 0; i < place->servers; i++) {
		if (!place->server[i].port)
			place->server[i].port = place->server_port;
	}
}

static const struct wire_key *key_of(const struct settings_place *place)
{
	return place->kept ? place->kept : &place->key;
}

static bool is_salted(const struct settings_place *place)
{
	return key_of(place)->format && secret_family(place->method) >= SECRET_SIP004;
}

/* How a client's requests look, into the key. False if nothing of it suits this method. */
static void dress_key(const struct settings *s, struct settings_place *place)
{
	if (is_salted(place)) {
		memcpy(place->key.prefix, s->prefix, s->prefix_len);
		place->key.prefix_len = s->prefix_len;
		place->key.printable_salt = s->printable_salt;
	}
	if (s->padded && secret_family(place->method) == SECRET_SIP022) {
		place->key.padding_min = s->padding_min;
		place->key.padding_max = s->padding_max;
	}
}

/* Whoever asks for a look must get it, or hear that it cannot be. */
static int check_looks(const struct settings *s, struct options_reason *reason)
{
	bool salted = false, padded = false;

	for (unsigned i = 0; settings_place(s, i); i++) {
		const struct settings_place *place = settings_place(s, i);

		salted |= is_salted(place);
		padded |= secret_family(place->method) == SECRET_SIP022;
		if (is_salted(place) && s->prefix_len > key_of(place)->salt_len / 2)
			return settings_fail(
				reason, OPTIONS_FATAL,
				"key 'prefix' may have %d bytes at most with %s, half of its "
				"salt, not %d",
				key_of(place)->salt_len / 2, place->method->name, s->prefix_len);
	}
	if ((s->prefix_len || s->printable_salt) && !salted)
		return settings_fail(reason, OPTIONS_FATAL,
				     "%s: only AEAD and 2022 methods have salts, %s has none",
				     s->prefix_len ? "key 'prefix'" : "printable_salt",
				     settings_place(s, 0)->method->name);
	if (s->padded && !padded)
		return settings_fail(reason, OPTIONS_FATAL,
				     "padding: only 2022 methods have it, not %s",
				     settings_place(s, 0)->method->name);
	return 0;
}

/* --- the ways in */

/* What is wrong with the secret of a place: say which, and where it came from. */
static int blame_secret(const struct settings *s, const struct settings_place *place,
			struct options_reason *reason)
{
	const struct settings_spot *at = place->key_text ? &place->key_at : &place->password_at;

	if (at->line)
		settings_about(reason, "key '%s'", place->key_text ? "key" : "password");
	else
		settings_about(reason, "%s",
			       place->key_text ? "option --key"
					       : "-k, SS_PASSWORD or PASSWORD_FILE");
	return settings_concerns(s, place, at, reason);
}

/* The plugin as it is found here, as shadowsocks-libev does: the working directory comes before
 * PATH. A daemon will be elsewhere. */
static void find_plugin(struct settings_place *place)
{
	struct stat file;

	if (!place->plugin)
		return;
	if (strchr(place->plugin, '/') ||
	    (stat(place->plugin, &file) == 0 && S_ISREG(file.st_mode) &&
	     access(place->plugin, X_OK) == 0))
		place->plugin = settings_absolute(place->plugin);
}

/* It is told all hosts, but only one port. */
static void warn_of_ports(const struct settings_place *place)
{
	for (unsigned i = 1; place->plugin && i < place->servers; i++)
		if (place->server[i].port != place->server[0].port) {
			log_warn("the plugin %s is told one port for all servers: %u",
				 place->plugin, place->server[0].port);
			return;
		}
}

static int finish(struct settings *s, struct settings_place *place, struct options_reason *reason)
{
	bool server = s->program & (PROGRAM_SERVER | PROGRAM_MANAGER);

	fill_servers(s, place);
	find_plugin(place);
	warn_of_ports(place);
	if (lacks_secret(place))
		return 0; /* the manager's ports have their own */
	if (place->kept && secret_copy(&place->key, place->kept) < 0)
		return settings_fail(reason, OPTIONS_FATAL, "the settings do not fit into memory");
	if (place->kept)
		return places_make_users(s, place, place->kept->method, place->kept, reason);
	if (secret_make(&place->key, place->method, place->password, place->key_text, server,
			reason) < 0)
		return blame_secret(s, place, reason);
	if (places_make_users(s, place, place->method, &place->key, reason) < 0)
		return -1;
	dress_key(s, place);
	return 0;
}

void settings_free_place(const struct settings *s, struct settings_place *place)
{
	struct options o = settings_element(place, s->program, NULL);

	options_free(&o);
	value_free_place(place);
}

int settings_read_place(struct settings *s, struct settings_place *place, const struct json *object,
			struct options_reason *reason)
{
	struct options o = settings_element(place, s->program, reason);
	int result;

	*place = (struct settings_place){ .method = NULL };
	result = options_json(&o, "request", object);
	if (result == 0 && !place->method)
		place->method = s->top.method;
	if (result == 0)
		result = check_address(s, place, reason) < 0 ||
			 check_secret(s, place, reason) < 0 || finish(s, place, reason) < 0;
	if (result)
		settings_free_place(s, place);
	return result ? -1 : 0;
}

int settings_read_port(struct settings *s, unsigned i, struct settings_place *place,
		       struct options_reason *reason)
{
	const struct settings_port *port = &s->port_password[i];

	*place = (struct settings_place){
		.method = s->top.method,
		.server_port = port->port,
		.password = strdup(port->password),
	};
	if (place->password && finish(s, place, reason) == 0)
		return 0;
	if (place->password)
		settings_about(reason, "port %u", (unsigned)port->port);
	else
		settings_fail(reason, OPTIONS_FATAL, "the ports do not fit into memory");
	settings_free_place(s, place);
	return -1;
}

/* Ports have their passwords in another list. */
static int try_ports(struct settings *s, struct options_reason *reason)
{
	struct settings_place place;
	int result = 0;

	for (unsigned i = 0; i < s->ports; i++) {
		if (settings_read_port(s, i, &place, reason) == 0) {
			settings_free_place(s, &place);
			continue;
		}
		result = -1;
		if (!settings_told(s, reason))
			return -1;
	}
	return result;
}

/* Is there a place that this mode does not leave out? */
static bool some_place_does(const struct settings *s, enum mode other)
{
	for (unsigned i = 0; settings_place(s, i); i++)
		if (settings_place(s, i)->mode != other + 1)
			return true;
	return false;
}

/* What a client is to relay, one of its servers must be for. */
static int check_modes(struct settings *s, struct options_reason *reason)
{
	if (!(s->program & PROGRAM_CLIENTS))
		return 0;
	if (s->mode != MODE_UDP_ONLY && !some_place_does(s, MODE_UDP_ONLY))
		return settings_fail(reason, OPTIONS_FATAL,
				     "TCP is to be relayed, and each of the servers is udp_only");
	if (s->mode != MODE_TCP_ONLY && !some_place_does(s, MODE_TCP_ONLY))
		return settings_fail(reason, OPTIONS_FATAL,
				     "UDP is to be relayed, and each of the servers is tcp_only");
	return 0;
}

static int finish_all(struct settings *s, struct options_reason *reason)
{
	return each_place(s, finish, reason);
}

int places_finish(struct settings *s, struct options_reason *reason)
{
	static const settings_step steps[] = { check_modes, finish_all, try_ports, NULL };

	if (settings_steps(s, steps, reason) < 0)
		return -1;
	return check_looks(s, reason);
}

static void forget(char **text)
{
	if (*text)
		sodium_memzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

static void forget_texts(struct settings_place *place)
{
	forget(&place->password);
	forget(&place->key_text);
	for (unsigned i = 0; i < place->user_count; i++)
		forget(&place->users[i].password);
}

void places_forget(struct settings *s)
{
	forget_texts(&s->top);
	if (s->program == PROGRAM_MANAGER) /* it tells its ports' passwords when it is asked */
		return;
	for (unsigned i = 0; i < s->element_count; i++)
		forget_texts(&s->elements[i]);
}

void settings_drop_servers(struct settings *s)
{
	value_free_elements(s);
}

static void exchange(void *a, void *b, size_t n)
{
	unsigned char bytes[sizeof(void *)];

	memcpy(bytes, a, n);
	memcpy(a, b, n);
	memcpy(b, bytes, n);
}

void places_exchange_ports(struct settings *s, struct settings *fresh)
{
	s->ports_read = true;
	exchange(&s->port_password, &fresh->port_password, sizeof s->port_password);
	exchange(&s->ports, &fresh->ports, sizeof s->ports);
	exchange(&s->elements, &fresh->elements, sizeof s->elements);
	exchange(&s->element_count, &fresh->element_count, sizeof s->element_count);
	exchange(&s->enabled, &fresh->enabled, sizeof s->enabled);
	exchange(&s->enabled_count, &fresh->enabled_count, sizeof s->enabled_count);
}

/* --- what is to be said */

void settings_announce(const struct settings *s)
{
	const struct wire_method *worst[2] = { NULL, NULL };

	for (unsigned i = 0; settings_place(s, i); i++) {
		const struct wire_method *method = settings_place(s, i)->method;
		enum secret_family family = secret_family(method);

		if (i == 0 || method != settings_place(s, i - 1)->method)
			log_info("initializing ciphers... %s", method->name);
		if (family <= SECRET_STREAM && !worst[family])
			worst[family] = method;
	}
	if (worst[SECRET_STREAM])
		log_warn("%s is not safe: it has no integrity, so that whoever records a "
			 "connection can have the server decrypt it (redirect attack); use an "
			 "AEAD or a 2022 method",
			 worst[SECRET_STREAM]->name);
	if (worst[SECRET_NONE])
		log_warn("NOTHING IS ENCRYPTED: with the method %s everybody on the way reads "
			 "and changes everything, and everybody may use the server",
			 worst[SECRET_NONE]->name);
}
