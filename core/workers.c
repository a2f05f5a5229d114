/*
 * See workers.h. A signal must not fall between fork() and the worker's own handlers: all are
 * blocked meanwhile.
 *
 *     forked ──> serves ──> ends ──> forked again, at once or after a delay that doubles
 *                             └────> not any more, when the program stops
 */
#include "core/workers.h"

#include "core/child.h"
#include "core/fd.h"
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SOON = 10000,	 /* ms: one that ended earlier than that counts as failed */
	DELAY_MIN = 100, /* ms until the second that failed is replaced; the first is at once */
	DELAY_MAX = 10000,
	PATIENCE = 800 /* ms that a worker may take to end */
};

/* Nobody ever writes: there is nothing but the end. */
static void parent_gone(struct source *source)
{
	char byte;

	if (read(source->fd, &byte, 1) == 0) {
		log_warn("the main process is gone: this worker ends");
		reactor_stop();
	}
	source->ready &= (uint8_t)~READY_IN;
}

static noreturn void work(struct workers *workers, unsigned place, const sigset_t *mask)
{
	reactor_close(); /* it is the main process's: what is closed now it goes on watching */
	if (workers->leave)
		workers->leave(workers->own);
	close(workers->lifeline[1]);
	if (reactor_open() < 0)
		die("cannot open an event queue: %s", strerror(errno));
	process_signals(workers->signals);
	if (reactor_watch_input(&workers->parent, workers->lifeline[0], parent_gone) < 0)
		die("cannot watch the main process: %s", strerror(errno));
	sigprocmask(SIG_SETMASK, mask, NULL);
	exit(workers->serve(workers->own, place));
}

static void start(struct worker *worker)
{
	struct workers *workers = worker->of;
	unsigned place = (unsigned)(worker - workers->all);
	sigset_t all, before;

	worker->since = reactor_now();
	fflush(NULL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	worker->pid = fork();
	if (worker->pid == 0)
		work(workers, place, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (worker->pid > 0)
		return;
	worker->pid = 0;
	log_error("cannot start worker %u: %s", place + 1, strerror(errno));
	reactor_after(&worker->again, DELAY_MAX);
}

static void again(struct timer *timer)
{
	struct worker *worker = container_of(timer, struct worker, again);

	if (worker->pid == 0 && !worker->of->stopping)
		start(worker);
}

static void kill_the_slow(struct timer *timer)
{
	struct workers *workers = container_of(timer, struct workers, patience);
	unsigned n = workers_signal(workers, SIGKILL);

	log_warn("%u workers did not end in time: killed", n);
}

void workers_start(struct workers *workers)
{
	if (fd_pipe(workers->lifeline, O_NONBLOCK) < 0)
		die("cannot start workers: %s", strerror(errno));
	workers->parent.fd = -1;
	workers->stopping = false;
	timer_init(&workers->patience, kill_the_slow);
	for (unsigned i = 0; i < workers->count; i++) {
		workers->all[i] = (struct worker){ .of = workers };
		timer_init(&workers->all[i].again, again);
	}
	for (unsigned i = 0; i < workers->count; i++)
		start(&workers->all[i]);
}

static unsigned delay(const struct worker *worker)
{
	unsigned doubled = worker->failed - 2;

	if (worker->failed < 2)
		return 0;
	return doubled < 7 ? DELAY_MIN << doubled : DELAY_MAX;
}

static void replace(struct worker *worker, int status)
{
	unsigned place = (unsigned)(worker - worker->of->all), wait;
	char how[64];

	worker->failed = reactor_now() - worker->since < SOON ? worker->failed + 1 : 1;
	wait = delay(worker);
	child_verdict(status, how, sizeof(how));
	if (wait)
		log_error("worker %u %s: replaced in %u ms", place + 1, how, wait);
	else
		log_error("worker %u %s: replaced", place + 1, how);
	reactor_after(&worker->again, wait);
}

static bool any_left(const struct workers *workers)
{
	for (unsigned i = 0; i < workers->count; i++)
		if (workers->all[i].pid > 0)
			return true;
	return false;
}

static void stop_if_none_is_left(struct workers *workers)
{
	if (any_left(workers))
		return;
	reactor_cancel(&workers->patience);
	reactor_stop();
}

bool workers_reap(struct workers *workers, pid_t pid, int status)
{
	for (unsigned i = 0; i < workers->count; i++) {
		struct worker *worker = &workers->all[i];

		if (worker->pid != pid)
			continue;
		worker->pid = 0;
		if (workers->stopping)
			stop_if_none_is_left(workers);
		else
			replace(worker, status);
		return true;
	}
	return false;
}

unsigned workers_signal(const struct workers *workers, int number)
{
	unsigned n = 0;

	for (unsigned i = 0; i < workers->count; i++)
		if (workers->all[i].pid > 0 && kill(workers->all[i].pid, number) == 0)
			n++;
	return n;
}

void workers_stop(struct workers *workers)
{
	if (workers->stopping)
		return;
	workers->stopping = true;
	for (unsigned i = 0; i < workers->count; i++)
		reactor_cancel(&workers->all[i].again);
	workers_signal(workers, SIGTERM);
	reactor_after(&workers->patience, PATIENCE);
	stop_if_none_is_left(workers);
}
