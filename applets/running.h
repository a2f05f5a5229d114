/*
 * What a program that serves has, and who does what in its life (applet.c):
 *
 *	the main process	settings, limits, daemon, listeners, shared memory, parts, privileges
 *	whoever serves		reactor, resolver, sessions, associations: serving.c
 *
 * Functions of the main process run once, before anything serves; there is one struct applet, and
 * a worker gets a copy of it as it is forked.
 */
#ifndef APPLETS_RUNNING_H
#define APPLETS_RUNNING_H

#include "applets/applet.h"
#include "applets/crew.h"
#include "net/engine.h"

#include <sys/types.h>

struct manager;
struct reports;

/* What may be there at once: of each worker, but for the salts, which all have together.
 * (limits.c) */
struct limits {
	uint32_t sessions;
	uint32_t assocs; /* UDP clients; 0: no UDP */
	uint32_t blocks;
	uint32_t salts;		/* remembered against replays, of TCP, and as many of UDP */
	uint32_t request_salts; /* of a minute's requests (SIP022), at a server */
};

struct applet {
	const struct applet_kind *kind;
	struct settings settings;
	struct engine engine;
	struct service **services; /* one for each place, in the order of the settings */
	unsigned service_count;
	unsigned long descriptors; /* that may be open */
	struct limits limits;
	struct replay *replay, *packet_replay;
	struct salts *salts;	/* a server's */
	uint8_t nat_tool;	/* whose rules are in place, 1 + enum nat_tool; 0: none (nat.c) */
	struct crew crew;	/* several workers */
	struct acl *acl;	/* NULL: none */
	struct plugin *plugins; /* one for each place of the settings; or NULL */
	unsigned plugin_count;
	int status;		 /* the exit status, if the program ends by itself */
	struct manager *manager; /* of ss-manager */
	struct reports *reports; /* of ss-server, to a manager */
};

/* Something that the main process looks after besides the services: a plugin, rules in the kernel.
 * Each function may be NULL. None is called in a worker. */
struct applet_part {
	/* Listeners are open, and what may be root's privileges are still there. Dies if it
	 * fails. */
	void (*bound)(struct applet *applet);
	/* Privileges are dropped; the reactor may be turned, and runs later. Nothing is served yet,
	 * no worker is there. Dies if it fails. */
	void (*begin)(struct applet *applet);
	/* A child ended that the program does not know. */
	void (*child)(struct applet *applet, pid_t pid, int status);
	/* The settings were read again, and are good. */
	void (*reload)(struct applet *applet);
	/* The program ends: after serving, or because of a failure after bound() has begun. */
	void (*end)(struct applet *applet);
};

/* All parts, in the order in which they begin; they end in the reverse order. The last is NULL. */
extern const struct applet_part *const applet_parts[];
extern const struct applet_part nat_part;

extern const struct applet_part manager_part, report_part;

/* What the i-th service does. (places.c) */
enum mode applet_mode(const struct applet *applet, unsigned i);

/* The plugin of a place, NULL if it has none; choose their ports. (plugins.c) */
struct plugin *applet_plugin(const struct applet *applet, unsigned place);
void applet_make_plugins(struct applet *applet);
extern const struct applet_part plugins_part;

/* Count the services; find out what they may hold, which files and memory limit. (limits.c) */
void applet_limits(struct applet *applet);

/* Read the access control list, if there is one. Dies if it is missing or
 * malformed. Later: read it again; false if there is none, or it is bad: what
 * was read before stays. (rules.c) */
void applet_open_rules(struct applet *applet);
bool applet_reload_rules(struct applet *applet);

/* Fill in the services, open what they share. Dies if there is not enough memory. */
void applet_make(struct applet *applet);

/* What every service has, but for its key; what every key is lent by the program; a table of a
 * place's users, whose names and keys were compared when they were read (NULL: no memory). */
void applet_fill(struct applet *applet, struct service *service);
void applet_lend(const struct applet *applet, struct wire_key *key);
struct users *applet_users(const struct settings_place *place);

/* The places in the settings are others now: services follow them, and no session is cut. False:
 * there is no memory, and the program ends. (changes.c) */
bool applet_change_places(struct applet *applet);
/* Free a service, which is closed. */
void applet_free_service(struct service *service);

/* Bind all listeners. Dies if there is none. (listening.c) */
void applet_listen(struct applet *applet);

/* `::` stands for both families, unless an IPv4 address of the same port is among all[0..n),
 * too. */
bool applet_v6only(const struct endpoint *at, const struct endpoint *all, unsigned n);

/* The first address of a name to listen at, turning the reactor until there is one; an address
 * stays what it is. NULL, or why there is none. */
const char *applet_resolve(const struct endpoint *name, struct endpoint *literal);

/* Look up the servers' names. Dies if there is no such name; stops early if the program is to. */
void applet_check_upstreams(struct applet *applet);

/* Whoever serves opens the resolver, and starts to accept. After reactor_open(). (serving.c) */
void applet_open_names(const struct applet *applet);
void applet_start(struct applet *applet);

/* What the program holds, in one line of the log; and what its users moved, in one for each. */
void applet_report(const struct applet *applet, const struct engine_state *state);

/* End all sessions; close and wipe what applet_make() and applet_listen() made, and the reactor. */
void applet_close(struct applet *applet);

#endif
