/*
 * Between settings.c, which has the table, and settings_read.c, which reads by it.
 */
#ifndef APPLETS_SETTINGS_TABLE_H
#define APPLETS_SETTINGS_TABLE_H

#include "applets/settings.h"
#include "core/options.h"

#ifndef SS_VERSION
#define SS_VERSION "unknown"
#endif

enum {
	PROGRAM_CLIENTS = PROGRAM_LOCAL | PROGRAM_TUNNEL | PROGRAM_REDIR,
	PROGRAM_RELAYS = PROGRAM_CLIENTS | PROGRAM_SERVER,
	PROGRAM_ALL = PROGRAM_RELAYS | PROGRAM_MANAGER
};

/* The table, ready to fill *settings, whose program is set. `reason` may be NULL if nothing is
 * read. */
struct options settings_options(struct settings *settings, struct options_reason *reason);

/* What every program starts from. */
void settings_defaults(struct settings *settings, enum program program);

#endif
