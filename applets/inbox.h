/*
 * The socket at which a manager is asked: requests are taken out of it as fast as they come, since
 * the kernel keeps few, and looked at one in each turn of the reactor, so that serving goes on.
 * Answers are outbox.h's.
 */
#ifndef APPLETS_INBOX_H
#define APPLETS_INBOX_H

#include "applets/outbox.h"
#include "core/list.h"
#include "core/reactor.h"

#include <stdbool.h>
#include <stddef.h>

struct inbox {
	/* Filled in by the owner: called with each request, and again in the next turn if it is not
	 * done with it (false). */
	bool (*take)(struct inbox *inbox, const struct sender *sender, const char *bytes, size_t n);

	struct source source;
	struct list requests; /* that wait */
	unsigned waiting;
	size_t waiting_bytes;
	struct outbox outbox;
	char *path; /* of the socket, to be removed; or NULL */
};

/* The address of a Unix socket. False: the path is too long. */
bool inbox_path(struct sender *at, const char *path);

/* Open it at an address; a socket that a program left behind is replaced. 0, or -1 with errno;
 * EADDRINUSE: somebody listens there. */
int inbox_open(struct inbox *inbox, const struct sender *at);

void inbox_close(struct inbox *inbox);

#endif
