/*
 * The ports of a manager that it serves itself: each is a service in this process. They come,
 * change and go while the others go on. Whatever is changed is done at once: when a function here
 * returns, the port is bound, or everything is as it was.
 */
#ifndef APPLETS_PORTS_H
#define APPLETS_PORTS_H

#include "applets/running.h"
#include "applets/tally.h"

struct port {
	struct service service;
	uint16_t number;
	uint8_t mode;			  /* enum mode */
	bool configured;		  /* as the configuration file says */
	const struct wire_method *method; /* the service's, by name */
	char *plugin;			  /* of its server, with what it is told; or NULL */
	char *password;			  /* as it was given, for who asks; "" if a key was */
	struct server *server;		  /* of servers.c; NULL: it is served here */
	struct endpoint *own;		  /* where it listens, if not where all do */
	unsigned own_count;
};

struct ports {
	struct applet *applet;
	struct tally *tally;
	struct endpoint at[SETTINGS_SERVERS]; /* where all listen; ports are filled in */
	unsigned at_count;
	struct socket_options sockets[4]; /* bit 0: fast open; bit 1: no delay */
	unsigned count;
	struct port *all[1 << 16]; /* by number; NULL: there is none */
};

enum port_result {
	PORT_OK,
	PORT_TAKEN, /* it cannot be bound; errno says why */
	PORT_FAILED /* no memory, or no such user; the log says why */
};

/* None yet. The addresses to listen at are looked up. NULL: no memory; dies if there is no
 * address. */
struct ports *ports_open(struct applet *applet, struct tally *tally);

/* Serve a place; whoever serves at the port already is replaced, and keeps its counters. If the
 * place is the same but for its users, only sessions of users who are no more are cut. The place's
 * key is taken. */
enum port_result ports_put(struct ports *ports, struct settings_place *place, bool configured);

/* For servers.c, which does not serve here. Make a port that is in no table yet (NULL: no memory),
 * or drop it; is it what the place says; can it be bound at this moment (nothing stays bound); put
 * it into the table, in the place of one that is dropped. */
struct port *ports_make(struct ports *ports, struct settings_place *place, bool configured);
void ports_discard(struct port *port);
bool ports_is_same(const struct ports *ports, const struct port *port,
		   const struct settings_place *place);
bool ports_are_free(const struct ports *ports, struct port *port);
void ports_exchange(struct ports *ports, struct port *port);

/* Stop serving, cut the sessions, forget the counters. False: there is no such port. */
bool ports_remove(struct ports *ports, uint16_t number);

/* Let one user more in, with this key; or one less. PORT_FAILED also if there is no such port, if
 * it has no users, or if name or key are another user's. */
enum port_result ports_add_user(struct ports *ports, uint16_t number, const char *name,
				const unsigned char *key);
enum port_result ports_remove_user(struct ports *ports, uint16_t number, const char *name);

/* Close all, turning the reactor once. */
void ports_close(struct ports *ports);

#endif
