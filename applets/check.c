/*
 * ss-check: whether one of the programs that serve would start with these settings, and if not,
 * why: one line for each thing that was looked at. Nothing is started, changed or looked up in the
 * network, and nothing stays bound, so that it may be asked beside a program that runs.
 */
#include "applets/applet.h"

#include "applets/features.h"
#include "applets/workdir.h"
#include "core/account.h"
#include "core/command.h"
#include "core/log.h"
#include "core/options.h"
#include "core/process.h"
#include "net/acl.h"
#include "net/socket_port.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PRIVILEGED = 1024 /* ports below are for root */ };

static const struct {
	enum program program;
	unsigned needs; /* enum feature */
} programs[] = {
	{ PROGRAM_LOCAL, 0 },
	{ PROGRAM_SERVER, 0 },
	{ PROGRAM_TUNNEL, FEATURE_TUNNEL },
	{ PROGRAM_REDIR, FEATURE_REDIR },
	{ PROGRAM_MANAGER, FEATURE_MANAGER },
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static int usage(FILE *to)
{
	fputs("usage: ss-check PROGRAM [-c FILE] [option...]\n"
	      "Tell whether PROGRAM would start with these options, which are its own: line by "
	      "line "
	      "what\n"
	      "was looked at, and what is wrong. Programs:",
	      to);
	for (unsigned i = 0; i < PROGRAMS; i++)
		if (!(programs[i].needs & features_lacking()))
			fprintf(to, " %s", settings_program_name(programs[i].program) + 3);
	fputc('\n', to);
	return to == stdout ? 0 : 1;
}

/* --- lines; each function below returns how many are bad */

__attribute__((format(printf, 1, 2))) static unsigned good(const char *format, ...)
{
	va_list args;

	fputs("ok    ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return 0;
}

__attribute__((format(printf, 1, 2))) static unsigned bad(const char *format, ...)
{
	va_list args;

	fputs("FAIL  ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return 1;
}

static void tell(const char *sentence)
{
	bad("%s", sentence);
}

/* --- files and users */

static void tell_rule(const char *sentence)
{
	printf("note  %s\n", sentence);
}

static unsigned check_acl(const struct settings *s)
{
	char reason[ACL_REASON_MAX];
	struct acl_counts n;
	struct acl *acl;

	if (!s->acl)
		return 0;
	acl = acl_open_telling(s->acl, tell_rule, reason);
	if (!acl)
		return bad("%s", reason);
	n = acl_count(acl);
	acl_close(acl);
	return good("acl %s: %u names, %u patterns, %u networks, %u left out", s->acl, n.names,
		    n.patterns, n.networks, n.inactive);
}

/* A program that will be started; NULL: none. */
static unsigned check_program(const char *what, const char *program)
{
	char path[PATH_MAX];

	if (!program)
		return 0;
	if (!strchr(program, '/'))
		return command_find(program, path, sizeof path)
			       ? good("%s %s: %s", what, program, path)
			       : bad("%s %s: not found in PATH", what, program);
	if (access(program, X_OK) == 0)
		return good("%s %s", what, program);
	return bad("%s %s: %s", what, program, strerror(errno));
}

/* A file that is to be written, in a directory that is there. */
static unsigned check_written(const char *what, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char folder[PATH_MAX];
	struct stat at;

	if (!slash)
		return 0;
	if (stat(path, &at) == 0) {
		if (S_ISDIR(at.st_mode))
			return bad("%s %s: is a directory", what, path);
		return access(path, W_OK) == 0 ? good("%s %s", what, path)
					       : bad("%s %s: %s", what, path, strerror(errno));
	}
	snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + !(slash - path), path);
	return access(folder, W_OK | X_OK) == 0
		       ? good("%s %s", what, path)
		       : bad("%s %s: cannot be made: %s", what, path, strerror(errno));
}

static unsigned check_user(const char *user)
{
	struct account account;

	if (!user)
		return 0;
	if (account_find(&account, user, "/etc/passwd", "/etc/group") < 0)
		return bad("user %s: there is no such user, or it has too many groups", user);
	if (geteuid() != 0 && geteuid() != account.uid)
		return bad("user %s: only root can become another user", user);
	return good("user %s: number %lu, group %lu", user, (unsigned long)account.uid,
		    (unsigned long)account.gid);
}

/* Of a manager: it makes the last part of the path itself. */
static unsigned check_workdir(const char *path)
{
	if (!path)
		return 0;
	if (access(path, F_OK) < 0)
		return check_written("workdir", path);
	return access(path, W_OK | X_OK) == 0 ? good("workdir %s", path)
					      : bad("workdir %s: %s", path, strerror(errno));
}

static unsigned check_files(const struct settings *s)
{
	const struct settings_place *place;
	unsigned faults = check_acl(s) + check_user(s->user) +
			  check_written("pid file", s->pid_file) + check_workdir(s->workdir) +
			  check_program("executable", s->executable);

	for (unsigned i = 0; (place = settings_place(s, i)); i++)
		faults += check_program("plugin", place->plugin);
	return faults;
}

/* --- keys */

static unsigned check_keys(const struct settings *s)
{
	const struct settings_place *place;
	char text[ENDPOINT_TEXT];

	for (unsigned i = 0; (place = settings_place(s, i)); i++) {
		const char *where = "its ports";

		if (place->servers)
			where = endpoint_print(&place->server[0], text, sizeof text);
		if (!place->key.format)
			good("method of %s: %s", where, place->method->name);
		else
			good("key of %s: %s, %u bytes, %u users", where, place->method->name,
			     (unsigned)place->key.key_len, place->user_count);
	}
	return 0;
}

/* --- where it would listen */

/* The addresses at which a program would listen. */
struct listeners {
	bool tells; /* or only counts */
	bool fatal; /* one that cannot be used is a fault; else it is warned of */
	unsigned usable, all;
};

__attribute__((format(printf, 2, 3))) static void usable(struct listeners *l, const char *format,
							 ...)
{
	va_list args;

	l->all++;
	l->usable++;
	if (!l->tells)
		return;
	fputs("ok    ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void unusable(struct listeners *l, const char *at, const char *kind, const char *why)
{
	l->all++;
	if (l->tells)
		printf("%s  cannot listen on %s (%s): %s\n", l->fatal ? "FAIL" : "warn", at, kind,
		       why);
}

static void check_listener(struct listeners *l, const struct endpoint *at, bool udp)
{
	const char *kind = udp ? "UDP" : "TCP";
	struct address address;
	char text[ENDPOINT_TEXT];

	endpoint_print(at, text, sizeof text);
	if (!endpoint_address(at, &address))
		usable(l, "would listen on %s (%s), a name that is looked up then", text, kind);
	else if (!address_is_any(&address) && socket_is_ours(&address) == 0)
		unusable(l, text, kind, "this machine has no such address");
	else if (socket_port_used(at, udp))
		unusable(l, text, kind, "the port is in use");
	else if (at->port < PRIVILEGED && geteuid() != 0)
		usable(l, "would listen on %s (%s), if it may use ports below %d", text, kind,
		       PRIVILEGED);
	else
		usable(l, "would listen on %s (%s)", text, kind);
}

static void check_listeners(struct listeners *l, const struct endpoint *at, uint8_t mode)
{
	if (mode != MODE_UDP_ONLY)
		check_listener(l, at, false);
	if (mode != MODE_TCP_ONLY)
		check_listener(l, at, true);
}

/* The addresses of a place, at this port unless that is 0. */
static void check_place(struct listeners *l, const struct settings *s,
			const struct settings_place *at, uint16_t port, uint8_t mode)
{
	for (unsigned i = 0; i < at->servers; i++) {
		struct endpoint one = at->server[i];

		one.port = port ? port : one.port;
		check_listeners(l, &one, mode ? mode - 1 : s->mode);
	}
}

static void check_ports(struct listeners *l, const struct settings *s)
{
	const struct settings_place *place;

	for (unsigned i = 0; i < s->ports; i++)
		check_place(l, s, &s->top, s->port_password[i].port, 0);
	for (unsigned i = 1; (place = settings_place(s, i)); i++)
		check_place(l, s, place->servers ? place : &s->top, place->server_port,
			    place->mode);
}

static void check_near(struct listeners *l, const struct settings *s)
{
	const struct settings_place *place;

	if (s->program == PROGRAM_MANAGER) {
		check_ports(l, s);
	} else if (s->program == PROGRAM_SERVER) {
		for (unsigned i = 0; (place = settings_place(s, i)); i++)
			check_place(l, s, place, 0, place->mode);
	} else if (s->program == PROGRAM_TUNNEL) {
		for (unsigned i = 0; i < s->tunnel_count; i++)
			check_listeners(l, &s->tunnels[i].local, s->mode);
	} else {
		check_listeners(l, &s->local, s->mode);
	}
}

static unsigned check_control(const struct settings *s)
{
	struct listeners l = { .tells = true, .fatal = true };
	struct endpoint control;

	if (!s->manager_address || !workdir_is_port(s->manager_address, &control))
		return check_written("manager address", s->manager_address);
	check_listener(&l, &control, true);
	return l.usable ? 0 : 1;
}

/* A manager runs without its ports; nobody else does without any. */
static unsigned check_places(const struct settings *s)
{
	bool manager = s->program == PROGRAM_MANAGER;
	struct listeners count = { .tells = false }, l = { .tells = true };

	if (!manager) /* whose ports may be thousands: each takes a look at the kernel's tables */
		check_near(&count, s);
	l.fatal = !manager && count.usable == 0 && count.all > 0;
	check_near(&l, s);
	return l.fatal + (manager ? check_control(s) : 0);
}

/* --- the last: afterwards this process has so many, too */

static void check_nofile(unsigned long nofile)
{
	unsigned long most = nofile ? process_limits(nofile) : 0; /* which says why */

	if (nofile)
		printf("%s  open files: %lu\n", most < nofile ? "warn" : "ok  ", most);
}

/* --- the way in */

static int check(enum program program, int argc, char **argv)
{
	struct options_reason reason = { .why = OPTIONS_OK };
	struct settings settings;
	unsigned faults = 0;

	if (settings_try(&settings, program, argc, argv, tell, &reason) < 0) {
		settings_free(&settings);
		if (reason.why == OPTIONS_HELP || reason.why == OPTIONS_VERSION)
			return usage(stdout);
		if (reason.text[0])
			bad("%s", reason.text);
		return 1;
	}
	good("settings of %s: %s", settings.name,
	     settings.config ? settings.config : "no configuration file");
	faults = check_keys(&settings) + check_files(&settings) + check_places(&settings);
	check_nofile(settings.nofile);
	settings_free(&settings);
	return faults ? 1 : 0;
}

int check_main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "-h") || !strcmp(name, "--help"))
		return usage(stdout);
	if (crypto_open() < 0)
		die("the system gives no random bytes");
	for (unsigned i = 0; i < PROGRAMS; i++) {
		const char *program = settings_program_name(programs[i].program);

		if (strcmp(name, program) != 0 && strcmp(name, program + 3) != 0)
			continue;
		if (programs[i].needs & features_lacking())
			return (int)bad("%s is not in this build, which was made without %s",
					program, features_without());
		return check(programs[i].program, argc - 1, argv + 1);
	}
	if (*name)
		fprintf(stderr, "ss-check: %.40s is no program that has settings\n", name);
	return usage(stderr);
}
