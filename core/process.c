/*
 * The main process: limits, daemon, user. Called by the applets at start. It owns the pid
 * file and the pipe on which a daemon's parent waits:
 *
 *	parent: open pid file, fork, wait for a byte ------------> exit 0
 *		  SIGTERM: to the child
 *	child:	setsid ... bind ... user ... process_ready(): byte -> serve
 *		  die(): the pipe closes ---> parent: exit with the child's status
 */
#include "core/process.h"

#include "core/account.h"
#include "core/fd.h"
#include "core/log.h"
#include "core/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* One per process: it is about the process. */
static struct {
	bool starting; /* a parent waits */
	bool marking;  /* keep the right to mark sockets */
	bool ports;    /* keep the right to bind ports below 1024, for others */
	int ready;     /* the end of its pipe */
	pid_t child;   /* whom a parent waits for */
	struct pidfile pidfile;
} service;

/* An empty root has no /dev/null but has a root. */
int process_nothing(void)
{
	int fd = open("/dev/null", O_RDWR);

	return fd >= 0 ? fd : open("/", O_RDONLY);
}

void process_close_each(unsigned first, unsigned last)
{
	int all = getdtablesize();

	for (unsigned fd = first; fd <= last && (int)fd < all; fd++)
		close((int)fd);
}

void process_close_others(unsigned first, int but)
{
	if ((unsigned)but > first)
		process_close_range(first, (unsigned)but - 1);
	process_close_range((unsigned)but + 1, ~0u);
}

void process_start(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t none;
	int fd;

	do
		fd = process_nothing();
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL); /* a log file may hit its limit */
}

void process_raise_limit(unsigned long nofile)
{
	struct rlimit have, want = { nofile, nofile };

	if (getrlimit(RLIMIT_NOFILE, &have) == 0 && have.rlim_max != RLIM_INFINITY &&
	    have.rlim_max < nofile && setrlimit(RLIMIT_NOFILE, &want) < 0)
		log_debug("the limit of open files stays at %lu", (unsigned long)have.rlim_max);
}

unsigned long process_limits(unsigned long nofile)
{
	struct rlimit none = { 0, 0 }, have = { 0, 0 }, want;

	/* Where dumps go to a program the kernel ignores this limit: hence both. */
	setrlimit(RLIMIT_CORE, &none);
	process_no_dumps();

	getrlimit(RLIMIT_NOFILE, &have);
	if (have.rlim_max == RLIM_INFINITY)
		have.rlim_max = process_files_max();
	want = (struct rlimit){ have.rlim_max, have.rlim_max };
	if (nofile > 0)
		want = (struct rlimit){ nofile, nofile };
	if (setrlimit(RLIMIT_NOFILE, &want) < 0) {
		want.rlim_cur = want.rlim_max = have.rlim_max;
		log_warn("nofile: %lu descriptors are not permitted here (%s): going on with %lu",
			 nofile, strerror(errno), (unsigned long)have.rlim_max);
		setrlimit(RLIMIT_NOFILE, &want);
	}
	getrlimit(RLIMIT_NOFILE, &have);
	return (unsigned long)have.rlim_cur;
}

/* SIG_BLOCK or SIG_UNBLOCK: process_start() has left none that are blocked. */
static void all_signals(int how)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(how, &all, NULL);
}

static void pass_on(int number)
{
	kill(service.child, number);
}

/* Who ends the parent means the start: alone, the child would come up nevertheless. A terminal that is closed does not
 * matter to a daemon. */
static void pass_signals_on(void)
{
	static const int ends[] = { SIGTERM, SIGINT, SIGQUIT };

	for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (signal(ends[i], pass_on) == SIG_IGN)
			signal(ends[i], SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

/* The parent's only job. */
static noreturn void wait_for_child(int pipe_end)
{
	int status;
	char byte;
	ssize_t n;

	pass_signals_on();
	all_signals(SIG_UNBLOCK);
	do
		n = read(pipe_end, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(0);

	all_signals(SIG_BLOCK); /* its number may soon be another's */
	while (waitpid(service.child, &status, 0) < 0 && errno == EINTR)
		;
	pidfile_abandon(&service.pidfile);
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		_exit(WEXITSTATUS(status)); /* it has said why */
	if (WIFSIGNALED(status))
		die("ended by signal %d before it was ready", WTERMSIG(status));
	die("stopped before it was ready");
}

static void remove_pidfile(void)
{
	pidfile_remove(&service.pidfile);
}

void process_daemon(const char *pid_file)
{
	int ends[2];

	/* None may come between the file and whoever removes it. */
	all_signals(SIG_BLOCK);
	if (pidfile_open(&service.pidfile, pid_file) < 0)
		die("Invalid pid file: '%s': %s", pid_file, strerror(errno));
	signal(SIGCHLD, SIG_DFL); /* if it is ignored, wait_for_child() learns nothing */
	fflush(NULL);
	if (fd_pipe(ends, 0) < 0 || (service.child = fork()) < 0) {
		pidfile_abandon(&service.pidfile);
		die("cannot go into the background: %s", strerror(errno));
	}
	if (service.child > 0) {
		close(ends[1]);
		wait_for_child(ends[0]);
	}
	all_signals(SIG_UNBLOCK);
	close(ends[0]);
	service.ready = ends[1];
	service.starting = true;
	setsid();
	umask(077);
	if (chdir("/") < 0)
		die("cannot go to the root directory: %s", strerror(errno));
	atexit(remove_pidfile);
}

void process_ready(void)
{
	int nothing;

	if (!service.starting)
		return;
	nothing = process_nothing();
	if (nothing < 0)
		die("cannot open /dev/null: %s", strerror(errno));
	if (pidfile_write(&service.pidfile) < 0)
		die("cannot write the pid file: %s", strerror(errno));
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		dup2(nothing, fd);
	close(nothing);
	/* If nobody waits any more, the parent was killed: that is all the same. */
	if (write(service.ready, "", 1) < 0)
		log_debug("nobody waited for the start: %s", strerror(errno));
	close(service.ready);
	service.starting = false;
}

/* Whether root is still within reach, as it is with CAP_SETUID kept. */
static bool can_return(const struct account *to)
{
	if (to->uid != 0 && (setuid(0) == 0 || seteuid(0) == 0))
		return true;
	return to->uid != 0 && to->gid != 0 && (setgid(0) == 0 || setegid(0) == 0);
}

void process_keep_marking(void)
{
	service.marking = true;
}

void process_keep_ports(void)
{
	service.ports = true;
}

void process_user(const char *who)
{
	struct account to = { 0 };
	int found = account_find(&to, who, "/etc/passwd", "/etc/group");

	if (found == -1) {
		log_error("run_as user '%s' could not be found.", who);
		die("failed to switch user");
	}
	if (geteuid() != 0 && process_is(to.uid, to.gid))
		return;
	if (found == -2)
		log_warn("user '%s' is in more than %d groups: the rest is left out", who,
			 ACCOUNT_GROUPS);
	bool keep = (service.marking || service.ports) && to.uid != 0;

	if (keep)
		process_rights_hold();
	/* Groups first: the user may not change them. */
	if (setgroups(to.n_groups, to.groups) < 0 || process_become(to.uid, to.gid) < 0)
		die("failed to switch user to '%s': %s", who, strerror(errno));
	if (keep)
		process_rights_reduce(service.marking, service.ports);
	if (!process_is(to.uid, to.gid) || can_return(&to))
		die("failed to switch user to '%s': root can be regained", who);
	process_no_dumps(); /* changing ids has set what the system's default is */
}
