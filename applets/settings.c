/*
 * The one table of what can be set by flags and keys, the help text that follows from it, and the
 * defaults. A setting is added here, in one row, and in the manual pages; settings_read.c does the
 * reading.
 */
#include "applets/settings.h"

#include "applets/features.h"
#include "applets/settings_table.h"
#include "applets/settings_value.h"

#include <limits.h>

enum {
	L = PROGRAM_LOCAL,
	S = PROGRAM_SERVER,
	T = PROGRAM_TUNNEL,
	R = PROGRAM_REDIR,
	M = PROGRAM_MANAGER,
	CLIENTS = PROGRAM_CLIENTS,
	RELAYS = PROGRAM_RELAYS,
	ALL = PROGRAM_ALL,

	LEGACY = OPTION_LENIENT, /* numbers that shadowsocks-libev gave to atoi() */
	TEXT = OPTION_TEXT,
	OURS = OPTION_OURS,
	SECRET = OPTION_SECRET,
	HIDDEN = OPTION_HIDDEN,
	FILLED = OPTION_FILLED
};

static const char *const modes[] = { "tcp_only", "tcp_and_udp", "udp_only", NULL };
/* The same in an element of `servers`, which need not say it: struct settings_place. */
static const char *const element_modes[] = { "", "tcp_only", "tcp_and_udp", "udp_only", NULL };

/* enum packet_padding */
static const char *const paddings[] = { "dns", "none", "all", NULL };

static const char one_time_auth[] = "One time auth has been deprecated. Try AEAD ciphers instead.";

/* clang-format off */
#define FLAG(letter_, name_, argument_) .letter = letter_, .name = name_, .argument = argument_
#define KEY(key_) .key = key_
#define FOR(programs_) .programs = programs_
#define FIELD(type_, field_) .type = OPTION_##type_, .offset = offsetof(struct settings, field_)
#define RANGE(min_, max_) .min = min_, .max = max_
#define BITS(bits_) .bits = bits_
#define NEEDS(feature_) .needs = FEATURE_##feature_
#define HELP(help_) .help = help_

static const struct option_row rows[] = {
	/* where */
	{ FLAG('s', NULL, "HOST"), KEY("server"), FOR(CLIENTS), FIELD(LIST, top.server),
	  .custom = value_server,
	  HELP("server: host, host:port or [v6]:port; may be repeated") },
	{ FLAG('s', NULL, "HOST"), KEY("server"), FOR(S | M), FIELD(LIST, top.server),
	  .custom = value_server,
	  HELP("address to listen on (0.0.0.0); may be repeated") },
	{ FLAG('p', NULL, "PORT"), KEY("server_port"), FOR(CLIENTS), FIELD(PORT, top.server_port),
	  HELP("port of the server") },
	{ FLAG(0, "server-url", "URL"), FOR(CLIENTS), FIELD(CUSTOM, top.linked),
	  .custom = value_server_url, BITS(OURS | SECRET), NEEDS(URL),
	  HELP("server, method, password and plugin from an ss:// link; later options win") },
	{ FLAG('p', NULL, "PORT"), KEY("server_port"), FOR(S), FIELD(PORT, top.server_port),
	  HELP("port to listen on") },
	{ FLAG('p', NULL, "PORT"), FOR(M), FIELD(IGNORE, top.server_port), BITS(HIDDEN) },
	{ FLAG('b', NULL, "ADDRESS"), KEY("local_address"), FOR(CLIENTS), FIELD(LIST, local),
	  .custom = value_listen,
	  HELP("address to listen on (127.0.0.1; ::1 if all servers are IPv6)") },
	{ FLAG('l', NULL, "PORT"), KEY("local_port"), FOR(CLIENTS), FIELD(PORT, raw.local_port),
	  HELP("port to listen on") },
	{ FLAG('l', NULL, "PORT"), FOR(S | M), FIELD(IGNORE, raw.local_port), BITS(HIDDEN) },
	{ FLAG('b', NULL, "ADDRESS"), KEY("local_address"), FOR(S), FIELD(LIST, socket.source4),
	  .custom = value_source,
	  HELP("address to send from; may be given once for IPv4 and once for IPv6") },
	{ FLAG('b', NULL, "ADDRESS"), FOR(M), FIELD(LIST, socket.source4), .custom = value_source,
	  HELP("address to send from; may be given once for IPv4 and once for IPv6") },
	{ KEY("local_ipv4_address"), FOR(S), FIELD(CUSTOM, raw.source4), .custom = value_source4 },
	{ KEY("local_ipv6_address"), FOR(S), FIELD(CUSTOM, raw.source6), .custom = value_source6 },
	{ FLAG('L', NULL, "[PORT=]HOST:PORT"), KEY("tunnel_address"), FOR(T), FIELD(LIST, tunnels),
	  .custom = value_tunnel,
	  HELP("where the tunnel (from a port of its own) leads; may be repeated") },
	{ KEY("tunnels"), FOR(T), FIELD(CUSTOM, tunnels), .custom = value_tunnels },

	/* what lies on the wire */
	{ KEY("remarks"), FOR(ALL), FIELD(IGNORE, top) },
	{ KEY("servers"), FOR(RELAYS), FIELD(CUSTOM, top), .custom = value_servers },
	{ KEY("servers"), FOR(M), FIELD(CUSTOM, elements), .custom = value_servers },
	{ KEY("users"), FOR(S), FIELD(CUSTOM, top.users), .custom = value_users },
	{ FLAG('k', "password", "PASSWORD"), KEY("password"), FOR(ALL), FIELD(STRING, top.password),
	  .custom = value_password, BITS(SECRET),
	  HELP("password; better in the configuration file or the environment") },
	{ KEY("password_file"), FOR(ALL), FIELD(CUSTOM, top.password),
	  .custom = value_password_file },
	{ FLAG(0, "key", "KEY"), KEY("key"), FOR(RELAYS), FIELD(STRING, top.key_text),
	  .custom = value_key, BITS(SECRET),
	  HELP("the key itself, as ss-key makes it; stronger than a password") },
	{ FLAG('m', NULL, "METHOD"), KEY("method"), FOR(ALL), FIELD(CUSTOM, top.method),
	  .custom = value_method,
	  HELP("method (chacha20-ietf-poly1305)") },
	{ FLAG(0, "printable-salt", NULL), KEY("printable_salt"), FOR(CLIENTS),
	  FIELD(BOOL, printable_salt), BITS(OURS),
	  HELP("begin connections with printable characters, for censored networks") },
	{ KEY("prefix"), FOR(CLIENTS), FIELD(CUSTOM, prefix), .custom = value_prefix },
	{ FLAG(0, "padding", "MIN-MAX"), KEY("padding"), FOR(CLIENTS), FIELD(CUSTOM, padded),
	  .custom = value_padding, BITS(OURS),
	  HELP("bytes added to a request of the 2022 methods (0-900)") },
	{ FLAG('u', NULL, NULL), FOR(ALL), FIELD(SET, mode), .min = MODE_TCP_AND_UDP,
	  HELP("TCP and UDP") },
	{ FLAG('U', NULL, NULL), FOR(ALL), FIELD(SET, mode), .min = MODE_UDP_ONLY,
	  HELP("UDP only") },
	{ KEY("mode"), FOR(ALL), FIELD(WORD, mode), .words = modes },
	{ KEY("udp_padding"), FOR(RELAYS), FIELD(WORD, udp_padding), .words = paddings },
	{ FLAG('T', NULL, NULL), KEY("tcp_tproxy"), FOR(R), FIELD(BOOL, tproxy),
	  HELP("TCP by TPROXY instead of REDIRECT") },
	{ FLAG(0, "nat", NULL), KEY("nat"), FOR(R), FIELD(BOOL, nat), BITS(OURS),
	  HELP("put the rules of ss-nat(1) in place, remove them at the end") },
	{ FLAG(0, "nat-opts", "TEXT"), KEY("nat_opts"), FOR(R), FIELD(STRING, nat_opts), BITS(OURS),
	  HELP("options of ss-nat(1) for --nat: \"-o -I br-lan\"") },
	{ KEY("socks_auth"), FOR(L), FIELD(CUSTOM, socks_auth), .custom = value_socks_auth },
	{ KEY("port_password"), FOR(M), FIELD(CUSTOM, port_password),
	  .custom = value_port_password },

	/* running */
	{ FLAG('c', NULL, "FILE"), FOR(ALL), FIELD(STRING, config), BITS(FILLED),
	  HELP("configuration file, see ss-config(5)") },
	{ FLAG('f', NULL, "FILE"), FOR(ALL), FIELD(STRING, pid_file), BITS(FILLED),
	  HELP("run as a daemon, with its process id in FILE") },
	{ FLAG('a', NULL, "USER"), KEY("user"), FOR(ALL), FIELD(STRING, user), BITS(FILLED),
	  HELP("user (name or number) to become after start") },
	{ FLAG('n', NULL, "NUMBER"), KEY("nofile"), FOR(ALL), FIELD(NUMBER, nofile),
	  RANGE(0, INT_MAX), BITS(LEGACY),
	  HELP("limit of open files; counts above 1024") },
	{ FLAG('v', NULL, NULL), FOR(ALL), FIELD(BOOL, verbose),
	  HELP("log every connection") },
	{ KEY("use_syslog"), FOR(ALL), FIELD(BOOL, syslog) },
	{ FLAG(0, "workers", "NUMBER"), KEY("workers"), FOR(ALL), FIELD(CUSTOM, workers),
	  .custom = value_workers, BITS(OURS),
	  HELP("processes that serve; auto: one for each processor (1)") },

	/* names */
	{ FLAG('d', "nameserver", "LIST"), KEY("nameserver"), FOR(S | M), FIELD(STRING, nameserver),
	  .custom = value_nameserver, BITS(OURS),
	  HELP("name servers, ip[:port],... (/etc/resolv.conf)") },
	{ FLAG(0, "nameserver", "LIST"), KEY("nameserver"), FOR(CLIENTS), FIELD(STRING, nameserver),
	  .custom = value_nameserver, BITS(OURS),
	  HELP("name servers, ip[:port],... (/etc/resolv.conf)") },
	{ FLAG('6', NULL, NULL), KEY("ipv6_first"), FOR(ALL), FIELD(BOOL, ipv6_first),
	  HELP("try IPv6 addresses of a name first") },

	/* times and limits */
	{ FLAG('t', NULL, "SECONDS"), KEY("timeout"), FOR(ALL & ~R), FIELD(NUMBER, timeout),
	  RANGE(0, 31536000), BITS(LEGACY | TEXT), .zero = "the default, 60,",
	  HELP("how long to wait for look-ups, connections and half-closed peers (60)") },
	{ FLAG('t', NULL, "SECONDS"), KEY("timeout"), FOR(R), FIELD(NUMBER, timeout),
	  RANGE(0, 31536000), BITS(LEGACY | TEXT), .zero = "the default, 600,",
	  HELP("how long to wait for look-ups, connections and half-closed peers (600)") },
	{ FLAG(0, "udp-timeout", "SECONDS"), KEY("udp_timeout"), FOR(ALL),
	  FIELD(NUMBER, udp_timeout), RANGE(0, 31536000), BITS(OURS | TEXT),
	  HELP("how long a silent UDP client is remembered (as -t, at least 10)") },
	{ FLAG(0, "udp-max-associations", "NUMBER"), KEY("udp_max_associations"), FOR(ALL),
	  FIELD(NUMBER, udp_max_associations), RANGE(0, 10000000), BITS(OURS | TEXT),
	  HELP("UDP clients at once (0: a quarter of the limit of files, at most 16384)") },
	{ FLAG(0, "max-sessions", "NUMBER"), KEY("max_sessions"), FOR(ALL),
	  FIELD(NUMBER, max_sessions), RANGE(0, 10000000), BITS(OURS),
	  HELP("connections at once (0: as many as the limit of files allows)") },
	{ FLAG(0, "buffer-limit", "MIB"), KEY("buffer_limit"), FOR(ALL),
	  FIELD(NUMBER, buffer_limit), RANGE(1, 65536), BITS(OURS),
	  HELP("memory for data that waits, MiB (64)") },
	{ FLAG(0, "memory-limit", "SIZE"), KEY("memory_limit"), FOR(ALL),
	  FIELD(CUSTOM, memory_limit), .custom = value_memory_limit, BITS(OURS),
	  HELP("memory for all that is limited, as 8M or 1G (a quarter of the machine's)") },
	{ FLAG(0, "replay-size", "NUMBER"), KEY("replay_size"), FOR(CLIENTS),
	  FIELD(NUMBER, replay_size), RANGE(1000, 1000000000), BITS(OURS),
	  HELP("salts to remember against replays (10000)") },
	{ FLAG(0, "replay-size", "NUMBER"), KEY("replay_size"), FOR(S | M),
	  FIELD(NUMBER, replay_size), RANGE(1000, 1000000000), BITS(OURS),
	  HELP("salts to remember against replays (1000000)") },

	/* sockets */
	{ FLAG('i', NULL, "INTERFACE"), KEY("interface"), FOR(ALL & ~R), FIELD(STRING, interface),
	  HELP("network interface to send through") },
	{ KEY("interface"), FOR(R), FIELD(STRING, interface) },
	{ FLAG(0, "fast-open", NULL), KEY("fast_open"), FOR(ALL), FIELD(BOOL, socket.fast_open),
	  HELP("TCP fast open, where the kernel has it") },
	{ FLAG(0, "no-delay", NULL), KEY("no_delay"), FOR(ALL), FIELD(BOOL, socket.no_delay),
	  HELP("TCP_NODELAY; on anyway, unless the key no_delay is false") },
	{ FLAG(0, "reuse-port", NULL), KEY("reuse_port"), FOR(ALL), FIELD(BOOL, socket.reuse_port),
	  HELP("listen with SO_REUSEPORT") },
	{ FLAG(0, "mptcp", NULL), KEY("mptcp"), FOR(RELAYS), FIELD(BOOL, socket.multipath),
	  HELP("multipath TCP, where the kernel has it") },
	{ FLAG(0, "keep-alive", "SECONDS"), KEY("keep_alive"), FOR(ALL),
	  FIELD(NUMBER, socket.keep_alive), RANGE(0, 32767), BITS(OURS),
	  HELP("idle time before TCP probes the peer (60; 0: never)") },
	{ FLAG(0, "fwmark", "NUMBER"), KEY("fwmark"), FOR(ALL), FIELD(NUMBER, socket.mark),
	  RANGE(0, UINT_MAX), BITS(OURS | TEXT),
	  HELP("mark of outgoing connections, for routing rules") },
	{ FLAG(0, "dscp", "DSCP"), KEY("dscp"), FOR(ALL), FIELD(CUSTOM, socket.dscp),
	  .custom = value_dscp, BITS(OURS),
	  HELP("DSCP of outgoing connections: EF, CS1, AF11, 0x2e, ...") },
	{ FLAG(0, "mtu", "BYTES"), KEY("mtu"), FOR(ALL), FIELD(NUMBER, mtu), RANGE(0, 65535),
	  BITS(LEGACY),
	  HELP("largest IP packet of UDP between client and server (0: any)") },
	{ FLAG(0, "tcp-incoming-sndbuf", "BYTES"), KEY("tcp_incoming_sndbuf"), FOR(RELAYS),
	  FIELD(NUMBER, socket.near_sndbuf), RANGE(0, INT_MAX), BITS(LEGACY),
	  HELP("send buffer of accepted connections") },
	{ FLAG(0, "tcp-incoming-rcvbuf", "BYTES"), KEY("tcp_incoming_rcvbuf"), FOR(RELAYS),
	  FIELD(NUMBER, socket.near_rcvbuf), RANGE(0, INT_MAX), BITS(LEGACY),
	  HELP("receive buffer of accepted connections") },
	{ FLAG(0, "tcp-outgoing-sndbuf", "BYTES"), KEY("tcp_outgoing_sndbuf"), FOR(RELAYS),
	  FIELD(NUMBER, socket.far_sndbuf), RANGE(0, INT_MAX), BITS(LEGACY),
	  HELP("send buffer of outgoing connections") },
	{ FLAG(0, "tcp-outgoing-rcvbuf", "BYTES"), KEY("tcp_outgoing_rcvbuf"), FOR(RELAYS),
	  FIELD(NUMBER, socket.far_rcvbuf), RANGE(0, INT_MAX), BITS(LEGACY),
	  HELP("receive buffer of outgoing connections") },

	/* rules, plugins, managers */
	{ FLAG(0, "acl", "FILE"), KEY("acl"), FOR(ALL & ~T), FIELD(STRING, acl), NEEDS(ACL),
	  HELP("access control list, see ss-acl(5)") },
	{ FLAG(0, "plugin", "PROGRAM"), KEY("plugin"), FOR(ALL), FIELD(STRING, top.plugin),
	  NEEDS(PLUGIN),
	  HELP("program (SIP003) that carries connections between client and server") },
	{ FLAG(0, "plugin-opts", "TEXT"), KEY("plugin_opts"), FOR(ALL),
	  FIELD(STRING, top.plugin_opts), NEEDS(PLUGIN),
	  HELP("options for the plugin") },
	{ FLAG(0, "plugin-mode", "MODE"), KEY("plugin_mode"), FOR(ALL), FIELD(WORD, top.plugin_mode),
	  .words = modes, BITS(OURS), NEEDS(PLUGIN),
	  HELP("what the plugin carries: tcp_only, tcp_and_udp, udp_only (tcp_only)") },
	{ FLAG(0, "manager-address", "ADDRESS"), FOR(S), FIELD(STRING, manager_address),
	  NEEDS(MANAGER),
	  HELP("where to report traffic: host:port or a Unix socket's path") },
	{ FLAG(0, "manager-address", "ADDRESS"), KEY("manager_address"), FOR(M),
	  FIELD(STRING, manager_address),
	  HELP("where to take requests: host:port or a Unix socket's path") },
	{ FLAG('D', "workdir", "DIRECTORY"), KEY("workdir"), FOR(M), FIELD(STRING, workdir),
	  HELP("working directory (~/.shadowsocks)") },
	{ FLAG(0, "executable", "PROGRAM"), FOR(M), FIELD(STRING, executable),
	  HELP("ss-server to start for each port") },

	{ FLAG('h', "help", NULL), FOR(ALL), FIELD(STOP, program), .min = OPTIONS_HELP,
	  HELP("this text") },
	{ FLAG(0, "version", NULL), FOR(ALL), FIELD(STOP, program), .min = OPTIONS_VERSION,
	  BITS(OURS),
	  HELP("the version") },
	{ FLAG('A', NULL, NULL), KEY("auth"), FOR(ALL), FIELD(REFUSE, program), BITS(HIDDEN),
	  HELP(one_time_auth) },
};
/* clang-format on */

/* clang-format off */
#undef FIELD
#define FIELD(type_, field_) .type = OPTION_##type_, .offset = offsetof(struct settings_place, field_)

/* What an element of `servers` may have; it takes the port and the method of the top level where it
 * has none. What is only a note for other programs is passed over. */
static const struct option_row element_rows[] = {
	{ KEY("server"), FOR(ALL), FIELD(LIST, server), .custom = value_server },
	{ KEY("address"), FOR(ALL), FIELD(LIST, server), .custom = value_server },
	{ KEY("server_port"), FOR(ALL), FIELD(PORT, server_port) },
	{ KEY("port"), FOR(ALL), FIELD(PORT, server_port) },
	{ KEY("method"), FOR(ALL), FIELD(CUSTOM, method), .custom = value_method },
	{ KEY("password"), FOR(ALL), FIELD(STRING, password), .custom = value_password,
	  BITS(SECRET) },
	{ KEY("password_file"), FOR(ALL), FIELD(CUSTOM, password),
	  .custom = value_password_file },
	{ KEY("key"), FOR(ALL), FIELD(STRING, key_text), .custom = value_key,
	  BITS(SECRET) },
	{ KEY("users"), FOR(S | M), FIELD(CUSTOM, users), .custom = value_users },
	{ KEY("disabled"), FOR(ALL), FIELD(BOOL, disabled) },
	{ KEY("mode"), FOR(ALL), FIELD(WORD, mode), .words = element_modes },
	{ KEY("plugin"), FOR(ALL), FIELD(STRING, plugin), NEEDS(PLUGIN) },
	{ KEY("plugin_opts"), FOR(ALL), FIELD(STRING, plugin_opts), NEEDS(PLUGIN) },
	{ KEY("plugin_mode"), FOR(ALL), FIELD(WORD, plugin_mode), .words = modes, NEEDS(PLUGIN) },
	{ KEY("acl"), FOR(ALL), FIELD(STRING, acl), .custom = value_element_acl, NEEDS(ACL) },
	{ KEY("fast_open"), FOR(M), FIELD(CUSTOM, fast_open), .custom = value_fast_open },
	{ KEY("no_delay"), FOR(M), FIELD(CUSTOM, no_delay), .custom = value_no_delay },
	{ KEY("id"), FOR(ALL), FIELD(IGNORE, at) },
	{ KEY("name"), FOR(ALL), FIELD(IGNORE, at) },
	{ KEY("remarks"), FOR(ALL), FIELD(IGNORE, at) },
};

#undef FIELD
#define FIELD(type_, field_) .type = OPTION_##type_, .offset = offsetof(struct settings_tunnel, field_)

/* What an element of `tunnels` has. */
static const struct option_row tunnel_rows[] = {
	{ KEY("local_address"), FOR(T), FIELD(CUSTOM, local), .custom = value_tunnel_local },
	{ KEY("local_port"), FOR(T), FIELD(PORT, local_port) },
	{ KEY("tunnel_address"), FOR(T), FIELD(CUSTOM, target), .custom = value_tunnel_target },
};
/* clang-format on */

enum {
	ROWS = sizeof rows / sizeof rows[0],
	ELEMENT_ROWS = sizeof element_rows / sizeof element_rows[0],
	TUNNEL_ROWS = sizeof tunnel_rows / sizeof tunnel_rows[0]
};
_Static_assert((int)ROWS <= (int)OPTION_ROWS_MAX, "struct options remembers every row");
/* -s wins over both `server` and `servers`; and value_server() fills either struct. */
_Static_assert(offsetof(struct settings, top.server) == 0, "the place comes first");

/* The names of the programs, and what each cannot do without. */
static const struct {
	unsigned program;
	const char *name, *usage;
} programs[] = {
	{ L, "ss-local", "-s HOST -p PORT -l PORT -k PASSWORD [-m METHOD]" },
	{ S, "ss-server", "-p PORT -k PASSWORD [-m METHOD] [-s ADDRESS]" },
	{ T, "ss-tunnel", "-s HOST -p PORT -l PORT -L HOST:PORT -k PASSWORD [-m METHOD]" },
	{ R, "ss-redir", "-s HOST -p PORT -l PORT -k PASSWORD [-m METHOD]" },
	{ M, "ss-manager", "--manager-address ADDRESS [-m METHOD] [-s ADDRESS]" },
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static unsigned index_of(unsigned program)
{
	unsigned i = 0;

	while (i < PROGRAMS - 1 && programs[i].program != program)
		i++;
	return i;
}

static const char *name_of(unsigned program)
{
	return programs[index_of(program)].name;
}

const char *settings_program_name(enum program program)
{
	return name_of(program);
}

static struct options table(const struct option_row *all, unsigned count, enum program program,
			    void *into, struct options_reason *reason)
{
	return (struct options){
		.rows = all,
		.count = count,
		.program_name = name_of,
		.program = program,
		.lacks = features_lacking(),
		.without = features_without(),
		.into = into,
		.reason = reason,
	};
}

struct options settings_options(struct settings *s, struct options_reason *reason)
{
	return table(rows, ROWS, s->program, s, reason);
}

struct options settings_element(struct settings_place *place, enum program program,
				struct options_reason *reason)
{
	return table(element_rows, ELEMENT_ROWS, program, place, reason);
}

struct options settings_tunnel(struct settings_tunnel *tunnel, enum program program,
			       struct options_reason *reason)
{
	return table(tunnel_rows, TUNNEL_ROWS, program, tunnel, reason);
}

void settings_defaults(struct settings *s, enum program program)
{
	*s = (struct settings){
		.program = program,
		.name = name_of(program),
		.top.method = wire_find("chacha20-ietf-poly1305"),
		.socket = { .no_delay = true, .keep_alive = 60, .dscp = -1 },
		.workers = 1,
	};
}

static void synopsis(FILE *to, unsigned i)
{
	fprintf(to, "shadowsocks %s\n", SS_VERSION);
	fprintf(to, "usage: %s %s [option...]\n", programs[i].name, programs[i].usage);
	fprintf(to, "       %s [-c FILE] [option...]\n", programs[i].name);
}

void settings_usage(FILE *to, enum program program)
{
	struct settings none = { .program = program };
	struct options o = settings_options(&none, NULL);

	synopsis(to, index_of(program));
	fputs("Options win over the configuration file. Defaults are in parentheses.\n\n", to);
	options_help(&o, to);
}

void settings_usage_short(FILE *to, enum program program)
{
	synopsis(to, index_of(program));
	fprintf(to, "%s -h lists the options.\n", name_of(program));
}

void settings_free(struct settings *s)
{
	struct options o = settings_options(s, NULL);

	options_free(&o);
	value_free(s);
	settings_forget_start(s);
}
