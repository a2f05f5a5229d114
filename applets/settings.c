/*
 * The one table of what can be set, and how a program gets its settings: defaults, then flags, then
 * what the configuration file says about the rest, then the environment's password; then what must
 * be there is checked. Called by each applet's main once. A flag or a key is added here, in one row,
 * and in the manual pages.
 */
#include "applets/settings.h"

#include "applets/secret.h"
#include "applets/settings_value.h"
#include "core/log.h"
#include "core/options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SS_VERSION
#define SS_VERSION "unknown"
#endif

enum {
	L = PROGRAM_LOCAL,
	S = PROGRAM_SERVER,
	T = PROGRAM_TUNNEL,
	R = PROGRAM_REDIR,
	M = PROGRAM_MANAGER,
	CLIENTS = L | T | R,
	RELAYS = CLIENTS | S,
	ALL = RELAYS | M,

	LEGACY = OPTION_LENIENT, /* numbers that shadowsocks-libev gave to atoi() */
	UNBUILT = OPTION_UNBUILT,
	TEXT = OPTION_TEXT,
	OURS = OPTION_OURS,
	SECRET = OPTION_SECRET,
	HIDDEN = OPTION_HIDDEN
};

static const char *const modes[] = {"tcp_only", "tcp_and_udp", "udp_only", NULL};

static const char one_time_auth[] = "One time auth has been deprecated. Try AEAD ciphers instead.";

/* clang-format off */
#define FLAG(letter_, name_, argument_) .letter = letter_, .name = name_, .argument = argument_
#define KEY(key_) .key = key_
#define FOR(programs_) .programs = programs_
#define FIELD(type_, field_) .type = OPTION_##type_, .offset = offsetof(struct settings, field_)
#define RANGE(min_, max_) .min = min_, .max = max_
#define BITS(bits_) .bits = bits_
#define HELP(help_) .help = help_

static const struct option_row rows[] = {
	/* where */
	{ FLAG('s', NULL, "HOST"), KEY("server"), FOR(CLIENTS), FIELD(LIST, server), .custom = value_server,
	  HELP("server: host, host:port or [v6]:port; may be repeated") },
	{ FLAG('s', NULL, "HOST"), KEY("server"), FOR(S | M), FIELD(LIST, server), .custom = value_server,
	  HELP("address to listen on (0.0.0.0); may be repeated") },
	{ FLAG('p', NULL, "PORT"), KEY("server_port"), FOR(CLIENTS), FIELD(PORT, server_port),
	  HELP("port of the server") },
	{ FLAG('p', NULL, "PORT"), KEY("server_port"), FOR(S), FIELD(PORT, server_port),
	  HELP("port to listen on") },
	{ FLAG('p', NULL, "PORT"), FOR(M), FIELD(IGNORE, server_port), BITS(HIDDEN), HELP("") },
	{ FLAG('b', NULL, "ADDRESS"), KEY("local_address"), FOR(CLIENTS), FIELD(LIST, local), .custom = value_listen,
	  HELP("address to listen on (127.0.0.1)") },
	{ FLAG('l', NULL, "PORT"), KEY("local_port"), FOR(CLIENTS), FIELD(PORT, raw.local_port),
	  HELP("port to listen on") },
	{ FLAG('l', NULL, "PORT"), FOR(S | M), FIELD(IGNORE, raw.local_port), BITS(HIDDEN), HELP("") },
	{ FLAG('b', NULL, "ADDRESS"), KEY("local_address"), FOR(S), FIELD(LIST, socket.source4), .custom = value_source,
	  HELP("address to send from; may be given once for IPv4 and once for IPv6") },
	{ FLAG('b', NULL, "ADDRESS"), FOR(M), FIELD(LIST, socket.source4), .custom = value_source,
	  HELP("address to send from; may be given once for IPv4 and once for IPv6") },
	{ KEY("local_ipv4_address"), FOR(S), FIELD(CUSTOM, raw.source4), .custom = value_source4 },
	{ KEY("local_ipv6_address"), FOR(S), FIELD(CUSTOM, raw.source6), .custom = value_source6 },
	{ FLAG('L', NULL, "HOST:PORT"), KEY("tunnel_address"), FOR(T), FIELD(CUSTOM, tunnel), .custom = value_tunnel,
	  HELP("where the tunnel leads") },

	/* what lies on the wire */
	{ FLAG('k', "password", "PASSWORD"), KEY("password"), FOR(ALL), FIELD(STRING, raw.password), BITS(SECRET),
	  HELP("password; better in the configuration file or the environment") },
	{ FLAG(0, "key", "KEY"), KEY("key"), FOR(RELAYS), FIELD(STRING, raw.key), BITS(SECRET),
	  HELP("the key itself, in base64url; stronger than a password") },
	{ FLAG('m', NULL, "METHOD"), KEY("method"), FOR(ALL), FIELD(CUSTOM, method), .custom = value_method,
	  HELP("method (chacha20-ietf-poly1305)") },
	{ FLAG('u', NULL, NULL), FOR(ALL), FIELD(SET, mode), .min = MODE_TCP_AND_UDP, BITS(UNBUILT),
	  HELP("TCP and UDP") },
	{ FLAG('U', NULL, NULL), FOR(ALL), FIELD(SET, mode), .min = MODE_UDP_ONLY, BITS(UNBUILT),
	  HELP("UDP only") },
	{ KEY("mode"), FOR(ALL), FIELD(WORD, mode), .words = modes, BITS(UNBUILT) },
	{ FLAG('T', NULL, NULL), KEY("tcp_tproxy"), FOR(R), FIELD(BOOL, tproxy),
	  HELP("TCP by TPROXY instead of REDIRECT") },
	{ KEY("socks_auth"), FOR(L), FIELD(CUSTOM, socks_auth), .custom = value_socks_auth },
	{ KEY("port_password"), FOR(M), FIELD(CUSTOM, port_password), .custom = value_port_password },

	/* running */
	{ FLAG('c', NULL, "FILE"), FOR(ALL), FIELD(STRING, config),
	  HELP("configuration file, see ss-config(5)") },
	{ FLAG('f', NULL, "FILE"), FOR(ALL), FIELD(STRING, pid_file),
	  HELP("run as a daemon, with its process id in FILE") },
	{ FLAG('a', NULL, "USER"), KEY("user"), FOR(ALL), FIELD(STRING, user),
	  HELP("user (name or number) to become after start") },
	{ FLAG('n', NULL, "NUMBER"), KEY("nofile"), FOR(ALL), FIELD(NUMBER, nofile), RANGE(0, INT_MAX), BITS(LEGACY),
	  HELP("limit of open files; counts above 1024") },
	{ FLAG('v', NULL, NULL), FOR(ALL), FIELD(BOOL, verbose),
	  HELP("log every connection") },
	{ KEY("use_syslog"), FOR(ALL), FIELD(BOOL, syslog) },
	{ FLAG(0, "workers", "NUMBER"), KEY("workers"), FOR(ALL), FIELD(NUMBER, workers), RANGE(1, 256),
	  BITS(OURS | TEXT), HELP("processes that serve; only 1 yet (1)") },

	/* names */
	{ FLAG('d', "nameserver", "LIST"), KEY("nameserver"), FOR(S | M), FIELD(STRING, nameserver), BITS(OURS),
	  HELP("name servers, ip[:port],... (/etc/resolv.conf)") },
	{ FLAG(0, "nameserver", "LIST"), KEY("nameserver"), FOR(CLIENTS), FIELD(STRING, nameserver), BITS(OURS),
	  HELP("name servers, ip[:port],... (/etc/resolv.conf)") },
	{ FLAG('6', NULL, NULL), KEY("ipv6_first"), FOR(ALL), FIELD(BOOL, ipv6_first),
	  HELP("try IPv6 addresses of a name first") },

	/* times and limits */
	{ FLAG('t', NULL, "SECONDS"), KEY("timeout"), FOR(ALL & ~R), FIELD(NUMBER, timeout), RANGE(0, 31536000),
	  BITS(LEGACY | TEXT), HELP("how long to wait for look-ups, connections and half-closed peers (60)") },
	{ FLAG('t', NULL, "SECONDS"), KEY("timeout"), FOR(R), FIELD(NUMBER, timeout), RANGE(0, 31536000),
	  BITS(LEGACY | TEXT), HELP("how long to wait for look-ups, connections and half-closed peers (600)") },
	{ FLAG(0, "udp-timeout", "SECONDS"), KEY("udp_timeout"), FOR(ALL), FIELD(NUMBER, udp_timeout),
	  RANGE(0, 31536000), BITS(OURS | TEXT), HELP("how long a silent UDP peer is remembered (later)") },
	{ FLAG(0, "max-sessions", "NUMBER"), KEY("max_sessions"), FOR(ALL), FIELD(NUMBER, max_sessions),
	  RANGE(0, 10000000), BITS(OURS), HELP("connections at once (0: as many as the limit of files allows)") },
	{ FLAG(0, "buffer-limit", "MIB"), KEY("buffer_limit"), FOR(ALL), FIELD(NUMBER, buffer_limit), RANGE(1, 65536),
	  BITS(OURS), HELP("memory for data that waits, MiB (64)") },
	{ FLAG(0, "replay-size", "NUMBER"), KEY("replay_size"), FOR(CLIENTS), FIELD(NUMBER, replay_size),
	  RANGE(1000, 1000000000), BITS(OURS), HELP("salts to remember against replays (10000)") },
	{ FLAG(0, "replay-size", "NUMBER"), KEY("replay_size"), FOR(S | M), FIELD(NUMBER, replay_size),
	  RANGE(1000, 1000000000), BITS(OURS), HELP("salts to remember against replays (1000000)") },

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
	{ FLAG(0, "keep-alive", "SECONDS"), KEY("keep_alive"), FOR(ALL), FIELD(NUMBER, socket.keep_alive),
	  RANGE(0, 32767), BITS(OURS), HELP("idle time before TCP probes the peer (60; 0: never)") },
	{ FLAG(0, "fwmark", "NUMBER"), KEY("fwmark"), FOR(ALL), FIELD(NUMBER, socket.mark), RANGE(0, UINT_MAX),
	  BITS(OURS | TEXT), HELP("mark of outgoing connections, for routing rules") },
	{ FLAG(0, "dscp", "DSCP"), KEY("dscp"), FOR(ALL), FIELD(CUSTOM, socket.dscp), .custom = value_dscp,
	  BITS(OURS), HELP("DSCP of outgoing connections: EF, CS1, AF11, 0x2e, ...") },
	{ FLAG(0, "mtu", "BYTES"), KEY("mtu"), FOR(ALL), FIELD(NUMBER, mtu), RANGE(0, 65535), BITS(LEGACY),
	  HELP("largest UDP packet (later)") },
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
	{ FLAG(0, "acl", "FILE"), KEY("acl"), FOR(L | S | M), FIELD(STRING, acl), BITS(UNBUILT),
	  HELP("access control list") },
	{ FLAG(0, "plugin", "PROGRAM"), KEY("plugin"), FOR(ALL), FIELD(STRING, plugin), BITS(UNBUILT),
	  HELP("SIP003 plugin") },
	{ FLAG(0, "plugin-opts", "TEXT"), KEY("plugin_opts"), FOR(ALL), FIELD(STRING, plugin_opts),
	  HELP("options for the plugin") },
	{ FLAG(0, "manager-address", "ADDRESS"), FOR(S), FIELD(STRING, manager_address), BITS(UNBUILT),
	  HELP("where to report traffic: host:port or a Unix socket's path") },
	{ FLAG(0, "manager-address", "ADDRESS"), KEY("manager_address"), FOR(M), FIELD(STRING, manager_address),
	  HELP("where to take requests: host:port or a Unix socket's path") },
	{ FLAG('D', "workdir", "DIRECTORY"), KEY("workdir"), FOR(M), FIELD(STRING, workdir),
	  HELP("working directory (~/.shadowsocks)") },
	{ FLAG(0, "executable", "PROGRAM"), FOR(M), FIELD(STRING, executable),
	  HELP("ss-server to start for each port") },

	{ FLAG('h', "help", NULL), FOR(ALL), FIELD(STOP, program), .min = OPTIONS_HELP, HELP("this text") },
	{ FLAG(0, "version", NULL), FOR(ALL), FIELD(STOP, program), .min = OPTIONS_VERSION, BITS(OURS),
	  HELP("the version") },
	{ FLAG('A', NULL, NULL), KEY("auth"), FOR(ALL), FIELD(REFUSE, program), BITS(HIDDEN), HELP(one_time_auth) },
};
/* clang-format on */

enum { ROWS = sizeof rows / sizeof rows[0] };
_Static_assert((int)ROWS <= (int)OPTION_ROWS_MAX, "struct options remembers every row");

/* The names of the programs, and what each cannot do without. */
static const struct {
	unsigned program;
	const char *name, *usage;
} programs[] = {
	{L, "ss-local", "-s HOST -p PORT -l PORT -k PASSWORD [-m METHOD]"},
	{S, "ss-server", "-p PORT -k PASSWORD [-m METHOD] [-s ADDRESS]"},
	{T, "ss-tunnel", "-s HOST -p PORT -l PORT -L HOST:PORT -k PASSWORD [-m METHOD]"},
	{R, "ss-redir", "-s HOST -p PORT -l PORT -k PASSWORD [-m METHOD]"},
	{M, "ss-manager", "--manager-address ADDRESS [-m METHOD] [-s ADDRESS]"},
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

static struct options options_for(struct settings *s, struct options_reason *reason)
{
	return (struct options){
		.rows = rows,
		.count = ROWS,
		.program_name = name_of,
		.program = s->program,
		.into = s,
		.reason = reason,
	};
}

static void set_defaults(struct settings *s, enum program program)
{
	*s = (struct settings){
		.program = program,
		.name = name_of(program),
		.method = wire_find("chacha20-ietf-poly1305"),
		.socket = {.no_delay = true, .keep_alive = 60, .dscp = -1},
		.workers = 1,
		.replay_size = program & CLIENTS ? 10000 : 1000000,
		.buffer_limit = 64,
	};
}

__attribute__((format(printf, 3, 4))) static int fail(struct options_reason *reason, enum options_why why,
						       const char *format, ...)
{
	va_list args;

	reason->why = why;
	va_start(args, format);
	vsnprintf(reason->text, sizeof reason->text, format, args);
	va_end(args);
	return -1;
}

/* --- what must be there, and what follows from what is there */

/* The sentence for something that is missing, in shadowsocks-libev's words; or NULL. */
static const char *missing(const struct settings *s)
{
	bool ports = s->servers && !(s->program & S);

	for (unsigned i = 0; i < s->servers; i++)
		ports = ports && s->server[i].port;
	if ((s->program & CLIENTS) && !s->servers)
		return "remote_num is 0: no server is given (-s, key 'server')";
	if ((s->program & RELAYS) && !s->server_port && !ports)
		return "remote_port is NULL: no server port is given (-p, key 'server_port')";
	if ((s->program & CLIENTS) && !s->raw.local_port && !s->local.port)
		return "local_port is NULL: no local port is given (-l, key 'local_port')";
	if ((s->program & T) && !s->tunnel.type)
		return "tunnel_addr is NULL: no target is given (-L, key 'tunnel_address')";
	if ((s->program & RELAYS) && !s->raw.password && !s->raw.key)
		return "both password and key are NULL: give one (-k, --key, their keys, SS_PASSWORD or "
		       "PASSWORD_FILE)";
	return NULL;
}

static void fill_servers(struct settings *s)
{
	if (!s->servers)
		endpoint_parse(&s->server[s->servers++], "0.0.0.0", 0);
	for (unsigned i = 0; i < s->servers; i++) {
		if (!s->server[i].port)
			s->server[i].port = s->server_port;
	}
}

/* Clients listen on loopback, of IPv6 if there is nothing else on the other side. */
static void fill_local(struct settings *s)
{
	bool v6 = true;

	for (unsigned i = 0; i < s->servers; i++)
		v6 = v6 && s->server[i].type == ENDPOINT_IPV6;
	if (!s->local.type)
		endpoint_parse(&s->local, v6 ? "::1" : "127.0.0.1", 0);
	if (!s->local.port)
		s->local.port = s->raw.local_port;
}

static void fill_sources(struct settings *s)
{
	static const uint8_t loopback[16] = {[15] = 1};

	if (!s->socket.source4.family && !s->socket.source6.family) {
		s->socket.source4 = s->raw.source4;
		s->socket.source6 = s->raw.source6;
	}
	if ((s->socket.source4.family && s->socket.source4.ip[0] == 127) ||
	    (s->socket.source6.family && !memcmp(s->socket.source6.ip, loopback, sizeof loopback)))
		log_warn("%s sends from a loopback address and reaches only this machine: -b and the key "
			 "'local_address' mean something else to clients",
			 s->name);
}

/* Values too small to be meant, which shadowsocks-libev drops in silence. */
static void drop_small(unsigned least, const char *what, unsigned *value)
{
	if (*value && *value < least) {
		log_warn("%s %u is ignored: only values from %u up count", what, *value, least);
		*value = 0;
	}
}

static void fill_numbers(struct settings *s)
{
	static const struct {
		const char *name;
		size_t offset;
	} buffers[] = {
		{"tcp_incoming_sndbuf", offsetof(struct settings, socket.near_sndbuf)},
		{"tcp_incoming_rcvbuf", offsetof(struct settings, socket.near_rcvbuf)},
		{"tcp_outgoing_sndbuf", offsetof(struct settings, socket.far_sndbuf)},
		{"tcp_outgoing_rcvbuf", offsetof(struct settings, socket.far_rcvbuf)},
	};

	if (!s->timeout)
		s->timeout = s->program == PROGRAM_REDIR ? 600 : 60;
	if (s->workers > 1) {
		log_warn("workers: several are not built yet, one process serves");
		s->workers = 1;
	}
	drop_small(1025, "nofile", &s->nofile);
	for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
		drop_small(16383, buffers[i].name, (unsigned *)(void *)((char *)s + buffers[i].offset));
}

static char *absolute(char *path)
{
	char cwd[PATH_MAX], *whole;

	if (!path || path[0] == '/' || !getcwd(cwd, sizeof cwd))
		return path;
	if (asprintf(&whole, "%s/%s", cwd, path) < 0)
		return path;
	free(path);
	return whole;
}

static int check(struct settings *s, struct options_reason *reason)
{
	const char *lacks = missing(s);

	if (lacks)
		return fail(reason, OPTIONS_USAGE, "%s", lacks);
	fill_servers(s);
	if (s->program & CLIENTS)
		fill_local(s);
	fill_sources(s);
	fill_numbers(s);
	s->socket.interface = s->interface;
	s->config = absolute(s->config);
	s->pid_file = absolute(s->pid_file);
	s->acl = absolute(s->acl);
	return secret_to_key(s, reason);
}

static void forget_raw(struct settings *s)
{
	if (s->raw.password)
		sodium_memzero(s->raw.password, strlen(s->raw.password));
	if (s->raw.key)
		sodium_memzero(s->raw.key, strlen(s->raw.key));
	free(s->raw.password);
	free(s->raw.key);
	s->raw = (struct settings_raw){0};
}

/* --- the configuration file */

static int read_json(struct options *o, const char *file, const char *text, size_t n)
{
	struct json_document document;
	struct json_error error;
	int result;

	if (json_parse(&document, text, n, &error) < 0)
		return fail(o->reason, OPTIONS_FATAL, "%.300s:%u:%u: %s", file, error.line, error.column, error.text);
	result = options_json(o, file, document.root);
	json_free(&document);
	return result;
}

/* Read the file into `text`, which has SETTINGS_CONFIG_MAX + 1 bytes: what it has, or -1 and errno. */
static ssize_t read_file(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return -1;
	do {
		got = read(fd, text + n, SETTINGS_CONFIG_MAX + 1 - n);
		n += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && n <= SETTINGS_CONFIG_MAX) || (got < 0 && errno == EINTR));
	close(fd);
	return got < 0 ? -1 : (ssize_t)n;
}

static int read_config(struct options *o, const char *path)
{
	char *text = malloc(SETTINGS_CONFIG_MAX + 1);
	ssize_t n;
	int result;

	if (!text)
		return fail(o->reason, OPTIONS_FATAL, "no memory to read %.300s", path);
	n = read_file(path, text);
	if (n < 0)
		result = fail(o->reason, OPTIONS_FATAL, "Invalid config path. %.300s: %s", path, strerror(errno));
	else if (n > SETTINGS_CONFIG_MAX)
		result = fail(o->reason, OPTIONS_FATAL, "Too large config file. %.300s has more than %d MiB", path,
			      SETTINGS_CONFIG_MAX >> 20);
	else
		result = read_json(o, path, text, (size_t)n);
	if (n > 0)
		sodium_memzero(text, (size_t)n);
	free(text);
	return result;
}

/* Where a program without arguments looks; the first that exists, or NULL. */
static char *default_config(void)
{
	static const char end[] = "shadowsocks-libev/config.json";
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];

	if (xdg && *xdg && snprintf(path, sizeof path, "%s/%s", xdg, end) < PATH_MAX && access(path, F_OK) == 0)
		return strdup(path);
	if (home && *home && snprintf(path, sizeof path, "%s/.config/%s", home, end) < PATH_MAX &&
	    access(path, F_OK) == 0)
		return strdup(path);
	snprintf(path, sizeof path, "/etc/%s", end);
	return access(path, F_OK) == 0 ? strdup(path) : NULL;
}

/* --- the ways in */

static int read_all(struct settings *s, int argc, char **argv, struct options_reason *reason)
{
	struct options o = options_for(s, reason);

	if (options_flags(&o, argc, argv) < 0)
		return -1;
	if (argc < 2 && s->program != PROGRAM_MANAGER) {
		s->config = default_config();
		if (!s->config)
			return fail(reason, OPTIONS_FATAL,
				    "Invalid config path. There is no configuration file, and nothing was given");
	}
	if (s->config && read_config(&o, s->config) < 0)
		return -1;
	if (secret_from_environment(s, reason) < 0)
		return -1;
	return check(s, reason);
}

int settings_read_text(struct settings *s, enum program program, const char *file, const char *text, size_t n,
		       struct options_reason *reason)
{
	struct options o;
	int result;

	set_defaults(s, program);
	o = options_for(s, reason);
	result = read_json(&o, file, text, n) < 0 || check(s, reason) < 0 ? -1 : 0;
	forget_raw(s);
	if (result < 0)
		settings_free(s);
	return result;
}

void settings_usage(FILE *to, enum program program)
{
	struct settings none = {.program = program};
	struct options o = options_for(&none, NULL);
	unsigned i = index_of(program);

	fprintf(to, "shadowsocks %s\n", SS_VERSION);
	fprintf(to, "usage: %s %s [option...]\n", programs[i].name, programs[i].usage);
	fprintf(to, "       %s [-c FILE] [option...]\n", programs[i].name);
	fputs("Options win over the configuration file. Defaults are in parentheses.\n\n", to);
	options_help(&o, to);
}

/* The end of a program whose settings are not to be used. */
static noreturn void leave(enum program program, const struct options_reason *reason)
{
	switch (reason->why) {
	case OPTIONS_HELP:
		settings_usage(stdout, program);
		exit(0);
	case OPTIONS_VERSION:
		printf("shadowsocks %s\n", SS_VERSION);
		exit(0);
	case OPTIONS_USAGE:
		log_error("%s", reason->text);
		settings_usage(stdout, program);
		exit(1);
	default:
		die("%s", reason->text);
	}
}

void settings_read(struct settings *s, enum program program, int argc, char **argv)
{
	struct options_reason reason;
	int result;

	set_defaults(s, program);
	result = read_all(s, argc, argv, &reason);
	forget_raw(s);
	if (result < 0) {
		settings_free(s);
		leave(program, &reason);
	}
}

void settings_free(struct settings *s)
{
	struct options o = options_for(s, NULL);

	options_free(&o);
	value_free(s);
	sodium_memzero(s->key, sizeof s->key);
	s->key_len = 0;
}
