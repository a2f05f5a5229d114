/*
 * Settings whose text has a form of its own: addresses, methods, lists. These are the custom rows
 * of the tables in settings.c, which alone uses them; each puts one value into what options->into
 * is, a struct settings. Those marked `place` need no more than a struct settings_place, which is
 * also how a struct settings begins.
 */
#ifndef APPLETS_SETTINGS_VALUE_H
#define APPLETS_SETTINGS_VALUE_H

#include "core/options.h"

struct settings;
struct settings_place;
struct settings_user;

int value_server(struct options *options, const struct option_value *value); /* place */
int value_server_url(struct options *options, const struct option_value *value);
int value_method(struct options *options, const struct option_value *value);	    /* place */
int value_password(struct options *options, const struct option_value *value);	    /* place */
int value_password_file(struct options *options, const struct option_value *value); /* place */
int value_key(struct options *options, const struct option_value *value);	    /* place */
int value_fast_open(struct options *options, const struct option_value *value);	    /* place */
int value_element_acl(struct options *o, const struct option_value *value);
int value_no_delay(struct options *options, const struct option_value *value); /* place */
int value_listen(struct options *options, const struct option_value *value);
int value_source(struct options *options, const struct option_value *value);
int value_source4(struct options *options, const struct option_value *value);
int value_source6(struct options *options, const struct option_value *value);
int value_prefix(struct options *options, const struct option_value *value);
int value_padding(struct options *options, const struct option_value *value);
int value_nameserver(struct options *options, const struct option_value *value);
int value_congestion(struct options *options, const struct option_value *value);
int value_memory_limit(struct options *options, const struct option_value *value);
int value_workers(struct options *options, const struct option_value *value);
int value_dscp(struct options *options, const struct option_value *value);

/* settings_lists.c */
int value_socks_auth(struct options *options, const struct option_value *value);
int value_port_password(struct options *options, const struct option_value *value);
int value_users(struct options *options, const struct option_value *value); /* place */
int value_servers(struct options *options, const struct option_value *value);

/* settings_tunnels.c; the last two fill a struct settings_tunnel */
int value_tunnel(struct options *options, const struct option_value *value);
int value_tunnels(struct options *options, const struct option_value *value);
int value_tunnel_local(struct options *options, const struct option_value *value);
int value_tunnel_target(struct options *options, const struct option_value *value);

/* settings_value.c: a place to listen on, with or without a port. 0, or -1 after options_fail(). */
struct endpoint;
int value_parse_listen(struct options *options, struct endpoint *endpoint, const char *text);

/* Wipe and free what the lists and the keys of places have. */
void value_free(struct settings *settings);
void value_free_users(struct settings_user **users, unsigned *count);
void value_free_place(struct settings_place *place);
void value_free_elements(struct settings *settings);

#endif
