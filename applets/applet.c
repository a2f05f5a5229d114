/*
 * The life of the applets that serve, as the main process sees it. What exists once comes first:
 * settings, daemon, services, listeners, privileges; then it serves (serving.c).
 */
#include "applets/applet.h"

#include "applets/running.h"
#include "core/log.h"
#include "core/options.h"
#include "core/process.h"
#include "core/reactor.h"
#include "net/resolve.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct applet applet; /* signals need to find it */
static pid_t main_process;   /* whose parts have begun; 0: none's */

/* The parts. */

static void parts_bound(void)
{
	main_process = getpid();
	for (unsigned i = 0; applet_parts[i]; i++)
		if (applet_parts[i]->bound)
			applet_parts[i]->bound(&applet);
}

static void parts_begin(void)
{
	for (unsigned i = 0; applet_parts[i]; i++)
		if (applet_parts[i]->begin)
			applet_parts[i]->begin(&applet);
}

static void parts_reload(void)
{
	for (unsigned i = 0; applet_parts[i]; i++)
		if (applet_parts[i]->reload)
			applet_parts[i]->reload(&applet);
}

/* Once, and not in a child; also at exit(), which may be that of die(). */
static void parts_end(void)
{
	unsigned n = 0;

	if (main_process != getpid())
		return;
	main_process = 0;
	while (applet_parts[n])
		n++;
	while (n-- > 0)
		if (applet_parts[n]->end)
			applet_parts[n]->end(&applet);
}

/* Signals. */

static void on_child(pid_t pid, int status)
{
	for (unsigned i = 0; applet_parts[i]; i++)
		if (applet_parts[i]->child)
			applet_parts[i]->child(&applet, pid, status);
}

static void on_report(void)
{
	applet_report(&applet);
}

static void on_reload(void)
{
	struct options_reason reason;

	if (settings_reload(&applet.settings, &reason) < 0) {
		log_error("not reloaded, everything stays as it is: %s", reason.text);
		return;
	}
	if (applet.kind->reload)
		applet.kind->reload(applet.services, &applet.settings);
	else
		log_warn("%s can reload nothing yet: everything stays as it is",
			 applet.settings.name);
	parts_reload();
}

/* What is permitted now and works later only if something changes. */
static void warn_of_later(const struct settings *settings)
{
	if (settings->interface && if_nametoindex(settings->interface) == 0)
		log_warn("there is no interface %s now: no connection is made before there is",
			 settings->interface);
	if (settings->socket.mark && !process_may_mark())
		log_warn("fwmark: this process may not mark connections (it lacks CAP_NET_ADMIN): "
			 "none will be made");
	if (settings->config && access(settings->config, R_OK) < 0)
		log_warn("SIGHUP will reload nothing: this process may not read %s any more (%s)",
			 settings->config, strerror(errno));
}

/* What may need root's privileges has been done. */
static void drop_privileges(const struct settings *settings)
{
	if (settings->socket.mark)
		process_keep_marking();
	if (settings->user)
		process_user(settings->user);
	else if (geteuid() == 0)
		log_info("running from root user");
	process_no_new_privs();
	warn_of_later(settings);
}

static void begin(int argc, char **argv)
{
	struct settings *settings = &applet.settings;

	process_start();
	if (crypto_open() < 0)
		die("the system gives no random bytes");
	settings_read(settings, applet.kind->program, argc, argv);
	log_open(settings->name, settings->syslog, settings->verbose);
	applet.descriptors = process_limits(settings->nofile);
	if (settings->pid_file)
		process_daemon(settings->pid_file);
	atexit(parts_end);
}

static void open_reactor(const struct settings *settings)
{
	static const struct process_calls calls = {
		.reload = on_reload,
		.report = on_report,
		.child = on_child,
	};
	const struct resolve_options names = {
		.servers = settings->nameserver,
		.ipv6_first = settings->ipv6_first,
	};

	if (reactor_open() < 0)
		die("cannot open an event queue: %s", strerror(errno));
	process_signals(&calls);
	if (resolve_open(&names) < 0)
		die("cannot resolve names");
}

static void started(struct applet *it)
{
	applet_check_upstreams(it);
	process_ready();
}

int applet_run(const struct applet_kind *kind, int argc, char **argv)
{
	int status;

	applet.kind = kind;
	begin(argc, argv);
	open_reactor(&applet.settings);
	settings_announce(&applet.settings);
	applet_limits(&applet);
	applet_make(&applet);
	applet_listen(&applet);
	parts_bound();
	drop_privileges(&applet.settings);
	parts_begin();
	status = applet_serve(&applet, started);
	parts_end();
	applet_close(&applet);
	log_debug("closed gracefully");
	log_close();
	return status;
}
