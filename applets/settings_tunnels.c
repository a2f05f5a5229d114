/*
 * The tunnels of ss-tunnel: flags -L, the key `tunnel_address`, the list `tunnels`. Called through
 * the table in settings.c, and by settings_read.c once all has been read. struct settings owns the
 * list.
 */
#include "applets/settings_value.h"

#include "applets/settings_table.h"

#include <stdlib.h>
#include <string.h>

enum { TUNNELS_MAX = 1024 };

/* One more, zeroed; NULL after failing. */
static struct settings_tunnel *add(struct settings *s)
{
	struct settings_tunnel *more;

	if (s->tunnel_count == TUNNELS_MAX)
		return NULL;
	more = realloc(s->tunnels, (s->tunnel_count + 1) * sizeof *more);
	if (!more)
		return NULL;
	s->tunnels = more;
	more += s->tunnel_count++;
	memset(more, 0, sizeof *more);
	return more;
}

static struct settings_tunnel *add_for(struct options *o)
{
	struct settings_tunnel *tunnel = add(o->into);

	if (!tunnel)
		options_fail(o, "can be %d at most, and must fit into memory", TUNNELS_MAX);
	return tunnel;
}

static int parse_target(struct options *o, struct endpoint *target, const char *text)
{
	if (endpoint_parse(target, text, 0) < 0 || !target->port)
		return options_fail(o, "must be host:port or [v6]:port, not '%.60s'", text);
	return 0;
}

/* "PORT=HOST:PORT" */
static int with_port(struct options *o, const char *text, const char *equals)
{
	struct settings_tunnel *tunnel = add_for(o);
	char port[6] = "";

	if (!tunnel)
		return -1;
	if (equals - text < (ptrdiff_t)sizeof port)
		memcpy(port, text, (size_t)(equals - text));
	if (options_port(port, &tunnel->local_port) < 0)
		return options_fail(o,
				    "must have a local port from 1 to 65535 in front of '=', not "
				    "'%.60s'",
				    text);
	return parse_target(o, &tunnel->target, equals + 1);
}

/* Without a port of its own it is that of the top level, of which there is one: the last that is
 * given. */
int value_tunnel(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;
	const char *equals;

	if (!value->text)
		return 0;
	equals = strchr(value->text, '=');
	return equals ? with_port(o, value->text, equals)
		      : parse_target(o, &s->raw.tunnel, value->text);
}

int value_tunnel_local(struct options *o, const struct option_value *value)
{
	struct settings_tunnel *tunnel = o->into;
	const char *text = options_text(o, value, "a string");

	if (!text)
		return -1;
	return *text ? value_parse_listen(o, &tunnel->local, text) : 0;
}

int value_tunnel_target(struct options *o, const struct option_value *value)
{
	struct settings_tunnel *tunnel = o->into;
	const char *text = options_text(o, value, "a string");

	return text ? parse_target(o, &tunnel->target, text) : -1;
}

static int element(struct options *o, const struct json *j)
{
	struct settings_tunnel *tunnel = add_for(o);
	struct options rows;

	if (!tunnel)
		return -1;
	rows = settings_tunnel(tunnel, o->program, o->reason);
	rows.whole = o;
	rows.tell = o->tell;
	if (options_json(&rows, o->file, j) < 0)
		return -1;
	if (!tunnel->target.type)
		return options_fail(o, "needs a 'tunnel_address' here");
	if (!tunnel->local.port && !tunnel->local_port)
		return options_fail(o, "needs a 'local_port' here");
	return 0;
}

int value_tunnels(struct options *o, const struct option_value *value)
{
	const struct json *list = value->json;
	int result = 0;

	if (list->type != JSON_ARRAY)
		return options_fail(o, "must be an array of objects, not %s", json_type_name(list));
	for (const struct json *j = list->first; j; j = j->next) {
		options_at(o, j);
		if (j->type != JSON_OBJECT)
			return options_fail(o, "must be an array of objects, not of %s here",
					    json_type_name(j));
		if (element(o, j) == 0)
			continue;
		result = -1;
		if (!options_told(o))
			return -1;
	}
	return result;
}

int tunnels_own(struct settings *s)
{
	struct settings_tunnel *all = s->tunnels;

	s->tunnels = NULL;
	if (!s->tunnel_count)
		return 0;
	s->tunnels = malloc(s->tunnel_count * sizeof *all);
	if (!s->tunnels) {
		s->tunnel_count = 0;
		return -1;
	}
	memcpy(s->tunnels, all, s->tunnel_count * sizeof *all);
	return 0;
}

/* That of the top level comes first. */
static int add_top(struct settings *s, struct options_reason *reason)
{
	if (!s->raw.tunnel.type)
		return 0;
	if (!add(s))
		return settings_fail(reason, OPTIONS_FATAL, "no memory for %u tunnels",
				     s->tunnel_count);
	memmove(s->tunnels + 1, s->tunnels, (s->tunnel_count - 1) * sizeof *s->tunnels);
	s->tunnels[0] = (struct settings_tunnel){ .local = s->local, .target = s->raw.tunnel };
	return 0;
}

static bool same_place(const struct endpoint *a, const struct endpoint *b)
{
	return a->type == b->type && a->port == b->port && a->len == b->len &&
	       !memcmp(a->host, b->host, a->len);
}

int tunnels_complete(struct settings *s, struct options_reason *reason)
{
	if (add_top(s, reason) < 0)
		return -1;
	for (unsigned i = 0; i < s->tunnel_count; i++) {
		struct endpoint *local = &s->tunnels[i].local;
		uint16_t port = local->port ? local->port : s->tunnels[i].local_port;

		if (!local->type)
			*local = s->local;
		local->port = port;
		for (unsigned j = 0; j < i; j++)
			if (same_place(local, &s->tunnels[j].local))
				return settings_fail(reason, OPTIONS_FATAL,
						     "two tunnels begin at port %u of the same "
						     "address",
						     port);
	}
	return 0;
}
