/*
 * * The settings that are more than a string or a number. Called through the table in settings.c
 * while * flags and keys are read; owns nothing: lists are freed by value_free().
 */
#include "applets/settings_value.h"

#include "applets/settings.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LOGIN_MAX = 255 }; /* RFC 1929: the length is one byte */

static const char host_form[] = "must be host, host:port or [v6]:port, not '%.60s'";
static const char address_form[] = "must be an IP address, not '%.60s'";

/* A host with or without a port; "host:" is a host without one. */
static int parse_host(struct options *o, struct endpoint *endpoint, const char *text)
{
	size_t n = strlen(text);
	char plain[ENDPOINT_TEXT];

	if (n && n < sizeof plain && text[n - 1] == ':' &&
	    (strchr(text, ':') == text + n - 1 || text[0] == '[')) {
		memcpy(plain, text, n - 1);
		plain[n - 1] = 0;
		text = plain;
	}
	/* The port is 0 in spite of the default only if that is what the text says. */
	if (endpoint_parse(endpoint, text, 1) < 0 || !endpoint->port)
		return options_fail(o, host_form, text);
	return endpoint_parse(endpoint, text, 0);
}

/* A place to listen on; localhost needs no resolver. */
static int parse_listen(struct options *o, struct endpoint *endpoint, const char *text)
{
	if (parse_host(o, endpoint, text) < 0)
		return -1;
	if (endpoint->type == ENDPOINT_NAME && !strcasecmp(endpoint->host, "localhost"))
		endpoint_parse(endpoint, "127.0.0.1", endpoint->port);
	return 0;
}

int value_server(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;
	bool listens = s->program & (PROGRAM_SERVER | PROGRAM_MANAGER);
	struct endpoint endpoint;

	if (!value->text) {
		s->servers = 0;
		return 0;
	}
	if ((listens ? parse_listen : parse_host)(o, &endpoint, value->text) < 0)
		return -1;
	if (s->servers == SETTINGS_SERVERS) {
		options_warn(o, "takes %d at most, '%.60s' is ignored", SETTINGS_SERVERS,
			     value->text);
		return 0;
	}
	s->server[s->servers++] = endpoint;
	return 0;
}

int value_listen(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;

	if (!value->text || !*value->text) {
		s->local.type = ENDPOINT_NONE;
		return 0;
	}
	return parse_listen(o, &s->local, value->text);
}

/* An address without a port, of the family asked for (0: of any). */
static int parse_address(struct options *o, struct address *v4, struct address *v6,
			 const char *text)
{
	struct endpoint e;
	struct address *to;

	if (endpoint_parse(&e, text, 0) < 0 || e.port || e.type == ENDPOINT_NAME)
		return options_fail(o, address_form, text);
	to = e.type == ENDPOINT_IPV4 ? v4 : v6;
	if (!to)
		return options_fail(o, "must be an IPv%d address, not '%.60s'", v4 ? 4 : 6, text);
	*to = (struct address){ .family = e.type == ENDPOINT_IPV4 ? 4 : 6 };
	memcpy(to->ip, e.host, e.len);
	return 0;
}

int value_source(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;

	if (!value->text) {
		s->socket.source4.family = s->socket.source6.family = 0;
		return 0;
	}
	return *value->text ? parse_address(o, &s->socket.source4, &s->socket.source6, value->text)
			    : 0;
}

static int source_of_family(struct options *o, const struct option_value *value, struct address *v4,
			    struct address *v6)
{
	const char *text = options_text(o, value, "a string");

	if (!text)
		return -1;
	return *text ? parse_address(o, v4, v6, text) : 0;
}

int value_source4(struct options *o, const struct option_value *value)
{
	return source_of_family(o, value, &((struct settings *)o->into)->raw.source4, NULL);
}

int value_source6(struct options *o, const struct option_value *value)
{
	return source_of_family(o, value, NULL, &((struct settings *)o->into)->raw.source6);
}

int value_tunnel(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;
	const char *text = options_text(o, value, "a string");

	if (!text)
		return -1;
	if (endpoint_parse(&s->tunnel, text, 0) < 0 || !s->tunnel.port)
		return options_fail(o, "must be host:port or [v6]:port, not '%.60s'", text);
	return 0;
}

int value_method(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;
	const char *text = options_text(o, value, "a string");
	char all[400] = "";
	size_t n = 0;

	if (!text)
		return -1;
	if (!*text)
		return 0;
	s->method = wire_find(text);
	if (s->method)
		return 0;
	for (unsigned i = 0; wire_list(i) && n < sizeof all; i++)
		n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "",
				      wire_list(i)->name);
	return options_fail(
		o, "has an invalid cipher name: %.40s (failed to initialize ciphers; there are %s)",
		text, all);
}

/* RFC 2474, 2597, 3246: EF, CS0 to CS7, AF11 to AF43, or a number. */
static int dscp_of(const char *text)
{
	char *end;
	unsigned long n;

	if (!strcasecmp(text, "EF"))
		return 46;
	if (!strncasecmp(text, "CS", 2) && text[2] >= '0' && text[2] <= '7' && !text[3])
		return (text[2] - '0') << 3;
	if (!strncasecmp(text, "AF", 2) && text[2] >= '1' && text[2] <= '4' && text[3] >= '1' &&
	    text[3] <= '3' && !text[4])
		return (text[2] - '0') << 3 | (text[3] - '0') << 1;
	if (*text < '0' || *text > '9')
		return -1;
	n = strtoul(text, &end, text[1] == 'x' ? 16 : 10);
	return *end || n > 63 ? -1 : (int)n;
}

static int parse_dscp(struct options *o, const struct option_value *value)
{
	const char *text = options_text(o, value, "a string");
	int dscp = text ? dscp_of(text) : -1;

	if (text && dscp < 0)
		return options_fail(
			o,
			"must be EF, CS0 to CS7, AF11 to AF43 or a number up to 0x3f, not '%.60s'",
			text);
	return dscp;
}

/* {"443": "EF"}: of traffic to these ports. */
static int dscp_rules(struct options *o, const struct json *rules)
{
	struct settings *s = o->into;

	s->dscp_rules = 0;
	for (const struct json *j = rules->first; j; j = j->next) {
		struct settings_dscp *rule = &s->dscp[s->dscp_rules];
		int dscp;

		options_at(o, j);
		if (s->dscp_rules == SETTINGS_DSCP_RULES)
			return options_fail(o, "takes %d ports at most", SETTINGS_DSCP_RULES);
		if (options_port(j->name, &rule->port) < 0)
			return options_fail(o,
					    "must have ports from 1 to 65535 as names, not '%.60s'",
					    j->name);
		dscp = parse_dscp(o, &(struct option_value){ .json = j });
		if (dscp < 0)
			return -1;
		rule->dscp = (uint8_t)dscp;
		s->dscp_rules++;
	}
	return 0;
}

int value_dscp(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;
	int dscp;

	if (value->json && value->json->type == JSON_OBJECT) {
		if (s->program == PROGRAM_REDIR)
			return dscp_rules(o, value->json);
		options_warn(o, "as an object is for %s, ignored",
			     settings_program_name(PROGRAM_REDIR));
		return 0;
	}
	dscp = parse_dscp(o, value);
	if (dscp < 0)
		return -1;
	s->socket.dscp = dscp;
	return 0;
}

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

void value_free(struct settings *s)
{
	free_logins(s);
	free_ports(s);
}

/* One field of a login, copied; NULL after failing. */
static char *login_field(struct options *o, const struct json *login, const char *name)
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
		login->user = login_field(o, j, "user");
		login->password = login->user ? login_field(o, j, "password") : NULL;
		if (!login->password)
			return -1;
	}
	return 0;
}

int value_port_password(struct options *o, const struct option_value *value)
{
	const struct json *map = value->json;
	struct settings *s = o->into;

	if (map->type != JSON_OBJECT)
		return options_fail(o, "must be an object of ports and passwords, not %s",
				    json_type_name(map));
	free_ports(s);
	s->port_password = calloc(children(map) + 1, sizeof *s->port_password);
	if (!s->port_password)
		return options_fail(o, "does not fit into memory");
	for (const struct json *j = map->first; j; j = j->next) {
		struct settings_port *port = &s->port_password[s->ports];
		const char *text;

		options_at(o, j);
		if (options_port(j->name, &port->port) < 0)
			return options_fail(o,
					    "must have ports from 1 to 65535 as names, not '%.60s'",
					    j->name);
		text = options_text(o, &(struct option_value){ .json = j },
				    "an object of ports and passwords");
		if (!text || !*text)
			return text ? options_fail(o, "must not have an empty password") : -1;
		port->password = strdup(text);
		if (!port->password)
			return options_fail(o, "does not fit into memory");
		s->ports++;
	}
	return 0;
}
