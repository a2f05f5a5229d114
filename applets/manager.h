/*
 * ss-manager at work: what its files know of each other (manager.c, manager_requests.c, servers.c).
 */
#ifndef APPLETS_MANAGER_H
#define APPLETS_MANAGER_H

#include "applets/inbox.h"
#include "applets/ports.h"
#include "applets/request.h"

enum phase { BOUND, BEGINS, LIVE };

struct manager {
	enum phase phase;
	struct applet *applet;
	struct tally *tally;
	struct ports *ports;
	char *workdir;		 /* NULL: there is none, and nothing is kept */
	char *address;		 /* where it is asked */
	struct servers *servers; /* ports that have a server of their own */
	struct inbox inbox;
	const struct sender *asks; /* who is being answered */
	struct reply reply;
	unsigned next; /* port to be told of in the next turn; 0: nothing is being told */
	uint16_t only; /* the one that is asked for; 0: all */
};

/* Act on one request, and answer it. What is to be told of all ports is told piece by piece: false,
 * if it is to be called again for this request. (manager_requests.c) */
bool manager_take(struct inbox *inbox, const struct sender *sender, const char *bytes, size_t n);

#endif
