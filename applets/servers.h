/*
 * The ports of a manager that is told to (--executable) start an ss-server for each, as
 * shadowsocks-libev does: with a file of settings, and as a daemon with a file of its number, in
 * the working directory. Whoever asked is answered when the server has bound its port, or has not.
 */
#ifndef APPLETS_SERVERS_H
#define APPLETS_SERVERS_H

#include "applets/manager.h"

/* Before a port is put. Dies without memory. */
void servers_open(struct manager *manager);

/* End servers that an earlier manager has left. Dies without memory, or if the working directory
 * that it needs is not there. */
void servers_begin(struct manager *manager);

/* True if this place must have a server: also if its port has one, which takes a while to end. */
bool servers_wants(const struct manager *manager, const struct settings_place *place);

/* Serve a place, answering `asks` (NULL: nobody) later. The place's key is taken. */
void servers_put(struct manager *manager, struct settings_place *place, bool configured,
		 const struct sender *asks);

/* End the server of a port. */
void servers_remove(struct manager *manager, uint16_t number);

/* A server reports what it has passed since it was started. */
void servers_report(struct manager *manager, uint16_t number, uint64_t bytes);

/* End them all. */
void servers_close(struct manager *manager);

#endif
