/*
 * See servers.h. The life of a server:
 *
 *	WAITS ── its predecessor is gone ──> STARTS ── the command has ended with 0 ──> RUNS
 *
 * The command goes into the background by itself (-f) once the port is bound; the file says then
 * which process it is. Nobody waits for anything: a timer looks again.
 */
#include "applets/servers.h"

#include "applets/servers_told.h"
#include "applets/workdir.h"
#include "core/child.h"
#include "core/file.h"
#include "core/log.h"
#include "core/options.h"
#include "core/process.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum {
	LOOK = 10,	 /* ms until it is looked again whether a predecessor is gone */
	PATIENCE = 3000, /* ms until that is killed */
	NAME = 48
};

enum state { WAITS, STARTS, RUNS };

struct server {
	struct manager *manager;
	struct port *port; /* NULL: removed while it was starting */
	struct child command;
	struct timer timer;
	struct burial burial;
	struct sender asks; /* len 0: nobody does */
	uint64_t since;	    /* when waiting began, ms */
	uint64_t base;	    /* bytes of its predecessors */
	uint64_t last;	    /* that it reported */
	pid_t pid;
	uint16_t number;
	uint8_t state; /* enum state */
	char name[NAME];
};

struct servers {
	pid_t leaving[1 << 16];	   /* told to end, and perhaps not gone; by port */
	uint8_t starting[1 << 16]; /* commands that have not ended */
};

/* --- files and processes */

static char *path_of(const struct manager *m, uint16_t number, const char *end)
{
	char name[NAME];

	snprintf(name, sizeof name, ".shadowsocks_%u.%s", number, end);
	return workdir_file(m->workdir, name);
}

enum whose { NOBODYS, OTHERS, SERVERS };

/* A number in a file may be that of any process by now: a server has the file's name among its
 * arguments. One that is ending has none. */
static enum whose whose(pid_t pid, const char *path)
{
	char arguments[4096];
	ssize_t n;

	if (pid <= 1)
		return OTHERS;
	n = process_arguments(pid, arguments, sizeof arguments);
	if (n <= 0)
		return NOBODYS;
	return memmem(arguments, (size_t)n, path, strlen(path) + 1) ? SERVERS : OTHERS;
}

static pid_t read_pid(const char *path)
{
	char text[24];
	ssize_t n = file_read(path, text, sizeof text - 1);

	if (n <= 0)
		return 0;
	text[n] = 0;
	return (pid_t)strtol(text, NULL, 10);
}

/* Tell the server that this file names to end, if there is one. */
static void tell_to_end(struct manager *m, uint16_t number)
{
	char *path = path_of(m, number, "pid");
	pid_t pid = read_pid(path);

	if (whose(pid, path) == SERVERS && kill(pid, SIGTERM) == 0)
		m->servers->leaving[number] = pid;
	free(path);
}

/* Which one of the port has been told to end and has not; 0: none. */
static pid_t leaving(const struct manager *m, uint16_t number)
{
	pid_t *pid = &m->servers->leaving[number];
	char *path;

	if (!*pid)
		return 0;
	path = path_of(m, number, "pid");
	if (kill(*pid, 0) < 0 || whose(*pid, path) == OTHERS)
		*pid = 0;
	free(path);
	return *pid;
}

static bool lives(const struct server *server)
{
	char *path = path_of(server->manager, server->number, "pid");
	bool is = server->state == RUNS && whose(server->pid, path) == SERVERS;

	free(path);
	return is;
}

static bool write_settings(const struct manager *m, const struct port *port,
			   const struct settings_place *place)
{
	char *path = path_of(m, port->number, "conf");
	bool good = servers_write_settings(path, port, place);

	free(path);
	return good;
}

/* --- its life */

static void answer(struct server *server, const char *word)
{
	outbox_send(&server->manager->inbox.outbox, &server->asks, word, strlen(word));
	server->asks.len = 0;
}

static void bury(struct burial *burial)
{
	free(container_of(burial, struct server, burial));
}

/* Its command's output may have been woken in this turn, too. */
static void server_free(struct server *server)
{
	reactor_cancel(&server->timer);
	if (server->port)
		server->port->server = NULL;
	server->burial.bury = bury;
	reactor_bury(&server->burial);
}

/* It does not come to be: the port goes. */
static void give_up(struct server *server, const char *word)
{
	struct manager *m = server->manager;
	uint16_t number = server->number;

	answer(server, word);
	server_free(server);
	ports_remove(m->ports, number);
}

/* Why the command failed, as far as that can be told in a word; the log may have its own. */
static const char *complaint(const struct server *server)
{
	return ports_are_free(server->manager->ports, server->port) ? "err"
								    : "port is not available";
}

/* The command has ended: the server serves in the background, or it failed and perhaps said why. */
static void command_ended(struct child *child, int status)
{
	struct server *server = container_of(child, struct server, command);
	char verdict[64];
	char *path = path_of(server->manager, server->number, "pid");

	server->manager->servers->starting[server->number]--;
	if (!server->port) {
		tell_to_end(server->manager, server->number);
		server_free(server);
	} else if (status == 0) {
		server->state = RUNS;
		server->pid = read_pid(path);
		answer(server, "ok");
	} else {
		log_error("%s %s", child->name, child_verdict(status, verdict, sizeof verdict));
		give_up(server, complaint(server));
	}
	free(path);
}

/* Where there is no ss-server, or none is asked for, this executable is one. */
static bool run(struct server *server, struct servers_arguments *arguments, const char *program)
{
	char self[PATH_MAX] = "ss-server", *own[SERVERS_ARGUMENTS + 3] = { self, (char *)program };

	process_executable(self, sizeof self);
	memcpy(own + 2, arguments->all, sizeof arguments->all);
	if (program && child_start(&server->command, own + 1, environ) == 0)
		return true;
	own[1] = "server";
	if ((!program || (errno == ENOENT && !strcmp(program, "ss-server"))) &&
	    child_start(&server->command, own, environ) == 0)
		return true;
	log_error("%s cannot be started: %s", program ? program : own[0], strerror(errno));
	return false;
}

static bool start(struct server *server)
{
	struct manager *m = server->manager;
	char *pid_file = path_of(m, server->number, "pid");
	char *settings = path_of(m, server->number, "conf");
	struct servers_arguments *arguments = calloc(1, sizeof *arguments);
	bool started = false;

	if (arguments) {
		servers_put_arguments(arguments, m, server->port, pid_file, settings);
		started = run(server, arguments, m->applet->settings.executable);
	}
	free(arguments);
	free(settings);
	free(pid_file);
	return started;
}

/* A predecessor is waited for; then the port must be free. */
static void look(struct timer *timer)
{
	struct server *server = container_of(timer, struct server, timer);
	struct manager *m = server->manager;
	pid_t before = leaving(m, server->number);
	uint64_t waited = reactor_now() - server->since;

	/* Once killed it may be there still, if nobody waits for it. */
	if (m->servers->starting[server->number] || (before && waited < 2 * PATIENCE)) {
		if (before && waited >= PATIENCE)
			kill(before, SIGKILL);
		reactor_after(timer, LOOK);
		return;
	}
	m->servers->leaving[server->number] = 0;
	if (!ports_are_free(m->ports, server->port)) {
		give_up(server, "port is not available");
		return;
	}
	server->state = STARTS;
	if (start(server))
		m->servers->starting[server->number]++;
	else
		give_up(server, "err");
}

/* Without its port it goes when its command has ended. */
static void let_go(struct server *server)
{
	struct manager *m = server->manager;

	answer(server, "err"); /* of who asked for it and was overtaken */
	server->port->server = NULL;
	server->port = NULL;
	if (server->state == STARTS) {
		child_stop(&server->command);
		return;
	}
	if (server->state == RUNS)
		tell_to_end(m, server->number);
	server_free(server);
}

static void say(struct manager *m, const struct sender *asks, const char *word)
{
	if (asks)
		outbox_send(&m->inbox.outbox, asks, word, strlen(word));
}

bool servers_wants(const struct manager *m, const struct settings_place *place)
{
	const struct settings *settings = &m->applet->settings;
	const struct port *old = m->ports->all[place->server_port];

	return settings->executable || settings->top.plugin || place->plugin ||
	       (old && old->server) || leaving(m, place->server_port) ||
	       m->servers->starting[place->server_port];
}

void servers_put(struct manager *m, struct settings_place *place, bool configured,
		 const struct sender *asks)
{
	uint16_t number = place->server_port;
	struct port *old = m->ports->all[number], *port;
	struct traffic *traffic = tally_of(m->tally, number);
	struct server *server;

	if (!m->workdir) {
		log_error("port %u: a server of its own needs a working directory", number);
		say(m, asks, "err");
		return;
	}
	if (old && old->server && lives(old->server) && !place->users &&
	    ports_is_same(m->ports, old, place)) {
		say(m, asks, "ok");
		return;
	}
	port = ports_make(m->ports, place, configured);
	server = port ? calloc(1, sizeof *server) : NULL;
	if (!server || !write_settings(m, port, place)) {
		log_error("port %u cannot be served", number);
		free(server);
		if (port)
			ports_discard(port);
		say(m, asks, "err");
		return;
	}
	if (old && old->server)
		let_go(old->server);
	*server = (struct server){
		.manager = m,
		.port = port,
		.number = number,
		.since = reactor_now(),
		.base = traffic->up + traffic->down,
		.command = { .name = server->name, .ended = command_ended, .leaves = true },
	};
	snprintf(server->name, sizeof server->name, "ss-server %u", number);
	if (asks)
		server->asks = *asks;
	port->server = server;
	ports_exchange(m->ports, port);
	timer_init(&server->timer, look);
	look(&server->timer);
}

void servers_remove(struct manager *m, uint16_t number)
{
	struct port *port = m->ports->all[number];

	if (!port)
		return;
	if (port->server)
		let_go(port->server);
	ports_remove(m->ports, number);
}

void servers_report(struct manager *m, uint16_t number, uint64_t bytes)
{
	struct port *port = m->ports->all[number];
	struct server *server = port ? port->server : NULL;

	if (!server)
		return;
	if (bytes < server->last) /* it was started again */
		server->base += server->last;
	server->last = bytes;
	*tally_of(m->tally, number) = (struct traffic){ .down = server->base + bytes };
}

/* --- all of them */

static void end_stale(struct manager *m)
{
	DIR *directory = opendir(m->workdir);
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		static const char front[] = ".shadowsocks_";
		char *end = strstr(entry->d_name, ".pid");
		uint16_t number;

		if (strncmp(entry->d_name, front, sizeof front - 1) != 0 || !end || end[4])
			continue;
		*end = 0;
		if (options_port(entry->d_name + sizeof front - 1, &number) == 0)
			tell_to_end(m, number);
	}
	if (directory)
		closedir(directory);
}

void servers_open(struct manager *m)
{
	m->servers = calloc(1, sizeof *m->servers);
	if (!m->servers)
		die("no memory for servers");
}

void servers_begin(struct manager *m)
{
	if (!m->workdir && m->applet->settings.executable)
		die("--executable needs a working directory");
	if (m->workdir)
		end_stale(m);
}

void servers_close(struct manager *m)
{
	for (unsigned i = 1; i < 1 << 16; i++)
		if (m->ports->all[i] && m->ports->all[i]->server)
			let_go(m->ports->all[i]->server);
	child_stop_all();
	free(m->servers);
	m->servers = NULL;
}
