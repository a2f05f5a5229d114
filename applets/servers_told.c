/*
 * See servers_told.h. Called by servers.c; owns nothing.
 */
#include "applets/servers_told.h"

#include "core/file.h"
#include "core/json.h"
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the file */

/* A member of the file, unless there is no text. False: no memory. */
static bool put_member(FILE *file, const char *before, const char *name, const char *text)
{
	size_t size = text ? json_quote(NULL, 0, text, strlen(text)) + 1 : 0;
	char *quoted;

	if (!text)
		return true;
	quoted = malloc(size);
	if (!quoted)
		return false;
	json_quote(quoted, size, text, strlen(text));
	fprintf(file, "%s\"%s\":%s", before, name, quoted);
	sodium_memzero(quoted, size);
	free(quoted);
	return true;
}

static bool put_users(FILE *file, const struct settings_place *place)
{
	bool good = true;

	if (place->users)
		fputs(",\n\"users\":[", file);
	for (unsigned i = 0; good && i < place->user_count; i++) {
		good = put_member(file, i ? ",\n{" : "\n{", "name", place->users[i].name) &&
		       put_member(file, ",", "password", place->users[i].password);
		fputs("}", file);
	}
	if (place->users)
		fputs("]", file);
	return good;
}

static bool put_settings(FILE *file, const struct port *port, const struct settings_place *place)
{
	static const char *const modes[] = { "tcp_only", "tcp_and_udp", "udp_only" };
	const struct socket_options *sockets = port->service.sockets;
	bool good;

	fprintf(file, "{\n\"server_port\":%u", port->number);
	good = put_member(file, ",\n", "password", place->password) &&
	       put_member(file, ",\n", "key", place->key_text) &&
	       put_member(file, ",\n", "method", place->method->name) &&
	       put_member(file, ",\n", "plugin", place->plugin) &&
	       put_member(file, ",\n", "plugin_opts", place->plugin_opts) &&
	       put_member(file, ",\n", "plugin_mode", modes[place->plugin_mode]) &&
	       put_member(file, ",\n", "mode", modes[port->mode]) &&
	       put_member(file, ",\n", "tcp_congestion", sockets->congestion) &&
	       put_users(file, place);
	fprintf(file, ",\n\"fast_open\":%s,\n\"no_delay\":%s,\n\"reuse_port\":%s",
		sockets->fast_open ? "true" : "false", sockets->no_delay ? "true" : "false",
		sockets->reuse_port ? "true" : "false");
	fprintf(file, ",\n\"keep_alive\":%d,\n\"fwmark\":%u", sockets->keep_alive, sockets->mark);
	if (sockets->dscp >= 0)
		fprintf(file, ",\n\"dscp\":%d", sockets->dscp);
	fputs("\n}\n", file);
	return good && file_written(file);
}

bool servers_write_settings(const char *path, const struct port *port,
			    const struct settings_place *place)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool good = file && put_settings(file, port, place);

	if (!good)
		log_error("%s cannot be written: %s", path, strerror(errno));
	if (file)
		fclose(file);
	return good;
}

/* --- the command */

static void put(struct servers_arguments *a, const char *word)
{
	if (a->n < SERVERS_ARGUMENTS)
		a->all[a->n++] = (char *)word;
}

static void put_option(struct servers_arguments *a, const char *option, const char *value)
{
	if (!value)
		return;
	put(a, option);
	put(a, value);
}

static void put_number(struct servers_arguments *a, unsigned i, const char *option, unsigned value)
{
	if (!value)
		return;
	snprintf(a->numbers[i], sizeof a->numbers[i], "%u", value);
	put_option(a, option, a->numbers[i]);
}

static void put_hosts(struct servers_arguments *a, const struct ports *ports,
		      const struct port *port)
{
	const struct endpoint *at = port->own ? port->own : ports->at;
	unsigned n = port->own ? port->own_count : ports->at_count;

	for (unsigned i = 0; i < n; i++) {
		endpoint_print(&at[i], a->hosts[i], sizeof a->hosts[i]);
		*strrchr(a->hosts[i], ':') = 0;
		put_option(a, "-s", a->hosts[i]);
	}
}

void servers_put_arguments(struct servers_arguments *a, const struct manager *m,
			   const struct port *port, const char *pid_file, const char *settings)
{
	const struct settings *s = &m->applet->settings;

	put_option(a, "--manager-address", m->address);
	put_option(a, "-f", pid_file);
	put_option(a, "-c", settings);
	put_number(a, 0, "-t", s->timeout);
	if (s->verbose)
		put(a, "-v");
	if (port->mode != MODE_TCP_ONLY)
		put(a, port->mode == MODE_UDP_ONLY ? "-U" : "-u");
	put_option(a, "-a", s->user);
	put_option(a, "--acl", s->acl);
	put_number(a, 1, "-n", s->nofile);
	put_option(a, "-i", s->interface);
	if (port->service.sockets->fast_open)
		put(a, "--fast-open");
	if (port->service.sockets->no_delay)
		put(a, "--no-delay");
	if (s->ipv6_first)
		put(a, "-6");
	put_number(a, 2, "--mtu", s->mtu);
	put_option(a, "--plugin", s->top.plugin);
	put_option(a, "--plugin-opts", s->top.plugin_opts);
	put_option(a, "-d", s->nameserver);
	put_hosts(a, m->ports, port);
}
