/*
 * * Settings whose text has a form of its own: addresses, methods, lists of logins. These are the
 * custom * rows of the table in settings.c, which alone uses them; each puts one value into the
 * struct settings * that options->into is.
 */
#ifndef APPLETS_SETTINGS_VALUE_H
#define APPLETS_SETTINGS_VALUE_H

#include "core/options.h"

struct settings;

int value_server(struct options *options, const struct option_value *value);
int value_listen(struct options *options, const struct option_value *value);
int value_source(struct options *options, const struct option_value *value);
int value_source4(struct options *options, const struct option_value *value);
int value_source6(struct options *options, const struct option_value *value);
int value_tunnel(struct options *options, const struct option_value *value);
int value_method(struct options *options, const struct option_value *value);
int value_dscp(struct options *options, const struct option_value *value);
int value_socks_auth(struct options *options, const struct option_value *value);
int value_port_password(struct options *options, const struct option_value *value);

/* Wipe and free what the last two have made. */
void value_free(struct settings *settings);

#endif
