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
	ZERO = OPTION_ZERO,
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

/* clang-format off */
#define FLAG OPTION_FLAG
#define KEY(key_) .key = key_
#define FOR(programs_) .programs = programs_
#define FIELD(type_, field_) .type = OPTION_##type_, .offset = offsetof(struct settings, field_)
#define RANGE(min_, max_) .range = { min_, max_ }
#define BITS(bits_) .bits = bits_
#define NEEDS(feature_) .needs = FEATURE_##feature_

static const struct option_row rows[] = {
	/* where */
	{ FLAG("-s HOST", "server: host, host:port or [v6]:port; may be repeated"),
	  KEY("server"), FOR(CLIENTS), FIELD(LIST, top.server), .custom = value_server },
	{ FLAG("-s HOST", "address to listen on (0.0.0.0); may be repeated"),
	  KEY("server"), FOR(S | M), FIELD(LIST, top.server), .custom = value_server },
	{ FLAG("-p PORT", "port of the server"),
	  KEY("server_port"), FOR(CLIENTS), FIELD(PORT, top.server_port) },
	{ FLAG("--server-url URL",
	       "server, method, password and plugin from an ss:// link; later options win"),
	  FOR(CLIENTS), FIELD(CUSTOM, top.linked), .custom = value_server_url,
	  BITS(OURS | SECRET), NEEDS(URL) },
	{ FLAG("-p PORT", "port to listen on"),
	  KEY("server_port"), FOR(S), FIELD(PORT, top.server_port) },
	{ FLAG("-p PORT", ""),
	  FOR(M), FIELD(IGNORE, top.server_port), BITS(HIDDEN) },
	{ FLAG("-b ADDRESS", "address to listen on (127.0.0.1; ::1 if all servers are IPv6)"),
	  KEY("local_address"), FOR(CLIENTS), FIELD(LIST, local), .custom = value_listen },
	{ FLAG("-l PORT", "port to listen on"),
	  KEY("local_port"), FOR(CLIENTS), FIELD(PORT, raw.local_port) },
	{ FLAG("-l PORT", ""),
	  FOR(S | M), FIELD(IGNORE, raw.local_port), BITS(HIDDEN) },
	{ FLAG("-b ADDRESS", "address to send from; may be given once for IPv4 and once for IPv6"),
	  KEY("local_address"), FOR(S), FIELD(LIST, socket.source4), .custom = value_source },
	{ FLAG("-b ADDRESS", "address to send from; may be given once for IPv4 and once for IPv6"),
	  FOR(M), FIELD(LIST, socket.source4), .custom = value_source },
	{ KEY("local_ipv4_address"), FOR(S), FIELD(CUSTOM, raw.source4),
	  .custom = value_source4 },
	{ KEY("local_ipv6_address"), FOR(S), FIELD(CUSTOM, raw.source6),
	  .custom = value_source6 },
	{ FLAG("-L [PORT=]HOST:PORT",
	       "where the tunnel (from a port of its own) leads; may be repeated"),
	  KEY("tunnel_address"), FOR(T), FIELD(LIST, tunnels), .custom = value_tunnel },
	{ KEY("tunnels"), FOR(T), FIELD(CUSTOM, tunnels), .custom = value_tunnels },

	/* what lies on the wire */
	{ KEY("remarks"), FOR(ALL), FIELD(IGNORE, top) },
	{ KEY("servers"), FOR(RELAYS), FIELD(CUSTOM, top), .custom = value_servers },
	{ KEY("servers"), FOR(M), FIELD(CUSTOM, elements), .custom = value_servers },
	{ KEY("users"), FOR(S), FIELD(CUSTOM, top.users), .custom = value_users },
	{ FLAG("-k, --password PASSWORD",
	       "password; better in the configuration file or the environment"),
	  KEY("password"), FOR(ALL), FIELD(STRING, top.password), .custom = value_password,
	  BITS(SECRET) },
	{ KEY("password_file"), FOR(ALL), FIELD(CUSTOM, top.password),
	  .custom = value_password_file },
	{ FLAG("--key KEY", "the key itself, as ss-key makes it; stronger than a password"),
	  KEY("key"), FOR(RELAYS), FIELD(STRING, top.key_text), .custom = value_key,
	  BITS(SECRET) },
	{ FLAG("-m METHOD", "method (chacha20-ietf-poly1305)"),
	  KEY("method"), FOR(ALL), FIELD(CUSTOM, top.method), .custom = value_method },
	{ FLAG("--printable-salt",
	       "begin connections with printable characters, for censored networks"),
	  KEY("printable_salt"), FOR(CLIENTS), FIELD(BOOL, printable_salt), BITS(OURS) },
	{ KEY("prefix"), FOR(CLIENTS), FIELD(CUSTOM, prefix), .custom = value_prefix },
	{ FLAG("--padding MIN-MAX", "bytes added to a request of the 2022 methods (0-900)"),
	  KEY("padding"), FOR(CLIENTS), FIELD(CUSTOM, padded), .custom = value_padding,
	  BITS(OURS) },
	{ FLAG("-u", "TCP and UDP"),
	  FOR(ALL), FIELD(SET, mode), .value = MODE_TCP_AND_UDP },
	{ FLAG("-U", "UDP only"),
	  FOR(ALL), FIELD(SET, mode), .value = MODE_UDP_ONLY },
	{ KEY("mode"), FOR(ALL), FIELD(WORD, mode), .words = modes },
	{ KEY("udp_padding"), FOR(RELAYS), FIELD(WORD, udp_padding), .words = paddings },
	{ FLAG("-T", "TCP by TPROXY instead of REDIRECT"),
	  KEY("tcp_tproxy"), FOR(R), FIELD(BOOL, tproxy) },
	{ FLAG("--nat", "put the rules of ss-nat(1) in place, remove them at the end"),
	  KEY("nat"), FOR(R), FIELD(BOOL, nat), BITS(OURS) },
	{ FLAG("--nat-opts TEXT", "options of ss-nat(1) for --nat: \"-o -I br-lan\""),
	  KEY("nat_opts"), FOR(R), FIELD(STRING, nat_opts), BITS(OURS) },
	{ KEY("socks_auth"), FOR(L), FIELD(CUSTOM, socks_auth), .custom = value_socks_auth },
	{ KEY("port_password"), FOR(M), FIELD(CUSTOM, port_password),
	  .custom = value_port_password },

	/* running */
	{ FLAG("-c FILE", "configuration file, see ss-config(5)"),
	  FOR(ALL), FIELD(STRING, config), BITS(FILLED) },
	{ FLAG("-f FILE", "run as a daemon, with its process id in FILE"),
	  FOR(ALL), FIELD(STRING, pid_file), BITS(FILLED) },
	{ FLAG("-a USER", "user (name or number) to become after start"),
	  KEY("user"), FOR(ALL), FIELD(STRING, user), BITS(FILLED) },
	{ FLAG("-n NUMBER", "limit of open files; counts above 1024"),
	  KEY("nofile"), FOR(ALL), FIELD(NUMBER, nofile), RANGE(0, INT_MAX), BITS(LEGACY) },
	{ FLAG("-v", "log every connection"),
	  FOR(ALL), FIELD(BOOL, verbose) },
	{ KEY("use_syslog"), FOR(ALL), FIELD(BOOL, syslog) },
	{ FLAG("--workers NUMBER", "processes that serve; auto: one for each processor (1)"),
	  KEY("workers"), FOR(ALL), FIELD(CUSTOM, workers), .custom = value_workers, BITS(OURS) },

	/* names */
	{ FLAG("-d, --nameserver LIST", "name servers, ip[:port],... (/etc/resolv.conf)"),
	  KEY("nameserver"), FOR(S | M), FIELD(STRING, nameserver), .custom = value_nameserver,
	  BITS(OURS) },
	{ FLAG("--nameserver LIST", "name servers, ip[:port],... (/etc/resolv.conf)"),
	  KEY("nameserver"), FOR(CLIENTS), FIELD(STRING, nameserver), .custom = value_nameserver,
	  BITS(OURS) },
	{ FLAG("-6", "try IPv6 addresses of a name first"),
	  KEY("ipv6_first"), FOR(ALL), FIELD(BOOL, ipv6_first) },

	/* times and limits */
	{ FLAG("-t SECONDS",
	       "how long to wait for look-ups, connections and half-closed peers (60)"),
	  KEY("timeout"), FOR(ALL & ~R), FIELD(NUMBER, timeout), RANGE(0, 31536000),
	  BITS(LEGACY | TEXT | ZERO) },
	{ FLAG("-t SECONDS",
	       "how long to wait for look-ups, connections and half-closed peers (600)"),
	  KEY("timeout"), FOR(R), FIELD(NUMBER, timeout), RANGE(0, 31536000),
	  BITS(LEGACY | TEXT | ZERO) },
	{ FLAG("--udp-timeout SECONDS",
	       "how long a silent UDP client is remembered (as -t, at least 10)"),
	  KEY("udp_timeout"), FOR(ALL), FIELD(NUMBER, udp_timeout), RANGE(0, 31536000),
	  BITS(OURS | TEXT) },
	{ FLAG("--udp-max-associations NUMBER",
	       "UDP clients at once (0: a quarter of the limit of files, at most 16384)"),
	  KEY("udp_max_associations"), FOR(ALL), FIELD(NUMBER, udp_max_associations),
	  RANGE(0, 10000000), BITS(OURS | TEXT) },
	{ FLAG("--max-sessions NUMBER",
	       "connections at once (0: as many as the limit of files allows)"),
	  KEY("max_sessions"), FOR(ALL), FIELD(NUMBER, max_sessions), RANGE(0, 10000000),
	  BITS(OURS) },
	{ FLAG("--buffer-limit MIB", "memory for data that waits, MiB (64)"),
	  KEY("buffer_limit"), FOR(ALL), FIELD(NUMBER, buffer_limit), RANGE(1, 65536),
	  BITS(OURS) },
	{ FLAG("--memory-limit SIZE",
	       "memory for all that is limited, as 8M or 1G (a quarter of the machine's)"),
	  KEY("memory_limit"), FOR(ALL), FIELD(CUSTOM, memory_limit),
	  .custom = value_memory_limit, BITS(OURS) },
	{ FLAG("--replay-size NUMBER", "salts to remember against replays (10000)"),
	  KEY("replay_size"), FOR(CLIENTS), FIELD(NUMBER, replay_size), RANGE(1000, 1000000000),
	  BITS(OURS) },
	{ FLAG("--replay-size NUMBER", "salts to remember against replays (1000000)"),
	  KEY("replay_size"), FOR(S | M), FIELD(NUMBER, replay_size), RANGE(1000, 1000000000),
	  BITS(OURS) },

	/* sockets */
	{ FLAG("-i INTERFACE", "network interface to send through"),
	  KEY("interface"), FOR(ALL & ~R), FIELD(STRING, interface) },
	{ KEY("interface"), FOR(R), FIELD(STRING, interface) },
	{ FLAG("--fast-open", "TCP fast open, where the kernel has it"),
	  KEY("fast_open"), FOR(ALL), FIELD(BOOL, socket.fast_open) },
	{ FLAG("--no-delay", "TCP_NODELAY; on anyway, unless the key no_delay is false"),
	  KEY("no_delay"), FOR(ALL), FIELD(BOOL, socket.no_delay) },
	{ FLAG("--reuse-port", "listen with SO_REUSEPORT"),
	  KEY("reuse_port"), FOR(ALL), FIELD(BOOL, socket.reuse_port) },
	{ FLAG("--mptcp", "multipath TCP, where the kernel has it"),
	  KEY("mptcp"), FOR(RELAYS), FIELD(BOOL, socket.multipath) },
	{ FLAG("--tcp-congestion NAME", "congestion control of TCP; system: never choose one"),
	  KEY("tcp_congestion"), FOR(ALL), FIELD(STRING, socket.congestion),
	  .custom = value_congestion, BITS(OURS) },
	{ FLAG("--keep-alive SECONDS", "idle time before TCP probes the peer (60; 0: never)"),
	  KEY("keep_alive"), FOR(ALL), FIELD(NUMBER, socket.keep_alive), RANGE(0, 32767),
	  BITS(OURS) },
	{ FLAG("--fwmark NUMBER", "mark of outgoing connections, for routing rules"),
	  KEY("fwmark"), FOR(ALL), FIELD(NUMBER, socket.mark), RANGE(0, UINT_MAX),
	  BITS(OURS | TEXT) },
	{ FLAG("--dscp DSCP", "DSCP of outgoing connections: EF, CS1, AF11, 0x2e, ..."),
	  KEY("dscp"), FOR(ALL), FIELD(CUSTOM, socket.dscp), .custom = value_dscp, BITS(OURS) },
	{ FLAG("--mtu BYTES", "largest IP packet of UDP between client and server (0: any)"),
	  KEY("mtu"), FOR(ALL), FIELD(NUMBER, mtu), RANGE(0, 65535), BITS(LEGACY) },
	{ FLAG("--tcp-incoming-sndbuf BYTES", "send buffer of accepted connections"),
	  KEY("tcp_incoming_sndbuf"), FOR(RELAYS), FIELD(NUMBER, socket.near_sndbuf),
	  RANGE(0, INT_MAX), BITS(LEGACY) },
	{ FLAG("--tcp-incoming-rcvbuf BYTES", "receive buffer of accepted connections"),
	  KEY("tcp_incoming_rcvbuf"), FOR(RELAYS), FIELD(NUMBER, socket.near_rcvbuf),
	  RANGE(0, INT_MAX), BITS(LEGACY) },
	{ FLAG("--tcp-outgoing-sndbuf BYTES", "send buffer of outgoing connections"),
	  KEY("tcp_outgoing_sndbuf"), FOR(RELAYS), FIELD(NUMBER, socket.far_sndbuf),
	  RANGE(0, INT_MAX), BITS(LEGACY) },
	{ FLAG("--tcp-outgoing-rcvbuf BYTES", "receive buffer of outgoing connections"),
	  KEY("tcp_outgoing_rcvbuf"), FOR(RELAYS), FIELD(NUMBER, socket.far_rcvbuf),
	  RANGE(0, INT_MAX), BITS(LEGACY) },

	/* rules, plugins, managers */
	{ FLAG("--acl FILE", "access control list, see ss-acl(5)"),
	  KEY("acl"), FOR(ALL & ~T), FIELD(STRING, acl), NEEDS(ACL) },
	{ FLAG("--plugin PROGRAM",
	       "program (SIP003) that carries connections between client and server"),
	  KEY("plugin"), FOR(ALL), FIELD(STRING, top.plugin), NEEDS(PLUGIN) },
	{ FLAG("--plugin-opts TEXT", "options for the plugin"),
	  KEY("plugin_opts"), FOR(ALL), FIELD(STRING, top.plugin_opts), NEEDS(PLUGIN) },
	{ FLAG("--plugin-mode MODE",
	       "what the plugin carries: tcp_only, tcp_and_udp, udp_only (tcp_only)"),
	  KEY("plugin_mode"), FOR(ALL), FIELD(WORD, top.plugin_mode), .words = modes, BITS(OURS),
	  NEEDS(PLUGIN) },
	{ FLAG("--manager-address ADDRESS",
	       "where to report traffic: host:port or a Unix socket's path"),
	  FOR(S), FIELD(STRING, manager_address), NEEDS(MANAGER) },
	{ FLAG("--manager-address ADDRESS",
	       "where to take requests: host:port or a Unix socket's path"),
	  KEY("manager_address"), FOR(M), FIELD(STRING, manager_address) },
	{ FLAG("-D, --workdir DIRECTORY", "working directory (~/.shadowsocks)"),
	  KEY("workdir"), FOR(M), FIELD(STRING, workdir) },
	{ FLAG("--executable PROGRAM", "ss-server to start for each port"),
	  FOR(M), FIELD(STRING, executable) },

	{ FLAG("-h, --help", "this text"),
	  FOR(ALL), FIELD(STOP, program), .value = OPTIONS_HELP },
	{ FLAG("--version", "the version"),
	  FOR(ALL), FIELD(STOP, program), .value = OPTIONS_VERSION, BITS(OURS) },
	{ FLAG("-A", "One time auth has been deprecated. Try AEAD ciphers instead."),
	  KEY("auth"), FOR(ALL), FIELD(REFUSE, program), BITS(HIDDEN) },
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
