/*
 * Signals become events of the reactor: the handler notes the signal and writes a byte into a pipe
 * that the reactor watches. Part of core/process.h; owns the pipe.
 */
#include "core/process.h"

#include "core/fd.h"
#include "core/log.h"
#include "core/reactor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_stop(void);
static void on_reload(void);
static void on_report(void);
static void on_nothing(void);
static void on_child(void);

static const struct {
	int number;
	void (*act)(void);
} signals[] = {
	{ SIGTERM, on_stop },  { SIGINT, on_stop },    { SIGQUIT, on_stop },
	{ SIGHUP, on_reload }, { SIGUSR1, on_report }, { SIGUSR2, on_nothing },
	{ SIGCHLD, on_child },
};

enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

/* A handler sees nothing else than this. The pipe only wakes; if it is full, it wakes as well. */
static volatile sig_atomic_t pending[SIGNALS];
static volatile sig_atomic_t pipe_in = -1;

static struct source source = { .fd = -1 };
static const struct process_calls *calls;

static void on_stop(void)
{
	if (calls->stop)
		calls->stop();
	else
		reactor_stop();
}

static void on_reload(void)
{
	if (calls->reload)
		calls->reload();
	else
		log_info("SIGHUP: there is nothing to reload");
}

static void on_report(void)
{
	if (calls->report)
		calls->report();
}

static void on_nothing(void)
{
	log_debug("SIGUSR2 has no meaning here");
}

/* Also children we never started: those of a dead child come to process number 1. */
static void on_child(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (calls->child)
			calls->child(pid, status);
	}
}

static void handle(int number)
{
	int saved = errno;

	for (int i = 0; i < SIGNALS; i++) {
		if (signals[i].number == number)
			pending[i] = 1;
	}
	if (write(pipe_in, "", 1) < 0)
		errno = saved; /* full: the reactor is about to look anyway */
	errno = saved;
}

/* Empty the pipe before looking at what is pending: a signal in between wakes us again. */
static void wake(struct source *s)
{
	char bytes[64];

	while (read(s->fd, bytes, sizeof(bytes)) > 0)
		;
	s->ready &= (uint8_t)~READY_IN;
	for (int i = 0; i < SIGNALS; i++) {
		if (!pending[i])
			continue;
		pending[i] = 0;
		signals[i].act();
	}
}

void process_signals(const struct process_calls *to_call)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART | SA_NOCLDSTOP };
	int ends[2], old = pipe_in;

	if (fd_pipe(ends, O_NONBLOCK) < 0)
		die("cannot watch for signals: %s", strerror(errno));
	/* In a forked worker there is the main process's pipe still, and what came for that one. */
	for (int i = 0; i < SIGNALS; i++)
		pending[i] = 0;
	reactor_forget(&source);
	pipe_in = ends[1];
	if (old >= 0)
		close(old);
	calls = to_call;
	if (reactor_watch(&source, ends[0], 0, wake) < 0)
		die("cannot watch for signals: %s", strerror(errno));
	sigfillset(&action.sa_mask);
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i].number, &action, NULL);
	/* Children that ended before there was a handler. */
	raise(SIGCHLD);
}
