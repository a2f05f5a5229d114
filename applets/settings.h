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

struct json;
struct options_reason;
struct settings_start;

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
	SETTINGS_NAME_MAX = 255,       /* bytes of a user's name */
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

/* ss-tunnel: a place to listen on, and where it leads. */
struct settings_tunnel {
	struct endpoint local; /* without an address: that of the top level */
	struct endpoint target;
	uint16_t local_port; /* between parsing and checking only */
};

/* Where in the configuration file something stands, for messages; line 0: it is not from there. */
struct settings_spot {
	uint32_t line, column;
};

/* A user of a server (SIP023). */
struct settings_user {
	struct settings_spot at;
	char *name;
	char *password; /* wiped before settings_read() returns */
	unsigned char key[WIRE_KEY_MAX];
};

/* What belongs to one key: where clients find it, or where a server listens for it. The top level
 * of a configuration is one, and so is each element of `servers`. */
struct settings_place {
	/* Ports are filled in (manager: 0 where the entry has none). A server without an address
	 * has 0.0.0.0. A place to listen on is an address, or a name where a name was given
	 * ("localhost" is an address already). */
	struct endpoint server[SETTINGS_SERVERS];
	unsigned servers;
	uint16_t server_port; /* 0: none given, every entry has its own */

	const struct wire_method *method;
	struct wire_key key;	     /* format NULL: no password was given (manager only) */
	struct settings_user *users; /* NULL: clients know the key itself */
	unsigned user_count;
	uint8_t mode;		     /* of an element: enum mode + 1; 0: that of the top level */
	uint8_t fast_open, no_delay; /* of a manager's port: a bool + 1; 0: that of the top level */

	char *plugin;	     /* a path, or a name to be found in PATH; NULL: none */
	char *plugin_opts;   /* NULL: none */
	uint8_t plugin_mode; /* enum mode: what goes through it */

	/* Between parsing and checking only; wiped before settings_read() returns. */
	char *password, *key_text;
	const struct wire_key *kept; /* a reload: the key that options or environment gave */
	struct settings_spot at, password_at, key_at; /* an element itself; its secrets */
	/* After a reload that has changed places: 1 + the number that this one had (0: it is new),
	 * and that of one which has gone and had the same addresses. */
	unsigned was, heir_of;
	bool disabled;
	bool linked; /* where it is was said by a link, which later flags override */
	char *acl;
};

/* Strings are NULL where nothing (or "" or null) was given. Paths are absolute, unless they are
 * names that PATH resolves. Numbers are in the unit their comment names, defaults filled in. */
struct settings {
	/* Where, and what lies on the wire: what flags and the top level say (the first member:
	 * what fills it also fills elements of `servers`), and the elements. Passwords are gone by
	 * the time settings_read() returns. settings_place() gives those that count. */
	struct settings_place top;
	struct settings_place *elements;
	unsigned element_count;
	unsigned *enabled; /* the indices of those that are not disabled */
	unsigned enabled_count;

	enum program program;
	const char *name;	      /* "ss-local": for log_open() */
	char *config;		      /* the file that was read; NULL: none */
	struct settings_start *start; /* what a reload begins from; NULL: no file */

	struct endpoint local; /* clients: where to listen */
	/* ss-tunnel: all that there are; the first is that of the top level, if it has one. */
	struct settings_tunnel *tunnels;
	unsigned tunnel_count;
	uint8_t mode; /* enum mode */

	/* How a client's requests look; in the keys of all places already. */
	unsigned char prefix[WIRE_PREFIX_MAX];
	unsigned char prefix_len;
	bool printable_salt;
	bool padded; /* the next two were given */
	uint16_t padding_min, padding_max;
	uint8_t udp_padding; /* enum packet_padding */

	/* Sockets and names. */
	struct socket_options socket; /* its strings are those of this struct */
	char *interface;
	char *nameserver; /* "ip[:port],..." for resolve_open(); NULL: the system's */
	bool ipv6_first;

	/* Limits and times. */
	unsigned timeout;	       /* seconds; ss-local(1), -t */
	unsigned udp_timeout;	       /* seconds; 0: derived from timeout */
	unsigned udp_max_associations; /* 0: derived from the descriptors that are allowed */
	unsigned mtu;		       /* 0: datagrams go whole */
	unsigned workers;	       /* processes that serve, "auto" resolved; 1: this one */
	unsigned replay_size;	       /* salts remembered; 0: limits.c knows */
	unsigned max_sessions;	       /* 0: as many as descriptors and memory allow */
	unsigned buffer_limit;	       /* MiB of blocks; 0: limits.c knows */
	uint64_t memory_limit;	       /* bytes of all that; 0: derived from the machine's */
	unsigned nofile;	       /* 0: leave it */

	/* Who and how. */
	struct settings_login *socks_auth; /* NULL: everybody may */
	unsigned socks_auths;
	char *user;	/* name or number to become after binding */
	char *pid_file; /* given: run as a daemon */
	bool syslog, verbose;

	/* Read and checked, but not acted upon before their issues. */
	char *acl;
	bool tproxy;
	bool nat;	/* apply rules, as ss-nat does */
	char *nat_opts; /* its flags; NULL: none */
	struct settings_dscp dscp[SETTINGS_DSCP_RULES];
	unsigned dscp_rules;
	struct settings_port *port_password;
	unsigned ports;
	bool places_read; /* a reload has changed places, and nobody has acted on that yet */
	bool ports_read;  /* they, and `servers`, were read and are not looked at yet */
	char *manager_address, *executable, *workdir;

	/* Between parsing and checking only. */
	void (*tell)(const char *reason); /* of each fault; NULL: the first one ends it */
	bool shared;			  /* the file is that of another program, too */
	const char *file;		  /* to be named in messages; NULL: config */
	struct settings_raw {
		struct address source4,
			source6; /* of the keys local_ipv4_address, local_ipv6_address */
		uint16_t local_port;
		struct endpoint tunnel; /* -L and tunnel_address of the top level */
	} raw;
};

/* Fill *settings for `program` from argv (argv[0] is skipped) and all else that is consulted.
 * Secrets in argv and in the environment are overwritten. Exits by itself: 0 after -h and
 * --version, 1 after an unknown option or a missing item (the reason on stderr, then the usage
 * on stdout), 255 after die(). */
void settings_read(struct settings *settings, enum program program, int argc, char **argv);

/* The same for who only looks at settings: never exits; passwords stay in it. 0, or -1 with the
 * reason; settings_free() either way. If `tell` is given, each fault is told to it, and if that
 * were all, the reason is empty. */
int settings_try(struct settings *settings, enum program program, int argc, char **argv,
		 void (*tell)(const char *reason), struct options_reason *reason);
/* The same of a file whose keys may be those of any program, without warnings of them. */
int settings_try_shared(struct settings *settings, enum program program, int argc, char **argv,
			struct options_reason *reason);

/* Fill *settings from a configuration text alone, with no flags and no environment: 0, or -1 with
 * the reason. `file` names it in messages. Never exits: for tests. */
int settings_read_text(struct settings *settings, enum program program, const char *file,
		       const char *text, size_t n, struct options_reason *reason);

/* Read the file again, under the same options, and take from it the places, if they have changed,
 * the users of those that have not, or of a manager its ports: 0, or -1 with the reason, and
 * everything is as it was. A file with which the program would not start is refused whole, and so
 * are places that change where there are plugins, several workers, or rules of ss-redir's own.
 * Whatever else has changed stays as it was, and a warning names it. */
int settings_reload(struct settings *settings, struct options_reason *reason);

/* The i-th place that the program acts on, NULL after the last: the elements of `servers` that are
 * not disabled, after the top level if it names a server or there are no elements. */
const struct settings_place *settings_place(const struct settings *settings, unsigned i);

/* One more place of a manager, from an object like an element of `servers` (which `add` has, too):
 * 0, or -1 with the reason. It is given back with settings_free_place(). */
int settings_read_place(struct settings *settings, struct settings_place *place,
			const struct json *object, struct options_reason *reason);
/* The same of the i-th of `port_password`. */
int settings_read_port(struct settings *settings, unsigned i, struct settings_place *place,
		       struct options_reason *reason);
void settings_free_place(const struct settings *settings, struct settings_place *place);

/* Free the list `servers`, of which nothing is needed any more. */
void settings_drop_servers(struct settings *settings);

/* Log the methods, and what there is to be said against them. After log_open(). */
void settings_announce(const struct settings *settings);

/* Wipe and free what it holds. */
void settings_free(struct settings *settings);

/* The help text of one program; its first line is "shadowsocks <version>". And what is left of it
 * behind a message that shall stay in sight. */
void settings_usage(FILE *to, enum program program);
void settings_usage_short(FILE *to, enum program program);

/* "ss-local" for PROGRAM_LOCAL and so on. */
const char *settings_program_name(enum program program);

#endif
