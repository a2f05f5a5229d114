/*
 * Where a datagram goes that a client has sent: by the rules (net/route.h) through the server, or
 * to the target itself, whose name is looked up first; or nowhere.
 */
#ifndef NET_OUTWARD_H
#define NET_OUTWARD_H

#include <stddef.h>

struct assoc;
struct endpoint;

/* Send it, now or when its name is known. There is room around it, as in what was received. */
void outward_send(struct assoc *assoc, const struct endpoint *target, unsigned char *bytes,
		  size_t n);

/* Log, rationed, that there was no socket to send from. */
void outward_failed(const struct assoc *assoc, int error);

#endif
