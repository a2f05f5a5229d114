/*
 * ss-manager at work: what its files know of each other (manager.c, manager_requests.c, servers.c).
 */
#ifndef APPLETS_MANAGER_H
#define APPLETS_MANAGER_H

#include "applets/inbox.h"
#include "applets/ports.h"
#include "applets/request.h"

struct manager {
	struct applet *applet;
	struct tally *tally;
	struct ports *ports;
	char *workdir; /* NULL: there is none, and nothing is kept */
	struct inbox inbox;
	const struct sender *asks; /* who is being answered */
	struct reply reply;
};

/* Act on one request, and answer it. (manager_requests.c) */
void manager_take(struct inbox *inbox, const struct sender *sender, const char *bytes, size_t n);

#endif
