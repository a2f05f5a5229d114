/*
 * The life of the applets that serve, as the main process sees it. What exists once comes first:
 * settings, daemon, services, listeners, privileges; then it serves (serving.c), or watches those
 * who do (crew.c).
 */
#include "applets/applet.h"

#include "applets/running.h"
#include "core/log.h"
#include "core/notify.h"
#include "core/options.h"
#include "core/process.h"
#include "core/reactor.h"
#include "crypto/random.h"
#include "net/socket_pace.h"
#include "net/socket_passed.h"

#include <errno.h>
#include <net/if.h>
#include <signal.h>
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

static void on_stop(void)
{
	notify_stopping();
	crew_stop(&applet);
}

static void on_child(pid_t pid, int status)
{
	if (workers_reap(&applet.crew.workers, pid, status))
		return;
	for (unsigned i = 0; applet_parts[i]; i++)
		if (applet_parts[i]->child)
			applet_parts[i]->child(&applet, pid, status);
}

static void on_report(void)
{
	struct engine_state state;

	if (applet.crew.works) {
		crew_report(&applet);
		return;
	}
	state = engine_state(&applet.engine);
	applet_report(&applet, &state);
}

/* In each process that has settings: the workers', too. False: nothing was read again. */
static bool reload(void)
{
	struct options_reason reason;
	bool rules = applet_reload_rules(&applet);

	if (applet.acl && !applet.settings.config)
		return rules;
	if (settings_reload(&applet.settings, &reason) < 0) {
		log_error("not reloaded, everything stays as it is: %s", reason.text);
		return rules;
	}
	if (applet.settings.places_read && !applet_change_places(&applet))
		return false;
	if (applet.kind->reload)
		applet.kind->reload(applet.services, &applet.settings);
	return true;
}

/* What the main process understands, workers are asked to read as well. */
static void on_reload(void)
{
	if (!reload())
		return;
	log_info("reloaded: %s",
		 applet.settings.config ? applet.settings.config : applet.settings.acl);
	parts_reload();
	if (applet.crew.works)
		workers_signal(&applet.crew.workers, SIGHUP);
}

static void on_hangup(void)
{
	notify_reloading();
	on_reload();
	notify_ready();
}

static void on_worker_reload(void)
{
	reload();
}

static void on_worker_report(void)
{
	crew_answer(&applet);
}

static const struct process_calls main_calls = {
	.stop = on_stop,
	.reload = on_hangup,
	.report = on_report,
	.child = on_child,
};

static const struct process_calls worker_calls = {
	.reload = on_worker_reload,
	.report = on_worker_report,
};

/* What is permitted now and works later only if something changes. */
static void warn_of_later(const struct settings *settings)
{
	if (settings->interface && if_nametoindex(settings->interface) == 0)
		log_warn("there is no interface %s now: no connection is made before there is",
			 settings->interface);
	if (settings->socket.mark && !process_may_mark())
		log_warn("fwmark: this process may not mark connections (it lacks CAP_NET_ADMIN): "
			 "none will be made");
	if (socket_pace_try(settings->socket.congestion) != 0)
		log_warn("tcp_congestion: this process may not choose it: what it opens has the "
			 "system's");
	if (settings->acl && access(settings->acl, R_OK) < 0)
		log_warn("SIGHUP will not reload the access control list: this process may not "
			 "read %s any more (%s)",
			 settings->acl, strerror(errno));
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
	if (!applet.plugins) /* which may have privileges of their own */
		process_no_new_privs();
	warn_of_later(settings);
}

static void begin(int argc, char **argv)
{
	struct settings *settings = &applet.settings;
	const char *lack;

	socket_passed_open();
	process_start();
	if (random_source() == RANDOM_LATE)
		log_warn("waiting until the system has gathered enough random bytes");
	if (crypto_open() < 0)
		die("the system gives no random bytes");
	settings_read(settings, applet.kind->program, argc, argv);
	lack = socket_lacks(&settings->socket);
	if (lack)
		die("%s", lack);
	settings->socket.several = settings->workers > 1;
	socket_pace_open(&settings->socket);
	log_open(settings->name, settings->syslog, settings->verbose);
	if (!settings->nofile)
		process_raise_limit(applet.kind->descriptors);
	applet.descriptors = process_limits(settings->nofile);
	notify_open();
	if (settings->pid_file)
		process_daemon(settings->pid_file);
	atexit(parts_end);
}

static void open_reactor(void)
{
	if (reactor_open() < 0)
		die("cannot open an event queue: %s", strerror(errno));
	process_signals(&main_calls);
	applet_open_names(&applet);
}

/* What is served goes on while servers' names are looked up; workers come when that is over, and
 * with what a daemon has instead of the terminal. */
static int serve(void)
{
	if (applet.settings.workers == 1)
		applet_start(&applet);
	applet_check_upstreams(&applet);
	process_ready();
	notify_ready();
	if (applet.settings.workers > 1 && !reactor_stopping())
		return crew_serve(&applet, &worker_calls);
	reactor_run();
	return 0;
}

int applet_run(const struct applet_kind *kind, int argc, char **argv)
{
	int status;

	applet.kind = kind;
	begin(argc, argv);
	open_reactor();
	settings_announce(&applet.settings);
	applet_limits(&applet);
	applet_make(&applet);
	applet_listen(&applet);
	crew_share(&applet);
	socket_passed_close();
	parts_bound();
	drop_privileges(&applet.settings);
	parts_begin();
	status = serve();
	if (applet.status)
		status = applet.status;
	parts_end();
	applet_close(&applet);
	log_debug("closed gracefully");
	log_close();
	return status;
}
