/*
 * Processes that serve beside each other. The main process forks them and then only watches, from
 * its reactor: one that ends is replaced (at once, or after a while if it keeps ending), signals
 * are passed on, and at the end all are ended. They end by themselves when the main process is
 * gone.
 *
 * What the main process has open at the time, a worker has too: also one that comes later.
 */
#ifndef CORE_WORKERS_H
#define CORE_WORKERS_H

#include "core/process.h"
#include "core/reactor.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { WORKERS_MAX = 256 };

/* A place that is filled by one process after the other. */
struct worker {
	struct workers *of;
	pid_t pid;	 /* 0: there is none now */
	uint64_t since;	 /* when it began, ms */
	unsigned failed; /* how many ended soon, one after the other */
	struct timer again;
};

struct workers {
	/* Filled in by the owner. */
	unsigned count;			     /* 1..WORKERS_MAX */
	const struct process_calls *signals; /* of a worker */
	/* in a worker, before its reactor is opened: close what belongs to the main process's;
	 * NULL: nothing */
	void (*leave)(void *own);
	int (*serve)(void *own, unsigned place); /* its life; the exit status */
	void *own;

	/* workers.c's own. */
	struct worker all[WORKERS_MAX];
	int lifeline[2]; /* its end tells a worker that the main process is gone */
	struct source parent;
	struct timer patience;
	bool stopping;
};

/* Fork them. What fails is tried again. After reactor_open() and process_signals(). Dies without a
 * descriptor for it. */
void workers_start(struct workers *workers);

/* For process_calls.child: true if it was a worker. */
bool workers_reap(struct workers *workers, pid_t pid, int status);

/* Pass a signal on to all that are there; their number. */
unsigned workers_signal(const struct workers *workers, int number);

/* For process_calls.stop: ask all to end, kill those that have not done so soon; reactor_stop()
 * when none is left. */
void workers_stop(struct workers *workers);

/* How many processors this process may use, at least 1: by affinity, and by the quota of its
 * control group, rounded up. (processors_linux.c, processors_bsd.c) */
unsigned processors_allowed(void);

#endif
