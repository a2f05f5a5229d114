/*
 * What the five programs are told: flags, configuration file, environment and defaults, in one
 * struct. The one table of them (settings.c) makes the parser, the help text and the messages;
 * the man pages are compared with it. Read once, before anything is bound; whatever is wrong ends
 * the program there with one sentence and the exit status that scripts expect.
 */
#ifndef APPLETS_SETTINGS_H
#define APPLETS_SETTINGS_H

#include "net/endpoint.h"
#include "net/socket.h"
#include "net/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct options_reason;

enum program {
	PROGRAM_LOCAL = 1,
	PROGRAM_SERVER = 2,
	PROGRAM_TUNNEL = 4,
	PROGRAM_REDIR = 8,
	PROGRAM_MANAGER = 16
};

enum mode { MODE_TCP_ONLY, MODE_TCP_AND_UDP, MODE_UDP_ONLY };

enum {
	SETTINGS_SERVERS = 10, /* kept of a server list, as in shadowsocks-libev */
	SETTINGS_DSCP_RULES = 64,
	SETTINGS_CONFIG_MAX = 16 << 20 /* bytes of a configuration file */
};

/* Who may use the SOCKS5 port; 1 to 255 bytes each, without NUL. */
struct settings_login {
	char *user, *password;
};

/* A port of ss-manager with its password. */
struct settings_port {
	uint16_t port;
	char *password;
};

/* ss-redir: the DSCP of traffic to one destination port. */
struct settings_dscp {
	uint16_t port;
	uint8_t dscp;
};

/* Strings are NULL where nothing (or "" or null) was given. Paths are absolute, unless they are
 * names that PATH resolves. Numbers are in the unit their comment names, defaults filled in. */
struct settings {
	enum program program;
	const char *name; /* "ss-local": for log_open() */
	char *config;	  /* the file that was read, for a reload; NULL: none */

	/* Where. Clients: the servers to connect to. Server, manager: the addresses to listen on;
	 * 0.0.0.0 * if none was given. Ports are filled in (manager: 0 where the entry has none).
	 * A place to listen * on is an address, or a name where a name was given ("localhost" is
	 * an address already). */
	struct endpoint server[SETTINGS_SERVERS];
	unsigned servers;
	uint16_t server_port;	/* 0: none given, every entry has its own */
	struct endpoint local;	/* clients: where to listen */
	struct endpoint tunnel; /* ss-tunnel: the fixed target */

	/* What lies on the wire. The password itself is gone by the time settings_read()
	 * returns. */
	const struct wire_method *method;
	unsigned char key[WIRE_KEY_MAX];
	size_t key_len; /* 0: none (manager only) */
	uint8_t mode;	/* enum mode */

	/* Sockets and names. */
	struct socket_options socket; /* its strings are those of this struct */
	char *interface;
	char *nameserver; /* "ip[:port],..." for resolve_open(); NULL: the system's */
	bool ipv6_first;

	/* Limits and times. */
	unsigned timeout;      /* seconds; contract of -t */
	unsigned udp_timeout;  /* seconds; 0: derived from timeout */
	unsigned mtu;	       /* 0: datagrams go whole */
	unsigned workers;      /* processes that serve; 1: this one */
	unsigned replay_size;  /* salts remembered */
	unsigned max_sessions; /* 0: as many as descriptors allow */
	unsigned buffer_limit; /* MiB of blocks */
	unsigned nofile;       /* 0: leave it */

	/* Who and how. */
	struct settings_login *socks_auth; /* NULL: everybody may */
	unsigned socks_auths;
	char *user;	/* name or number to become after binding */
	char *pid_file; /* given: run as a daemon */
	bool syslog, verbose;

	/* Read and checked, but not acted upon before their issues. */
	char *acl, *plugin, *plugin_opts;
	bool tproxy;
	struct settings_dscp dscp[SETTINGS_DSCP_RULES];
	unsigned dscp_rules;
	struct settings_port *port_password;
	unsigned ports;
	char *manager_address, *executable, *workdir;

	/* Between parsing and checking only; wiped before settings_read() returns. */
	struct settings_raw {
		char *password, *key;
		struct address source4,
			source6; /* of the keys local_ipv4_address, local_ipv6_address */
		uint16_t local_port;
	} raw;
};

/* Fill *settings for `program` from argv (argv[0] is skipped) and all else that is consulted.
 * Secrets in * argv and in the environment are overwritten. Exits by itself: 0 after -h and
 * --version, 1 after * an unknown option or a missing item (the reason on stderr, then the usage
 * on stdout), 255 after die(). */
void settings_read(struct settings *settings, enum program program, int argc, char **argv);

/* Fill *settings from a configuration text alone, with no flags and no environment: 0, or -1 with
 * the * reason. `file` names it in messages. Never exits: for tests now and reloads later. */
int settings_read_text(struct settings *settings, enum program program, const char *file,
		       const char *text, size_t n, struct options_reason *reason);

/* Wipe and free what it holds. */
void settings_free(struct settings *settings);

/* The help text of one program; its first line is "shadowsocks <version>". */
void settings_usage(FILE *to, enum program program);

/* "ss-local" for PROGRAM_LOCAL and so on. */
const char *settings_program_name(enum program program);

#endif
