/*
 * ss-ping: one real request through each server of a configuration, or that of a link, and how long
 * its stages took. It is the health check of a container without a shell: with -S it reads what the
 * server itself reads, and asks it as a client would. What a request is, is in probe.c.
 */
#include "applets/applet.h"

#include "applets/probe.h"
#include "applets/secret.h"
#include "core/child.h"
#include "core/log.h"
#include "core/options.h"
#include "core/process.h"
#include "core/reactor.h"
#include "core/slab.h"
#include "net/nameservers.h"
#include "net/plugin.h"

#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
	PATIENCE = 5, /* seconds */
	PATIENCE_MAX = 300,
	WORDS = 20
};

static const char answers_everybody[] = "1.1.1.1:53";

struct ping {
	char *config, *nameserver;
	char *host, *port, *password, *method; /* over what the file says */
	char *link;			       /* an ss:// URL, of argv */
	struct endpoint target;
	uint8_t mode;	  /* enum mode */
	bool server_side; /* the configuration is that of a server */
	bool web;	  /* the target is a web server */
	unsigned patience;
	struct slab leases;
	struct plugin plugin;
};

/* --- options */

static int take_target(struct options *o, const struct option_value *value)
{
	struct endpoint *target = &((struct ping *)o->into)->target;

	if (endpoint_parse(target, value->text, 0) < 0 || !target->port)
		return options_fail(o, "must be an address or a name, a colon and a port");
	return 0;
}

/* clang-format off */
#define FLAG OPTION_FLAG
#define FIELD(type_, field_) .type = OPTION_##type_, .offset = offsetof(struct ping, field_), .programs = 1

static const struct option_row rows[] = {
	{ FLAG("-c FILE", "configuration file of a client, see ss-config(5)"),
	  FIELD(STRING, config), .bits = OPTION_FILLED },
	{ FLAG("-s HOST", "server, instead of a file or over what it says"),
	  FIELD(STRING, host), .bits = OPTION_FILLED },
	{ FLAG("-p PORT", "port of the server"),
	  FIELD(STRING, port), .bits = OPTION_FILLED },
	{ FLAG("-k, --password PASSWORD", "password; better in a file or SS_PASSWORD"),
	  FIELD(STRING, password), .bits = OPTION_SECRET },
	{ FLAG("-m METHOD", "method (chacha20-ietf-poly1305)"),
	  FIELD(STRING, method), .bits = OPTION_FILLED },
	{ FLAG("-S, --server-side", "the file is that of ss-server"),
	  FIELD(BOOL, server_side) },
	{ FLAG("-u", "TCP and UDP"),
	  FIELD(SET, mode), .value = MODE_TCP_AND_UDP },
	{ FLAG("-U", "UDP only"),
	  FIELD(SET, mode), .value = MODE_UDP_ONLY },
	{ FLAG("-L HOST:PORT", "whom to ask through the server (1.1.1.1:53)"),
	  FIELD(CUSTOM, target), .custom = take_target },
	{ FLAG("-w, --web", "that is a web server, not a name server"),
	  FIELD(BOOL, web) },
	{ FLAG("-t SECONDS", "how long a request may take (5)"),
	  FIELD(NUMBER, patience), .range = { 1, PATIENCE_MAX } },
	{ FLAG("--nameserver LIST", "name servers, ip[:port],... (/etc/resolv.conf)"),
	  FIELD(STRING, nameserver), .bits = OPTION_FILLED },
	{ FLAG("-h, --help", "this text"),
	  FIELD(STOP, config), .value = OPTIONS_HELP },
};
/* clang-format on */

static const char *program_name(unsigned program)
{
	(void)program;
	return "ss-ping";
}

static struct options table(struct ping *ping, struct options_reason *reason)
{
	return (struct options){
		.rows = rows,
		.count = sizeof(rows) / sizeof(rows[0]),
		.program_name = program_name,
		.program = 1,
		.into = ping,
		.reason = reason,
	};
}

static void usage(FILE *to)
{
	struct options o = table(NULL, NULL);

	fputs("usage: ss-ping -c FILE [option...]     make a request through the server of FILE\n"
	      "       ss-ping ss://... [option...]    through that of a link\n"
	      "       ss-ping -s HOST -p PORT -k PASSWORD [-m METHOD] [option...]\n\n",
	      to);
	options_help(&o, to);
}

/* The operand. */
static char *find_link(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "ss://", 5) == 0)
			return argv[i];
	return NULL;
}

/* What a client, or the server, would be told: the link is in argv, and is wiped there. */
static void read_settings(struct settings *settings, const struct ping *ping)
{
	struct {
		char option[16], *text;
	} given[] = {
		{ "-l", ping->server_side ? NULL : (char[]){ "1" } }, /* where it would listen */
		{ "-c", ping->config },
		{ "--server-url", ping->link },
		{ "-s", ping->host },
		{ "-p", ping->port },
		{ "-k", ping->password },
		{ "-m", ping->method },
		{ "--nameserver", ping->nameserver },
	};
	char name[] = "ss-ping", *argv[WORDS] = { name };
	int argc = 1;

	for (unsigned i = 0; i < sizeof given / sizeof given[0]; i++)
		if (given[i].text) {
			argv[argc++] = given[i].option;
			argv[argc++] = given[i].text;
		}
	settings_read(settings, ping->server_side ? PROGRAM_SERVER : PROGRAM_LOCAL, argc, argv);
}

/* --- what to ask, and with which key */

/* A server may be told whom it asks about names: that one answers it. */
static void choose_target(struct ping *ping, const struct settings *settings)
{
	struct nameservers names = { 0 };

	if (ping->target.type)
		return;
	if (ping->web)
		die("-w wants to know which web server: -L HOST:PORT");
	if (ping->server_side && settings->nameserver &&
	    nameservers_list(&names, settings->nameserver) == 0 && names.count)
		endpoint_from_address(&ping->target, &names.servers[0].address,
				      names.servers[0].port);
	else
		endpoint_parse(&ping->target, answers_everybody, 0);
}

/* The key of a client of this place: of its first user, where it has some. */
static void make_key(struct ping *ping, const struct settings_place *place, struct wire_key *key,
		     struct wire_identity *identity)
{
	size_t lease;

	*key = place->key;
	key->server = false;
	key->users = NULL;
	if (place->user_count) {
		memcpy(identity->key, key->key, sizeof(identity->key));
		memcpy(key->key, place->users[0].key, sizeof(key->key));
		wire_key_chain(key, identity, 1);
	}
	lease = wire_lease_size(key);
	if (lease && slab_open(&ping->leases, lease, 2) < 0)
		die("no memory for the key of %s", place->method->name);
	key->leases = &ping->leases;
}

static bool is_any(const struct endpoint *at, unsigned family)
{
	struct address address;

	return endpoint_address(at, &address) && address.family == family &&
	       address_is_any(&address);
}

/* Where a server that listens everywhere is to be found here. */
static struct endpoint found_at(const struct endpoint *at)
{
	struct endpoint found = *at;

	if (is_any(at, 4))
		endpoint_parse(&found, "127.0.0.1", at->port);
	else if (is_any(at, 6))
		endpoint_parse(&found, "::1", at->port);
	return found;
}

/* --- the plugin of a client */

static void on_child(pid_t pid, int status)
{
	child_reap(pid, status);
}

static int start_plugin(struct ping *ping, const struct settings_place *place, char *why, size_t n)
{
	struct plugin *plugin = &ping->plugin;
	uint64_t began = reactor_now();

	*plugin = (struct plugin){
		.program = place->plugin,
		.options = place->plugin_opts,
		.servers = place->server,
		.server_count = place->servers,
		.tcp = place->plugin_mode != MODE_UDP_ONLY,
		.udp = place->plugin_mode != MODE_TCP_ONLY,
	};
	if (plugin_open(plugin) < 0) {
		snprintf(why, n, "no port for the plugin: %s", strerror(errno));
		return -1;
	}
	plugin_start(plugin);
	while (plugin->state == PLUGIN_STARTING && !reactor_stopping() &&
	       reactor_now() - began < ping->patience * 1000ull)
		reactor_turn(1000);
	if (plugin->state == PLUGIN_READY)
		return 0;
	snprintf(why, n, "%s",
		 plugin->why[0] ? plugin->why : "the plugin does not begin to listen");
	return -1;
}

/* --- requests */

static void print_stage(const char *what, unsigned began, unsigned ended)
{
	if (ended)
		printf("%s %u.%03u ms", what, (ended - began) / 1000, (ended - began) % 1000);
}

static void tell(const struct probe *probe, const struct settings_place *place)
{
	char hop[ENDPOINT_TEXT], target[ENDPOINT_TEXT], answer[ENDPOINT_TEXT + 16];
	const char *name = endpoint_print(probe->hop, hop, sizeof(hop));
	unsigned last = probe->connected ? probe->connected : probe->looked_up;

	endpoint_print(probe->target, target, sizeof(target));
	if (!probe->answered) {
		fprintf(stderr, "ss-ping: %s %s %s: %s%s (target %s)\n", probe->udp ? "UDP" : "TCP",
			name, place->method->name, probe->connected ? "connected, but " : "",
			probe->why, target);
		return;
	}
	printf("%s %s %s:", probe->udp ? "UDP" : "TCP", name, place->method->name);
	print_stage(" look-up", 0, probe->looked_up);
	print_stage(probe->looked_up ? ", connection" : " connection", probe->looked_up,
		    probe->connected);
	snprintf(answer, sizeof(answer), "%s answer of %s", last ? "," : "", target);
	print_stage(answer, last, probe->answered);
	print_stage(", in all", 0, probe->answered);
	puts("");
}

static int request(const struct ping *ping, const struct settings *settings,
		   const struct settings_place *place, const struct wire_key *key,
		   const struct endpoint *hop, bool udp)
{
	static const struct socket_options plain = { .no_delay = true, .dscp = -1 };
	struct probe *probe = calloc(1, sizeof(*probe));
	int result;

	if (!probe)
		die("no memory for a request");
	*probe = (struct probe){
		.key = key,
		.hop = hop,
		.target = &ping->target,
		/* a server's are of what it sends itself */
		.options = ping->server_side ? &plain : &settings->socket,
		.patience = ping->patience * 1000,
		.udp = udp,
		.web = ping->web,
	};
	result = probe_run(probe);
	tell(probe, place);
	free(probe);
	return result;
}

/* One server of a place; `plugin` may carry it. */
static int ask(const struct ping *ping, const struct settings *settings,
	       const struct settings_place *place, const struct wire_key *key,
	       const struct endpoint *server)
{
	const struct plugin *plugin = place->plugin ? &ping->plugin : NULL;
	struct endpoint hop = found_at(server);
	uint8_t mode = place->mode ? place->mode - 1 : settings->mode;
	int result = 0;

	if (ping->mode)
		mode = ping->mode;
	else if (mode != MODE_UDP_ONLY)
		mode = MODE_TCP_ONLY;
	if (mode != MODE_UDP_ONLY)
		result |= request(ping, settings, place, key,
				  plugin && plugin->tcp ? &plugin->inner : &hop, false);
	if (mode != MODE_TCP_ONLY)
		result |= request(ping, settings, place, key,
				  plugin && plugin->udp ? &plugin->inner : &hop, true);
	return result;
}

/* `::` beside 0.0.0.0: a machine without IPv6 serves all the same. */
static bool is_double(const struct settings_place *place, unsigned i)
{
	bool other = false;

	for (unsigned j = 0; j < place->servers; j++)
		other |= is_any(&place->server[j], 4) &&
			 place->server[j].port == place->server[i].port;
	return other && is_any(&place->server[i], 6);
}

static int ask_place(struct ping *ping, const struct settings *settings,
		     const struct settings_place *place)
{
	struct wire_identity identity;
	struct wire_key key;
	char why[PLUGIN_WHY];
	int result = 0;

	if (place->plugin && ping->server_side)
		snprintf(why, sizeof(why),
			 "its plugin needs one on the client's side: use the "
			 "configuration of a client");
	else if (!place->plugin || start_plugin(ping, place, why, sizeof(why)) == 0)
		why[0] = '\0';
	if (why[0]) {
		fprintf(stderr, "ss-ping: %s: %s\n", place->plugin, why);
		return -1;
	}
	make_key(ping, place, &key, &identity);
	for (unsigned i = 0; i < (place->plugin ? 1 : place->servers); i++)
		if (!is_double(place, i))
			result |= ask(ping, settings, place, &key, &place->server[i]);
	slab_close(&ping->leases);
	sodium_memzero(&key, sizeof(key));
	sodium_memzero(&identity, sizeof(identity));
	if (place->plugin)
		child_stop_all();
	return result;
}

static int ask_all(struct ping *ping)
{
	static const struct process_calls calls = { .child = on_child };
	const struct settings_place *place;
	struct settings settings;
	int result = 0;

	read_settings(&settings, ping);
	log_open("ss-ping", false, settings.verbose);
	const struct resolve_options names = { .servers = settings.nameserver,
					       .ipv6_first = settings.ipv6_first };

	if (reactor_open() < 0)
		die("cannot open an event queue: %s", strerror(errno));
	process_signals(&calls);
	if (resolve_open(&names) < 0)
		die("cannot resolve names");
	choose_target(ping, &settings);
	for (unsigned i = 0; (place = settings_place(&settings, i)) && !reactor_stopping(); i++)
		result |= ask_place(ping, &settings, place);
	resolve_close();
	reactor_close();
	settings_free(&settings);
	return result;
}

int ping_main(int argc, char **argv)
{
	struct ping ping = { .patience = PATIENCE };
	struct options_reason reason = { .why = OPTIONS_USAGE };
	struct options o = table(&ping, &reason);
	int status;

	process_start();
	process_limits(0);
	ping.link = find_link(argc, argv);
	snprintf(reason.text, sizeof(reason.text),
		 "it takes -c FILE or a link, ss://..., or -s HOST and what else it needs");
	if (options_flags(&o, argc, argv) < 0 || (ping.config && ping.link) ||
	    (!ping.config && !ping.link && !ping.host)) {
		if (reason.why == OPTIONS_HELP) {
			usage(stdout);
			return 0;
		}
		fprintf(stderr, "ss-ping: %s\n", reason.text);
		usage(stderr);
		return 1;
	}
	if (crypto_open() < 0)
		die("the system gives no random bytes");
	status = ask_all(&ping) == 0 ? 0 : 1;
	options_free(&o);
	return status;
}
