/*
 * A plugin (SIP003): a program that carries the connections between client and server, and is told
 * by its environment between which addresses. One for each place that has one.
 *
 *     STARTING ──> READY ──> DOWN ──> STARTING ──> ...
 *         └──> FAILED
 *
 * It is ready once somebody listens where it has to. Dead before it was ever ready, it has failed;
 * dead later, it is started again, after a while that grows as long as that does not help. Owned
 * by the main process; sessions know no more of it than an address.
 */
#ifndef NET_PLUGIN_H
#define NET_PLUGIN_H

#include "core/child.h"
#include "net/endpoint.h"

enum plugin_state { PLUGIN_OFF, PLUGIN_STARTING, PLUGIN_READY, PLUGIN_DOWN, PLUGIN_FAILED };

enum { PLUGIN_WHY = 400 };

struct plugin {
	/* Filled in by the owner; what is pointed at must stay. */
	const char *program; /* a path, or a name to be found in PATH */
	const char *options; /* for SS_PLUGIN_OPTIONS, as they are; NULL: none */
	/* The server's addresses, whose port is that of the first: a client's plugin connects to
	 * them, a server's listens there. */
	const struct endpoint *servers;
	unsigned server_count;
	bool server;				/* whose side it is on */
	bool tcp, udp;				/* what it carries (SIP003u: udp) */
	void (*changed)(struct plugin *plugin); /* the state is another; NULL: nobody asks */
	void *own;				/* the owner's */

	/* Its end here, chosen by plugin_open(): a client's plugin listens there, a server's
	 * connects to it. */
	struct endpoint inner;

	/* plugin.c's own. */
	uint8_t state; /* enum plugin_state */
	bool was_ready;
	uint8_t tries; /* of ports */
	int hold;      /* reserves the port of `inner` */
	struct child child;
	struct timer timer;   /* to look whether it is ready, or to start it again */
	unsigned wait;	      /* ms of the timer when it was last set */
	unsigned back_off;    /* ms until the next start */
	uint64_t ready_at;    /* ms */
	char why[PLUGIN_WHY]; /* FAILED: one sentence */
};

/* Before all else: choose `inner`. 0, or -1 with errno. */
int plugin_open(struct plugin *plugin);

/* Start it; a server listens on `inner`. Then changed() follows, from the reactor, as the state
 * changes. 0, or -1: the state is FAILED. */
int plugin_start(struct plugin *plugin);

#endif
