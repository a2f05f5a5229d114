/*
 * How a program gets its settings: defaults, then flags, then what the configuration file says
 * about the rest, then the environment's password; then what must be there is checked. Called by
 * each applet's main once. What can be set is in settings.c.
 */
#include "applets/settings.h"

#include "applets/ceilings.h"
#include "applets/secret.h"
#include "applets/settings_table.h"
#include "applets/version.h"
#include "applets/workdir.h"
#include "core/file.h"
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- what must be there, and what follows from what is there */

static bool all_v6(const struct settings_place *place)
{
	bool all = true;

	for (unsigned i = 0; i < place->servers; i++)
		all = all && place->server[i].type == ENDPOINT_IPV6;
	return all;
}

/* Clients listen on loopback, of IPv6 if there is nothing else on the other side. */
static void fill_local(struct settings *s)
{
	bool v6 = true;

	/* What is redirected comes to the address of the interface it came in by. */
	if (!s->local.type && s->nat)
		endpoint_parse(&s->local, "::", 0);
	for (unsigned i = 0; settings_place(s, i); i++)
		v6 = v6 && all_v6(settings_place(s, i));
	if (!s->local.type)
		endpoint_parse(&s->local, v6 ? "::1" : "127.0.0.1", 0);
	if (!s->local.port)
		s->local.port = s->raw.local_port;
}

static void fill_sources(struct settings *s)
{
	static const uint8_t loopback[16] = { [15] = 1 };

	if (!s->socket.source4.family && !s->socket.source6.family) {
		s->socket.source4 = s->raw.source4;
		s->socket.source6 = s->raw.source6;
	}
	if ((s->socket.source4.family && s->socket.source4.ip[0] == 127) ||
	    (s->socket.source6.family && !memcmp(s->socket.source6.ip, loopback, sizeof loopback)))
		log_warn("%s sends from a loopback address and reaches only this machine: -b and "
			 "the key "
			 "'local_address' mean something else to clients",
			 s->name);
}

/* Values too small to be meant, which shadowsocks-libev drops in silence. */
static void drop_small(unsigned least, const char *what, unsigned *value)
{
	if (*value && *value < least) {
		log_warn("%s %u is ignored: only values from %u up count", what, *value, least);
		*value = 0;
	}
}

static void fill_numbers(struct settings *s)
{
	static const struct {
		const char *name;
		size_t offset;
	} buffers[] = {
		{ "tcp_incoming_sndbuf", offsetof(struct settings, socket.near_sndbuf) },
		{ "tcp_incoming_rcvbuf", offsetof(struct settings, socket.near_rcvbuf) },
		{ "tcp_outgoing_sndbuf", offsetof(struct settings, socket.far_sndbuf) },
		{ "tcp_outgoing_rcvbuf", offsetof(struct settings, socket.far_rcvbuf) },
	};

	if (!s->timeout)
		s->timeout = s->program == PROGRAM_REDIR ? 600 : 60;
	if (s->workers > 1 && s->program == PROGRAM_MANAGER) {
		log_warn("workers: one process serves all ports of a manager");
		s->workers = 1;
	}
	drop_small(1025, "nofile", &s->nofile);
	for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
		drop_small(16383, buffers[i].name,
			   (unsigned *)(void *)((char *)s + buffers[i].offset));
	drop_small(576, "mtu", &s->mtu);
}

char *settings_absolute(char *path)
{
	char cwd[PATH_MAX], *whole;

	if (!path || path[0] == '/' || !getcwd(cwd, sizeof cwd))
		return path;
	if (asprintf(&whole, "%s/%s", cwd, path) < 0)
		return path;
	free(path);
	return whole;
}

static int fill_near(struct settings *s, struct options_reason *reason)
{
	if (s->program & PROGRAM_CLIENTS)
		fill_local(s);
	return tunnels_complete(s, reason);
}

static int check_memory(const struct settings *s, struct options_reason *reason)
{
	if (!s->memory_limit || s->memory_limit >= (uint64_t)s->workers * CEILINGS_LEAST)
		return 0;
	return settings_fail(reason, OPTIONS_FATAL, "memory_limit: %u workers take %uM at least",
			     s->workers, s->workers);
}

static int fill_rest(struct settings *s, struct options_reason *reason)
{
	struct endpoint port;

	fill_sources(s);
	fill_numbers(s);
	s->socket.interface = s->interface;
	s->config = settings_absolute(s->config);
	s->pid_file = settings_absolute(s->pid_file);
	s->acl = settings_absolute(s->acl);
	s->workdir = settings_absolute(s->workdir);
	if (s->manager_address && !workdir_is_port(s->manager_address, &port))
		s->manager_address = settings_absolute(s->manager_address);
	return check_memory(s, reason);
}

int settings_check(struct settings *s, struct options_reason *reason)
{
	static const settings_step steps[] = { fill_near, fill_rest, places_finish, NULL };
	int result = places_complete(s, reason);

	if (result < 0 && (!settings_place(s, 0) || !settings_told(s, reason)))
		return -1;
	return settings_steps(s, steps, reason) < 0 ? -1 : result;
}

/* --- the configuration file */

static int read_json(struct options *o, const char *file, const char *text, size_t n,
		     struct prints *prints)
{
	struct json_document document;
	struct json_error error;
	int result;

	if (json_parse(&document, text, n, &error) < 0)
		return settings_fail(o->reason, OPTIONS_FATAL, "%.300s:%u:%u: %s", file, error.line,
				     error.column, error.text);
	result = options_json(o, file, document.root);
	if (result == 0 && prints && prints_take(prints, o, document.root) < 0)
		result = settings_fail(o->reason, OPTIONS_FATAL, "no memory to read %.300s", file);
	json_free(&document);
	return result;
}

/* Read the file into `text`, which has SETTINGS_CONFIG_MAX + 1 bytes: what it has, or -1 and
 * errno. */
static ssize_t read_file(const char *path, char *text, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return -1;
	do {
		got = read(fd, text + n, SETTINGS_CONFIG_MAX + 1 - n);
		n += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && n <= SETTINGS_CONFIG_MAX) || (got < 0 && errno == EINTR));
	close(fd);
	return got < 0 ? -1 : (ssize_t)n;
}

/* A pipe gives its settings once, to a program that starts; who waits for it later serves
 * nobody. */
static bool is_regular(const char *path)
{
	struct stat s;

	return stat(path, &s) < 0 || S_ISREG(s.st_mode); /* what is not there is said by open() */
}

int settings_read_file(struct options *o, const char *path, struct prints *prints, bool again)
{
	char *text = malloc(SETTINGS_CONFIG_MAX + 1);
	ssize_t n;
	int result;

	if (!text)
		return settings_fail(o->reason, OPTIONS_FATAL, "no memory to read %.300s", path);
	if (again && !is_regular(path)) {
		free(text);
		return settings_fail(o->reason, OPTIONS_FATAL,
				     "%.300s is no regular file and cannot be read again", path);
	}
	n = read_file(path, text, again ? O_NONBLOCK : 0);
	if (n < 0)
		result = settings_fail(o->reason, OPTIONS_FATAL,
				       "Invalid config path. cannot open %.300s: %s", path,
				       strerror(errno));
	else if (n > SETTINGS_CONFIG_MAX)
		result = settings_fail(o->reason, OPTIONS_FATAL,
				       "Too large config file. %.300s has more than %d MiB", path,
				       SETTINGS_CONFIG_MAX >> 20);
	else
		result = read_json(o, path, text, (size_t)n, prints);
	if (n > 0)
		sodium_memzero(text, (size_t)n);
	free(text);
	return result;
}

/* One of the places; also put down among those that were tried. */
static char *default_in(const char *directory, const char *below, char *tried, size_t n)
{
	char path[PATH_MAX];
	size_t used = strlen(tried);

	if (!directory || !*directory ||
	    snprintf(path, sizeof path, "%s%s/shadowsocks-libev/config.json", directory, below) >=
		    PATH_MAX)
		return NULL;
	snprintf(tried + used, n - used, "%s%.160s", used ? ", " : "", path);
	return access(path, F_OK) == 0 ? strdup(path) : NULL;
}

/* Where a program without arguments looks: the first that exists, or NULL. */
static char *default_config(struct options_reason *reason)
{
	char tried[OPTION_REASON_MAX / 2] = "";
	char *path = default_in(getenv("XDG_CONFIG_HOME"), "", tried, sizeof tried);

	if (!path)
		path = default_in(getenv("HOME"), "/.config", tried, sizeof tried);
	if (!path)
		path = default_in("/etc", "", tried, sizeof tried);
	if (path)
		log_info("configuration file: %s", path);
	else
		settings_fail(reason, OPTIONS_FATAL,
			      "Invalid config path. There is no configuration file (looked for "
			      "%s), and nothing was given",
			      tried);
	return path;
}

/* --- the ways in */

/* Was all that is wrong told, so that more may be looked for? */
static bool all_told(const struct settings *s, const struct options_reason *reason)
{
	return s->tell && !reason->text[0] && reason->why != OPTIONS_HELP &&
	       reason->why != OPTIONS_VERSION;
}

static int read_all(struct settings *s, int argc, char **argv, struct options_reason *reason)
{
	struct options o = settings_options(s, reason);
	int result;

	o.tell = s->tell;
	o.shared = s->shared;
	result = options_flags(&o, argc, argv);
	if (result < 0 && !all_told(s, reason))
		return -1;
	if (argc < 2 && s->program != PROGRAM_MANAGER) {
		s->config = default_config(reason);
		if (!s->config)
			return -1;
	}
	if (s->config && (settings_remember(s, &o, reason) < 0 ||
			  settings_read_file(&o, s->config, settings_prints(s), false) < 0))
		return -1;
	if (result < 0)
		return -1;
	bool had = s->top.password || s->top.key_text;
	if (secret_from_environment(&s->top, reason) < 0)
		return -1;
	if (!had && s->top.password)
		settings_secret_elsewhere(s);
	return settings_check(s, reason);
}

int settings_read_text(struct settings *s, enum program program, const char *file, const char *text,
		       size_t n, struct options_reason *reason)
{
	struct options o;
	int result;

	settings_defaults(s, program);
	s->file = file;
	o = settings_options(s, reason);
	result = read_json(&o, file, text, n, NULL) < 0 || settings_check(s, reason) < 0 ? -1 : 0;
	places_forget(s);
	if (result < 0)
		settings_free(s);
	return result;
}

/* The end of a program whose settings are not to be used. */
static noreturn void leave(enum program program, const struct options_reason *reason)
{
	switch (reason->why) {
	case OPTIONS_HELP:
		settings_usage(stdout, program);
		exit(file_answered(settings_program_name(program)) ? 0 : 1);
	case OPTIONS_VERSION:
		version_print();
		exit(file_answered(settings_program_name(program)) ? 0 : 1);
	case OPTIONS_USAGE:
		log_error("%s", reason->text);
		settings_usage_short(stdout, program);
		exit(1);
	default:
		die("%s", reason->text);
	}
}

int settings_try(struct settings *s, enum program program, int argc, char **argv,
		 void (*tell)(const char *), struct options_reason *reason)
{
	settings_defaults(s, program);
	s->tell = tell;
	return read_all(s, argc, argv, reason);
}

int settings_try_shared(struct settings *s, enum program program, int argc, char **argv,
			struct options_reason *reason)
{
	settings_defaults(s, program);
	s->shared = true;
	return read_all(s, argc, argv, reason);
}

void settings_read(struct settings *s, enum program program, int argc, char **argv)
{
	struct options_reason reason;
	int result = settings_try(s, program, argc, argv, NULL, &reason);

	places_forget(s);
	if (result < 0) {
		settings_free(s);
		leave(program, &reason);
	}
}
