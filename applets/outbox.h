/*
 * Answers on their way to those who asked. What does not go at once waits here, for each of them by
 * itself: who does not take what is his (a Unix socket's queue holds ten) holds up nobody else.
 */
#ifndef APPLETS_OUTBOX_H
#define APPLETS_OUTBOX_H

#include "core/list.h"
#include "core/timer.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Who asked, and is to be answered; len 0: it has no address and cannot be. */
struct sender {
	struct sockaddr_storage at;
	socklen_t len;
};

/* What one client has been sent through a Unix socket and may not have read. */
struct unread {
	struct sender by;
	int bytes;
	bool forgiven; /* there were more */
};

enum { OUTBOX_UNREAD = 32 };

struct outbox {
	int fd; /* the owner's */
	struct timer retry;
	struct list readers; /* for whom something waits, who waits longest first */
	unsigned unsent;     /* answers */
	size_t unsent_bytes;

	/* The last one was sent something last; together, what the kernel says is not read yet. */
	struct unread unread[OUTBOX_UNREAD];
	unsigned unreads;
	int unknown; /* bytes of whom we have forgotten */
	int share;   /* bytes that one client may leave unread */
};

void outbox_open(struct outbox *outbox, int fd);

/* Send, now or later, in the order given; what its reader does not take within a few seconds is
 * dropped. */
void outbox_send(struct outbox *outbox, const struct sender *to, const char *bytes, size_t n);

/* Drop all that waits. */
void outbox_close(struct outbox *outbox);

#endif
