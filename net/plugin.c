/*
 * See plugin.h. What a plugin is started with lives only until it runs. There is no message that
 * says "ready": the kernel's table of sockets is asked.
 */
#include "net/plugin.h"

#include "core/log.h"
#include "net/socket_port.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum {
	LOOK_MIN = 5,	    /* ms until the first look whether it is ready; then twice that, ... */
	LOOK_MAX = 50,	    /* ... up to this */
	BACK_OFF_MIN = 100, /* ms until it is started again; then twice that, ... */
	BACK_OFF_MAX = 30000, /* ... up to this */
	STEADY = 10000,	      /* ms after which it counts as having worked */
	PORT_TRIES = 5,	      /* ports for a client's plugin that another program takes away */
	PRIVILEGED = 1024,    /* ports below are for root */
	WORDS_MAX = 64,	      /* of the options of obfsproxy */
	HOSTS_TEXT = 10 * (ENDPOINT_NAME_MAX + 1)
};

/* How a plugin is started. */
struct call {
	char *argv[WORDS_MAX + 8];
	unsigned argc;
	char **environment;
	unsigned variables;
	char *owned[WORDS_MAX + 16]; /* what is to be freed */
	unsigned owned_count;
	bool failed; /* no memory */
	char hosts[HOSTS_TEXT];
	char local[ENDPOINT_TEXT];
};

/* --- what it is told */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_obfsproxy(const struct plugin *plugin)
{
	return !strncmp(base_name(plugin->program), "obfsproxy", 9);
}

/* The host alone, without brackets. */
static const char *host_text(const struct endpoint *at, char *to, size_t n)
{
	struct sockaddr_storage address;

	if (endpoint_socket(at, &address) > 0)
		return socket_print((struct sockaddr *)&address, false, to, n);
	snprintf(to, n, "%s", at->host);
	return to;
}

static void join_hosts(const struct plugin *plugin, char *to, size_t n)
{
	char host[ENDPOINT_TEXT];
	size_t used = 0;

	to[0] = 0;
	for (unsigned i = 0; i < plugin->server_count && used < n; i++)
		used += (size_t)snprintf(to + used, n - used, "%s%s", i ? "|" : "",
					 host_text(&plugin->servers[i], host, sizeof(host)));
}

static char *keep(struct call *call, char *text)
{
	if (!text || call->owned_count == sizeof(call->owned) / sizeof(call->owned[0])) {
		call->failed = true;
		free(text);
		return NULL;
	}
	return call->owned[call->owned_count++] = text;
}

__attribute__((format(printf, 2, 3))) static char *print(struct call *call, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return keep(call, text);
}

/* What is said to us alone, or is about to be said anew. */
static bool is_private(const char *variable)
{
	static const char *const names[] = {
		"SS_REMOTE_HOST=",    "SS_REMOTE_PORT=", "SS_LOCAL_HOST=", "SS_LOCAL_PORT=",
		"SS_PLUGIN_OPTIONS=", "NOTIFY_SOCKET=",	 "LISTEN_PID=",	   "LISTEN_FDS=",
		"LISTEN_FDNAMES=",    "WATCHDOG_PID=",	 "WATCHDOG_USEC=",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	return false;
}

static void inherit(struct call *call)
{
	unsigned n = 0;

	while (environ && environ[n])
		n++;
	call->environment = calloc(n + 6, sizeof(*call->environment));
	call->failed |= !call->environment;
	for (unsigned i = 0; call->environment && i < n; i++)
		if (!is_private(environ[i]))
			call->environment[call->variables++] = environ[i];
}

static void tell(struct call *call, const char *name, const char *value)
{
	if (call->environment && value)
		call->environment[call->variables++] = print(call, "%s=%s", name, value);
}

static void tell_environment(struct call *call, const struct plugin *plugin)
{
	char port[8], inner[8];

	snprintf(port, sizeof(port), "%u", plugin->servers[0].port);
	snprintf(inner, sizeof(inner), "%u", plugin->inner.port);
	tell(call, "SS_REMOTE_HOST", call->hosts);
	tell(call, "SS_REMOTE_PORT", port);
	tell(call, "SS_LOCAL_HOST", call->local);
	tell(call, "SS_LOCAL_PORT", inner);
	tell(call, "SS_PLUGIN_OPTIONS", plugin->options);
}

static void say(struct call *call, char *word)
{
	call->argv[call->argc++] = word;
}

/* obfsproxy is older than SIP003, and has arguments: as shadowsocks-libev starts it. */
static void tell_obfsproxy(struct call *call, const struct plugin *plugin)
{
	unsigned port = plugin->servers[0].port, inner = plugin->inner.port;
	char *outer = print(call, "%s:%u", call->hosts, port);
	char *local = print(call, "%s:%u", call->local, inner);
	char *words = print(call, "%s", plugin->options ? plugin->options : "");

	say(call, "--data-dir");
	say(call, print(call, "/tmp/%s_%s:%u_%s:%u", base_name(plugin->program), call->hosts, port,
			call->local, inner));
	for (char *rest, *word = words ? strtok_r(words, " ", &rest) : NULL;
	     word && call->argc < WORDS_MAX; word = strtok_r(NULL, " ", &rest))
		say(call, word);
	say(call, "--dest");
	say(call, plugin->server ? local : outer);
	say(call, plugin->server ? "server" : "client");
	say(call, plugin->server ? outer : local);
}

static int call_plugin(struct plugin *plugin)
{
	struct call call = { .argc = 0 };
	int result = -1;

	join_hosts(plugin, call.hosts, sizeof(call.hosts));
	host_text(&plugin->inner, call.local, sizeof(call.local));
	say(&call, print(&call, "%s", plugin->program));
	inherit(&call);
	if (is_obfsproxy(plugin))
		tell_obfsproxy(&call, plugin);
	else
		tell_environment(&call, plugin);
	errno = ENOMEM;
	if (!call.failed)
		result = child_start(&plugin->child, call.argv, call.environment);

	int error = errno;
	while (call.owned_count)
		free(call.owned[--call.owned_count]);
	free(call.environment);
	errno = error;
	return result;
}

/* --- its life */

static void change(struct plugin *plugin, enum plugin_state state)
{
	plugin->state = (uint8_t)state;
	if (plugin->changed)
		plugin->changed(plugin);
}

/* Where it has to listen, of which there may be several: on one at least. */
static bool is_listening(const struct plugin *plugin)
{
	if (!plugin->server)
		return socket_port_used(&plugin->inner, !plugin->tcp);
	for (unsigned i = 0; i < plugin->server_count; i++) {
		struct endpoint at = plugin->servers[i];

		at.port = plugin->servers[0].port;
		if (socket_port_used(&at, !plugin->tcp))
			return true;
	}
	return false;
}

static void set_timer(struct plugin *plugin, unsigned ms)
{
	plugin->wait = ms;
	reactor_after(&plugin->timer, ms);
}

static const char *listening_place(const struct plugin *plugin, char *to, size_t n)
{
	return endpoint_print(plugin->server ? &plugin->servers[0] : &plugin->inner, to, n);
}

__attribute__((format(printf, 2, 3))) static void fail(struct plugin *plugin, const char *format,
						       ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(plugin->why, sizeof(plugin->why), format, args);
	va_end(args);
	change(plugin, PLUGIN_FAILED);
}

static void try_later(struct plugin *plugin)
{
	unsigned ms = plugin->back_off ? plugin->back_off : BACK_OFF_MIN;

	plugin->back_off = 2 * ms < BACK_OFF_MAX ? 2 * ms : BACK_OFF_MAX;
	change(plugin, PLUGIN_DOWN);
	set_timer(plugin, ms);
}

static void begin(struct plugin *plugin)
{
	if (call_plugin(plugin) == 0) {
		set_timer(plugin, LOOK_MIN);
		change(plugin, PLUGIN_STARTING);
	} else if (plugin->was_ready) {
		log_error("cannot start the plugin %s: %s", plugin->program, strerror(errno));
		try_later(plugin);
	} else {
		fail(plugin, "failed to start the plugin %s: %s", plugin->program, strerror(errno));
	}
}

static void look(struct plugin *plugin)
{
	char where[ENDPOINT_TEXT];

	if (!is_listening(plugin)) {
		set_timer(plugin, 2 * plugin->wait < LOOK_MAX ? 2 * plugin->wait : LOOK_MAX);
		return;
	}
	log_info("plugin %s listens on %s", plugin->child.name,
		 listening_place(plugin, where, sizeof(where)));
	plugin->was_ready = true;
	plugin->ready_at = reactor_now();
	change(plugin, PLUGIN_READY);
}

static void timer_fired(struct timer *timer)
{
	struct plugin *plugin = container_of(timer, struct plugin, timer);

	if (plugin->state == PLUGIN_STARTING)
		look(plugin);
	else if (plugin->state == PLUGIN_DOWN)
		begin(plugin);
}

/* A port that was free when it was chosen, and was not when the plugin came to it. */
static bool may_try_another(struct plugin *plugin)
{
	if (plugin->server || plugin->tries++ >= PORT_TRIES || !is_listening(plugin))
		return false;
	return plugin_open(plugin) == 0;
}

static void ended(struct child *child, int status)
{
	struct plugin *plugin = container_of(child, struct plugin, child);
	char verdict[64], where[ENDPOINT_TEXT];

	reactor_cancel(&plugin->timer);
	child_verdict(status, verdict, sizeof(verdict));
	if (plugin->was_ready) {
		if (plugin->state == PLUGIN_READY && reactor_now() - plugin->ready_at >= STEADY)
			plugin->back_off = 0;
		try_later(plugin);
		log_error("plugin %s %s: it is started again in %u ms", child->name, verdict,
			  plugin->wait);
	} else if (may_try_another(plugin)) {
		begin(plugin);
	} else {
		fail(plugin, "the plugin %s %s before it listened on %s", plugin->program, verdict,
		     listening_place(plugin, where, sizeof(where)));
	}
}

/* A client's plugin is where its servers are. */
static bool all_v6(const struct plugin *plugin)
{
	for (unsigned i = 0; i < plugin->server_count; i++)
		if (plugin->servers[i].type != ENDPOINT_IPV6)
			return false;
	return true;
}

int plugin_open(struct plugin *plugin)
{
	if (plugin->state == PLUGIN_OFF) {
		timer_init(&plugin->timer, timer_fired);
		plugin->hold = -1;
	}
	if (plugin->hold >= 0)
		close(plugin->hold);
	plugin->hold = -1;
	return socket_port_choose(!plugin->server && all_v6(plugin), &plugin->inner, &plugin->hold);
}

int plugin_start(struct plugin *plugin)
{
	char where[ENDPOINT_TEXT];

	plugin->child.name = base_name(plugin->program);
	plugin->child.ended = ended;
	plugin->child.ports = plugin->server && plugin->servers[0].port < PRIVILEGED;
	if (plugin->server && is_listening(plugin))
		fail(plugin, "the plugin %s cannot listen on %s: another program does",
		     plugin->program, listening_place(plugin, where, sizeof(where)));
	else
		begin(plugin);
	return plugin->state == PLUGIN_FAILED ? -1 : 0;
}
