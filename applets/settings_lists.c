/*
 * The settings that are lists of objects: who may use the SOCKS5 port, the ports of a manager, the
 * users of a server, and `servers`. Called through the tables in settings.c; owns what hangs on
 * struct settings and is freed here.
 */
#include "applets/settings_value.h"

#include "applets/secret.h"
#include "applets/settings_table.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { LOGIN_MAX = 255 }; /* RFC 1929: the length is one byte */

static unsigned children(const struct json *container)
{
	unsigned n = 0;

	for (const struct json *j = container->first; j; j = j->next)
		n++;
	return n;
}

static void wipe(char *text)
{
	if (text)
		sodium_memzero(text, strlen(text));
	free(text);
}

static void free_logins(struct settings *s)
{
	while (s->socks_auths--) {
		wipe(s->socks_auth[s->socks_auths].user);
		wipe(s->socks_auth[s->socks_auths].password);
	}
	free(s->socks_auth);
	s->socks_auth = NULL;
	s->socks_auths = 0;
}

static void free_ports(struct settings *s)
{
	while (s->ports--)
		wipe(s->port_password[s->ports].password);
	free(s->port_password);
	s->port_password = NULL;
	s->ports = 0;
}

void value_free_users(struct settings_user **users, unsigned *count)
{
	for (unsigned i = 0; i < *count; i++) {
		free((*users)[i].name);
		wipe((*users)[i].password);
	}
	if (*users)
		sodium_memzero(*users, *count * sizeof **users);
	free(*users);
	*users = NULL;
	*count = 0;
}

void value_free_place(struct settings_place *place)
{
	value_free_users(&place->users, &place->user_count);
	secret_forget(&place->key);
}

void value_free_elements(struct settings *s)
{
	for (unsigned i = 0; i < s->element_count; i++) {
		struct options o = settings_element(&s->elements[i], s->program, NULL);

		options_free(&o);
		value_free_place(&s->elements[i]);
	}
	free(s->elements);
	free(s->enabled);
	s->elements = NULL;
	s->enabled = NULL;
	s->element_count = s->enabled_count = 0;
}

void value_free(struct settings *s)
{
	free_logins(s);
	free_ports(s);
	free(s->tunnels);
	s->tunnels = NULL;
	s->tunnel_count = 0;
	value_free_elements(s);
	value_free_place(&s->top);
}

/* One field of a login or user, copied; NULL after failing. */
static char *field(struct options *o, const struct json *login, const char *name)
{
	const struct json *j = json_member(login, name);
	char *copy;

	if (!j || !json_plain(j) || j->len < 1 || j->len > LOGIN_MAX) {
		options_fail(o, "needs a '%s' of 1 to %d bytes here", name, LOGIN_MAX);
		return NULL;
	}
	copy = strdup(j->text);
	if (!copy)
		options_fail(o, "does not fit into memory");
	return copy;
}

int value_socks_auth(struct options *o, const struct option_value *value)
{
	const struct json *list = value->json;
	struct settings *s = o->into;
	int result = 0;

	if (list->type != JSON_ARRAY)
		return options_fail(o, "must be an array of objects with user and password, not %s",
				    json_type_name(list));
	if (!list->first) /* nobody could log in, or everybody: it must not be guessed */
		return options_fail(o, "must not be an empty array");
	free_logins(s);
	s->socks_auth = calloc(children(list), sizeof *s->socks_auth);
	if (!s->socks_auth)
		return options_fail(o, "does not fit into memory");
	for (const struct json *j = list->first; j; j = j->next) {
		struct settings_login *login = &s->socks_auth[s->socks_auths++];

		options_at(o, j);
		login->user = field(o, j, "user");
		login->password = login->user ? field(o, j, "password") : NULL;
		if (login->password)
			continue;
		result = -1;
		if (!options_told(o))
			return -1;
	}
	return result;
}

static int port_of(struct options *o, const struct json *j, struct settings_port *port)
{
	const char *text;

	if (options_port(j->name, &port->port) < 0)
		return options_fail(o, "must have ports from 1 to 65535 as names, not '%.60s'",
				    j->name);
	text = options_text(o, &(struct option_value){ .json = j },
			    "an object of ports and passwords");
	if (!text || !*text)
		return text ? options_fail(o, "must not have an empty password") : -1;
	port->password = strdup(text);
	return port->password ? 0 : options_fail(o, "does not fit into memory");
}

int value_port_password(struct options *o, const struct option_value *value)
{
	const struct json *map = value->json;
	struct settings *s = o->into;
	int result = 0;

	if (map->type != JSON_OBJECT)
		return options_fail(o, "must be an object of ports and passwords, not %s",
				    json_type_name(map));
	free_ports(s);
	s->port_password = calloc(children(map) + 1, sizeof *s->port_password);
	if (!s->port_password)
		return options_fail(o, "does not fit into memory");
	for (const struct json *j = map->first; j; j = j->next) {
		options_at(o, j);
		if (port_of(o, j, &s->port_password[s->ports]) == 0) {
			s->ports++;
			continue;
		}
		result = -1;
		if (!options_told(o))
			return -1;
	}
	return result;
}

static int users_form(struct options *o, const struct json *j)
{
	return options_fail(o, "must be an array of objects with name and password, not %s",
			    json_type_name(j));
}

int value_users(struct options *o, const struct option_value *value)
{
	const struct json *list = value->json;
	struct settings_place *place = o->into;
	int result = 0;

	if (list->type != JSON_ARRAY)
		return users_form(o, list);
	if (!list->first) /* nobody, or whoever knows the server's key: it must not be guessed */
		return options_fail(o, "must not be an empty array");
	value_free_users(&place->users, &place->user_count);
	place->users = calloc(children(list), sizeof *place->users);
	if (!place->users)
		return options_fail(o, "does not fit into memory");
	for (const struct json *j = list->first; j; j = j->next) {
		struct settings_user *user = &place->users[place->user_count++];

		options_at(o, j);
		if (j->type != JSON_OBJECT)
			return users_form(o, j);
		user->at = (struct settings_spot){ j->line, j->column };
		user->name = field(o, j, "name");
		user->password = user->name ? field(o, j, "password") : NULL;
		if (user->password)
			continue;
		result = -1;
		if (!options_told(o))
			return -1;
	}
	return result;
}

static int value_bool(struct options *o, const struct option_value *value, uint8_t *to)
{
	if (value->json->type != JSON_TRUE && value->json->type != JSON_FALSE)
		return options_fail(o, "must be a boolean, not %s", json_type_name(value->json));
	*to = value->json->type == JSON_TRUE ? 2 : 1;
	return 0;
}

int value_fast_open(struct options *o, const struct option_value *value)
{
	return value_bool(o, value, &((struct settings_place *)o->into)->fast_open);
}

int value_no_delay(struct options *o, const struct option_value *value)
{
	return value_bool(o, value, &((struct settings_place *)o->into)->no_delay);
}

/* Nobody may believe that such rules are in force. */
int value_element_acl(struct options *o, const struct option_value *value)
{
	(void)value;
	return options_fail(
		o, "belongs to the top level: the rules of a program are those of all its servers");
}

int value_servers(struct options *o, const struct option_value *value)
{
	const struct json *list = value->json;
	struct settings *s = o->into;
	int result = 0;

	if (list->type != JSON_ARRAY)
		return options_fail(o, "must be an array of objects, not %s", json_type_name(list));
	value_free_elements(s);
	s->elements = calloc(children(list) + 1, sizeof *s->elements);
	s->enabled = calloc(children(list) + 1, sizeof *s->enabled);
	if (!s->elements || !s->enabled)
		return options_fail(o, "does not fit into memory");
	for (const struct json *j = list->first; j; j = j->next) {
		struct settings_place *place = &s->elements[s->element_count];
		struct options element;

		options_at(o, j);
		if (j->type != JSON_OBJECT)
			return options_fail(o, "must be an array of objects, not of %s here",
					    json_type_name(j));
		place->at = (struct settings_spot){ j->line, j->column };
		s->element_count++;
		element = settings_element(place, s->program, o->reason);
		element.whole = o;
		element.tell = o->tell;
		element.shared = o->shared;
		if (options_json(&element, o->file, j) < 0) {
			if (!o->tell)
				return -1;
			result = -1;
		}
		if (!place->disabled)
			s->enabled[s->enabled_count++] = (unsigned)(place - s->elements);
	}
	return result;
}
