/*
 * A server as an ss:// link, for --server-url: one flag that says what several others would. What
 * it does not say, and what flags behind it say, is as if those had been given.
 */
#include "applets/settings_value.h"

#include "applets/settings.h"
#include "net/url.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* In the place of the old text, which is wiped; "" is none. False: no memory. */
static bool replace(char **text, const char *fresh)
{
	if (*text)
		sodium_memzero(*text, strlen(*text));
	free(*text);
	*text = fresh && *fresh ? strdup(fresh) : NULL;
	return *text || !fresh || !*fresh;
}

/* The file says nothing about what a link tells. */
static void give_all(struct options *o)
{
	static const size_t fields[] = {
		offsetof(struct settings, top.server),
		offsetof(struct settings, top.server_port),
		offsetof(struct settings, top.method),
		offsetof(struct settings, top.password),
		offsetof(struct settings, top.key_text),
		offsetof(struct settings, top.plugin),
		offsetof(struct settings, top.plugin_opts),
	};

	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		options_give(o, fields[i]);
}

static int take(struct options *o, const struct url *url)
{
	struct settings_place *place = &((struct settings *)o->into)->top;

	if (value_method(o, &(struct option_value){ .text = url->method }) < 0)
		return -1;
	place->servers = 1;
	place->server[0] = url->server;
	place->server[0].port = 0; /* -p may follow */
	place->server_port = url->server.port;
	place->linked = true;
	if (!replace(&place->password, url->password) || !replace(&place->key_text, NULL) ||
	    !replace(&place->plugin, url->plugin) ||
	    !replace(&place->plugin_opts, url->plugin_opts))
		return options_fail(o, "does not fit into memory");
	give_all(o);
	return 0;
}

int value_server_url(struct options *o, const struct option_value *value)
{
	struct url *url = malloc(sizeof *url);
	const char *why;
	int result;

	if (!url)
		return options_fail(o, "does not fit into memory");
	why = url_parse(url, value->text);
	result = why ? options_fail(o, "is no link to a server: %s", why) : take(o, url);
	sodium_memzero(url, sizeof *url);
	free(url);
	return result;
}
