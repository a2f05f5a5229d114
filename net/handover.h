/*
 * Where several workers serve, the UDP side of a service belongs to one of them. A SOCKS5
 * connection that asks for UDP ASSOCIATE (net/control.h) must be there too, but the kernel may have
 * given it to another: that one hands it over, descriptor and all, through the box of the worker it
 * belongs to. So what is known of associations is known in one process, and goes with it.
 *
 * The boxes are opened by the main process, and stay when a worker dies: what lies in one is for
 * its successor.
 */
#ifndef NET_HANDOVER_H
#define NET_HANDOVER_H

#include "core/reactor.h"

#include <stdbool.h>
#include <stdint.h>

struct service;

struct handover {
	unsigned workers; /* 0: one process serves, and nothing is handed over */
	unsigned place;	  /* of this worker */
	int *boxes;	  /* of each worker: where it reads, and where the others write */
	struct source source;
	struct service *const *services;
	unsigned service_count;
};

/* Open the boxes. 0, or -1 with errno. */
int handover_open(struct handover *handover, unsigned workers);

/* In a worker: take what comes for these services. 0, or -1 with errno. */
int handover_start(struct handover *handover, unsigned place, struct service *const *services,
		   unsigned service_count);

/* Which worker has the datagrams of the service with this number. */
unsigned handover_place(const struct handover *handover, uint32_t service);

/* Does another worker have the datagrams of this service? */
bool handover_is_elsewhere(const struct service *service);

/* Give a connection, which has been heard up to `socks`, to that worker; it goes on with
 * session_continue(). 0, or -1 with errno: there is no room in its box. `fd` stays the caller's. */
int handover_give(const struct service *service, int fd, uint8_t socks);

#endif
