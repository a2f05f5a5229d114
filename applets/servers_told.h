/*
 * What a server that a manager starts is told: a file of settings, of its port, and the arguments
 * of its command, of the manager's own settings.
 */
#ifndef APPLETS_SERVERS_TOLD_H
#define APPLETS_SERVERS_TOLD_H

#include "applets/manager.h"

enum { SERVERS_ARGUMENTS = 64 };

struct servers_arguments {
	char *all[SERVERS_ARGUMENTS + 1];
	unsigned n;
	char numbers[3][16];
	char hosts[SETTINGS_SERVERS][ENDPOINT_TEXT];
};

/* Write the file, for its owner alone: what the port is served with. False, with a log line. */
bool servers_write_settings(const char *path, const struct port *port,
			    const struct settings_place *place);

/* Fill *a, which is zeroed: all[] ends with NULL. What it points to is its own, or of the others
 * here. */
void servers_put_arguments(struct servers_arguments *a, const struct manager *manager,
			   const struct port *port, const char *pid_file, const char *settings);

#endif
